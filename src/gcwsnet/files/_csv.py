"""The rows of CSV text: blocks of whole rows, the rows of a block, and the repair of blocks that pyarrow refuses.

Rows and fields are split by the native core, which splits them as pyarrow, pandas and Python's csv do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from gcwsnet import _core
from gcwsnet._validation import INEXACT, MAX_EXACT
from gcwsnet.files._reader import TableReader
from gcwsnet.files._sources import (
    BLOCK_BYTES,
    BYTE_ORDER_MARK,
    HEAD_BYTES,
    LineBlock,
    ReadBytes,
    Source,
    chunks_of_text,
    line_too_long,
    require_text,
)
from gcwsnet.tables._columns import (
    INTEGER,
    MISSING_VALUES,
    are_values,
    form_of_text,
    is_inexact,
    kind_of_texts,
    labels_of_texts,
)
from gcwsnet.tables._encode import Table
from gcwsnet.tables._errors import DataError, ErrorHandler, RowOrigin, quote, require_pyarrow
from gcwsnet.tables._schema import ColumnSelection, FileColumn, ReadOptions, Schema

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


HEAD_ROWS = 1000

CONVERTED = 1000

"""The columns that pyarrow converts at a time: each takes some 7 KB, most of it for a copy of the missing values."""


class CsvHead(NamedTuple):
    """The beginning of a file: the names of its columns if it has some, and its first rows."""

    names: list[str] | None
    n_columns: int
    rows: list[list[str]]

    @property
    def column_names(self) -> Sequence[str | None]:
        """The name of each column, or None for each column if the file has no header."""
        return [None] * self.n_columns if self.names is None else self.names

    def value_type(self, number: int) -> str:
        """Return "numbers" or "strings" by the first value of a column that is not missing."""
        first = next(self._values(number), None)
        return NUMBERS if first is None or is_number(first) else STRINGS

    def kind(self, number: int) -> str:
        """Return "number" by the first value of a column that is not missing, and other kinds by all of them."""
        return "number" if self.value_type(number) == NUMBERS else kind_of_texts(list(self._values(number)))

    def has_values(self, number: int) -> bool:
        """Return whether the values of a column are numbers or booleans, all written in one way."""
        return are_values(set(map(form_of_text, self._values(number))))

    def _values(self, number: int) -> Iterator[str]:
        """Yield the values of a column that are not missing."""
        values = (row[number] for row in self.rows if number < len(row))
        return (value for value in values if value.strip() not in MISSING_VALUES)


class CsvReader(TableReader):
    """A reader of CSV files. The first values of a column tell what it holds: numbers, booleans, dates or text."""

    delimiter = ","

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        super().__init__(sources, options)
        self._heads: dict[str, CsvHead] = {}

    def file_columns(self, source: Source) -> list[FileColumn]:
        """Return the columns as the first rows of the file tell them."""
        head = self._head(source)
        return [
            FileColumn(name, head.kind(number), by_value=head.has_values(number))
            for number, name in enumerate(head.column_names)
        ]

    def is_empty(self, source: Source) -> bool:
        """Return whether there is nothing in the file."""
        return not source.head().strip(b" \r\n")

    def text_label_type(self, source: Source, label: int) -> str | None:
        """Return the type of the first label."""
        return self._head(source).value_type(label)

    def read_tables(
        self, source: Source, schema: Schema, selection: ColumnSelection, errors: ErrorHandler
    ) -> Iterator[tuple[Table, RowOrigin]]:
        """Yield a table for each block of lines."""
        head = self._head(source)
        label_type = None if selection.label is None else schema.label_type or head.value_type(selection.label)
        types = _column_types(schema, selection, label_type or NUMBERS)
        parse = BlockParser(self.delimiter, head.n_columns, types)
        repair = BlockRepair(source.name, self.delimiter, head.column_names, types)
        for block in self._blocks(source, with_header=head.names is None):
            arrays, repaired = parse(block.text), None
            if arrays is None or parse.has_inexact(block.text, arrays):
                repaired = repair(block, errors)
                arrays = parse(repaired.text)
            if arrays is None or (repaired and arrays and len(next(iter(arrays.values()))) != len(repaired.rows)):
                raise DataError(
                    f"rows must be CSV, got some that pyarrow cannot parse: {parse.last_error}",
                    path=source.name,
                    line=block.first_line,
                )
            if arrays:
                origin = _row_origin(source.name, block, self.delimiter, repaired)
                if selection.label is not None and types[selection.label] == LABELS:
                    arrays |= parse.integer_labels(repaired.text if repaired else block.text, arrays, source.name)
                yield Table.from_arrays(arrays, selection), origin
            elif repaired:
                errors.advance(repaired.n_rows)
            if repaired and repaired.error is not None:
                raise repaired.error

    def _blocks(self, source: Source, *, with_header: bool) -> Iterator[LineBlock]:
        longest_line = self.options.longest_line
        with source.open() as stream:
            blocks = csv_blocks(stream.read, delimiter=self.delimiter, path=source.name, longest_line=longest_line)
            yield from blocks if with_header else _without_header(blocks, self.delimiter)

    def _head(self, source: Source) -> CsvHead:
        if source.name not in self._heads:
            rows = self._first_rows(source)[:HEAD_ROWS]
            fields = [split_fields(row.text, self.delimiter) for row in rows]
            self._heads[source.name] = self._parse_head(fields, source.name)
        return self._heads[source.name]

    def _first_rows(self, source: Source) -> list[CsvRow]:
        """Return the whole rows of the first 64 KiB, and of more until there are two."""
        longest_line, n_bytes = self.options.longest_line, HEAD_BYTES
        while True:
            head = source.head(n_bytes)
            require_text(head[:HEAD_BYTES], source.name)
            text = head.removeprefix(BYTE_ORDER_MARK)
            end, _, _, state, _ = _core.scan_csv(text, self.delimiter, START_OF_ROW, False)
            if len(head) < n_bytes:
                if state == WITHIN_QUOTES:
                    raise open_quote(LineBlock(text, 1), self.delimiter, source.name)
                return split_rows(LineBlock(text, 1), self.delimiter)
            rows = split_rows(LineBlock(text[:end], 1), self.delimiter)
            if len(rows) >= 2 or (rows and n_bytes > longest_line):
                return rows
            if n_bytes > longest_line:
                raise line_too_long(source.name, 1, longest_line, open_quote=state == WITHIN_QUOTES)
            n_bytes = min(2 * n_bytes, longest_line + 1)

    def _parse_head(self, rows: list[list[str]], path: str) -> CsvHead:
        if not rows:
            raise DataError("there must be at least one row, got an empty file; is this the right file?", path=path)
        _refuse_semicolons(rows, path)
        has_header = self.options.header
        if has_header == "auto":
            has_header = is_header(rows[0], rows[1] if len(rows) > 1 else None)
        if not has_header:
            return CsvHead(None, len(rows[0]), rows)
        names = [name.strip() for name in rows[0]]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"column names must differ, got {twice!r} twice; give header=False", path=path, line=1)
        return CsvHead(names, len(names), rows[1:])


class TsvReader(CsvReader):
    """A reader of TSV files: CSV with tabs."""

    delimiter = "\t"


def is_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Return whether the first row holds the names of the columns.

    It does if none of its fields is a number, if it has text where the second row has a number, or if it counts the
    columns: 0, 1, 2, ...
    """
    if not any(is_number(field) for field in first):
        return True
    if second is not None and any(
        not is_number(one) and one.strip() not in MISSING_VALUES and is_number(two)
        for one, two in zip(first, second, strict=False)
    ):
        return True
    return len(first) > 1 and [field.strip() for field in first] == [str(i) for i in range(len(first))]


def _refuse_semicolons(rows: list[list[str]], path: str) -> None:
    """Raise DataError if a file with a header has columns that are separated by semicolons, as with decimal commas."""
    counts = {sum(field.count(";") for field in row) for row in rows}
    if len(rows) > 1 and len(rows[0]) == 1 and len(counts) == 1 and counts != {0}:
        raise DataError(
            f"columns must be separated by commas, or by tabs in .tsv, got semicolons in {quote(rows[0][0])}; write "
            "the file again, for example with pandas: read_csv(path, sep=';', decimal=',').to_csv(path, index=False)",
            path=path,
            line=1,
        )


class BlockParser:
    """A fast parser of blocks: pyarrow.

    Parameters
    ----------
    delimiter : str
    n_columns : int
    types : dict of int to {"numbers", "labels", "strings"}
        The columns that are read, and what they must hold.

    Attributes
    ----------
    last_error : str
        Why the last text could not be parsed.
    """

    def __init__(self, delimiter: str, n_columns: int, types: dict[int, str]) -> None:
        self._csv = require_pyarrow("CSV", "pyarrow.csv")
        self._pyarrow = require_pyarrow("CSV")
        self._types = types
        self._names = [str(number) for number in range(n_columns)]
        self._plain = self._csv.ParseOptions(delimiter=delimiter)
        self._quoted = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        self._converts = self._convert_options(types)
        self.last_error = ""

    def __call__(self, text: bytes) -> dict[int, Any] | None:
        """Return the columns by their numbers, an empty dict if there are no rows, or None if a row is invalid."""
        if not text.strip(b"\r\n"):
            return {}
        return self._parse(text, self._converts)

    def has_inexact(self, text: bytes, arrays: dict[int, Any]) -> bool:
        """Return whether a column of numbers has an integer that float64 does not hold."""
        return any(any(self._inexact(column)) for column in self._large(text, arrays, NUMBERS).values())

    def integer_labels(self, text: bytes, arrays: dict[int, Any], path: str) -> dict[int, Any]:
        """Return the column of labels as integers where float64 does not hold them, and else nothing."""
        found: dict[int, Any] = {}
        for number, column in self._large(text, arrays, LABELS).items():
            if any(self._inexact(column)):
                texts = ["0" if text is None else text for text in column.to_pylist()]
                try:
                    labels = labels_of_texts(texts)
                except ValueError:
                    got = quote(next(self._inexact(column)))
                    message = f"labels that are integers must be within int64 or text, got {got}; number the labels"
                    raise DataError(message, path=path) from None
                found[number] = self._pyarrow.array(labels, mask=column.is_null().to_numpy(zero_copy_only=False))
        return found

    def _large(self, text: bytes, arrays: dict[int, Any], kind: str) -> dict[int, Any]:
        """Return the columns of a kind with numbers beyond 2**53 as texts."""
        numbers = [number for number, one in self._types.items() if one == kind and _is_large(arrays.get(number))]
        if not numbers:
            return {}
        return self._parse(text, self._convert_options(dict.fromkeys(numbers, STRINGS))) or {}

    @staticmethod
    def _inexact(column: Any) -> Iterator[str]:
        """Yield the texts of a column that are integers that float64 does not hold."""
        long = require_pyarrow("CSV", "pyarrow.compute").match_substring_regex(column, r"^\s*[-+]?\d{16,}\s*$")
        texts = (text.strip() for text in column.filter(long).to_pylist())
        return (text for text in texts if is_inexact(Decimal(text)))

    def _convert_options(self, types: dict[int, str]) -> list[Any]:
        """Return what pyarrow needs to convert the columns, some at a time."""
        numbers = self._pyarrow.float64()
        arrow_types = {NUMBERS: numbers, LABELS: numbers, STRINGS: self._pyarrow.string()}
        columns = [(self._names[number], arrow_types[kind]) for number, kind in types.items()]
        return [
            self._csv.ConvertOptions(
                column_types=dict(some),
                include_columns=[name for name, _ in some],
                null_values=MISSING_VALUES,
                strings_can_be_null=True,
            )
            for some in (columns[at : at + CONVERTED] for at in range(0, max(1, len(columns)), CONVERTED))
        ]

    def _parse(self, text: bytes, converts: list[Any]) -> dict[int, Any] | None:
        """Return the columns by their numbers, an empty dict if there are no rows, or None if a row is invalid."""
        read_options = self._csv.ReadOptions(column_names=self._names, block_size=len(text) + 1, use_threads=False)
        try:
            tables = [
                self._csv.read_csv(
                    self._pyarrow.BufferReader(text),
                    read_options=read_options,
                    parse_options=self._quoted if b'"' in text else self._plain,
                    convert_options=convert,
                )
                for convert in converts
            ]
        except self._pyarrow.ArrowInvalid as error:
            self.last_error = str(error).splitlines()[0]
            return None
        if tables[0].num_rows == 0:
            return {}
        return {
            int(name): column.combine_chunks()
            for table in tables
            for name, column in zip(table.column_names, table.columns, strict=True)
        }


def _is_large(array: Any) -> bool:
    """Return whether some numbers of a column are beyond 2**53."""
    if array is None or len(array) == array.null_count:
        return False
    least, most = require_pyarrow("CSV", "pyarrow.compute").min_max(array).as_py().values()
    return most >= MAX_EXACT or least <= -MAX_EXACT


def _column_types(schema: Schema, selection: ColumnSelection, label_type: str) -> dict[int, str]:
    """Return what the columns that are read must hold, by their numbers."""
    types = {
        number: NUMBERS if column.kind == "number" else STRINGS
        for number, column in zip(selection.features, schema.columns, strict=True)
    }
    if selection.label is not None:
        types[selection.label] = STRINGS if label_type == STRINGS else LABELS
    if selection.weight is not None:
        types[selection.weight] = NUMBERS
    return types


def _without_header(blocks: Iterator[LineBlock], delimiter: str) -> Iterator[LineBlock]:
    """Yield the blocks without the first row that is not blank."""
    for block in blocks:
        rest = without_first_row(block, delimiter)
        if rest is not None:
            yield rest
            break
    yield from blocks


def _row_origin(path: str, block: LineBlock, delimiter: str, repaired: RepairedBlock | None) -> RowOrigin:
    """Return the origin of the rows of a block, which is split into rows only if an error asks for one."""
    rows = None if repaired is None else repaired.rows

    def find(row: int) -> CsvRow:
        nonlocal rows
        rows = split_rows(block, delimiter) if rows is None else rows
        return rows[row]

    origin = RowOrigin(path, lambda row: find(row).line, lambda row: find(row).text)
    return origin if repaired is None else origin._replace(positions=repaired.positions, n_rows=repaired.n_rows)
