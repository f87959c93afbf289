"""Seconds of a whole fit on Covtype, next to LightGBM.

GCWSNet scales, hashes and learns once from half of Covtype: k = 64, b = 8, 200 hidden units, batches of 128, all else
by default. LightGBM has its defaults, and the same rows and threads. Both take turns, and medians count. Accuracy is
that on the other half. The folder that GCWSNET_DATA names must hold Covtype.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from lightgbm import LGBMClassifier

from benchmarks.subject import Section, add_count, environment, markdown_table
from benchmarks.timing import medians, n_cores
from gcwsnet import GCWSNetClassifier, datasets


def models(n_threads: int) -> dict[str, Any]:
    """Return the models that are timed."""
    settings: dict[str, Any] = {"n_hashes": 64, "batch_size": 128, "random_state": 0, "n_jobs": n_threads}
    return {
        "GCWSNetClassifier": GCWSNetClassifier(**settings),
        "GCWSNetClassifier, p = 1": GCWSNetClassifier(p=1.0, **settings),
        "LightGBM": LGBMClassifier(n_jobs=n_threads, random_state=0, verbose=-1),
    }


def fits_table(data: Any, n_threads: int, repetitions: int) -> str:
    """Return a table with a line for each model."""
    made = models(n_threads)
    times = medians({name: partial(model.fit, data.X_train, data.y_train) for name, model in made.items()}, repetitions)
    rows = []
    for name, model in made.items():
        accuracy = 100 * model.score(data.X_test, data.y_test)
        rows.append([name, f"{times[name]:.1f}", f"{times[name] / times['LightGBM']:.2f}", f"{accuracy:.1f}"])
    threads = f"{n_threads} thread{'s' * (n_threads > 1)}"
    return markdown_table([threads, "seconds", "as a multiple of LightGBM's", "accuracy, %"], rows)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--repetitions", 3, "timed calls of each kind")


def run(options: argparse.Namespace) -> Section:
    """Time the fits on one thread and on two."""
    try:
        data = datasets.load("covtype", download=False)
    except FileNotFoundError as error:
        sys.exit(str(error))
    lines = [*environment("torch", "lightgbm"), f"Medians of {options.repetitions} fits."]
    for n_threads in sorted({1, min(2, n_cores())}):
        lines += ["", fits_table(data, n_threads, options.repetitions)]
    return Section("\n".join(lines))
