"""Pendigits as UCI publishes it: pendigits.tra and pendigits.tes, lines of 16 numbers and the digit."""

from __future__ import annotations

from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._layouts import labels_of, read_table

DESCR = (
    "10 digits written with a pen, UCI Pen-Based Recognition of Handwritten Digits: 8 points of the pen, each with x "
    "and y from 0 to 100; the official split."
)


def read_pendigits(tra: Source, tes: Source) -> dict[str, Array]:
    """Rows and digits of the two files, tra for training and tes for testing."""
    found: dict[str, Array] = {}
    for part, source in (("train", tra), ("test", tes)):
        table = read_table(source, 17, delimiter=",")
        found[f"X_{part}"], found[f"y_{part}"] = table[:, :16], labels_of(table[:, 16], source)
    return found
