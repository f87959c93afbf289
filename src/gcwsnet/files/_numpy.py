"""Arrays in memory, and npy and npz files: a matrix, X with labels and weights, or a sparse matrix."""

from __future__ import annotations

import lzma
import tokenize
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT, MAX_COLUMNS, as_floats, inexact_integers
from gcwsnet.files._reader import Reader
from gcwsnet.files._sources import Source
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._encode import Learner
from gcwsnet.tables._errors import (
    DataError,
    ErrorHandler,
    InvalidRows,
    check_batch,
    damage_as_data_error,
    entry_places,
)
from gcwsnet.tables._schema import ColumnName, ReadOptions, Schema

CHUNK_BYTES = 1 << 21

NUMBERS, LABELS = "buif", "buifU"  # kinds of NumPy's dtypes

Array = Any
Chunks = Iterator[tuple[Array, Array, Array]]
"""X, y and weight, some rows at a time; y and weight may be None."""


class ArraysReader(Reader):
    """A reader of an iterable of X, (X, y) or (X, y, weight). An iterator can be read only once."""

    def __init__(self, arrays: Iterable[Any], options: ReadOptions, *args: Any) -> None:
        super().__init__([], options, *args)
        self._arrays = arrays
        self.reusable = iter(arrays) is not arrays
        self._started = False

    def start_schema(self) -> Schema:
        """Return the schema, which has the width of the first X."""
        arrays = self._iterate()
        first = next(arrays, None)
        if first is None:
            raise DataError("there must be at least one row, got an empty iterable")
        if not self.reusable:
            self._arrays, self._started = chain([first], arrays), False
        X = as_batch(first, self.options.dtype).X
        return Schema(self.options.n_features or X.shape[1], self.options.missing_rule)

    def read(self, schema: Schema, errors: ErrorHandler, learner: Learner | None = None) -> Iterator[Batch]:
        """Yield a batch for each item of the iterable, all with the dtype of the first one."""
        del learner
        return _valid_batches(self._iterate(), None, schema, self.options, errors)

    def _iterate(self) -> Iterator[Any]:
        if self._started and not self.reusable:
            raise ValueError("an iterator can be read only once, and it was read already; give a list to reread it")
        self._started = True
        return iter(self._arrays)


def _valid_batches(
    arrays: Iterable[Any], path: str | None, schema: Schema, options: ReadOptions, errors: ErrorHandler
) -> Iterator[Batch]:
    """Yield arrays as batches without invalid rows, or raise DataError if they have not the width of the schema."""
    first_row, dtype = 0, options.dtype
    for item in arrays:
        batch = as_batch(item, dtype, path=path, first_row=first_row)
        dtype = batch.X.dtype.name
        if batch.X.shape[1] != schema.n_features:
            raise DataError(
                f"rows must have {schema.n_features} columns, got {batch.X.shape[1]}; give all rows the same width",
                path=path,
                line=first_row + 1,
            )
        invalid = InvalidRows.numbered(path, first_row)
        batch = check_batch(batch, invalid, missing=schema.missing, known_labels=options.labels)
        yield from errors.valid_rows(batch, invalid)
        first_row += batch.n_rows


def as_batch(arrays: Any, dtype: str | None, *, path: str | None = None, first_row: int = 0) -> Batch:
    """Return X, (X, y) or (X, y, weight) as a batch. Without `dtype`, float32 and float64 are kept as they are.

    Errors name the file and the row, where the first row of the arrays is number `first_row`, from 0.
    """
    X, y, weight = (*arrays, None, None)[:3] if isinstance(arrays, tuple) else (arrays, None, None)
    X = _as_rows(X, dtype, path, first_row)
    n_rows = X.shape[0]
    if y is not None:
        y = np.asarray(y)
        if y.dtype.kind == "O":
            if not all(isinstance(label, str) for label in y.reshape(-1)):
                raise DataError("labels must be all numbers or all strings, got an array of other objects", path=path)
            y = y.astype(str)
        if y.dtype.kind not in LABELS or y.shape != (n_rows,):
            raise DataError(f"y must be {n_rows} numbers or strings, got {y.dtype} of shape {y.shape}", path=path)
    if weight is not None:
        weight = np.asarray(weight)
        if weight.dtype.kind not in NUMBERS or weight.shape != (n_rows,):
            raise DataError(f"weight must be {n_rows} numbers, got {weight.dtype} of shape {weight.shape}", path=path)
        weight = weight.astype(np.float64, copy=False)
    return Batch(X, y, weight)


def _as_rows(X: Any, dtype: str | None, path: str | None, first_row: int) -> Any:
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    _require_matrix(X, path)
    if X.shape[1] > MAX_COLUMNS:
        raise DataError(f"X must have at most 2**31 columns, got {X.shape[1]}; feature-hash it to fewer", path=path)
    numbers = X.data if sparse.issparse(X) else X
    inexact = inexact_integers(numbers)
    if len(inexact):
        row, column = entry_places(X, inexact[0])
        rule = f"{INEXACT}, got {int(numbers.reshape(-1)[inexact[0]])}; {INEXACT_WAY_OUT}"
        raise DataError(rule, path=path, line=first_row + int(row) + 1, column=int(column))
    if dtype is None:
        X = as_floats(X)
    else:
        with np.errstate(over="ignore"):  # check_batch finds infinite numbers
            X = X.astype(dtype, copy=False)
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        mark_canonical(X)
    return X


def _require_matrix(X: Any, path: str | None) -> None:
    if X.ndim != 2 or X.dtype.kind not in NUMBERS:
        raise DataError(f"X must be real numbers with two dimensions, got {X.dtype} of shape {X.shape}", path=path)
    if X.shape[1] == 0:
        raise DataError(f"X must have at least one column, got the shape {X.shape}", path=path)


class NpyReader(Reader):
    """A reader of npy files with a matrix. Label and weight may be columns of it."""

    def start_schema(self) -> Schema:
        """Return the schema, which has the width of the first file without label and weight."""
        options = self.options
        n_features, _ = self._open_chunks(self.sources[0], None)
        return Schema(n_features, options.missing_rule, label=options.label, weight=options.weight)

    def read(self, schema: Schema, errors: ErrorHandler, learner: Learner | None = None) -> Iterator[Batch]:
        """Yield batches of some megabytes."""
        del learner
        for source in self.sources:
            _, chunks = self._open_chunks(source, schema)
            yield from _valid_batches(chunks, source.name, schema, self.options, errors)

    def _open_chunks(self, source: Source, schema: Schema | None) -> tuple[int, Chunks]:
        """Return the number of features of a file, and its rows; without a schema the options name the label."""
        source.require_plain_file("npy")
        with _damage_as_data_error(source.name):
            matrix = np.load(source.name, mmap_mode="r", allow_pickle=False)
        _require_matrix(matrix, source.name)
        width = matrix.shape[1]
        label, weight = self._label_and_weight(schema, width, source.name)
        others = [number for number in (label, weight) if number is not None]
        return width - len(others), _matrix_chunks(matrix, label, weight, others)

    def _label_and_weight(self, schema: Schema | None, width: int, path: str) -> list[int | None]:
        """Return the numbers of label and weight in a matrix of this width, which need not have those of a schema."""
        names: list[ColumnName | None] = [self.options.label, self.options.weight]
        if schema is not None:
            names = [name if isinstance(name, int) else None for name in (schema.label, schema.weight)]
            of_table = [schema.label_number, schema.weight_number]
            order = [column.number for column in schema.columns]
            n_columns = schema.n_features + sum(number is not None for number in of_table)
            if order and order == sorted(order) and width == schema.n_file_columns == n_columns:
                names = [*of_table]  # the matrix has the columns of the table that the schema was learned from
            n_others = sum(name is not None for name in names)
            if width == schema.n_features and self.options.label is None and self.options.weight is None:
                return [None, None]
            if width != schema.n_features + n_others:
                with_others = f" and {n_others} of label and weight" if n_others else ""
                raise DataError(
                    f"rows must have {schema.n_features} columns{with_others}, got {width}; give all rows the same "
                    "width",
                    path=path,
                    line=1,
                )
        for name in names:
            if isinstance(name, str) or not -width <= (name or 0) < width:
                raise ValueError(f"a column must be a number from {-width} to {width - 1}, got {name!r}")
        return [None if name is None else int(name) % width for name in names]


class NpzReader(NpyReader):
    """A reader of npz files with X, y and weight, with X_train, y_train and weight_train, or with a sparse matrix.

    The arrays of a file are read as a whole.
    """

    def _open_chunks(self, source: Source, schema: Schema | None) -> tuple[int, Chunks]:
        del schema
        path = source.name
        source.require_plain_file("npz")
        with open(path, "rb") as file, _damage_as_data_error(path), np.load(file, allow_pickle=False) as archive:
            X, y, weight = (archive.get(name, archive.get(f"{name}_train")) for name in ("X", "y", "weight"))
            if X is None and "format" in archive:
                X = sparse.csr_array(sparse.load_npz(path))
                X.check_format(full_check=True)
                X.sum_duplicates()
            if X is None:
                got = ", ".join(archive) or "nothing"
                rule = "an npz file must have X or X_train, or a matrix saved by scipy.sparse.save_npz"
                raise DataError(f"{rule}; got {got}", path=path)
        batch = as_batch((X, y, weight), self.options.dtype, path=path)
        return batch.X.shape[1], iter([batch])


def _matrix_chunks(matrix: Array, label: int | None, weight: int | None, others: list[int]) -> Chunks:
    """Yield the rows of a matrix that is mapped into memory, some megabytes at a time."""
    step = max(1, CHUNK_BYTES // max(1, matrix.shape[1] * matrix.itemsize))
    for first in range(0, len(matrix), step):
        rows = np.array(matrix[first : first + step])
        y, weights = (None if number is None else rows[:, number] for number in (label, weight))
        yield np.delete(rows, others, axis=1) if others else rows, y, weights


DAMAGE = (
    *(BadZipFile, EOFError, OSError, ValueError, LookupError, NotImplementedError, RuntimeError, TypeError),
    *(OverflowError, SyntaxError, tokenize.TokenError, lzma.LZMAError, zlib.error),
)


def _damage_as_data_error(path: str) -> AbstractContextManager[None]:
    return damage_as_data_error(path, DAMAGE, "arrays must be complete, and hold numbers or strings")
