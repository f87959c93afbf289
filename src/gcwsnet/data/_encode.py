"""Columns of tables as rows of X."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcwsnet.data._arrow import needed_pyarrow
from gcwsnet.data._batch import Batch, canonical
from gcwsnet.data._errors import Faults, shown
from gcwsnet.data._layout import Column, Layout
from gcwsnet.data._screen import MISSING_RULE, Marks, Place
from gcwsnet.data._text_keys import hashed_columns

Array = Any


class Table(NamedTuple):
    """Some rows: the columns of a layout in its order, two for a sparse one, and label and weight if they are there."""

    columns: list[Array]
    label: Array | None
    weight: Array | None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])


def place(column: Column) -> Place:
    """What an error calls a column: its name, or its number from 1."""
    return column.number + 1 if column.name is None else column.name


def encode(table: Table, layout: Layout, marks: Marks, faults: Faults, dtype: str) -> Batch:
    """Rows of X with labels and weights. Missing numbers are NaN; other rules that are broken are marked."""
    assembled = (_sparse if layout.is_sparse else _dense)(table, layout, marks, faults, dtype)
    y = None if table.label is None else labels(table.label, layout, marks)
    weight = None if table.weight is None else numbers(table.weight)
    return Batch(assembled, y, weight)


def numbers(array: Array) -> Array:
    """A column as float64, NaN where it is null."""
    if array.type != "double":
        array = array.cast("double", safe=False)
    if array.null_count:
        array = array.fill_null(float("nan"))
    return array.to_numpy(zero_copy_only=False)


def texts(array: Array) -> Array:
    """A column as strings."""
    return array.cast("string")


def labels(array: Array, layout: Layout, marks: Marks) -> Array:
    """Labels as numbers of their own type, or as strings."""
    pyarrow = needed_pyarrow("tables")
    if array.null_count:
        name: Place = layout.label + 1 if isinstance(layout.label, int) else layout.label
        nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        marks.add(nulls, name, lambda _: "a label must not be missing; drop the row")
        is_text = pyarrow.types.is_string(array.type)
        array = array.fill_null("" if is_text else False if pyarrow.types.is_boolean(array.type) else 0)
    if pyarrow.types.is_boolean(array.type):
        array = array.cast("int8")
    if pyarrow.types.is_integer(array.type) or pyarrow.types.is_floating(array.type):
        return array.to_numpy(zero_copy_only=False)
    if pyarrow.types.is_decimal(array.type):
        return numbers(array)
    return np.asarray(texts(array).to_pylist(), dtype=str)


def _dense(table: Table, layout: Layout, marks: Marks, faults: Faults, dtype: str) -> Array:
    del faults  # there are no categories here
    X = np.empty((table.n_rows, layout.n_features), dtype)
    first = 0
    with np.errstate(over="ignore"):  # infinite numbers are found later
        for column, array in zip(layout.columns, table.columns, strict=True):
            last = first + column.width
            X[:, first:last] = _block(column, array, marks)
            first = last
    return X


def _block(column: Column, array: Array, marks: Marks) -> Array:
    """The columns of X that a column of numbers or of vectors becomes."""
    if column.kind == "number":
        return numbers(array)[:, np.newaxis]
    lengths, values = lists(array)
    wrong = lengths != column.width
    if not wrong.any():
        return values.reshape(len(array), column.width)
    rule = f"a vector must have {column.width} numbers, got "
    marks.add(np.flatnonzero(wrong), place(column), lambda row: f"{rule}{lengths[row]}; drop the row")
    block = np.zeros((len(array), column.width))
    block[~wrong] = values[np.repeat(~wrong, lengths)].reshape(-1, column.width)
    return block


def lists(array: Array) -> tuple[Array, Array]:
    """Lengths of the lists of a column, 0 for null, and their numbers one behind the other."""
    pyarrow = needed_pyarrow("tables")
    if pyarrow.types.is_fixed_size_list(array.type):
        array = array.cast(pyarrow.large_list(array.type.value_type))
    compute = needed_pyarrow("tables", "pyarrow.compute")
    lengths = compute.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64), numbers(array.flatten())


def _sparse(table: Table, layout: Layout, marks: Marks, faults: Faults, dtype: str) -> Array:
    parts: list[tuple[Array, Array, Array]] = []
    arrays, first = iter(table.columns), 0
    for column in layout.columns:
        array = next(arrays)
        if column.kind == "onehot":
            rows, found = _one_hot(column, array, layout, marks, faults)
            parts.append((rows, first + found, np.ones(len(rows))))
        elif column.kind == "hashed":
            rows, found = _hashed(column, array, layout, marks)
            parts.append((rows, layout.n_features - layout.hash_columns + found, np.ones(len(rows))))
        elif column.kind == "sparse":
            rows, found, values = _index_lists(column, array, next(arrays), marks)
            parts.append((rows, first + found, values))
        else:
            block = _block(column, array, marks)
            rows, found = np.nonzero(block)
            parts.append((rows, first + found, block[rows, found]))
        first += column.width
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    with np.errstate(over="ignore"):  # infinite numbers are found later
        values = values.astype(dtype)
    index = np.int32 if layout.n_features <= np.iinfo(np.int32).max else np.int64
    entries = (values, (rows.astype(index), columns.astype(index)))
    X = sparse.coo_array(entries, shape=(table.n_rows, layout.n_features)).tocsr()
    X.sum_duplicates()
    return canonical(X)


def _there(array: Array, column: Column, layout: Layout, marks: Marks) -> tuple[Array, Array]:
    """Rows that have a text, and their texts."""
    array = texts(array)
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    if layout.missing == "error":
        marks.add(np.flatnonzero(is_null), place(column), lambda _: MISSING_RULE)
    return np.flatnonzero(~is_null), array.drop_null()


def _one_hot(column: Column, array: Array, layout: Layout, marks: Marks, faults: Faults) -> tuple[Array, Array]:
    """Rows whose category is known, and the numbers of their categories."""
    pyarrow = needed_pyarrow("tables")
    rows, there = _there(array, column, layout, marks)
    compute = needed_pyarrow("tables", "pyarrow.compute")
    found = compute.index_in(there, value_set=pyarrow.array(column.categories, "string"))
    known = found.is_valid().to_numpy(zero_copy_only=False)
    if column.categories:
        faults.unknown_categories += int(len(known) - known.sum())
    return rows[known], found.drop_null().to_numpy(zero_copy_only=False)


def _hashed(column: Column, array: Array, layout: Layout, marks: Marks) -> tuple[Array, Array]:
    rows, there = _there(array, column, layout, marks)
    name = str(column.number) if column.name is None else column.name
    return rows, hashed_columns(name, there, layout.hash_columns)


def _index_lists(column: Column, indices: Array, values: Array, marks: Marks) -> tuple[Array, Array, Array]:
    """Entries of sparse rows. Rows with lists of two lengths, or with an index out of range or twice, are marked."""
    lengths, found = lists(indices)
    value_lengths, numbers_ = lists(values)
    unequal = lengths != value_lengths
    if unequal.any():
        rule = "indices and values of a row must be equally many, got "
        marks.add(
            np.flatnonzero(unequal),
            place(column),
            lambda row: f"{rule}{lengths[row]} and {value_lengths[row]}; drop the row",
        )
        found = found[np.repeat(~unequal, lengths)]
        numbers_ = numbers_[np.repeat(~unequal, value_lengths)]
    rows = np.repeat(np.arange(len(lengths)), np.where(unequal, 0, lengths))
    outside = ~((found >= 0) & (found < column.width))
    for row, index in zip(rows[outside], found[outside], strict=True):
        rule = f"an index must be from 0 to {column.width - 1}, got {shown(f'{index:.0f}')}; drop the row"
        marks.add([row], place(column), lambda _, rule=rule: rule)  # type: ignore[misc]
    rows, found, numbers_ = rows[~outside], found[~outside].astype(np.int64), numbers_[~outside]
    order = np.lexsort((found, rows))
    again = (np.diff(rows[order]) == 0) & (np.diff(found[order]) == 0)
    marks.add(rows[order][1:][again], place(column), lambda _: "an index must occur once in a row; drop the row")
    return rows, found, numbers_
