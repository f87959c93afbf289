"""Axes of charts: from numbers to places, and numbers to write beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Places from `start` to `end` for numbers from `least` to `most`, by their logarithms if `log`.

    `base` is 2 for numbers that are all powers of two.
    """

    least: float
    most: float
    start: float
    end: float
    log: bool
    base: int = 10

    def place(self, value: float) -> float:
        """Where a number is."""
        least, most, value = (math.log(v) if self.log else v for v in (self.least, self.most, value))
        return self.start + (self.end - self.start) * (value - least) / (most - least)

    def ticks(self, count: int = 5) -> list[float]:
        """Round numbers in the range, some `count` of them."""
        if not self.log:
            return _ticks(self.least, self.most, count)
        powers = _powers(self.least, self.most, self.base)
        return powers if len(powers) > 1 else _ticks(self.least, self.most, count)


def scale_of(values: Iterable[float], start: float, end: float, *, log: bool, margin: float = 0.04) -> Scale:
    """A scale on which all numbers have a place, with some room at both ends."""
    numbers = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not numbers:
        numbers = [1.0]
    least, most = min(numbers), max(numbers)
    if log:
        factor = max((most / least) ** margin, 1.05)
        base = 2 if all(math.frexp(number)[0] == 0.5 for number in numbers) else 10
        return Scale(least / factor, most * factor, start, end, True, base)
    room = (most - least) * margin or max(abs(most) * 0.1, 1.0)
    return Scale(least - room, most + room, start, end, False)


def _ticks(least: float, most: float, count: int) -> list[float]:
    raw = (most - least) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= 0.8 * raw)
    first, last = math.ceil(least / step - 1e-9), math.floor(most / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _powers(least: float, most: float, base: int) -> list[float]:
    """Powers of the base in a range, thinned out to at most seven."""
    first, last = math.ceil(math.log(least, base) - 1e-9), math.floor(math.log(most, base) + 1e-9)
    step = max(-(-(last - first + 1) // 7), 1)
    return [float(base) ** power for power in range(first, last + 1, step)]


def number(value: float) -> str:
    """A number as it stands beside an axis.

    Examples
    --------
    >>> from reproduction._scale import number
    >>> number(0.1), number(40.0), number(8192.0), number(1e-5)
    ('0.1', '40', '8192', '1e-05')
    """
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e5 else f"{value:.4g}"
