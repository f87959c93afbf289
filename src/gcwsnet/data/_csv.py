"""CSV and TSV files, parsed by pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from csv import Error as CsvError
from itertools import islice
from typing import Any, NamedTuple

from gcwsnet.data._arrow import needed_pyarrow
from gcwsnet.data._columns import FileColumn, Picks
from gcwsnet.data._csv_text import MISSING, NUMBERS, TEXTS, Repair, TextRow, fields_of, is_header, is_number, rows_of
from gcwsnet.data._encode import Table
from gcwsnet.data._errors import DataError, Faults, shown
from gcwsnet.data._inputs import Input
from gcwsnet.data._layout import Layout
from gcwsnet.data._lines import BYTE_ORDER_MARK, Block, blocks_of_lines, too_long
from gcwsnet.data._screen import Rows
from gcwsnet.data._settings import Settings
from gcwsnet.data._tables import TableReader

FIRST_LINES, FIRST_ROWS = 3, 1000


class Head(NamedTuple):
    """The beginning of a file: the names of its columns if it has some, and its first rows."""

    names: list[str] | None
    n_columns: int
    rows: list[list[str]]


class CsvReader(TableReader):
    """CSV files. A column whose first value is no number is text."""

    delimiter = ","

    def __init__(self, inputs: Sequence[Input], settings: Settings) -> None:
        super().__init__(inputs, settings)
        self._heads: dict[str, Head] = {}

    def file_columns(self, given: Input) -> list[FileColumn]:
        """By the first rows of the file."""
        head = self._head(given)
        columns = []
        for number in range(head.n_columns):
            first = self._first_value(head, number)
            name = None if head.names is None else head.names[number]
            columns.append(FileColumn(name, "number" if first is None or is_number(first) else "text"))
        return columns

    def is_empty(self, given: Input) -> bool:
        """Whether there is nothing in the file."""
        return not given.head().strip()

    def label_type(self, given: Input, label: int) -> str | None:
        """By the first label."""
        first = self._first_value(self._head(given), label)
        return NUMBERS if first is None or is_number(first) else TEXTS

    def tables(
        self, given: Input, layout: Layout, picks: Picks, n_columns: int, faults: Faults
    ) -> Iterator[tuple[Table, Rows]]:
        """The rows of one block of lines after the other."""
        head = self._head(given)
        types = _types(layout, picks)
        parse = Parser(self.delimiter, n_columns, types)
        repair = Repair(given.name, self.delimiter, head.names or [None] * n_columns, types)
        with given.unpacked() as stream:
            blocks = blocks_of_lines(stream.read, path=given.name, longest_line=self.settings.longest_line, quoted=True)
            if head.names is not None:
                blocks = _without_header(blocks)
            for block in blocks:
                yield from self._parsed(block, parse, repair, picks, given.name, faults)

    def _parsed(
        self, block: Block, parse: Parser, repair: Repair, picks: Picks, path: str, faults: Faults
    ) -> Iterator[tuple[Table, Rows]]:
        arrays, kept, fault = parse(block.text), None, None
        if arrays is None:
            text, kept, fault = repair(block, faults)
            arrays = parse(text)
            if arrays is None:
                raise DataError(
                    f"rows must be CSV, got some that pyarrow cannot read: {parse.why}", path=path, line=block.line
                )
        if arrays and len(arrays[0]):
            table = Table(
                [arrays[parse.order[number]] for number in picks.features],
                None if picks.label is None else arrays[parse.order[picks.label]],
                None if picks.weight is None else arrays[parse.order[picks.weight]],
            )
            yield table, Rows(path, *_places(block, kept))
        if fault is not None:
            raise fault

    def _head(self, given: Input) -> Head:
        if given.name not in self._heads:
            text = given.head(FIRST_LINES, self.settings.longest_line + 1).removeprefix(BYTE_ORDER_MARK)
            end = text.rfind(b"\n") + 1 if text.count(b"\n") >= FIRST_LINES else len(text)
            if b"\n" not in text and len(text) > self.settings.longest_line:
                raise too_long(text, given.name, 1, self.settings.longest_line, quoted=True)
            rows = list(self._first_rows(Block(text[:end], 1), given.name))
            self._heads[given.name] = self._head_of(rows, given.name)
        return self._heads[given.name]

    def _first_rows(self, block: Block, path: str) -> Iterator[list[str]]:
        for row in islice(rows_of(block), FIRST_ROWS):
            fields = self._fields(row, path)
            if fields is not None:
                yield fields

    def _fields(self, row: TextRow, path: str) -> list[str] | None:
        """The fields; None of a row behind the first that is no CSV, of which more is said when it is read."""
        try:
            return fields_of(row.text, self.delimiter)
        except CsvError as error:
            if row.line > 1:
                return None
            raise DataError(f"a row must be CSV, got {shown(row.text)} ({error})", path=path, line=row.line) from error

    def _head_of(self, rows: list[list[str]], path: str) -> Head:
        if not rows:
            raise DataError("there must be at least one row, got an empty file; is this the right file?", path=path)
        has_names = self.settings.header
        if has_names == "auto":
            has_names = is_header(rows[0], rows[1] if len(rows) > 1 else None)
        if not has_names:
            return Head(None, len(rows[0]), rows)
        names = [name.strip() for name in rows[0]]
        if len(set(names)) < len(names):
            again = next(name for name in names if names.count(name) > 1)
            raise DataError(f"names of columns must differ, got {again!r} twice; give header=False", path=path, line=1)
        return Head(names, len(names), rows[1:])

    @staticmethod
    def _first_value(head: Head, number: int) -> str | None:
        values = (row[number] for row in head.rows if number < len(row))
        return next((value for value in values if value.strip() not in MISSING), None)


class TsvReader(CsvReader):
    """TSV files: as CSV, with tabs."""

    delimiter = "\t"


class Parser:
    """The columns of a text that are read, as arrays of pyarrow.

    Attributes
    ----------
    order : dict of int to int
        Which array a column is.
    why : str
        Why the last text could not be read.
    """

    def __init__(self, delimiter: str, n_columns: int, types: dict[int, str]) -> None:
        self._csv = needed_pyarrow("CSV", "pyarrow.csv")
        self._pyarrow = needed_pyarrow("CSV")
        names = [str(number) for number in range(n_columns)]
        kinds = {NUMBERS: self._pyarrow.float64(), TEXTS: self._pyarrow.string()}
        self._names = names
        self._plain = self._csv.ParseOptions(delimiter=delimiter)
        self._quoted = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        self._convert = self._csv.ConvertOptions(
            column_types={names[number]: kinds[kind] for number, kind in types.items()},
            include_columns=[names[number] for number in types],
            null_values=MISSING,
            strings_can_be_null=True,
        )
        self.order = {number: place for place, number in enumerate(types)}
        self.why = ""

    def __call__(self, text: bytes) -> list[Any] | None:
        """None if a row breaks a rule of CSV, or has something other than a number where one must be."""
        if not text.strip():
            return []
        read = self._csv.ReadOptions(column_names=self._names, block_size=len(text) + 1, use_threads=False)
        try:
            table = self._csv.read_csv(
                self._pyarrow.BufferReader(text),
                read_options=read,
                parse_options=self._quoted if b'"' in text else self._plain,
                convert_options=self._convert,
            )
        except self._pyarrow.ArrowInvalid as error:
            self.why = str(error).splitlines()[0]
            return None
        return [column.combine_chunks() for column in table.columns]


def _types(layout: Layout, picks: Picks) -> dict[int, str]:
    """What the columns that are read must hold, by their numbers."""
    types = {
        number: NUMBERS if column.kind == "number" else TEXTS
        for number, column in zip(picks.features, layout.columns, strict=True)
    }
    if picks.label is not None:
        types[picks.label] = layout.label_type or NUMBERS
    if picks.weight is not None:
        types[picks.weight] = NUMBERS
    return types


def _without_header(blocks: Iterator[Block]) -> Iterator[Block]:
    """Blocks without the first row that is not blank."""
    for block in blocks:
        first = next(rows_of(block), None)
        if first is not None:
            end = block.text.index(first.text) + len(first.text) + 1
            if block.text[end:]:
                yield Block(block.text[end:], block.line + block.text.count(b"\n", 0, end))
            break
    yield from blocks


def _places(block: Block, kept: list[TextRow] | None) -> tuple[Callable[[int], int], Callable[[int], bytes]]:
    """Functions from a row to the number of its line and to its text."""
    rows = kept

    def row_of(row: int) -> TextRow:
        nonlocal rows
        rows = list(rows_of(block)) if rows is None else rows
        return rows[row]

    return lambda row: row_of(row).line, lambda row: row_of(row).text
