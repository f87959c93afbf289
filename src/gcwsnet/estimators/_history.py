"""What happened while a net learned: one record at each checkpoint."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Sequence
from typing import Any

Record = dict[str, float]
History = dict[str, list[float]]


def check_checkpoints(checkpoints: Any) -> list[float]:
    """Fractions of an epoch, ascending and ending with 1, from a number of them or from fractions."""
    if isinstance(checkpoints, numbers.Integral) and not isinstance(checkpoints, bool) and int(checkpoints) >= 1:
        n = int(checkpoints)
        return [i / n for i in range(1, n + 1)]
    if isinstance(checkpoints, Sequence) and not isinstance(checkpoints, str):
        fractions = sorted({float(fraction) for fraction in checkpoints} | {1.0})
        if fractions[0] > 0 and fractions[-1] <= 1:
            return fractions
    raise ValueError(
        f"checkpoints must be a positive integer or fractions of an epoch above 0 and up to 1, "
        f"got checkpoints={checkpoints!r}"
    )


class Progressive:
    """Loss and success of rows before they are learned, since the last record."""

    def __init__(self) -> None:
        self.rows = 0
        self._loss = self._success = 0.0

    def add(self, n: int, loss: float, success: float) -> None:
        """Count a batch: its rows, and the sums of their losses and successes."""
        self.rows += n
        self._loss += loss
        self._success += success

    def means(self) -> tuple[float, float]:
        """Mean loss and mean success; both start anew."""
        n = max(self.rows, 1)
        means = self._loss / n, self._success / n
        self.rows, self._loss, self._success = 0, 0.0, 0.0
        return means


class Clock:
    """Seconds since it was made, after those of earlier training."""

    def __init__(self, history: History) -> None:
        earlier = history["seconds"][-1] if history.get("seconds") else 0.0
        self._start = time.perf_counter() - earlier

    def seconds(self) -> float:
        """Seconds of training, all calls together."""
        return time.perf_counter() - self._start


def append(history: History, record: Record) -> None:
    """Add a record to lists of equal length; what it lacks, or what was not there before, is NaN."""
    length = len(next(iter(history.values()), []))
    for name in record:
        history.setdefault(name, [math.nan] * length)
    for name, values in history.items():
        values.append(record.get(name, math.nan))
