"""The history of training: one record after each part of an epoch."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Sequence
from typing import Any

Record = dict[str, float]
History = dict[str, list[float]]


def check_records(records: Any) -> list[float]:
    """Return fractions of an epoch, ascending and ending with 1, from their number or from fractions."""
    if isinstance(records, numbers.Integral) and not isinstance(records, bool) and int(records) >= 1:
        n = int(records)
        return [i / n for i in range(1, n + 1)]
    if isinstance(records, Sequence) and not isinstance(records, str):
        fractions = sorted({float(fraction) for fraction in records} | {1.0})
        if fractions[0] > 0 and fractions[-1] <= 1:
            return fractions
    raise ValueError(
        f"records must be a positive integer or fractions of an epoch above 0 and up to 1, got records={records!r}"
    )


class Progressive:
    """Sums of loss and success of rows before they are learned, since the last record."""

    def __init__(self) -> None:
        self.rows = 0
        self._loss = self._success = 0.0

    def add(self, n: int, loss: float, success: float) -> None:
        """Count a batch: its rows, and the sums of their losses and successes."""
        self.rows += n
        self._loss += loss
        self._success += success

    def means(self) -> tuple[float, float]:
        """Return the mean loss and the mean success, and start again from zero."""
        n = max(self.rows, 1)
        means = self._loss / n, self._success / n
        self.rows, self._loss, self._success = 0, 0.0, 0.0
        return means


class Clock:
    """A clock of the seconds of training, which continues from those of an earlier history."""

    def __init__(self, history: History) -> None:
        earlier = history["seconds"][-1] if history.get("seconds") else 0.0
        self._start = time.perf_counter() - earlier

    def seconds(self) -> float:
        """Return the seconds of training, all calls together."""
        return time.perf_counter() - self._start


def append(history: History, record: Record) -> None:
    """Add a record to lists of equal length; values that it lacks, or that earlier records lack, are NaN."""
    length = len(next(iter(history.values()), []))
    for name in record:
        history.setdefault(name, [math.nan] * length)
    for name, values in history.items():
        values.append(record.get(name, math.nan))
