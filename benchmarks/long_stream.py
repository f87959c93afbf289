"""A long stream: one model and millions of calls of `partial_fit` with one row each.

The rows are those of ``stream-latency``: 20 columns in three clusters of each of ten classes. After each tenth of the
calls there is a line with the processor time of its calls, the memory of the process, the size of the model's file with
all that it needs to go on, and the records of its history. In a stream that goes on for years none of them may grow.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stream_latency import CLASSES, ROWS_AT_ONCE, rows_of
from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import peak_bytes
from gcwsnet import GCWSNetClassifier

PARTS = 10
HEAD = ["calls", "median", "99%", "99.9%", "worst", "memory now, MB", "at most", "model file, MB", "records"]
HEAD += ["accuracy, %"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--calls", 5_000_000, "the calls with one row each")
    add_count(parser, "--hashes", 64, "k, the hashes of the model")


def megabytes_now() -> float:
    """Return the memory of this process now; NaN where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def model_bytes(model: Any) -> int:
    """Return the size of the model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.stat().st_size


def learned(model: Any, first: int, times: Any) -> None:
    """Learn rows from number `first` on, one by one, and write down the microseconds of each call."""
    X: Any = None
    y: Any = None
    part, classes = -1, np.arange(CLASSES)
    for number in range(len(times)):
        row = first + number
        if part != row // ROWS_AT_ONCE:
            part = row // ROWS_AT_ONCE
            X, y = rows_of(part)
        here = slice(row % ROWS_AT_ONCE, row % ROWS_AT_ONCE + 1)
        start = time.process_time_ns()
        model.partial_fit(X[here], y[here], classes=classes)
        times[number] = (time.process_time_ns() - start) / 1000


def run(options: argparse.Namespace) -> Section:
    """Learn row by row, and look at the model after each tenth."""
    model = GCWSNetClassifier(options.hashes, random_state=0)
    n = max(1, options.calls // PARTS)
    times = np.zeros(n, dtype=np.float32)
    lines = []
    for part in range(PARTS):
        learned(model, part * n, times)
        quantiles = (
            *np.quantile(times[1 if part == 0 else 0 :], [0.5, 0.99, 0.999]),
            times[1 if part == 0 else 0 :].max(),
        )
        now = megabytes_now()
        peak, size = peak_bytes() / 2**20, model_bytes(model) / 2**20
        history = model.history_
        lines.append(
            [
                f"{(part + 1) * n:,}",
                *(f"{one:.0f}" for one in quantiles),
                *(f"{one:.0f}" for one in (now, peak)),
                f"{size:.2f}",
                str(len(history["rows"])),
                f"{100 * history['predicted_accuracy'][-1]:.1f}",
            ]
        )
        log(", ".join(f"{name} {cell}" for name, cell in zip(HEAD, lines[-1], strict=True)))
    what = (
        f"k = {options.hashes}, {PARTS * n:,} calls with one row each, in microseconds of the processor; the first "
        "call is left out. The accuracy is that of rows before they were learned, since the last record."
    )
    return Section("\n".join([*environment(), what, "", markdown_table(HEAD, lines)]))
