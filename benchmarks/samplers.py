"""Time, bias and variance of each sampler against the exact kernel: `python benchmarks/samplers.py`.

Every method estimates the pGMM kernel of all pairs of some rows, with many seeds. Times are those of whole calls on one
thread, in turn within one run, as multiples of the time of "gcws". `--write-docs` puts tables and picture into
docs/samplers.md.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel
from gcwsnet.bench._measure import listed, machine, medians, versions
from gcwsnet.bench._page import DOCS, write_section

METHODS = ("gcws", "rejection", "binwise", "extremal")
POWERS = (0.5, 1, 2, 5, 20, 80)
K, BITS, ROWS = 256, 16, 40
STYLES = {"gcws": "-o", "rejection": "--s", "binwise": "-.^", "extremal": ":D"}
PICTURE = DOCS / "images" / "samplers.png"
Floats = NDArray[np.float64]


class Result(NamedTuple):
    """What a method does on a dataset at a power."""

    microseconds: float  # for a row
    time: float  # as a multiple of that of gcws
    bias: float  # root mean square over pairs of the mean error
    variance: float  # as a multiple of J (1 - J) / k, the mean over pairs
    trials: float | None  # that a hash of a row needs


def datasets() -> dict[str, Floats]:
    """Rows of two datasets that scikit-learn brings, and generated ones."""
    rng = np.random.default_rng(0)
    return {
        "digits (64 columns, half of them zero)": load_digits().data,
        "breast cancer, standardised (30 columns, signed)": StandardScaler().fit_transform(load_breast_cancer().data),
        "generated, lognormal (1000 columns)": rng.lognormal(size=(400, 1000)) * np.exp(rng.normal(0, 0.3, (400, 1))),
    }


def errors(method: str, X: Floats, p: float, seeds: int) -> tuple[Floats, Floats]:
    """Errors of the estimates, (seeds, pairs), and the exact kernels of the pairs."""
    rows = X[np.random.default_rng(1).choice(len(X), ROWS, replace=False)]
    pairs = np.triu_indices(ROWS, 1)
    J = pgmm_kernel(rows, p=p)[pairs]
    found = []
    for seed in range(seeds):
        codes = GCWSHasher(K, p=p, bits=BITS, method=method, random_state=seed).fit(X).transform(rows)
        found.append(estimate_similarity(codes, codes, bits=BITS)[pairs] - J)
    return np.array(found), J


def measure(X: Floats, p: float, seeds: int, repetitions: int) -> dict[str, Result]:
    """All methods on the same rows."""
    hashers = {method: GCWSHasher(K, p=p, method=method, random_state=0).fit(X) for method in METHODS}
    calls = {method: partial(hasher.transform, X) for method, hasher in hashers.items()}
    times = medians(calls, repetitions)
    results = {}
    for method in METHODS:
        error, J = errors(method, X, p, seeds)
        spread = (J > 0.005) & (J < 0.995)  # elsewhere hardly anything varies
        results[method] = Result(
            1e6 * times[method] / len(X),
            times[method] / times["gcws"],
            float(np.sqrt(np.mean(error.mean(axis=0) ** 2))),
            float(np.mean(error.var(axis=0, ddof=1)[spread] / (J * (1 - J) / K)[spread])) if spread.any() else np.nan,
            getattr(hashers[method], "expected_trials_", None),
        )
    return results


def table(results: dict[float, dict[str, Result]]) -> Iterator[str]:
    """Markdown: a line for each power and method."""
    yield "| p | method | µs per row | time | bias | variance | trials |"
    yield "| --: | :-- | --: | --: | --: | --: | --: |"
    for p, by_method in results.items():
        for method, result in by_method.items():
            trials = "" if result.trials is None else f"{result.trials:.3g}"
            variance = "" if np.isnan(result.variance) else f"{result.variance:.2f}"
            time = f"{result.microseconds:.1f} | {result.time:.2f}"
            yield f"| {p:g} | {method} | {time} | {result.bias:.4f} | {variance} | {trials} |"


def draw(results: dict[str, dict[float, dict[str, Result]]], path: Path) -> None:
    """Bias and time against p, a column for each dataset."""
    figure = Figure(figsize=(10.5, 6), layout="constrained")
    axes: Any = figure.subplots(2, len(results), sharex=True, sharey="row", squeeze=False)
    for column, (name, by_power) in enumerate(results.items()):
        for method in METHODS:
            for row, what in enumerate(("bias", "time")):
                values = [getattr(by_method[method], what) for by_method in by_power.values()]
                axes[row, column].loglog(list(by_power), values, STYLES[method], color="black", label=method)
                axes[row, column].grid(alpha=0.3)
        axes[0, column].set_title(name, fontsize=9)
        axes[1, column].set_xlabel("p")
        axes[1, column].set_xticks(POWERS, [f"{p:g}" for p in POWERS])
        axes[1, column].minorticks_off()
    axes[0, 0].set_ylabel("bias of the estimate")
    axes[1, 0].set_ylabel("time, as a multiple of gcws")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "method='rejection' needs")  # the table shows it
    results: dict[str, dict[float, dict[str, Result]]] = {}
    for name, X in datasets().items():
        results[name] = {}
        for p in POWERS:
            print(f"{name}, p = {p:g}", file=sys.stderr, flush=True)
            results[name][p] = measure(X, p, given.seeds, given.repetitions)
    lines = [f"{machine()}.", f"{listed(versions('gcwsnet', 'numpy', 'scikit-learn'))}.", ""]
    lines += [
        f"k = {K}, {BITS} bits, {given.seeds} seeds, all pairs of {ROWS} rows, medians of {given.repetitions}.",
        "",
    ]
    for name, by_power in results.items():
        lines += [f"### {name[0].upper()}{name[1:]}", "", *table(by_power), ""]
    text = "\n".join(lines)
    if not given.write_docs:
        print(text)
        return
    write_section("samplers.md", "samplers.py", text)
    draw(results, PICTURE)


if __name__ == "__main__":
    main()
