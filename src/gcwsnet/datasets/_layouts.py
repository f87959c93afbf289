"""Tables of numbers in text files, read as data of unknown quality: an error names the file and the line."""

from __future__ import annotations

import io
import warnings

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import check_finite
from gcwsnet.datasets._archives import Source
from gcwsnet.datasets._bunch import Array
from gcwsnet.datasets._damage import WAY_OUT, whole

Floats = NDArray[np.float32]


def read_table(source: Source, n_columns: int, *, delimiter: str | None = None, missing: bool = False) -> Floats:
    """The numbers of a text file in float32, one row for each line that is not empty.

    Parameters
    ----------
    source : Source
        Where the text comes from.
    n_columns : int
        How many numbers a line must have.
    delimiter : str, optional
        What stands between numbers, apart from spaces.
    missing : bool, default=False
        Whether a number may be NaN.
    """
    try:
        with warnings.catch_warnings(), source.open() as stream, io.TextIOWrapper(stream, encoding="ascii") as text:
            warnings.simplefilter("ignore", UserWarning)  # of no data, which is an error here
            table: Floats = np.loadtxt(text, np.float32, comments=None, delimiter=delimiter, ndmin=2)
        if len(table) == 0:
            raise ValueError("no lines")
        if table.shape[1] != n_columns:
            raise ValueError(f"{table.shape[1]} columns")
    except MemoryError:
        raise
    except Exception as error:
        with whole(source.place):
            _check_lines(source, n_columns, delimiter)
            raise error  # every line is right, and something else is not
    if not missing or np.isinf(table).any():
        check_finite(table, name=source.place, nan_is_fine=missing)
    return table


def labels_of(column: Array, source: Source) -> NDArray[np.int64]:
    """A column of a table as integers."""
    wrong = np.flatnonzero(np.floor(column) != column)  # NaN is not equal to itself
    if len(wrong):
        raise ValueError(
            f"{source.place} must have integers as labels, got {column[wrong[0]]:g} in row {wrong[0]}; {WAY_OUT}"
        )
    return column.astype(np.int64)


def _check_lines(source: Source, n_columns: int, delimiter: str | None) -> None:
    """ValueError that names the first line that is not a row of numbers."""
    with source.open() as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip(b" \t\r\n" if delimiter is None else b"\r\n"):
                continue
            parts = line.decode("ascii", "replace").strip().split(delimiter)
            if len(parts) != n_columns:
                raise ValueError(f"line {number} must have {n_columns} numbers, got {len(parts)}")
            wrong = [part.strip()[:40] for part in parts if not _is_number(part)]
            if wrong:
                raise ValueError(f"line {number} must have numbers only, got {wrong[0]!r}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
