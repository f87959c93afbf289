"""Time of single rows of a stream: `partial_fit` and `predict_proba` with one row at a time.

Rows of 20 columns in three clusters of each of ten classes are generated, and one model learns them one by one with
default settings. The first call, which makes the net, is counted apart. Beside it, in the same run, calls of
scikit-learn's `SGDClassifier.partial_fit` on the same rows are the unit of the ratios. The time is that of the
processor, which does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from gcwsnet import GCWSNetClassifier

HASHES = (64, 256)
COLUMNS, CLASSES = 20, 10
ROWS_AT_ONCE = 100_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 20_000, "the rows that are learned one by one")


def rows_of(part: int) -> tuple[Any, Any]:
    """Return rows and their classes."""
    rng = np.random.default_rng([1, part])
    centers = np.random.default_rng(0).normal(size=(3 * CLASSES, COLUMNS))
    cluster = rng.integers(0, 3 * CLASSES, ROWS_AT_ONCE)
    return centers[cluster] + 0.8 * rng.normal(size=(ROWS_AT_ONCE, COLUMNS)), cluster % CLASSES


def microseconds(model: Any, n: int, every: int) -> dict[str, Any]:
    """Return the times of the calls, and how memory and records grew."""
    learned, predicted = np.empty(n), []
    memory = []
    for first in range(0, n, ROWS_AT_ONCE):
        X, y = rows_of(first // ROWS_AT_ONCE)
        for row in range(first, min(first + ROWS_AT_ONCE, n)):
            here = slice(row - first, row - first + 1)
            if row and row % every == 0:
                start = time.process_time()
                model.predict_proba(X[here])
                predicted.append(time.process_time() - start)
                memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            start = time.process_time()
            model.partial_fit(X[here], y[here], classes=np.arange(CLASSES))
            learned[row] = time.process_time() - start
    return {"learned": 1e6 * learned, "predicted": 1e6 * np.array(predicted), "memory": memory}


def run(options: argparse.Namespace) -> Section:
    """Learn rows one by one with each number of hashes."""
    beside = microseconds(SGDClassifier(loss="log_loss", random_state=0), min(options.rows, 5000), 10)
    unit = float(np.median(beside["learned"]))
    lines = []
    for n_hashes in HASHES:
        model = GCWSNetClassifier(n_hashes, random_state=0)
        found = microseconds(model, options.rows, 10)
        times, last = found["learned"][1:], found["learned"][-options.rows // 4 :]
        log(f"k = {n_hashes}: first call {found['learned'][0]:.0f} us, worst other {times.max():.0f} us")
        lines.append(
            [
                str(n_hashes),
                *(f"{np.median(some):.0f}" for some in (times, last, found["predicted"])),
                *(f"{np.quantile(times, share):.0f}" for share in (0.99, 0.999, 1.0)),
                f"{np.median(last) / unit:.1f}",
                f"{found['memory'][len(found['memory']) // 2]:.0f}, {found['memory'][-1]:.0f}",
                str(len(model.history_["rows"])),
            ]
        )
    head = ["k", "median", "of the last quarter", "predict_proba", "99%", "99.9%", "worst", "SGD's"]
    head += ["MB, half way and at the end", "records"]
    what = (
        f"{options.rows:,} calls with one row each, in microseconds of the processor; the first call is left out. "
        "SGD's: times the median call of SGDClassifier."
    )
    return Section("\n".join([*environment("scikit-learn"), what, "", markdown_table(head, lines)]))
