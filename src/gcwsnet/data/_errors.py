"""Rows that cannot be read: the error that names the place, and what is done about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

MOST_REASONS = 10
LONGEST_SHOWN = 60


class DataError(ValueError):
    """Data that breaks a rule, with the place: ``FILE:LINE:COLUMN: rule, got value; way out``.

    Attributes
    ----------
    path : str or None
        The file. "-" is standard input.
    line : int or None
        Counted from 1: the line of a text file, the row of another.
    column : int, str or None
        In a LIBSVM file the byte of the line, in a CSV file the column, both counted from 1. In other files the name or
        the number of the column.

    Examples
    --------
    >>> error = DataError("a label must be a number, got 'x'", path="a.svm", line=3, column=1)
    >>> str(error), error.line
    ("a.svm:3:1: a label must be a number, got 'x'", 3)
    """

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, column: int | str | None = None
    ) -> None:
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)
        self.path, self.line, self.column = path, line, column


class Faults:
    """What is done about rows at fault: the first one is raised, or all are counted and their text is kept.

    Parameters
    ----------
    on_error : {"stop", "skip"}
    rejects : path or None
        Where the text of skipped rows goes. The file is written anew.
    """

    def __init__(self, on_error: str, rejects: str | os.PathLike[str] | None = None) -> None:
        self.stops = on_error == "stop"
        self.skipped = self.unknown_categories = 0
        self.reasons: list[str] = []
        self._rejects = None if rejects is None else Path(rejects)
        self._file: BinaryIO | None = None

    def meet(self, error: DataError, text: bytes) -> None:
        """Raise the error, or count it and keep the text of the row."""
        if self.stops:
            raise error
        self.skipped += 1
        if len(self.reasons) < MOST_REASONS:
            self.reasons.append(str(error))
        if self._rejects is not None:
            if self._file is None:
                self._file = self._rejects.open("wb")
            self._file.write(text.rstrip(b"\r\n") + b"\n")

    def close(self) -> None:
        """Write out what is kept."""
        if self._file is not None:
            self._file.close()
            self._file = None
        elif self._rejects is not None and self.skipped == 0:
            self._rejects.write_bytes(b"")


def shown(value: bytes | str) -> str:
    """A value of a file as an error shows it: in quotes, not too long, and on one line."""
    text = value.decode("utf-8", errors="backslashreplace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}...")
