"""Accuracy after one pass with the settings of the paper.

GCWSNet and the same net on the original data (scikit-learn's `MLPClassifier`: as many hidden units, ReLU, Adam with the
same rate and batches) see each training row once. All numbers are means over hash seeds, on the test rows. Datasets are
read from the folder that GCWSNET_DATA names, and left out with a notice where they are missing.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table
from benchmarks.timing import one_thread
from gcwsnet import GCWSNetClassifier
from gcwsnet.tables._scaling import fit_scaling
from reproduction import datasets

H = 200
RATE = 1e-3


class Experiment(NamedTuple):
    """A dataset and the settings it is learned with."""

    name: str
    title: str
    p: float
    scale: str | None
    k: int
    batch: int
    reduction: int | None = None

    def model(self, seed: int, **settings: Any) -> GCWSNetClassifier:
        """Return the net of the paper: the low 8 bits of i*, H = 200, Adam with a constant rate of 0.001."""
        paper: dict[str, Any] = {
            "t_bits": 0,
            "relevance": 0.0,
            "search": "off",
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


EXPERIMENTS = [
    Experiment("covtype", "Covtype", 1, "numeric", 64, 128),
    Experiment("covtype", "Covtype", 1, "numeric", 256, 128),
    Experiment("dailysports", "DailySports", 1, None, 256, 32),
    Experiment("pendigits", "Pendigits", 2, None, 256, 32),
    Experiment("m-noise1", "M-Noise1, rebuilt", 80, None, 512, 32),
    Experiment("m-noise1", "M-Noise1, rebuilt", 80, None, 512, 32, reduction=16),
]


def _accuracy(model: Any, data: Any) -> float:
    return float(100 * model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test))


def _accuracy_on_original_data(experiment: Experiment, data: Any, seed: int) -> float:
    """Return the accuracy of the same net on the rows themselves, scaled in the same way."""
    net = MLPClassifier(
        (H,), batch_size=experiment.batch, learning_rate_init=RATE, alpha=0.0, max_iter=1, random_state=seed
    )
    scaling = fit_scaling(data.X_train, experiment.scale)
    if scaling is not None:
        data = {name: scaling.transform(data[name]) for name in ("X_train", "X_test")} | {
            name: data[name] for name in ("y_train", "y_test")
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one pass is intended
        net.fit(data["X_train"], data["y_train"])
    return float(100 * net.score(data["X_test"], data["y_test"]))


KINDS: dict[str, Callable[[Experiment, Any, int], float]] = {
    "lazy Adam": lambda experiment, data, seed: _accuracy(experiment.model(seed), data),
    "dense Adam": lambda experiment, data, seed: _accuracy(experiment.model(seed, optimizer="adam"), data),
    "mixed codes": lambda experiment, data, seed: _accuracy(
        experiment.model(seed, t_bits="all", encoding="mixed"), data
    ),
    "original data": _accuracy_on_original_data,
}


def accuracy_table(experiments: list[Experiment], seeds: int, kinds: list[str]) -> str:
    """Return a table with a line for each experiment: mean and range over seeds."""
    rows = []
    for one in experiments:
        try:
            data = datasets.load(one.name, download=False)
        except FileNotFoundError as error:
            log(f"{one.title} is left out: {error}")
            continue
        scaling = "numeric ones standardised" if one.scale else "as they are"
        rows.append([one.title, f"{one.p:g}", scaling, str(one.k), str(one.reduction or 1), str(one.batch)])
        for kind in kinds:
            start = time.perf_counter()
            found = [KINDS[kind](one, data, seed) for seed in range(seeds)]
            rows[-1].append(f"{np.mean(found):.1f} ({min(found):.1f} to {max(found):.1f})")
            log(one, kind, rows[-1][-1], f"{time.perf_counter() - start:.0f} s")
    return markdown_table(["rows", "p", "columns", "k", "m", "batch", *kinds], rows, align="lrl")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--seeds", 3, "seeds of each run")
    add_names(parser, "--only", dict.fromkeys(one.name for one in EXPERIMENTS), "only these datasets")
    add_names(parser, "--without", KINDS, "leave these out")


def run(options: argparse.Namespace) -> Section:
    """Learn from each dataset in each way."""
    experiments = [one for one in EXPERIMENTS if not options.only or one.name in options.only]
    kinds = [kind for kind in KINDS if kind not in options.without]
    with one_thread():
        table = accuracy_table(experiments, options.seeds, kinds)
    what = f"Accuracy in percent on the test rows after one pass, means of {options.seeds} seeds (least to most):"
    return Section("\n".join([*environment("scikit-learn"), "", what, "", table]))
