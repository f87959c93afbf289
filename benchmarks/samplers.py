"""Time, bias and variance of each sampler, against the exact kernel.

Every method estimates the pGMM kernel of all pairs of some rows, with many seeds. Times are those of whole calls on one
thread, in turn within one run, as multiples of the time of "gcws".
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import medians
from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel

METHODS = ("gcws", "rejection", "binwise", "extremal")
POWERS = (0.5, 1, 2, 5, 20, 80)
K, BITS, ROWS = 256, 16, 40
STYLES = {"gcws": "-o", "rejection": "--s", "binwise": "-.^", "extremal": ":D"}
PICTURE = "images/samplers.png"
Floats = NDArray[np.float64]


class SamplerResult(NamedTuple):
    """Time and errors of a method on a dataset at a power."""

    microseconds: float  # for a row
    time: float  # as a multiple of that of gcws
    bias: float  # root mean square over pairs of the mean error
    variance: float  # as a multiple of J (1 - J) / k, the mean over pairs
    trials: float | None  # that a hash of a row needs


def datasets() -> dict[str, Floats]:
    """Return rows of two datasets that come with scikit-learn, and generated ones."""
    rng = np.random.default_rng(0)
    return {
        "digits (64 columns, half of them zero)": load_digits().data,
        "breast cancer, standardised (30 columns, signed)": StandardScaler().fit_transform(load_breast_cancer().data),
        "generated, lognormal (1000 columns)": rng.lognormal(size=(400, 1000)) * np.exp(rng.normal(0, 0.3, (400, 1))),
    }


def errors(method: str, X: Floats, p: float, seeds: int) -> tuple[Floats, Floats]:
    """Return the errors of the estimates, of shape (seeds, pairs), and the exact kernels of the pairs."""
    rows = X[np.random.default_rng(1).choice(len(X), ROWS, replace=False)]
    pairs = np.triu_indices(ROWS, 1)
    J = pgmm_kernel(rows, p=p)[pairs]
    found = []
    for seed in range(seeds):
        codes = GCWSHasher(K, p=p, bits=BITS, method=method, random_state=seed).fit(X).transform(rows)
        found.append(estimate_similarity(codes, codes, bits=BITS)[pairs] - J)
    return np.array(found), J


def measure(X: Floats, p: float, seeds: int, repetitions: int) -> dict[str, SamplerResult]:
    """Return the results of all methods on the same rows."""
    hashers = {method: GCWSHasher(K, p=p, method=method, random_state=0).fit(X) for method in METHODS}
    calls = {method: partial(hasher.transform, X) for method, hasher in hashers.items()}
    times = medians(calls, repetitions)
    results = {}
    for method in METHODS:
        error, J = errors(method, X, p, seeds)
        spread = (J > 0.005) & (J < 0.995)  # elsewhere hardly anything varies
        results[method] = SamplerResult(
            1e6 * times[method] / len(X),
            times[method] / times["gcws"],
            float(np.sqrt(np.mean(error.mean(axis=0) ** 2))),
            float(np.mean(error.var(axis=0, ddof=1)[spread] / (J * (1 - J) / K)[spread])) if spread.any() else np.nan,
            getattr(hashers[method], "expected_trials_", None),
        )
    return results


def results_table(results: dict[float, dict[str, SamplerResult]]) -> str:
    """Return a table with a line for each power and method."""
    rows = []
    for p, by_method in results.items():
        for method, result in by_method.items():
            rows.append([f"{p:g}", method, f"{result.microseconds:.1f}", f"{result.time:.2f}", f"{result.bias:.4f}"])
            rows[-1] += ["" if np.isnan(result.variance) else f"{result.variance:.2f}"]
            rows[-1] += ["" if result.trials is None else f"{result.trials:.3g}"]
    return markdown_table(["p", "method", "µs per row", "time", "bias", "variance", "trials"], rows, align="rl")


def draw(results: dict[str, dict[float, dict[str, SamplerResult]]], path: Path) -> None:
    """Draw bias and time against p, with a column for each dataset."""
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
    figure.savefig(path, dpi=100)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--seeds", 100, "seeds of the hashes")
    add_count(parser, "--repetitions", 5, "timed calls of each kind")


def run(options: argparse.Namespace) -> Section:
    """Measure all methods on all datasets."""
    results: dict[str, dict[float, dict[str, SamplerResult]]] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "method='rejection' needs")  # the table shows it
        for name, X in datasets().items():
            results[name] = {}
            for p in POWERS:
                log(f"{name}, p = {p:g}")
                results[name][p] = measure(X, p, options.seeds, options.repetitions)
    lines = [*environment("scikit-learn"), ""]
    lines += [
        f"k = {K}, {BITS} bits, {options.seeds} seeds, all pairs of {ROWS} rows, medians of {options.repetitions}."
    ]
    for name, by_power in results.items():
        lines += ["", f"### {name[0].upper()}{name[1:]}", "", results_table(by_power)]
    return Section("\n".join(lines), {PICTURE: partial(draw, results)})
