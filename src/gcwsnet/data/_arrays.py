"""Arrays in memory, and iterables of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT, MOST_COLUMNS, as_floats, inexact_integers
from gcwsnet.data._batch import Batch, mark_canonical
from gcwsnet.data._errors import DataError, ErrorHandler, InvalidRows, RowOrigin, check_batch
from gcwsnet.data._options import ReadOptions
from gcwsnet.data._reader import Reader
from gcwsnet.data._schema import Schema


class ArraysReader(Reader):
    """A reader of an iterable of X, (X, y) or (X, y, weight). An iterator can be read only once."""

    def __init__(self, arrays: Iterable[Any], options: ReadOptions) -> None:
        super().__init__([], options)
        self._arrays = arrays
        self.reusable = iter(arrays) is not arrays
        self._started = False

    def known_schema(self) -> Schema | None:
        """Return the schema, which has the width of the first X."""
        arrays = self._iterate()
        first = next(arrays, None)
        if first is None:
            raise DataError("there must be at least one row, got an empty iterable")
        if not self.reusable:
            self._arrays, self._started = chain([first], arrays), False
        X = as_batch(first, self.options.dtype).X
        return Schema(self.options.n_features or X.shape[1], self.options.missing_rule)

    def read(self, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield a batch for each item of the iterable, all with the dtype of the first one."""
        first_row, dtype = 0, self.options.dtype
        for item in self._iterate():
            batch = as_batch(item, dtype, first_row=first_row)
            dtype = batch.X.dtype.name
            yield checked_batch(batch, first_row, None, schema, self.options, errors)
            first_row += batch.n_rows

    def _iterate(self) -> Iterator[Any]:
        if self._started and not self.reusable:
            raise ValueError("an iterator can be read only once, and it was read already; give a list to reread it")
        self._started = True
        return iter(self._arrays)


def checked_batch(
    batch: Batch, first_row: int, path: str | None, schema: Schema, options: ReadOptions, errors: ErrorHandler
) -> Batch:
    """Return the batch without invalid rows, or raise DataError if it has not the width of the schema."""
    origin = RowOrigin.numbered(path, first_row)
    if batch.X.shape[1] != schema.n_features:
        raise DataError(
            f"rows must have {schema.n_features} columns, got {batch.X.shape[1]}; give all rows the same width",
            path=path,
            line=origin.line(0),
        )
    invalid = InvalidRows()
    batch = check_batch(batch, invalid, missing=schema.missing, known_labels=options.labels)
    return invalid.drop_from(batch, origin, errors)


def as_batch(arrays: Any, dtype: str | None, *, path: str | None = None, first_row: int = 0) -> Batch:
    """Return X, (X, y) or (X, y, weight) as a batch. Without `dtype`, float32 and float64 are kept as they are.

    Errors name the file and the row, where the first row of the arrays is number `first_row`, from 0.
    """
    X, y, weight = (*arrays, None, None)[:3] if isinstance(arrays, tuple) else (arrays, None, None)
    X = _as_rows(X, dtype, path, first_row)
    return Batch(
        X,
        None if y is None else _as_labels(y, X.shape[0]),
        None if weight is None else _as_weights(weight, X.shape[0]),
    )


def _as_rows(X: Any, dtype: str | None, path: str | None, first_row: int) -> Any:
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "buif":
        raise DataError(f"X must be real numbers with two dimensions, got {X.dtype} of shape {X.shape}")
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(f"X must have at most 2**31 columns, got {X.shape[1]}; feature-hash it to fewer")
    _refuse_inexact(X, path, first_row)
    if dtype is None:
        X = as_floats(X)
    else:
        with np.errstate(over="ignore"):  # check_batch finds infinite numbers
            X = X.astype(dtype, copy=False)
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return mark_canonical(X)
    return X


def _refuse_inexact(X: Any, path: str | None, first_row: int) -> None:
    """Raise DataError for the first integer that float64 does not hold."""
    numbers = X.data if sparse.issparse(X) else X
    places = inexact_integers(numbers)
    if not len(places):
        return
    place = int(places[0])
    if sparse.issparse(X):
        row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    else:
        row, column = divmod(place, X.shape[1])
    value = int(numbers.reshape(-1)[place])
    raise DataError(f"{INEXACT}, got {value}; {INEXACT_WAY_OUT}", path=path, line=first_row + row + 1, column=column)


def _as_labels(y: Any, n_rows: int) -> Any:
    """Return labels as a vector of numbers or of strings."""
    y = np.asarray(y)
    if y.dtype.kind == "O":
        if not all(isinstance(label, str) for label in y.reshape(-1)):
            raise DataError("labels must be all numbers or all strings, got an array of other objects")
        y = y.astype(str)
    if y.dtype.kind not in "buifU" or y.shape != (n_rows,):
        raise DataError(f"y must be {n_rows} numbers or strings, got {y.dtype} of shape {y.shape}")
    return y


def _as_weights(weight: Any, n_rows: int) -> Any:
    """Return weights as a float64 vector."""
    weight = np.asarray(weight)
    if weight.dtype.kind not in "buif" or weight.shape != (n_rows,):
        raise DataError(f"weight must be {n_rows} numbers, got {weight.dtype} of shape {weight.shape}")
    return weight.astype(np.float64, copy=False)
