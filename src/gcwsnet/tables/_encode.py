"""The encoding of table columns as columns of X: numbers, dates, vectors, sparse rows and categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._columns import (
    BOOLEANS,
    PARSERS,
    ArrowColumn,
    Factor,
    TableColumn,
    arrow_kind,
    canonical_text,
    known_categories,
    labels_of_texts,
    to_days,
)
from gcwsnet.tables._errors import MISSING_MESSAGE, ColumnReference, DataError, InvalidRows, quote, require_pyarrow
from gcwsnet.tables._schema import NUMBERS, Column, ColumnSelection, Schema

FNV_BASIS, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3

Array = Any

"""An array of pyarrow, or of NumPy."""

PLURALS = {
    "number": "numbers",
    "boolean": "booleans",
    "date": "dates",
    "duration": "durations",
    "category": "categories",
    "ordered": "ordered categories",
    "vector": "lists",
    "index vector": "lists",
}

CATEGORIES_HINT = "if these are categories, name the column in categorical, or give it a type of categories"

Entries = tuple[Array, Array, Array]

"""Rows, columns and values of entries that are not zero."""


class Table(NamedTuple):
    """Rows of a table: the columns of a schema in its order, and pyarrow arrays of label and weight.

    A "sparse" column of the schema has two columns here, one with indices and one with values.
    """

    columns: Sequence[TableColumn]
    label: Array | None = None
    weight: Array | None = None

    @classmethod
    def from_arrays(cls, arrays: Mapping[int, Array], selection: ColumnSelection) -> Table:
        """Return the table of the arrays of a file, which are given by the numbers of their columns."""
        label, weight = (None if number is None else arrays[number] for number in (selection.label, selection.weight))
        return cls([ArrowColumn(arrays[number]) for number in selection.features], label, weight)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0])


def encode(table: Table, schema: Schema, invalid: InvalidRows, dtype: str) -> Batch:
    """Return the rows of a table as a batch, with NaN for missing numbers.

    Rows that break another rule are added to `invalid`, and so are unknown categories, which are no error.
    """
    parts = _encode_columns(table, schema, invalid)
    with np.errstate(over="ignore"):  # check_batch finds infinite numbers
        X = (_join_sparse if schema.is_sparse else _join_dense)(parts, (table.n_rows, schema.n_features), dtype)
    y = None if table.label is None else to_labels(table.label, schema, invalid)
    weight = None if table.weight is None else ArrowColumn(table.weight).numbers()
    return Batch(X, y, weight)


def to_labels(array: Array, schema: Schema, invalid: InvalidRows) -> Array:
    """Return labels as numbers of their own type, or as strings; rows without a label are invalid."""
    pyarrow = require_pyarrow("tables")
    kind = arrow_kind(array.type)
    reference: ColumnReference = schema.label + 1 if isinstance(schema.label, int) else schema.label
    if kind not in ("number", "boolean"):
        try:
            array = array.cast("string")
        except pyarrow.ArrowException:
            message = f"a label must be a number, a boolean or text, got the type {array.type}; convert the column"
            invalid.add(range(len(array)), reference, lambda _: message)
            return np.zeros(len(array))
    if array.null_count:
        nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        invalid.add(nulls, reference, lambda _: "a label must not be missing; drop the row")
        array = array.fill_null({"number": 0, "boolean": False}.get(kind, ""))
    if kind == "boolean":
        array = array.cast("int8")
    if pyarrow.types.is_decimal(array.type):
        return _decimal_labels(array, reference, invalid)
    if kind in ("number", "boolean"):
        return array.to_numpy(zero_copy_only=False)
    return np.asarray(array.to_pylist(), dtype=str)


def _decimal_labels(array: Array, reference: ColumnReference, invalid: InvalidRows) -> Array:
    if array.type.scale > 0:
        return ArrowColumn(array).numbers()
    values = array.to_pylist()
    try:
        return labels_of_texts([format(value, "f") for value in values])
    except ValueError:
        rule = "labels that are integers must be within int64 or text, got "
        beyond = [row for row, value in enumerate(values) if abs(value) >= 2**63]
        invalid.add(beyond, reference, lambda row: f"{rule}{values[row]}; convert the column")
        return ArrowColumn(array).numbers()


def hash_to_columns(column: str, texts: Sequence[str], n_columns: int) -> NDArray[np.int64]:
    """Return the columns, from 0 to `n_columns` - 1, that the texts of one column of a table are hashed to.

    The bytes of ``column=text`` in UTF-8 go through FNV-1a (64 bits) and the finalizer of splitmix64. The upper 32 bits
    of that, times `n_columns`, over 2**32 is the column.

    Parameters
    ----------
    column : str
        The name, or the number from 0 where there is no name.
    texts : list of str
    n_columns : int
        At most 2**31.

    Examples
    --------
    >>> hash_to_columns("city", ["Rome", "Oslo"], 1000).tolist()
    [800, 413]
    """
    encoded = [text.encode("utf-8", errors="surrogatepass") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    keys = np.empty(len(encoded), np.uint64)
    _core.text_keys(b"".join(encoded), ends, _fnv1a_state(f"{column}=".encode()), keys)
    return ((keys >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32)).astype(np.int64)


def _fnv1a_state(prefix: bytes) -> int:
    """Return the state of FNV-1a (64 bits) after the bytes of `prefix`."""
    state = FNV_BASIS
    for byte in prefix:
        state = (state ^ byte) * FNV_PRIME % 2**64
    return state


def _encode_columns(
    table: Table, schema: Schema, invalid: InvalidRows
) -> Iterator[tuple[int, NDArray[np.float64] | Entries]]:
    """Yield for each column of a table its first column of X, and what it becomes: a block of columns, or entries."""
    sources, first = iter(table.columns), 0
    for column in schema.columns:
        source = next(sources)
        if column.kind in NUMBERS:
            yield first, _encode_numbers(column, source, schema, invalid)[:, np.newaxis]
        elif column.kind == "vector":
            yield first, _encode_vectors(column, source, invalid)
        elif column.kind == "sparse":
            yield first, _encode_index_lists(column, source, next(sources), invalid)
        else:
            rows, places = _encode_categories(column, source, schema, invalid)
            start = schema.n_features - schema.hash_columns if column.kind == "hashed" else first
            yield start, (rows, places, np.ones(len(rows)))
        first += column.width


def _join_dense(parts: Iterator[tuple[int, Any]], shape: tuple[int, int], dtype: str) -> Array:
    X = np.zeros(shape, dtype)
    for first, part in parts:
        if isinstance(part, tuple):
            rows, columns, values = part
            X[rows, first + columns] = values
        else:
            X[:, first : first + part.shape[1]] = part
    return X


def _join_sparse(parts: Iterator[tuple[int, Any]], shape: tuple[int, int], dtype: str) -> Array:
    entries: list[Entries] = []
    for first, part in parts:
        if isinstance(part, tuple):
            rows, columns, values = part
        else:
            rows, columns = np.nonzero(part)
            values = part[rows, columns]
        entries.append((rows, first + columns, values))
    rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
    index = np.int32 if shape[1] <= np.iinfo(np.int32).max else np.int64
    X = sparse.coo_array((values.astype(dtype), (rows.astype(index), columns.astype(index))), shape=shape).tocsr()
    X.sum_duplicates()
    return mark_canonical(X)


def _encode_numbers(column: Column, source: TableColumn, schema: Schema, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return the column of X that a column of numbers, booleans, dates, durations or ordered categories becomes."""
    if column.kind == "ordered":
        return _encode_ranks(column, source, schema, invalid)
    if source.kind == column.kind and column.kind in PARSERS:
        return source.days()
    if column.kind not in PARSERS and source.kind in ("number", "boolean"):
        _refuse_inexact(column, source, invalid)
        return source.numbers()
    if source.kind == "number" and np.isnan(numbers := source.numbers()).all():
        return numbers  # a column without values has no other type
    if source.kind not in ("text", "category", "ordered"):
        got = PLURALS.get(source.kind, source.kind)
        message = f"the column must hold {PLURALS[column.kind]}, as in training, got {got}; convert it, or train again"
        invalid.add(range(len(source)), column.reference, lambda _: message)
        return np.zeros(len(source))
    return _parse_texts(column, factor_of_column(column, source), invalid)


def _refuse_inexact(column: Column, source: TableColumn, invalid: InvalidRows) -> None:
    rows = source.inexact_rows()
    invalid.add(rows, column.reference, lambda row: f"{INEXACT}, got {rows[row]!s:.60}; {INEXACT_WAY_OUT}")


def _parse_texts(column: Column, factor: Factor, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return numbers, booleans, dates or durations that are texts; a text that is none makes its rows invalid."""
    if column.kind == "number":
        what = "a number"
        parsed = np.array([_to_number(text) for text in factor.texts])
    elif column.kind == "boolean":
        what = "true or false"
        parsed = np.array([BOOLEANS.get(text.strip().lower(), np.nan) for text in factor.texts])
    else:
        parse, what = PARSERS[column.kind]
        found = [parse(text) for text in factor.texts]
        none = np.array([one is None for one in found], dtype=bool)
        parsed = to_days(np.array([one or 0 for one in found], dtype=np.int64), none)
    unknown = np.append(np.isnan(parsed), False)[factor.codes]
    message = f"a value must be {what}, as the others of this column are, got "
    invalid.add(
        np.flatnonzero(unknown),
        column.reference,
        lambda row: f"{message}{quote(factor.texts[factor.codes[row]])}; {CATEGORIES_HINT}",
    )
    return np.append(parsed, np.nan)[factor.codes]


def _to_number(text: str) -> float:
    """Return the number that a text is, NaN for any other text."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _encode_ranks(column: Column, source: TableColumn, schema: Schema, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return the ranks of ordered categories, with NaN for missing and for unknown ones."""
    factor = factor_of_column(column, source)
    if not column.categories:  # they are still to be learned
        return np.where(factor.codes < 0, np.nan, 0.0)
    known = known_categories(column.categories)
    places = [known.place(text) for text in factor.texts]
    ranks = np.array([*(np.nan if place is None else place for place in places), np.nan])[factor.codes]
    unknown = np.isnan(ranks) & (factor.codes >= 0)
    invalid.add_categories(column.reference, factor.texts, factor.codes, unknown)
    if schema.missing == "error":
        message = "an ordered category must be one of those of training where missing values are errors, got "
        invalid.add(
            np.flatnonzero(unknown),
            column.reference,
            lambda row: f"{message}{quote(factor.texts[factor.codes[row]])}; drop the row",
        )
    return ranks


def factor_of_column(column: Column, source: TableColumn) -> Factor:
    """Return the codes and the texts of a column of categories, or raise a DataError that names the column."""
    try:
        return source.factor()
    except TypeError as error:
        raise DataError(str(error), column=column.reference) from error


def _encode_vectors(column: Column, source: TableColumn, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return the columns of X that a column of vectors becomes."""
    _refuse_inexact(column, source, invalid)
    lengths, values = source.lists()
    wrong = lengths != column.width
    if not wrong.any():
        return values.reshape(len(source), column.width)
    rule = f"a vector must have {column.width} numbers, got "
    invalid.add(
        np.flatnonzero(wrong),
        column.reference,
        lambda row: f"{rule}{lengths[row] or 'none: it is missing or empty'}; drop the row",
    )
    block = np.zeros((len(source), column.width))
    block[~wrong] = values[np.repeat(~wrong, lengths)].reshape(-1, column.width)
    return block


def _encode_categories(
    column: Column, source: TableColumn, schema: Schema, invalid: InvalidRows
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows whose category is known, and the numbers of their categories or the columns of their hashes."""
    codes, texts = factor_of_column(column, source)
    if schema.missing == "error":
        invalid.add(np.flatnonzero(codes < 0), column.reference, lambda _: MISSING_MESSAGE)
    if column.kind == "hashed":
        hashed = [canonical_text(text) for text in texts] if column.by_value else texts
        places = hash_to_columns(column.key, hashed, schema.hash_columns)
    else:
        known = known_categories(column.categories)
        numbers = (known.place(text) for text in texts)
        places = np.array([-1 if number is None else number for number in numbers], dtype=np.int64)
    found = np.append(places, -1)[codes]
    if column.kind == "onehot" and column.categories:
        invalid.add_categories(column.reference, texts, codes, (found < 0) & (codes >= 0))
    rows = np.flatnonzero(found >= 0)
    return rows, found[rows]


def _encode_index_lists(
    column: Column, index_lists: TableColumn, value_lists: TableColumn, invalid: InvalidRows
) -> Entries:
    """Return the rows, indices and values of the entries of sparse rows.

    A row is invalid if its lists differ in length, or if an index is out of range or occurs twice.
    """
    for lists in (index_lists, value_lists):
        _refuse_inexact(column, lists, invalid)
    lengths, indices = index_lists.lists()
    value_lengths, values = value_lists.lists()
    unequal = lengths != value_lengths
    if unequal.any():
        rule = "indices and values of a row must have the same length, got "
        invalid.add(
            np.flatnonzero(unequal),
            column.reference,
            lambda row: f"{rule}{lengths[row]} and {value_lengths[row]}; drop the row",
        )
        indices = indices[np.repeat(~unequal, lengths)]
        values = values[np.repeat(~unequal, value_lengths)]
    rows = np.repeat(np.arange(len(lengths)), np.where(unequal, 0, lengths))
    outside = ~((indices >= 0) & (indices < column.width))
    for row, index in zip(rows[outside], indices[outside], strict=True):
        message = f"an index must be from 0 to {column.width - 1}, got {quote(f'{index:.0f}')}; drop the row"
        invalid.add([row], column.reference, lambda _, message=message: message)  # type: ignore[misc]
    rows, indices, values = rows[~outside], indices[~outside].astype(np.int64), values[~outside]
    order = np.lexsort((indices, rows))
    repeated = (np.diff(rows[order]) == 0) & (np.diff(indices[order]) == 0)
    twice = rows[order][1:][repeated]
    invalid.add(twice, column.reference, lambda _: "an index must occur only once in a row; drop the row")
    return rows, indices, values
