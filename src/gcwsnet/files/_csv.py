"""CSV files. pyarrow parses blocks of rows; those that it refuses are gone over row by row to name the invalid rows.

Rows and fields are split by the native core, which splits them as pyarrow, pandas and Python's csv do.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from gcwsnet import _core
from gcwsnet._validation import INEXACT, MAX_EXACT
from gcwsnet.files._reader import TableReader
from gcwsnet.files._sources import (
    BYTE_ORDER_MARK,
    HEAD_BYTES,
    LONGEST_LINE,
    WITHIN_QUOTES,
    LineBlock,
    Source,
    line_blocks,
    line_too_long,
    open_quote,
    require_text,
)
from gcwsnet.tables._columns import (
    INTEGER,
    MISSING_TEXTS,
    MISSING_VALUES,
    ArrowColumn,
    TableColumn,
    are_values,
    form_of_text,
    is_inexact_text,
    is_prose,
    kind_of_texts,
    labels_of_texts,
    parse_month_first,
    unnamed_column,
)
from gcwsnet.tables._errors import DataError, InvalidRows, quote, require_pyarrow
from gcwsnet.tables._schema import ColumnSelection, FileColumn, ReadOptions, Schema

logger = logging.getLogger("gcwsnet.files")

NUMBER = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?(\d+,\d*|,\d+)([eE][-+]?\d+)?", re.ASCII)
COMMA_IN_TEXT = r"^(\s*[-+]?\d*),(\d*(?:[eE][-+]?\d+)?\s*)$"
NAN = re.compile(r"[-+]?nan(\(\w*\))?", re.ASCII | re.IGNORECASE)  # as pyarrow parses it, whatever the case
BYTES_OF_A_COLUMN = 4096  # of a block, whose columns each take some time whatever their rows
RECODE = "give encoding='cp1252'"
PLACEHOLDERS = {"?", "-", "--", ".", "..", "n.a.", "N.A.", "na", "unknown", "Unknown", "UNKNOWN", "missing", "Missing"}
"""Texts that stand for a missing value in a column of numbers. In other columns they are categories."""
NUMBERS, STRINGS, LABELS = "numbers", "strings", "labels"  # labels are numbers, and integers of any size


class CsvHead(NamedTuple):
    """What the first rows of a file tell."""

    columns: list[FileColumn]
    has_names: bool  # whether the first row holds the names of the columns
    has_rows: bool  # whether there are other rows
    delimiter: str = ","
    decimal: str = "."


class CsvReader(TableReader):
    """A reader of CSV files. The first values of a column tell what it holds: numbers, booleans, dates or text."""

    delimiter: str | None = None
    has_types = False

    @cached_property
    def _heads(self) -> dict[str, CsvHead]:
        return {}

    def file_columns(self, source: Source) -> list[FileColumn]:
        """Return the columns as the first rows of the file tell them."""
        return self._head(source).columns

    def is_empty(self, source: Source) -> bool:
        """Return whether there is nothing in the file but the names of columns."""
        return not self._head(source).has_rows

    def read_columns(
        self, source: Source, schema: Schema, selection: ColumnSelection
    ) -> Iterator[tuple[Mapping[int, TableColumn], InvalidRows]]:
        """Yield the columns of each block of rows."""
        head = self._head(source)
        types = {
            number: NUMBERS if column.kind == "number" else STRINGS
            for number, column in zip(selection.features, schema.columns, strict=True)
        }
        with_commas: list[int] = []  # labels, which are texts until it is known that all of them are numbers
        if selection.label is not None:
            is_number = head.columns[selection.label].kind == "number"
            label_type = schema.label_type or (NUMBERS if is_number else STRINGS)
            types[selection.label] = STRINGS if label_type == STRINGS else LABELS
            if label_type == STRINGS and is_number and head.decimal == ",":
                with_commas = [selection.label]
        if selection.weight is not None:
            types[selection.weight] = NUMBERS
        kept = [number for number in selection.others if types.get(number, STRINGS) != STRINGS]
        types |= {number: STRINGS for number in selection.others if number not in types}
        names = [column.name for column in head.columns]
        parser = BlockParser(source.name, head.delimiter, names, types, head.decimal, schema.na_values)
        as_text = BlockParser(source.name, head.delimiter, names, dict.fromkeys(kept, STRINGS)) if kept else None
        with source.open() as stream:
            blocks = line_blocks(
                stream.read,
                path=source.name,
                delimiter=head.delimiter,
                block_bytes=max(1 << 20, min(BYTES_OF_A_COLUMN * len(head.columns), 1 << 26)),
            )
            for block in _without_names(blocks, head.delimiter) if head.has_names else blocks:
                arrays, invalid = parser(block)
                for number in with_commas if arrays else ():
                    replace = require_pyarrow("CSV", "pyarrow.compute").replace_substring_regex
                    arrays[number] = replace(arrays[number], pattern=COMMA_IN_TEXT, replacement=r"\1.\2")
                if arrays and as_text is not None:
                    texts, _ = as_text(block)
                    valid = invalid.valid_mask(len(texts[kept[0]]))
                    if_else = require_pyarrow("CSV", "pyarrow.compute").if_else
                    arrays |= {~number: if_else(valid, text, None) for number, text in texts.items()}
                if arrays:
                    yield {number: ArrowColumn(array) for number, array in arrays.items()}, invalid

    def _head(self, source: Source) -> CsvHead:
        if source.name not in self._heads:
            sep = self.delimiter if self.options.sep == "auto" else self.options.sep
            if sep is None:
                sep = find_separator(source.head().removeprefix(BYTE_ORDER_MARK))
            rows = [split_fields(row.text, sep) for row in self._first_rows(source, sep)[:1000]]
            self._heads[source.name] = head = _parse_head(rows, self.options, source.name, sep)
            said = [f"{head.delimiter!r} separates fields"] if head.delimiter not in (self.delimiter, ",") else []
            said += ["numbers have decimal commas"] if head.decimal == "," else []
            if said and "auto" in (self.options.sep, self.options.decimal):
                logger.info("%s: %s", source.name, " and ".join(said))
        return self._heads[source.name]

    def _first_rows(self, source: Source, sep: str) -> list[CsvRow]:
        """Return the whole rows of the first 64 KiB, and of more until there are two."""
        n_bytes = HEAD_BYTES
        while True:
            head = source.head(n_bytes)
            require_text(head[:HEAD_BYTES], source.name)
            text = head.removeprefix(BYTE_ORDER_MARK)
            end, _, _, state, _ = _core.scan_csv(text, sep, 0, False)
            if len(head) < n_bytes:
                if state == WITHIN_QUOTES:
                    raise open_quote(LineBlock(text, 1), sep, source.name)
                return split_rows(LineBlock(text, 1), sep)
            rows = split_rows(LineBlock(text[:end], 1), sep)
            if len(rows) >= 2 or (rows and n_bytes > LONGEST_LINE):
                return rows
            if n_bytes > LONGEST_LINE:
                raise line_too_long(source.name, 1, open_quote=state == WITHIN_QUOTES)
            n_bytes = min(2 * n_bytes, LONGEST_LINE + 1)


def find_separator(head: bytes) -> str:
    r"""Return the character that cuts the first rows of a file into the same number of fields, a comma if none does.

    Examples
    --------
    >>> [find_separator(head) for head in (b"a;b\n1,5;2\n", b"a,b\n1;2,3\n", b"a|b\n1|2\n", b"a\n1\n")]
    [';', ',', '|', ',']
    """
    for sep in ";\t|":
        if sep.encode() not in head.partition(b"\n")[0]:
            continue
        end = _core.scan_csv(head, sep, 0, False)[0]
        rows = split_rows(LineBlock(head[:end] or head, 1), sep)[:100]
        n_fields = {len(split_fields(row.text, sep)) for row in rows}
        if len(n_fields) == 1 and n_fields != {1}:
            return sep
    return ","


class TsvReader(CsvReader):
    """A reader of TSV files: CSV with tabs."""

    delimiter = "\t"


def _parse_head(rows: list[list[str]], options: ReadOptions, path: str, sep: str) -> CsvHead:
    """Return what the first rows of a file tell."""
    if not rows:
        return CsvHead([], has_names=False, has_rows=False, delimiter=sep)
    decimal = options.decimal
    if decimal == "auto":
        decimal = "," if sep != "," and _have_decimal_commas(rows) else "."
    if decimal == ",":
        rows = [[_with_point(field) for field in row] for row in rows]
    has_names = options.header
    if has_names == "auto":
        has_names = is_header(rows[0], rows[1] if len(rows) > 1 else None)
    names: Sequence[str | None] = [None] * len(rows[0])
    if has_names:
        names = _column_names(rows[0], path)
        for place, field in enumerate(rows[0]):
            if not field.strip():
                logger.info("%s: %s; if it is that, name it in exclude", path, unnamed_column(names[place]))
        rows = rows[1:]
    columns = []
    missing = MISSING_TEXTS.union(options.na_values)
    for number, name in enumerate(names):
        values = [row[number] for row in rows if number < len(row) and row[number].strip() not in missing]
        numbers = [value for value in values if value.strip() not in PLACEHOLDERS]
        kind = "number" if not values or (numbers and is_number(numbers[0])) else kind_of_texts(values)
        if kind == "date, day first" and all(parse_month_first(value) is not None for value in values):
            logger.info("%s: dates such as %r of the column %r are read with the day first", path, values[0], name)
        by_value = are_values(set(map(form_of_text, values)))
        columns.append(FileColumn(name, kind, by_value=by_value, words=is_prose(values)))
    return CsvHead(columns, bool(has_names), bool(rows), sep, decimal)


def _column_names(fields: list[str], path: str) -> list[str]:
    """Return the names of columns. One without a name is called by its place, as in pandas."""
    names = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(fields)]
    other = next((name for name in names if any("\ud800" <= one <= "\udfff" for one in name)), None)
    if other is not None:
        got = quote(other.encode("utf-8", errors="surrogateescape"))
        rule = f"the names of columns must be UTF-8, got {got}, bytes as in Latin-1 or Windows-1252"
        raise DataError(f"{rule}; {RECODE}", path=path, line=1)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        rule = f"column names must differ, got {twice[0]!r} twice"
        way_out = "rename one of them, or give header=False if the first line is a row"
        raise DataError(f"{rule}; {way_out}", path=path, line=1)
    return names


def _have_decimal_commas(rows: list[list[str]]) -> bool:
    """Return whether some column has numbers with decimal commas, and nothing else but numbers and missing values."""
    for column in zip_longest(*rows[1:], fillvalue=""):
        values = [value.strip() for value in column if value.strip() not in MISSING_TEXTS | PLACEHOLDERS]
        if any("," in value for value in values) and all(is_number(_with_point(value)) for value in values):
            return not any("." in value for value in values)
    return False


def _with_point(field: str) -> str:
    return field.replace(",", ".") if DECIMAL_COMMA.fullmatch(field.strip()) else field


def is_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Return whether the first row holds the names of the columns.

    It does if none of its fields is a number, if it has text where the second row has a number, or if it counts the
    columns: 0, 1, 2, ...
    """
    if not any(is_number(field) for field in first):
        return True
    if second is not None and any(
        not is_number(one) and one.strip() not in MISSING_TEXTS and is_number(two)
        for one, two in zip(first, second, strict=False)
    ):
        return True
    return len(first) > 1 and [field.strip() for field in first] == [str(i) for i in range(len(first))]


def is_number(field: str) -> bool:
    """Return whether a field is a number; a missing value is not."""
    return NUMBER.fullmatch(field.strip()) is not None


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


def _without_names(blocks: Iterator[LineBlock], delimiter: str) -> Iterator[LineBlock]:
    """Yield the blocks without the first row that is not blank."""
    for block in blocks:
        ends = _core.split_csv_rows(block.text, delimiter)[1]
        if len(ends):
            rest = block.text[int(ends[0]) :]
            rest = rest[2 if rest.startswith(b"\r\n") else 1 :]
            removed = block.text[: len(block.text) - len(rest)]
            yield LineBlock(rest, block.first_line + _core.scan_csv(removed, delimiter, 0, False)[2])
            break
    yield from blocks


class BlockParser:
    """A parser of blocks of rows: pyarrow, and a slow way for blocks that it refuses or that it would change.

    `types` are the columns that are read, by their numbers, and what they must hold; `na_values` are further texts that
    are missing values.
    """

    def __init__(
        self,
        path: str,
        delimiter: str,
        names: Sequence[str | None],
        types: dict[int, str],
        decimal: str = ".",
        na_values: Sequence[str] = (),
    ) -> None:
        self._pyarrow, self._csv = require_pyarrow("CSV"), require_pyarrow("CSV", "pyarrow.csv")
        self._path, self._delimiter, self._names, self._types = path, delimiter, names, types
        self._decimal, self._na_values = decimal, na_values
        self._converts = self._convert_options(types)

    def __call__(self, block: LineBlock) -> tuple[dict[int, Any], InvalidRows]:
        """Return the columns of all rows by their numbers, an empty dict if there are none, and the invalid rows.

        An invalid row has missing values in all columns.
        """
        rows: list[CsvRow] = []

        def locate(row: int) -> CsvRow:
            if not rows:  # they are split only if an error asks for one
                rows.extend(split_rows(block, self._delimiter))
            return rows[row]

        invalid = InvalidRows(self._path, locate)
        text = block.text
        try:
            arrays = self._parse(text, self._converts)
            refused = any(is_inexact_text(one) for one in self._large_integers(text, arrays, NUMBERS))
        except self._pyarrow.ArrowInvalid:
            refused = True
        if refused:
            rows.extend(split_rows(block, self._delimiter))
            text = b"".join(self._normalized(number, row, invalid) for number, row in enumerate(rows))
            arrays = self._parse_or_fail(text, len(rows), block.first_line)
        return arrays | self._integer_labels(text, arrays), invalid

    def _convert_options(self, types: dict[int, str]) -> list[Any]:
        """Return what pyarrow needs to convert columns, 1,000 at a time: each takes 7 KB for a copy of the nulls."""
        text, number_type = self._pyarrow.string(), self._pyarrow.float64()
        columns = [(str(number), text if kind == STRINGS else number_type) for number, kind in types.items()]
        return [
            self._csv.ConvertOptions(
                column_types=dict(some),
                include_columns=[name for name, _ in some],
                null_values=[*MISSING_VALUES, *self._na_values],
                strings_can_be_null=True,
                decimal_point=self._decimal,
            )
            for some in (columns[begin : begin + 1000] for begin in range(0, max(1, len(columns)), 1000))
        ]

    def _parse(self, text: bytes, converts: list[Any]) -> dict[int, Any]:
        """Return the columns by their numbers, an empty dict if there are no rows."""
        if not text.strip(b"\r\n"):
            return {}
        names = [str(number) for number in range(len(self._names))]
        read_options = self._csv.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False)
        parse_options = self._csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=b'"' in text)
        tables = [
            self._csv.read_csv(self._pyarrow.BufferReader(text), read_options, parse_options, convert)
            for convert in converts
        ]
        if tables[0].num_rows == 0:
            return {}
        columns = ((name, table.column(name)) for table in tables for name in table.column_names)
        return {int(name): column.combine_chunks() for name, column in columns}

    def _parse_or_fail(self, text: bytes, n_rows: int, first_line: int) -> dict[int, Any]:
        """Return the columns of normalized rows."""
        rule = "rows must be CSV, got some that pyarrow cannot parse"
        try:
            arrays = self._parse(text, self._converts)
        except self._pyarrow.ArrowInvalid as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{rule}: {reason}", path=self._path, line=first_line) from error
        if arrays and len(next(iter(arrays.values()))) != n_rows:
            raise DataError(rule, path=self._path, line=first_line)
        return arrays

    def _large_integers(self, text: bytes, arrays: dict[int, Any], kind: str) -> list[str]:
        """Return the texts of integers of 16 digits and more in columns of a kind that have numbers beyond 2**53."""
        compute = require_pyarrow("CSV", "pyarrow.compute")
        columns_of_kind = ((number, array) for number, array in arrays.items() if self._types[number] == kind)
        numbers = [number for number, array in columns_of_kind if _is_large(array, compute)]
        texts = self._convert_options(dict.fromkeys(numbers, STRINGS))
        columns = self._parse(text, texts).values() if numbers else ()
        long = r"^\s*[-+]?\d{16,}\s*$"
        return [
            one for column in columns for one in column.filter(compute.match_substring_regex(column, long)).to_pylist()
        ]

    def _integer_labels(self, text: bytes, arrays: dict[int, Any]) -> dict[int, Any]:
        """Return the column of labels as integers where float64 does not hold them, and else nothing."""
        inexact = [one for one in self._large_integers(text, arrays, LABELS) if is_inexact_text(one)]
        if not inexact:
            return {}
        number = next(number for number, kind in self._types.items() if kind == LABELS)
        column = self._parse(text, self._convert_options({number: STRINGS}))[number]
        try:
            labels = labels_of_texts(column.fill_null("0").to_pylist())
        except ValueError:
            got = quote(inexact[0].strip())
            message = f"labels that are integers must be within int64 or text, got {got}; number the labels"
            raise DataError(message, path=self._path) from None
        return {number: self._pyarrow.array(labels, mask=column.is_null().to_numpy(zero_copy_only=False))}

    def _normalized(self, number: int, row: CsvRow, invalid: InvalidRows) -> bytes:
        """Return a row as pyarrow parses it, with missing values if it is invalid."""
        fields = split_fields(row.text, self._delimiter)
        n_columns = len(self._names)
        if len(fields) != n_columns:
            invalid.add([number], None, f"a row must have {n_columns} columns, got {len(fields)}; drop the row")
        else:
            for column, kind in self._types.items():
                rule = None
                if kind != STRINGS:
                    text = fields[column].strip()
                    if text in PLACEHOLDERS or text in self._na_values:
                        fields[column] = ""
                        if text in PLACEHOLDERS:
                            invalid.placeholders.append((self._names[column] or column + 1, text))
                        continue
                    if self._decimal == ",":
                        fields[column] = _with_point(fields[column])
                    fields[column], rule = _normalized_number(fields[column], kind)
                    if self._decimal == ",":
                        fields[column] = fields[column].replace(".", ",")
                elif not fields[column].isascii() and any("\ud800" <= one <= "\udfff" for one in fields[column]):
                    rule = f"a text must be UTF-8, got bytes as in Latin-1 or Windows-1252; {RECODE}, or drop the row"
                if rule is not None:
                    invalid.add([number], self._names[column] or column + 1, rule)
        if number in invalid.reasons:
            fields = [""] * n_columns
        quoted = ('"' + field.replace('"', '""') + '"' for field in fields)
        return (self._delimiter.join(quoted) + "\n").encode("utf-8", errors="surrogateescape")


def _normalized_number(field: str, kind: str) -> tuple[str, str | None]:
    """Return a number as pyarrow parses it, and the rule that the field breaks, or None."""
    stripped = field.strip()
    if stripped in MISSING_TEXTS or NAN.fullmatch(stripped):
        return "", None
    if not is_number(field):
        got = quote(field.encode("utf-8", errors="surrogateescape"))
        return "", f"a value must be a number, got {got}; if the column has categories, name it in categorical"
    if not INTEGER.fullmatch(stripped):
        return repr(float(field)), None
    if kind == NUMBERS and is_inexact_text(stripped):
        return "", (
            f"{INEXACT}, got {quote(stripped)}; subtract an offset, name the column in categorical, or write it with a "
            "decimal point if rounding is fine"
        )
    return stripped.removeprefix("+"), None


def _is_large(array: Any, compute: Any) -> bool:
    """Return whether some numbers of a column are beyond 2**53."""
    if len(array) == array.null_count:
        return False
    smallest, largest = compute.min_max(array).as_py().values()
    return largest >= MAX_EXACT or smallest <= -MAX_EXACT
