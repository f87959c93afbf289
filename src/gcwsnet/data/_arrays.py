"""Arrays, and iterables of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from gcwsnet._validation import MOST_COLUMNS, as_floats
from gcwsnet.data._batch import Batch, canonical
from gcwsnet.data._errors import DataError, Faults
from gcwsnet.data._layout import Layout
from gcwsnet.data._reader import Reader
from gcwsnet.data._screen import Marks, numbered, screen
from gcwsnet.data._settings import Settings


class ArraysReader(Reader):
    """Pieces X, (X, y) or (X, y, weight) of an iterable. An iterator can be read once."""

    def __init__(self, pieces: Iterable[Any], settings: Settings) -> None:
        super().__init__([], settings)
        self._given = pieces
        self.reusable = iter(pieces) is not pieces
        self._used = False

    def known_layout(self) -> Layout | None:
        """As wide as the first piece."""
        pieces = self._pieces()
        first = next(pieces, None)
        if first is None:
            raise DataError("there must be at least one row, got an iterable of nothing")
        if not self.reusable:
            self._given, self._used = chain([first], pieces), False
        X = as_batch(first, self.settings.dtype).X
        return Layout(self.settings.n_features or X.shape[1], self.settings.missing or "error")

    def pieces(self, layout: Layout, faults: Faults) -> Iterator[Batch]:
        """One batch for each piece."""
        first, before = 0, None
        for given in self._pieces():
            batch = as_batch(given, self.settings.dtype or before)
            before = batch.X.dtype.name
            yield screened(batch, first, None, layout, self.settings, faults)
            first += batch.n_rows

    def _pieces(self) -> Iterator[Any]:
        if self._used and not self.reusable:
            raise ValueError("an iterator can be read once, and that has been done; give a list to read it again")
        self._used = True
        return iter(self._given)


def screened(batch: Batch, first: int, path: str | None, layout: Layout, settings: Settings, faults: Faults) -> Batch:
    """The batch without rows that break a rule; all of it must have the width of the layout."""
    rows = numbered(path, first)
    if batch.X.shape[1] != layout.n_features:
        raise DataError(
            f"rows must have {layout.n_features} columns, got {batch.X.shape[1]}; make all of one width",
            path=path,
            line=rows.line(0),
        )
    marks = Marks()
    batch = screen(batch, marks, missing=layout.missing, labels=settings.labels)
    return marks.settle(batch, rows, faults)


def as_batch(given: Any, dtype: str | None) -> Batch:
    """X, (X, y) or (X, y, weight) as a batch; the type of X is kept if it is a float, and `dtype` is None."""
    X, y, weight = (*given, None, None)[:3] if isinstance(given, tuple) else (given, None, None)
    X = _as_rows(X, dtype)
    return Batch(X, None if y is None else as_labels(y, X.shape[0]), None if weight is None else _weights(weight, X))


def _as_rows(X: Any, dtype: str | None) -> Any:
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "buif":
        raise DataError(f"X must be real numbers with two dimensions, got {X.dtype} of shape {X.shape}")
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(f"X must have at most 2**31 columns, got {X.shape[1]}; feature-hash it to fewer")
    if dtype is None:
        X = as_floats(X)
    else:
        with np.errstate(over="ignore"):  # infinite numbers are found later
            X = X.astype(dtype, copy=False)
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return canonical(X)
    return X


def as_labels(y: Any, n_rows: int) -> Any:
    """Labels as a vector of numbers or of strings."""
    y = np.asarray(y)
    if y.dtype.kind == "O":
        if not all(isinstance(label, str) for label in y.reshape(-1)):
            raise DataError("labels must be all numbers or all strings, got an array of other objects")
        y = y.astype(str)
    if y.dtype.kind not in "buifU" or y.shape != (n_rows,):
        raise DataError(f"y must be {n_rows} numbers or strings, got {y.dtype} of shape {y.shape}")
    return y


def _weights(weight: Any, X: Any) -> Any:
    weight = np.asarray(weight)
    if weight.dtype.kind not in "buif" or weight.shape != (X.shape[0],):
        raise DataError(f"weight must be {X.shape[0]} numbers, got {weight.dtype} of shape {weight.shape}")
    return weight.astype(np.float64, copy=False)
