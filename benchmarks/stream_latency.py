"""Time of single rows of a stream: `predict` and then `partial_fit` with one row at a time.

Rows of 20 columns in three clusters of each of ten classes are generated, and one model predicts and learns them one by
one with default settings. The first rows, until the warm-up buffer is full, are counted apart. The time is that of the
clock: other programs that run make the slow calls slower.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from gcwsnet import GCWSNetClassifier
from gcwsnet.estimators._stream import WARM_UP_ROWS

HASHES = (64, 256)
COLUMNS, CLASSES = 20, 10
ROWS_AT_ONCE = 100_000
HEAD = ["k", "predict", "learn", "both, 10%", "both, median", "both, 99%", "both, 99.9%", "both, worst", "slowest call"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 20_000, "the rows after the warm-up")


def rows_of(part: int) -> tuple[Any, Any]:
    """Return rows and their classes."""
    rng = np.random.default_rng([1, part])
    centers = np.random.default_rng(0).normal(size=(3 * CLASSES, COLUMNS))
    cluster = rng.integers(0, 3 * CLASSES, ROWS_AT_ONCE)
    return centers[cluster] + 0.8 * rng.normal(size=(ROWS_AT_ONCE, COLUMNS)), cluster % CLASSES


def microseconds(model: Any, n: int) -> Any:
    """Return the times of predicting and of learning each row, of shape (n, 2)."""
    times = np.zeros((n, 2))
    for first in range(0, n, ROWS_AT_ONCE):
        X, y = rows_of(first // ROWS_AT_ONCE)
        for row in range(first, min(first + ROWS_AT_ONCE, n)):
            here = slice(row - first, row - first + 1)
            start = time.perf_counter()
            if row:
                model.predict(X[here])
            predicted = time.perf_counter()
            model.partial_fit(X[here], y[here], classes=np.arange(CLASSES))
            times[row] = predicted - start, time.perf_counter() - predicted
    return 1e6 * times


def run(options: argparse.Namespace) -> Section:
    """Predict and learn rows one by one with each number of hashes."""
    lines = []
    for n_hashes in HASHES:
        times = microseconds(GCWSNetClassifier(n_hashes, random_state=0), options.rows + WARM_UP_ROWS)
        warm_up, times = times[:WARM_UP_ROWS], times[WARM_UP_ROWS:]
        both = times.sum(axis=1)
        found = [*np.median(times, axis=0), *np.quantile(both, [0.1, 0.5, 0.99, 0.999, 1.0]), warm_up.max()]
        lines.append([str(n_hashes), *(f"{one:.0f}" for one in found)])
        log(", ".join(f"{name} {cell}" for name, cell in zip(HEAD, lines[-1], strict=True)))
    what = (
        f"{options.rows:,} rows, each predicted and then learned, in microseconds. The last column is of the warm-up."
    )
    return Section("\n".join([*environment(), what, "", markdown_table(HEAD, lines)]))
