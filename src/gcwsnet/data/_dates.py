"""Dates and durations as numbers: days since 1970-01-01 in UTC, and days, both to the microsecond."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import numpy as np
from numpy.typing import NDArray

MICROSECONDS_OF_A_DAY = 86_400_000_000
EPOCH = date(1970, 1, 1).toordinal()
TIME = r"(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)(?:\.(?P<f>\d{1,9}))?)?"
MICROSECONDS_OF = {"s": 1_000_000, "ms": 1000, "us": 1}
DATE = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d)(?:[T ]{TIME}(?: ?(?P<zone>Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d))?)?", re.ASCII)
DURATION = re.compile(rf"(-?\d{{1,7}}) days?(?: (?P<sign>[+-]?){TIME})?", re.ASCII)


def parse_date(text: str) -> int | None:
    """Return the microseconds from 1970-01-01 in UTC to a date or time in ISO 8601, None for any other text.

    A time without a zone is in UTC. Digits beyond the microsecond are dropped.

    Examples
    --------
    >>> parse_date("1970-01-02"), parse_date("1970-01-01T01:00:00.5+01:00"), parse_date("2 May 1970")
    (86400000000, 500000, None)
    """
    found = DATE.fullmatch(text.strip())
    if found is None:
        return None
    try:
        days = date(*(int(part) for part in found.groups()[:3])).toordinal() - EPOCH
    except ValueError:  # the 30th of February
        return None
    zone = found["zone"]
    offset = 0
    if zone not in (None, "Z"):
        offset = int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[-2:])) * 60_000_000
    return days * MICROSECONDS_OF_A_DAY + _time(found) - offset


def parse_duration(text: str) -> int | None:
    """Return the microseconds of a duration as pandas writes it, None for any other text.

    Examples
    --------
    >>> parse_duration("1 days 00:00:01"), parse_duration("-1 days +23:59:59.5"), parse_duration("1 hour")
    (86401000000, -500000, None)
    """
    found = DURATION.fullmatch(text.strip())
    if found is None:
        return None
    return int(found[1]) * MICROSECONDS_OF_A_DAY + (-1 if found["sign"] == "-" else 1) * _time(found)


def _time(found: re.Match[str]) -> int:
    """Return the microseconds of the time of day of a match, 0 where it has none."""
    hours, minutes, seconds = (int(found[name] or 0) for name in "hms")
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int((found["f"] or "").ljust(6, "0")[:6])


PARSERS: dict[str, tuple[Callable[[str], int | None], str]] = {
    "date": (parse_date, "a date such as 2024-05-31 or 2024-05-31 18:30:00"),
    "duration": (parse_duration, "a duration such as 1 days 02:30:00"),
}


def to_days(microseconds: NDArray[np.int64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return days, with NaN where the number is missing."""
    return np.where(missing, np.nan, microseconds / MICROSECONDS_OF_A_DAY)


def days_of(numbers: NDArray[np.int64], unit: str, missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the days of numbers of seconds, milliseconds, microseconds or nanoseconds, with NaN for missing ones.

    Examples
    --------
    >>> days_of(np.array([86400, 2**62, 0]), "s", np.array([False, False, True])).tolist()
    [1.0, 53375995583650.32, nan]
    """
    numbers = np.where(missing, 0, numbers)
    if unit == "ns":
        return to_days(numbers // 1000, missing)
    factor = MICROSECONDS_OF[unit]
    if len(numbers) and max(-int(numbers.min()), int(numbers.max())) > np.iinfo(np.int64).max // factor:
        return np.where(missing, np.nan, numbers / (MICROSECONDS_OF_A_DAY // factor))
    return to_days(numbers * factor, missing)
