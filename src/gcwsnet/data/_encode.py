"""The encoding of table columns as columns of X: numbers, vectors, sparse rows, one-hot and hashed categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet.data._batch import Batch, mark_canonical
from gcwsnet.data._errors import MISSING_MESSAGE, ColumnReference, ErrorHandler, InvalidRows, quote, require_pyarrow
from gcwsnet.data._schema import Column, ColumnSelection, Schema

FNV_BASIS, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
Array = Any
"""An array of pyarrow, or of NumPy."""


class Table(NamedTuple):
    """Rows of a table: pyarrow arrays of the columns of a schema in its order, and of label and weight.

    A "sparse" column of the schema has two arrays, one with indices and one with values.
    """

    columns: list[Array]
    label: Array | None
    weight: Array | None

    @classmethod
    def from_columns(cls, arrays: Mapping[int, Array], selection: ColumnSelection) -> Table:
        """Return the table of the arrays of a file, which are given by the numbers of their columns."""
        label, weight = (None if number is None else arrays[number] for number in (selection.label, selection.weight))
        return cls([arrays[number] for number in selection.features], label, weight)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0])


def encode(table: Table, schema: Schema, invalid: InvalidRows, errors: ErrorHandler, dtype: str) -> Batch:
    """Return the rows of a table as a batch, with NaN for missing numbers.

    Rows that break another rule are added to `invalid`; unknown categories are counted in `errors`.
    """
    if schema.is_sparse:
        X = _encode_sparse(table, schema, invalid, errors, dtype)
    else:
        X = _encode_dense(table, schema, invalid, dtype)
    y = None if table.label is None else to_labels(table.label, schema, invalid)
    weight = None if table.weight is None else to_float64(table.weight)
    return Batch(X, y, weight)


def to_float64(array: Array) -> Array:
    """Return a column as float64, with NaN for null."""
    if array.type != "double":
        array = array.cast("double", safe=False)
    if array.null_count:
        array = array.fill_null(float("nan"))
    return array.to_numpy(zero_copy_only=False)


def to_strings(array: Array) -> Array:
    """Return a column as a pyarrow array of strings."""
    return array.cast("string")


def to_labels(array: Array, schema: Schema, invalid: InvalidRows) -> Array:
    """Return labels as numbers of their own type, or as strings; rows without a label are invalid."""
    pyarrow = require_pyarrow("tables")
    if array.null_count:
        reference: ColumnReference = schema.label + 1 if isinstance(schema.label, int) else schema.label
        nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        invalid.add(nulls, reference, lambda _: "a label must not be missing; drop the row")
        is_text = pyarrow.types.is_string(array.type)
        array = array.fill_null("" if is_text else False if pyarrow.types.is_boolean(array.type) else 0)
    if pyarrow.types.is_boolean(array.type):
        array = array.cast("int8")
    if pyarrow.types.is_integer(array.type) or pyarrow.types.is_floating(array.type):
        return array.to_numpy(zero_copy_only=False)
    if pyarrow.types.is_decimal(array.type):
        return to_float64(array)
    return np.asarray(to_strings(array).to_pylist(), dtype=str)


def flatten_lists(array: Array) -> tuple[Array, Array]:
    """Return the lengths of the lists of a column, 0 for null, and all their numbers in one array."""
    pyarrow = require_pyarrow("tables")
    if pyarrow.types.is_fixed_size_list(array.type):
        array = array.cast(pyarrow.large_list(array.type.value_type))
    compute = require_pyarrow("tables", "pyarrow.compute")
    lengths = compute.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64), to_float64(array.flatten())


def hash_to_columns(column: str, texts: Any, n_columns: int) -> NDArray[np.int64]:
    """Return the columns, from 0 to `n_columns` - 1, that the texts of one column of a table are hashed to.

    The bytes of ``column=text`` in UTF-8 go through FNV-1a (64 bits) and the finalizer of splitmix64. The upper 32 bits
    of that, times `n_columns`, over 2**32 is the column.

    Parameters
    ----------
    column : str
        The name, or the number from 0 where there is no name.
    texts : pyarrow array of strings, without nulls
    n_columns : int
        At most 2**31.

    Examples
    --------
    >>> import pyarrow
    >>> hash_to_columns("city", pyarrow.array(["Rome", "Oslo"]), 1000).tolist()
    [800, 413]
    """
    texts = texts.cast("large_string")
    _, ends, content = texts.buffers()
    ends = (
        np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else np.zeros(1, int)
    )
    keys = np.empty(len(texts), np.uint64)
    _core.text_keys(b"" if content is None else content.to_pybytes(), ends, _fnv1a_state(f"{column}=".encode()), keys)
    return ((keys >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32)).astype(np.int64)


def _fnv1a_state(prefix: bytes) -> int:
    """Return the state of FNV-1a (64 bits) after the bytes of `prefix`."""
    state = FNV_BASIS
    for byte in prefix:
        state = (state ^ byte) * FNV_PRIME % 2**64
    return state


def _encode_dense(table: Table, schema: Schema, invalid: InvalidRows, dtype: str) -> Array:
    X = np.empty((table.n_rows, schema.n_features), dtype)
    first = 0
    with np.errstate(over="ignore"):  # check_batch finds infinite numbers
        for column, array in zip(schema.columns, table.columns, strict=True):
            last = first + column.width
            X[:, first:last] = _encode_numbers(column, array, invalid)
            first = last
    return X


def _encode_numbers(column: Column, array: Array, invalid: InvalidRows) -> Array:
    """Return the columns of X that a column of numbers or of vectors becomes."""
    if column.kind == "number":
        return to_float64(array)[:, np.newaxis]
    lengths, values = flatten_lists(array)
    wrong = lengths != column.width
    if not wrong.any():
        return values.reshape(len(array), column.width)
    rule = f"a vector must have {column.width} numbers, got "
    invalid.add(np.flatnonzero(wrong), column.reference, lambda row: f"{rule}{lengths[row]}; drop the row")
    block = np.zeros((len(array), column.width))
    block[~wrong] = values[np.repeat(~wrong, lengths)].reshape(-1, column.width)
    return block


def _encode_sparse(table: Table, schema: Schema, invalid: InvalidRows, errors: ErrorHandler, dtype: str) -> Array:
    parts: list[tuple[Array, Array, Array]] = []
    arrays, first = iter(table.columns), 0
    for column in schema.columns:
        array = next(arrays)
        if column.kind == "onehot":
            rows, codes = _encode_one_hot(column, array, schema, invalid, errors)
            parts.append((rows, first + codes, np.ones(len(rows))))
        elif column.kind == "hashed":
            rows, texts = _present_strings(column, array, schema, invalid)
            hashed = hash_to_columns(column.key, texts, schema.hash_columns)
            parts.append((rows, schema.n_features - schema.hash_columns + hashed, np.ones(len(rows))))
        elif column.kind == "sparse":
            rows, indices, values = _encode_index_lists(column, array, next(arrays), invalid)
            parts.append((rows, first + indices, values))
        else:
            block = _encode_numbers(column, array, invalid)
            rows, columns = np.nonzero(block)
            parts.append((rows, first + columns, block[rows, columns]))
        first += column.width
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    with np.errstate(over="ignore"):  # check_batch finds infinite numbers
        values = values.astype(dtype)
    index = np.int32 if schema.n_features <= np.iinfo(np.int32).max else np.int64
    entries = (values, (rows.astype(index), columns.astype(index)))
    X = sparse.coo_array(entries, shape=(table.n_rows, schema.n_features)).tocsr()
    X.sum_duplicates()
    return mark_canonical(X)


def _present_strings(column: Column, array: Array, schema: Schema, invalid: InvalidRows) -> tuple[Array, Array]:
    """Return the rows whose text is not missing, and their texts."""
    array = to_strings(array)
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    if schema.missing == "error":
        invalid.add(np.flatnonzero(is_null), column.reference, lambda _: MISSING_MESSAGE)
    return np.flatnonzero(~is_null), array.drop_null()


def _encode_one_hot(
    column: Column, array: Array, schema: Schema, invalid: InvalidRows, errors: ErrorHandler
) -> tuple[Array, Array]:
    """Return the rows whose category is known, and the numbers of their categories."""
    pyarrow = require_pyarrow("tables")
    compute = require_pyarrow("tables", "pyarrow.compute")
    rows, texts = _present_strings(column, array, schema, invalid)
    codes = compute.index_in(texts, value_set=pyarrow.array(column.categories, "string"))
    known = codes.is_valid().to_numpy(zero_copy_only=False)
    if column.categories:
        errors.unknown_categories += int(len(known) - known.sum())
    return rows[known], codes.drop_null().to_numpy(zero_copy_only=False)


def _encode_index_lists(
    column: Column, index_lists: Array, value_lists: Array, invalid: InvalidRows
) -> tuple[Array, Array, Array]:
    """Return the rows, indices and values of the entries of sparse rows.

    A row is invalid if its lists differ in length, or if an index is out of range or occurs twice.
    """
    lengths, indices = flatten_lists(index_lists)
    value_lengths, values = flatten_lists(value_lists)
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
