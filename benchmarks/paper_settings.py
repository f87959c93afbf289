"""Accuracy after one pass with the paper's settings: `GCWSNET_DATA=folder python benchmarks/paper_settings.py`.

GCWSNet and the same net on the original data (scikit-learn's `MLPClassifier`: as many hidden units, ReLU, Adam with the
same rate and batches) see each training row once. All numbers are means over hash seeds, on the test rows. Datasets
that are not there are left out with a notice. `--write-docs` puts the tables into docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from gcwsnet import GCWSNetClassifier, datasets
from gcwsnet.bench._measure import listed, machine, one_thread, versions
from gcwsnet.bench._page import write_section
from gcwsnet.estimators import learn_scaling

H = 200
RATE = 1e-3


class Case(NamedTuple):
    """A dataset and how it is learned."""

    name: str
    shown: str
    p: float
    scale: str | None
    k: int
    batch: int
    reduction: int | None = None

    def model(self, seed: int, **settings: Any) -> GCWSNetClassifier:
        """The net of the paper: the low 8 bits of i*, H = 200, Adam with a constant rate of 0.001."""
        paper: dict[str, Any] = {
            "t_bits": 0,
            "epochs": 1,
            "encoding": "lowbits",
            "learning_rate": RATE,
            "schedule": "constant",
            "betas": (0.9, 0.999),
        }
        return GCWSNetClassifier(
            self.k,
            bits=8,
            p=self.p,
            scale=self.scale,
            hidden=(H,),
            reduction=self.reduction,
            batch_size=self.batch,
            random_state=seed,
            **paper | settings,
        )


CASES = [
    Case("covtype", "Covtype", 1, "numeric", 64, 128),
    Case("covtype", "Covtype", 1, "numeric", 256, 128),
    Case("dailysports", "DailySports", 1, None, 256, 32),
    Case("pendigits", "Pendigits", 2, None, 256, 32),
    Case("m-noise1", "M-Noise1, rebuilt", 80, None, 512, 32),
    Case("m-noise1", "M-Noise1, rebuilt", 80, None, 512, 32, reduction=16),
]


def _accuracy(model: Any, data: Any) -> float:
    return float(100 * model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test))


def _accuracy_on_original_data(case: Case, data: Any, seed: int) -> float:
    """The same net on the rows themselves, scaled alike."""
    net = MLPClassifier((H,), batch_size=case.batch, learning_rate_init=RATE, alpha=0.0, max_iter=1, random_state=seed)
    if case.scale is not None:
        scaling = learn_scaling(data.X_train, case.scale)
        data = {name: scaling.transform(data[name]) for name in ("X_train", "X_test")} | {
            name: data[name] for name in ("y_train", "y_test")
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one pass is what is asked for
        net.fit(data["X_train"], data["y_train"])
    return float(100 * net.score(data["X_test"], data["y_test"]))


KINDS: dict[str, Callable[[Case, Any, int], float]] = {
    "lazy Adam": lambda case, data, seed: _accuracy(case.model(seed), data),
    "dense Adam": lambda case, data, seed: _accuracy(case.model(seed, optimizer="adam"), data),
    "mixed codes": lambda case, data, seed: _accuracy(case.model(seed, t_bits="all", encoding="mixed"), data),
    "original data": _accuracy_on_original_data,
}


def classified(cases: list[Case], seeds: int, kinds: list[str]) -> Iterator[str]:
    """Markdown: a line for each case, mean and range over seeds."""
    yield f"| rows | p | columns | k | m | batch | {' | '.join(kinds)} |"
    yield "| :-- | --: | :-- | --: | --: | --: |" + " --: |" * len(kinds)
    for case in cases:
        try:
            data = datasets.load(case.name, download=False)
        except FileNotFoundError:
            print(f"{case.shown} is left out: there is no file of it", file=sys.stderr)
            continue
        cells = []
        for kind in kinds:
            start = time.perf_counter()
            found = [KINDS[kind](case, data, seed) for seed in range(seeds)]
            cells.append(f"{np.mean(found):.1f} ({min(found):.1f} to {max(found):.1f})")
            print(case, kind, cells[-1], f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        columns = "numeric ones standardised" if case.scale else "as they are"
        yield (
            f"| {case.shown} | {case.p:g} | {columns} | {case.k} | {case.reduction or 1} | {case.batch} | "
            f"{' | '.join(cells)} |"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="datasets, separated by commas")
    parser.add_argument("--without", default="", help=f"of {', '.join(KINDS)}, separated by commas")
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    cases = [case for case in CASES if given.only is None or case.name in given.only.split(",")]
    kinds = [kind for kind in KINDS if kind not in given.without.split(",")]
    with one_thread():
        lines = [f"{machine()}.", f"{listed(versions('gcwsnet', 'numpy', 'scikit-learn', 'torch'))}.", ""]
        lines += [
            f"Accuracy in percent on the test rows after one pass, means of {given.seeds} seeds (least to most):",
            "",
        ]
        lines += [*classified(cases, given.seeds, kinds), ""]
    text = "\n".join(lines)
    if given.write_docs:
        write_section("accuracy.md", "paper_settings.py", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
