"""Axes of charts: from numbers to places, and numbers to write beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Places from `start` to `end` for numbers from `least` to `most`, by their logarithms if `log`."""

    least: float
    most: float
    start: float
    end: float
    log: bool

    def place(self, value: float) -> float:
        """Where a number is."""
        least, most, value = (math.log(v) if self.log else v for v in (self.least, self.most, value))
        return self.start + (self.end - self.start) * (value - least) / (most - least)

    def ticks(self, count: int = 5) -> list[float]:
        """Round numbers in the range, some `count` of them."""
        return _log_ticks(self.least, self.most) if self.log else _ticks(self.least, self.most, count)


def scale_of(values: Iterable[float], start: float, end: float, *, log: bool, margin: float = 0.04) -> Scale:
    """A scale on which all numbers have a place, with some room at both ends."""
    numbers = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not numbers:
        numbers = [1.0]
    least, most = min(numbers), max(numbers)
    if log:
        factor = max((most / least) ** margin, 1.05)
        return Scale(least / factor, most * factor, start, end, True)
    room = (most - least) * margin or max(abs(most) * 0.1, 1.0)
    return Scale(least - room, most + room, start, end, False)


def _ticks(least: float, most: float, count: int) -> list[float]:
    raw = (most - least) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= 0.8 * raw)
    first, last = math.ceil(least / step - 1e-9), math.floor(most / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _log_ticks(least: float, most: float) -> list[float]:
    """Powers of ten, or of two where the range is short, thinned out to at most seven."""
    base = 10 if most / least > 2000 else 2
    first, last = math.ceil(math.log(least, base) - 1e-9), math.floor(math.log(most, base) + 1e-9)
    step = -(-(last - first + 1) // 7)
    return [float(base) ** power for power in range(first, last + 1, max(step, 1))]


def number(value: float) -> str:
    """A number as it stands beside an axis.

    Examples
    --------
    >>> from gcwsnet.paper._scale import number
    >>> number(0.1), number(40.0), number(8192.0), number(1e-5)
    ('0.1', '40', '8192', '1e-05')
    """
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e5 else f"{value:.4g}"
