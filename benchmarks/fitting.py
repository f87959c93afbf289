"""Seconds of a whole fit with default settings, next to LightGBM.

GCWSNet selects its preprocessing and p, hashes and learns once from half of Covtype: with all defaults, and with k = 64
and batches of 128. LightGBM has its defaults, and the same rows and threads. All take turns, and medians count. The
accuracy is that on the other half. Where ``reproduction.datasets`` does not find Covtype, rows like it are generated.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.subject import Section, add_count, environment
from benchmarks.training import LIGHTGBM, covtype_or_generated, fits_table, lightgbm_classifier
from gcwsnet import GCWSNetClassifier


def models(n_threads: int) -> dict[str, Any]:
    """Return the models that are timed."""
    settings: dict[str, Any] = {"random_state": 0, "n_jobs": n_threads}
    return {
        "GCWSNetClassifier": GCWSNetClassifier(**settings),
        "GCWSNetClassifier, k = 64, batches of 128": GCWSNetClassifier(64, batch_size=128, **settings),
        LIGHTGBM: lightgbm_classifier(n_threads),
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 1_000_000, "the most rows to learn from")
    add_count(parser, "--repetitions", 3, "timed calls of each kind")


def run(options: argparse.Namespace) -> Section:
    """Time the fits on one thread and on two."""
    rows = covtype_or_generated().first(options.rows)
    table, _ = fits_table(rows, models, options.repetitions)
    what = f"{len(rows.y_train):,} rows, {rows.title}; medians of {options.repetitions} fits."
    return Section("\n".join([*environment("lightgbm"), what, "", table]))
