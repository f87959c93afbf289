"""Accuracy after one pass with batches of 32, 64 and 128 rows, by the number of rows.

The rows are the first ones of half of Covtype and of MNIST, with p = 1 and the preprocessing given. Where
`reproduction.datasets.load` does not find a dataset, it is left out.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.subject import Section, add_count, environment, markdown_table
from gcwsnet import GCWSNetClassifier
from reproduction import datasets

SIZES = (32, 64, 128)
SCALES: dict[str, str | None] = {"covtype": "numeric", "mnist": None}
ROWS = (10_000, 30_000, 60_000, 100_000, 290_506)
TEST_ROWS = 20_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", ROWS[-1], "the most rows to learn from")
    add_count(parser, "--seeds", 2, "fits of each kind, with other seeds")


def accuracy(data: Any, n_rows: int, batch_size: int, scale: str | None, seeds: int) -> float:
    """Return the mean accuracy of fits to the first rows, in percent."""
    found = []
    for seed in range(seeds):
        model = GCWSNetClassifier(p=1.0, scale=scale, batch_size=batch_size, random_state=seed, n_jobs=-1)
        model.fit(data.X_train[:n_rows], data.y_train[:n_rows])
        found.append(model.score(data.X_test[:TEST_ROWS], data.y_test[:TEST_ROWS]))
    return 100 * float(np.mean(found))


def run(options: argparse.Namespace) -> Section:
    """Fit to more and more rows, with each size of batches."""
    lines, left_out = [], []
    for name, scale in SCALES.items():
        try:
            data = datasets.load(name)
        except FileNotFoundError:
            left_out.append(name)
            continue
        for n_rows in (n for n in ROWS if n <= min(len(data.y_train), options.rows)):
            found = (accuracy(data, n_rows, size, scale, options.seeds) for size in SIZES)
            lines.append([name, f"{n_rows:,}", *(f"{one:.1f}" for one in found)])
    text = markdown_table(["", "rows", *(f"batches of {size}, %" for size in SIZES)], lines)
    what = f"Means of {options.seeds} seeds on at most {TEST_ROWS:,} test rows."
    return Section("\n".join([*environment(), what, *(f"Left out: {one}." for one in left_out), "", text]))
