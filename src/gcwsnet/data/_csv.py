"""CSV and TSV files, parsed by pyarrow; blocks that pyarrow refuses are parsed row by row to name the invalid rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from gcwsnet.data._columns import kind_of_texts
from gcwsnet.data._encode import Table
from gcwsnet.data._errors import DataError, ErrorHandler, RowOrigin, quote, require_pyarrow
from gcwsnet.data._options import ReadOptions
from gcwsnet.data._reader import TableReader
from gcwsnet.data._schema import ColumnSelection, FileColumn, Schema
from gcwsnet.data._sources import BYTE_ORDER_MARK, LineBlock, Source, line_blocks, line_too_long

HEAD_LINES, HEAD_ROWS = 3, 1000
NOT_AVAILABLE = ("#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "n/a")
NOT_A_NUMBER = ("-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "NaN", "nan")
MISSING_VALUES = ("", "NULL", "None", "null", *NOT_AVAILABLE, *NOT_A_NUMBER)  # the defaults of pandas.read_csv
NUMBER = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
NUMBERS, STRINGS = "numbers", "strings"


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
        return [FileColumn(name, head.kind(number)) for number, name in enumerate(head.column_names)]

    def is_empty(self, source: Source) -> bool:
        """Return whether there is nothing in the file."""
        return not source.head().strip()

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
        with source.open() as stream:
            blocks = line_blocks(stream.read, path=source.name, longest_line=self.options.longest_line, quoted=True)
            for block in blocks if head.names is None else _without_header(blocks):
                arrays, rows, error = parse(block.text), None, None
                if arrays is None:
                    text, rows, error = repair(block, errors)
                    arrays = parse(text)
                if arrays is None:
                    raise DataError(
                        f"rows must be CSV, got some that pyarrow cannot parse: {parse.last_error}",
                        path=source.name,
                        line=block.first_line,
                    )
                if arrays:
                    yield Table.from_arrays(arrays, selection), _row_origin(source.name, block, rows)
                if error is not None:
                    raise error

    def _head(self, source: Source) -> CsvHead:
        if source.name not in self._heads:
            longest_line = self.options.longest_line
            text = source.head(HEAD_LINES, longest_line + 1).removeprefix(BYTE_ORDER_MARK)
            end = text.rfind(b"\n") + 1 if text.count(b"\n") >= HEAD_LINES else len(text)
            if b"\n" not in text and len(text) > longest_line:
                raise line_too_long(text, source.name, 1, longest_line, quoted=True)
            first_rows = islice(split_rows(LineBlock(text[:end], 1)), HEAD_ROWS)
            fields = [self._head_fields(row, source.name) for row in first_rows]
            self._heads[source.name] = self._parse_head([one for one in fields if one is not None], source.name)
        return self._heads[source.name]

    def _head_fields(self, row: CsvRow, path: str) -> list[str] | None:
        """Return the fields of a row, or None for a later row that is not CSV; its error comes when it is read."""
        try:
            return split_fields(row.text, self.delimiter)
        except csv.Error as error:
            if row.line > 1:
                return None
            raise _not_csv(row, error, path) from error

    def _parse_head(self, rows: list[list[str]], path: str) -> CsvHead:
        if not rows:
            raise DataError("there must be at least one row, got an empty file; is this the right file?", path=path)
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


class CsvRow(NamedTuple):
    """A row as it is written, and the number of its first line."""

    line: int
    text: bytes


def split_rows(block: LineBlock) -> Iterator[CsvRow]:
    """Yield the rows of a block that are not blank. A newline between double quotes does not end a row."""
    pending, line = b"", block.first_line
    for number, text in enumerate(block.text.split(b"\n"), block.first_line):
        pending = pending + b"\n" + text if pending else text
        if pending.count(b'"') % 2:
            continue
        if pending.strip(b"\r"):
            yield CsvRow(line, pending)
        pending, line = b"", number + 1
    if pending:
        yield CsvRow(line, pending)


def split_fields(text: bytes, delimiter: str) -> list[str]:
    """Return the fields of a row; bytes that are not UTF-8 become surrogates."""
    decoded = text.rstrip(b"\r").decode("utf-8", errors="surrogateescape")
    return next(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter))


def is_number(field: str) -> bool:
    """Return whether a field is a number; a missing value is not."""
    return NUMBER.fullmatch(field.strip()) is not None


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


class BlockParser:
    """A fast parser of blocks: pyarrow.

    Parameters
    ----------
    delimiter : str
    n_columns : int
    types : dict of int to {"numbers", "strings"}
        The columns that are read, and what they must hold.

    Attributes
    ----------
    last_error : str
        Why the last text could not be parsed.
    """

    def __init__(self, delimiter: str, n_columns: int, types: dict[int, str]) -> None:
        self._csv = require_pyarrow("CSV", "pyarrow.csv")
        self._pyarrow = require_pyarrow("CSV")
        self._numbers = list(types)
        self._names = [str(number) for number in range(n_columns)]
        arrow_types = {NUMBERS: self._pyarrow.float64(), STRINGS: self._pyarrow.string()}
        self._plain = self._csv.ParseOptions(delimiter=delimiter)
        self._quoted = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        self._convert = self._csv.ConvertOptions(
            column_types={self._names[number]: arrow_types[kind] for number, kind in types.items()},
            include_columns=[self._names[number] for number in types],
            null_values=MISSING_VALUES,
            strings_can_be_null=True,
        )
        self.last_error = ""

    def __call__(self, text: bytes) -> dict[int, Any] | None:
        """Return the columns by their numbers, an empty dict if there are no rows, or None if a row is invalid."""
        if not text.strip():
            return {}
        read_options = self._csv.ReadOptions(column_names=self._names, block_size=len(text) + 1, use_threads=False)
        try:
            table = self._csv.read_csv(
                self._pyarrow.BufferReader(text),
                read_options=read_options,
                parse_options=self._quoted if b'"' in text else self._plain,
                convert_options=self._convert,
            )
        except self._pyarrow.ArrowInvalid as error:
            self.last_error = str(error).splitlines()[0]
            return None
        if table.num_rows == 0:
            return {}
        return {number: column.combine_chunks() for number, column in zip(self._numbers, table.columns, strict=True)}


class RepairedBlock(NamedTuple):
    """The valid rows of a block as text, the same rows as they are in the file, and the error that ended them."""

    text: bytes
    rows: list[CsvRow]
    error: DataError | None


class BlockRepair:
    """A slow parser of blocks, which finds the invalid rows and writes the valid ones so that pyarrow can parse them.

    Parameters
    ----------
    path : str
    delimiter : str
    names : list of str or None
        The names of the columns.
    types : dict of int to {"numbers", "strings"}
        The columns that are read, and what they must hold.
    """

    def __init__(self, path: str, delimiter: str, names: Sequence[str | None], types: dict[int, str]) -> None:
        self._path, self._delimiter, self._names, self._types = path, delimiter, names, types

    def __call__(self, block: LineBlock, errors: ErrorHandler) -> RepairedBlock:
        """Return the valid rows: all of them, or those before the first invalid one where reading stops at it."""
        text, rows = io.StringIO(newline=""), []
        writer = csv.writer(text, delimiter=self._delimiter, lineterminator="\n")
        error = None
        for row in split_rows(block):
            fields = self._parse_or_error(row)
            if not isinstance(fields, DataError):
                writer.writerow(fields)
                rows.append(row)
            elif errors.on_error == "stop":
                error = fields
                break
            else:
                errors.handle(fields, row.text)
        return RepairedBlock(text.getvalue().encode("utf-8", errors="surrogateescape"), rows, error)

    def _parse_or_error(self, row: CsvRow) -> list[str] | DataError:
        try:
            return self._parse(row)
        except DataError as error:
            return error

    def _parse(self, row: CsvRow) -> list[str]:
        """Return the fields of a row, with numbers as pyarrow parses them."""
        try:
            fields = split_fields(row.text, self._delimiter)
        except csv.Error as error:
            raise _not_csv(row, error, self._path) from error
        if len(fields) != len(self._names):
            raise self._error(f"a row must have {len(self._names)} columns, got {len(fields)}; drop the row", row)
        for number, kind in self._types.items():
            if kind == NUMBERS:
                fields[number] = self._normalize_number(fields[number], row, number)
            if not fields[number].isascii() and any("\ud800" <= letter <= "\udfff" for letter in fields[number]):
                raise self._error(
                    "a text must be UTF-8, got other bytes; convert the file, or drop the row", row, number
                )
        return fields

    def _normalize_number(self, field: str, row: CsvRow, number: int) -> str:
        if field.strip() in MISSING_VALUES:
            return ""
        if not is_number(field):
            got = quote(field.encode("utf-8", errors="surrogateescape"))
            raise self._error(
                f"a value must be a number, got {got}; if the column has categories, name it in categorical",
                row,
                number,
            )
        return repr(float(field))

    def _error(self, message: str, row: CsvRow, number: int | None = None) -> DataError:
        column = None if number is None else self._names[number] or number + 1
        return DataError(message, path=self._path, line=row.line, column=column)


def _not_csv(row: CsvRow, error: csv.Error, path: str) -> DataError:
    message = f"a row must be CSV, got {quote(row.text)} ({error}); correct it, or drop the row"
    return DataError(message, path=path, line=row.line)


def _column_types(schema: Schema, selection: ColumnSelection, label_type: str) -> dict[int, str]:
    """Return what the columns that are read must hold, by their numbers."""
    types = {
        number: NUMBERS if column.kind == "number" else STRINGS
        for number, column in zip(selection.features, schema.columns, strict=True)
    }
    if selection.label is not None:
        types[selection.label] = label_type
    if selection.weight is not None:
        types[selection.weight] = NUMBERS
    return types


def _without_header(blocks: Iterator[LineBlock]) -> Iterator[LineBlock]:
    """Yield the blocks without the first row that is not blank."""
    for block in blocks:
        header = next(split_rows(block), None)
        if header is not None:
            end = block.text.index(header.text) + len(header.text) + 1
            if block.text[end:]:
                yield LineBlock(block.text[end:], block.first_line + block.text.count(b"\n", 0, end))
            break
    yield from blocks


def _row_origin(path: str, block: LineBlock, rows: list[CsvRow] | None) -> RowOrigin:
    """Return the origin of the rows of a block, which is split into rows only if an error asks for one."""

    def find(row: int) -> CsvRow:
        nonlocal rows
        rows = list(split_rows(block)) if rows is None else rows
        return rows[row]

    return RowOrigin(path, lambda row: find(row).line, lambda row: find(row).text)
