"""Text of CSV files, row by row: for the first rows, and for blocks in which something is wrong."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gcwsnet.data._errors import DataError, Faults, shown
from gcwsnet.data._lines import Block

NOT_AVAILABLE = ("#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "n/a")
NOT_A_NUMBER = ("-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "NaN", "nan")
MISSING = ("", "NULL", "None", "null", *NOT_AVAILABLE, *NOT_A_NUMBER)  # as pandas has it
NUMBER = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
NUMBERS, TEXTS = "numbers", "strings"


class TextRow(NamedTuple):
    """A row as it is written, and the number of its first line."""

    line: int
    text: bytes


def rows_of(block: Block) -> Iterator[TextRow]:
    """The rows of a block that are not blank. A newline between double quotes does not end a row."""
    waiting, line = b"", block.line
    for number, text in enumerate(block.text.split(b"\n"), block.line):
        waiting = waiting + b"\n" + text if waiting else text
        if waiting.count(b'"') % 2:
            continue
        if waiting.strip(b"\r"):
            yield TextRow(line, waiting)
        waiting, line = b"", number + 1
    if waiting:
        yield TextRow(line, waiting)


def fields_of(text: bytes, delimiter: str) -> list[str]:
    """The fields of a row; bytes that are not UTF-8 become surrogates."""
    decoded = text.rstrip(b"\r").decode("utf-8", errors="surrogateescape")
    return next(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter))


def is_number(field: str) -> bool:
    """Whether a field is a number, and not missing."""
    return NUMBER.fullmatch(field.strip()) is not None


def is_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Whether the first row has the names of the columns.

    It does if no field of it is a number, if it has text where the second row has a number, or if it counts the
    columns: 0, 1, 2, ...
    """
    if not any(is_number(field) for field in first):
        return True
    if second is not None and any(
        not is_number(one) and one.strip() not in MISSING and is_number(two)
        for one, two in zip(first, second, strict=False)
    ):
        return True
    return len(first) > 1 and [field.strip() for field in first] == [str(i) for i in range(len(first))]


class Repaired(NamedTuple):
    """Text that can be read, where its rows come from, and the fault that ended it."""

    text: bytes
    kept: list[TextRow]
    fault: DataError | None


class Repair:
    """A block written anew without the rows that are at fault.

    Parameters
    ----------
    path : str
    delimiter : str
    names : list of str or None
        Of the columns.
    types : dict of int to {"numbers", "strings"}
        What the columns that are read must hold.
    """

    def __init__(self, path: str, delimiter: str, names: Sequence[str | None], types: dict[int, str]) -> None:
        self._path, self._delimiter, self._names, self._types = path, delimiter, names, types

    def __call__(self, block: Block, faults: Faults) -> Repaired:
        """The rows that can be read: all of them, or where reading stops at a fault, those before it."""
        out, kept, fault = io.StringIO(newline=""), [], None
        writer = csv.writer(out, delimiter=self._delimiter, lineterminator="\n")
        for row in rows_of(block):
            fields = self._checked(row)
            if not isinstance(fields, DataError):
                writer.writerow(fields)
                kept.append(row)
            elif faults.stops:
                fault = fields
                break
            else:
                faults.meet(fields, row.text)
        return Repaired(out.getvalue().encode("utf-8", errors="surrogateescape"), kept, fault)

    def _checked(self, row: TextRow) -> list[str] | DataError:
        """The fields of a row, or what is wrong with it."""
        try:
            return self._fields(row)
        except DataError as error:
            return error

    def _fields(self, row: TextRow) -> list[str]:
        try:
            fields = fields_of(row.text, self._delimiter)
        except csv.Error as error:
            raise self._error(f"a row must be CSV, got {shown(row.text)} ({error}); drop the row", row) from error
        if len(fields) != len(self._names):
            raise self._error(f"a row must have {len(self._names)} columns, got {len(fields)}; drop the row", row)
        for number, kind in self._types.items():
            fields[number] = self._number(fields[number], row, number) if kind == NUMBERS else fields[number]
            if not fields[number].isascii() and any("\ud800" <= letter <= "\udfff" for letter in fields[number]):
                raise self._error(
                    "a text must be UTF-8, got other bytes; convert the file, or drop the row", row, number
                )
        return fields

    def _number(self, field: str, row: TextRow, number: int) -> str:
        if field.strip() in MISSING:
            return ""
        if not is_number(field):
            given = shown(field.encode("utf-8", errors="surrogateescape"))
            raise self._error(
                f"a value must be a number, got {given}; if the column has categories, name it in categorical",
                row,
                number,
            )
        return repr(float(field))

    def _error(self, rule: str, row: TextRow, number: int | None = None) -> DataError:
        column = None if number is None else self._names[number] or number + 1
        return DataError(rule, path=self._path, line=row.line, column=column)
