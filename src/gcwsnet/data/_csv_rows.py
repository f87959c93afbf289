"""The rows of CSV text: blocks of whole rows, the rows of a block, and the repair of blocks that pyarrow refuses.

Rows and fields are split by the native core, which splits them as pyarrow, pandas and Python's csv do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from gcwsnet import _core
from gcwsnet._validation import INEXACT
from gcwsnet.data._columns import INTEGER, MISSING_VALUES, is_inexact
from gcwsnet.data._errors import DataError, ErrorHandler, quote
from gcwsnet.data._sources import BLOCK_BYTES, LineBlock, ReadBytes, chunks_of_text, line_too_long

NUMBER = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
NAN = re.compile(r"[-+]?nan(\(\w*\))?", re.ASCII | re.IGNORECASE)  # as pyarrow parses it, whatever the case
NUMBERS, STRINGS, LABELS = "numbers", "strings", "labels"  # labels are numbers, and integers of any size
START_OF_ROW, WITHIN_QUOTES = 0, 2  # states of scan_csv


class CsvRow(NamedTuple):
    """A row as it is written, without the end of its line, and the number of its first line."""

    line: int
    text: bytes


def split_rows(block: LineBlock, delimiter: str) -> list[CsvRow]:
    """Return the rows of a block that are not empty. A line end between double quotes does not end a row."""
    found = _core.split_csv_rows(block.text, delimiter)
    spans = zip(*(numbers.tolist() for numbers in found), strict=True)
    return [CsvRow(block.first_line + line, block.text[begin:end]) for begin, end, line in spans]


def split_fields(text: bytes, delimiter: str) -> list[str]:
    """Return the fields of a row; bytes that are not UTF-8 become surrogates."""
    return [field.decode("utf-8", errors="surrogateescape") for field in _core.split_csv_fields(text, delimiter)]


def csv_blocks(
    read: ReadBytes, *, delimiter: str, path: str, longest_line: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[LineBlock]:
    """Yield blocks of whole rows, each byte of which is looked at once; see `line_blocks` for the parameters.

    A quote that is still open at the end of the file is an error.
    """
    pending: list[bytes] = []
    n_pending, line, pending_lines = 0, 1, 0
    state, after_return = START_OF_ROW, False
    for chunk in chunks_of_text(read, block_bytes):
        end, end_lines, lines, state, after_return = _core.scan_csv(chunk, delimiter, state, after_return)
        if end:
            yield LineBlock(b"".join([*pending, chunk[:end]]), line)
            line += pending_lines + end_lines
            pending, n_pending, pending_lines = [], 0, -end_lines
        pending.append(chunk[end:])
        n_pending += len(chunk) - end
        pending_lines += lines
        if n_pending > longest_line:
            raise line_too_long(path, line, longest_line, open_quote=state == WITHIN_QUOTES)
    rest = LineBlock(b"".join(pending), line)
    if state == WITHIN_QUOTES:
        raise open_quote(rest, delimiter, path)
    if rest.text:
        yield rest


def without_first_row(block: LineBlock, delimiter: str) -> LineBlock | None:
    """Return a block without its first row and the end of that, or None if there is no row in it."""
    ends = _core.split_csv_rows(block.text, delimiter)[1]
    if len(ends) == 0:
        return None
    rest = block.text[int(ends[0]) :]
    rest = rest[2 if rest.startswith(b"\r\n") else 1 :]
    removed = block.text[: len(block.text) - len(rest)]
    return LineBlock(rest, block.first_line + _core.scan_csv(removed, delimiter, START_OF_ROW, False)[2])


def open_quote(rest: LineBlock, delimiter: str, path: str) -> DataError:
    """Return the error for a text whose last row has a double quote that is not closed."""
    row = split_rows(rest, delimiter)[-1]
    return DataError(
        f"a double quote that opens a field must be closed, and the row that begins here, {quote(row.text)}, goes on "
        "to the end of the file; close the quote, or double it and put quotes around the field",
        path=path,
        line=row.line,
    )


def is_number(field: str) -> bool:
    """Return whether a field is a number; a missing value is not."""
    return NUMBER.fullmatch(field.strip()) is not None


class RepairedBlock(NamedTuple):
    """The valid rows of a block as pyarrow can parse them.

    Attributes
    ----------
    text : bytes
    rows : list of CsvRow
        The same rows as they are in the file.
    positions : list of int
        Their numbers among all rows of the block.
    n_rows : int
        The number of rows of the block, with the skipped ones.
    error : DataError or None
        The error that ended the rows.
    """

    text: bytes
    rows: list[CsvRow]
    positions: list[int]
    n_rows: int
    error: DataError | None


class BlockRepair:
    """A slow parser of blocks, which finds the invalid rows and writes the valid ones so that pyarrow can parse them.

    Parameters
    ----------
    path : str
    delimiter : str
    names : list of str or None
        The names of the columns.
    types : dict of int to {"numbers", "labels", "strings"}
        The columns that are read, and what they must hold.
    """

    def __init__(self, path: str, delimiter: str, names: Sequence[str | None], types: dict[int, str]) -> None:
        self._path, self._delimiter, self._names, self._types = path, delimiter, names, types

    def __call__(self, block: LineBlock, errors: ErrorHandler) -> RepairedBlock:
        """Return the valid rows: all of them, or those before the first invalid one where reading stops at it."""
        lines: list[bytes] = []
        rows: list[CsvRow] = []
        positions: list[int] = []
        all_rows = split_rows(block, self._delimiter)
        for position, row in enumerate(all_rows):
            fields = self._parse_or_error(row)
            if not isinstance(fields, DataError):
                lines.append(self._quoted(fields))
                rows.append(row)
                positions.append(position)
            elif errors.on_error == "stop":
                return RepairedBlock(b"".join(lines), rows, positions, position, fields)
            else:
                errors.handle(fields, row.text, position)
        return RepairedBlock(b"".join(lines), rows, positions, len(all_rows), None)

    def _parse_or_error(self, row: CsvRow) -> list[str] | DataError:
        try:
            return self._parse(row)
        except DataError as error:
            return error

    def _quoted(self, fields: list[str]) -> bytes:
        quoted = ('"' + field.replace('"', '""') + '"' for field in fields)
        return (self._delimiter.join(quoted) + "\n").encode("utf-8", errors="surrogateescape")

    def _parse(self, row: CsvRow) -> list[str]:
        """Return the fields of a row, with numbers as pyarrow parses them."""
        fields = split_fields(row.text, self._delimiter)
        if len(fields) != len(self._names):
            raise self._error(f"a row must have {len(self._names)} columns, got {len(fields)}; drop the row", row)
        for number, kind in self._types.items():
            if kind != STRINGS:
                fields[number] = self._normalize_number(fields[number], row, number)
            if not fields[number].isascii() and any("\ud800" <= letter <= "\udfff" for letter in fields[number]):
                raise self._error(
                    "a text must be UTF-8, got other bytes; convert the file, or drop the row", row, number
                )
        return fields

    def _normalize_number(self, field: str, row: CsvRow, number: int) -> str:
        stripped = field.strip()
        if stripped in MISSING_VALUES or NAN.fullmatch(stripped):
            return ""
        if not is_number(field):
            got = quote(field.encode("utf-8", errors="surrogateescape"))
            raise self._error(
                f"a value must be a number, got {got}; if the column has categories, name it in categorical",
                row,
                number,
            )
        if not INTEGER.fullmatch(stripped):
            return repr(float(field))
        if self._types[number] == NUMBERS and is_inexact(Decimal(stripped)):
            got = quote(stripped)
            raise self._error(
                f"{INEXACT}, got {got}; subtract an offset, name the column in categorical, or write it with a decimal "
                "point if rounding is fine",
                row,
                number,
            )
        return stripped.removeprefix("+")

    def _error(self, message: str, row: CsvRow, number: int | None = None) -> DataError:
        column = None if number is None else self._names[number] or number + 1
        return DataError(message, path=self._path, line=row.line, column=column)
