"""Scaling of columns, which is learned before rows are hashed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._validation import BATCH_BYTES, Matrix, as_floats, check_choice, rounded
from gcwsnet.estimators._quantiles import QuantileScaling, learn_quantiles
from gcwsnet.estimators._terms import KINDS_OF_TERMS, TermScaling, learn_terms

Scaling: TypeAlias = "ColumnScaling | QuantileScaling | TermScaling"

KINDS = ("numeric", "standard", "minmax", "quantile", *KINDS_OF_TERMS)
NUMERIC, BINARY, CONSTANT, UNSEEN = KINDS_OF_COLUMNS = "numeric", "binary", "constant", "unseen"


@dataclass(frozen=True, eq=False, repr=False)
class ColumnScaling:
    """A scaling of each column: (x - shift) / size.

    Attributes
    ----------
    scale : {"numeric", "standard", "minmax"}
        The rule it was learned by.
    kind : array of str, shape (D,)
        What was seen in each column: "binary" (only 0 and 1), "constant" or "numeric"; "unseen" are sparse columns
        without an entry.
    shift, size : arrays of float64, shape (D,)
        An infinite size drops the column: zero entries are not hashed. The shift of sparse data is 0.
    """

    scale: str
    kind: NDArray[np.str_]
    shift: NDArray[np.float64]
    size: NDArray[np.float64]

    def transform(self, X: Matrix) -> Matrix:
        """Return X scaled, dense or CSR as it came, float32 if it was; no number becomes infinite."""
        X = as_floats(X)
        if sparse.issparse(X):
            if self.shift.any():
                raise ValueError(
                    "this scaling was learned from dense rows and moves columns, which a sparse matrix cannot; "
                    "fit on sparse rows, or give dense ones"
                )
            scaled = X.copy()
            scaled.data = rounded(X.data / self.size[X.indices], X.dtype)
            return scaled
        out = np.empty(X.shape, dtype=X.dtype)
        with np.errstate(over="ignore", under="ignore"):
            for first in range(0, len(X), step := _rows_at_once(X.shape[1])):
                rows = X[first : first + step].astype(np.float64)
                rows -= self.shift
                rows /= self.size
                out[first : first + step] = rounded(rows, X.dtype)
        return out

    def __repr__(self) -> str:
        counts = {kind: int(np.count_nonzero(self.kind == kind)) for kind in KINDS_OF_COLUMNS}
        fate = {
            "numeric": {NUMERIC: "standardised", BINARY: "left as they are", CONSTANT: "dropped"},
            "standard": {NUMERIC: "standardised", BINARY: "standardised", CONSTANT: "dropped"},
            "minmax": {NUMERIC: "put into [0, 1]", BINARY: "left as they are", CONSTANT: "dropped"},
        }[self.scale]
        fate[UNSEEN] = "scaled like the others"
        counted = [f"{count} {kind} {fate[kind]}" for kind, count in counts.items() if count]
        return f"ColumnScaling({self.scale!r}: {', '.join(counted)})"


def learn_scaling(X: Matrix, scale: str = "numeric") -> Scaling:
    """Learn the scaling of the columns of X.

    Parameters
    ----------
    X : array or CSR of shape (n, D)
        Real numbers; NaN is left out of account.
    scale : {"numeric", "standard", "minmax", "quantile", "idf", "unit", "tfidf"}, default="numeric"
        "numeric": numeric columns get mean 0 and standard deviation 1, binary ones stay 0 and 1, constant ones are
        dropped. "standard": binary columns are treated like numeric ones. "minmax": columns are put into [0, 1].
        "quantile": numeric columns are made normal by their ranks, for dense data only. "idf": columns weigh the more
        the fewer rows have them. "unit": rows get length 1. "tfidf": both.
        Sparse data are not moved, only divided: by the root mean square of all entries of the column, zeros
        included, or with "minmax" by the largest size. A sparse column without an entry is divided by the median of
        what the others are.

    Returns
    -------
    scaling : ColumnScaling, QuantileScaling or TermScaling

    Examples
    --------
    >>> X = np.array([[170.0, 1.0, 5.0], [180.0, 0.0, 5.0], [190.0, 1.0, 5.0]])
    >>> scaling = learn_scaling(X)
    >>> scaling
    ColumnScaling('numeric': 1 numeric standardised, 1 binary left as they are, 1 constant dropped)
    >>> scaling.transform(X).round(2) + 0.0
    array([[-1.22,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ],
           [ 1.22,  1.  ,  0.  ]])
    """
    check_choice("scale", scale, KINDS)
    X = as_floats(X)
    if scale in KINDS_OF_TERMS:
        return learn_terms(X, scale)
    least, most = _range(X)
    binary = is_binary(X)
    constant = least == most
    kind = np.where(constant, CONSTANT, np.where(binary, BINARY, NUMERIC))

    if scale == "quantile":
        if sparse.issparse(X):
            raise ValueError("scale='quantile' is for dense rows; use 'numeric' or None for sparse ones")
        return learn_quantiles(X, kind)

    largest = np.maximum(np.abs(least), np.abs(most))
    if scale != "minmax":
        shift, size = _mean_and_deviation(X, largest)
    elif sparse.issparse(X):
        shift, size = np.zeros(X.shape[1]), largest
    else:
        shift, size = least, most - least
    if scale == "numeric":
        shift, size = np.where(binary, 0.0, shift), np.where(binary, 1.0, size)
    if sparse.issparse(X):  # a column that has no entry yet may get one, and is then scaled like the others
        unseen = largest == 0
        seen = size[~constant]
        kind, constant = np.where(unseen, UNSEEN, kind), constant & ~unseen
        size = np.where(unseen, np.median(seen) if len(seen) else 1.0, size)
    dropped = constant | (size == 0)
    return ColumnScaling(scale, kind, np.where(dropped, 0.0, shift), np.where(dropped, np.inf, size))


def zeros_for_nan(X: Matrix) -> Matrix:
    """Return X with 0 in place of NaN: a copy, or X itself if there is no NaN."""
    if X.dtype.kind != "f":
        return X
    if sparse.issparse(X):
        filled = X.copy() if np.isnan(X.data).any() else X
        filled.data[np.isnan(filled.data)] = 0
        return filled
    starts = range(0, X.shape[0], step := _rows_at_once(X.shape[1]))
    if not any(np.isnan(X[first : first + step]).any() for first in starts):
        return X
    filled = np.array(X)
    filled[np.isnan(filled)] = 0
    return filled


def _rows_at_once(n_columns: int) -> int:
    return max(1, BATCH_BYTES // (8 * n_columns))


def _range(X: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest number of each column, 0 and 0 where all are NaN."""
    if sparse.issparse(X):
        by_column = X.tocsc()
        stored = np.diff(by_column.indptr)
        column = np.repeat(np.arange(X.shape[1]), stored)
        missing = np.where(stored == X.shape[0], np.inf, 0.0)  # a zero that is not stored counts too
        least, most = missing.copy(), -missing
        np.fmin.at(least, column, by_column.data)
        np.fmax.at(most, column, by_column.data)
    else:
        least = np.fmin.reduce(X, axis=0, initial=np.inf).astype(np.float64)
        most = np.fmax.reduce(X, axis=0, initial=-np.inf).astype(np.float64)
    return np.where(least > most, 0.0, least), np.where(least > most, 0.0, most)


def is_binary(X: Matrix) -> NDArray[np.bool_]:
    """Tell for each column whether it holds nothing but 0 and 1."""
    if sparse.issparse(X):
        other = ~((X.data == 0) | (X.data == 1))
        return np.bincount(X.indices[other], minlength=X.shape[1]) == 0
    binary = np.ones(X.shape[1], dtype=bool)
    for first in range(0, X.shape[0], step := _rows_at_once(X.shape[1])):
        rows = X[first : first + step]
        binary &= np.all((rows == 0) | (rows == 1), axis=0)
    return binary


def _mean_and_deviation(X: Matrix, largest: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column; for sparse columns 0 and the root mean square.

    Columns are divided by a power of two near their largest size, so that no square overflows.
    """
    exponent = np.frexp(largest)[1]
    n_rows = X.shape[0]
    if sparse.issparse(X):
        square = np.ldexp(X.data.astype(np.float64), -exponent[X.indices]) ** 2
        of_column = np.bincount(X.indices, np.nan_to_num(square), X.shape[1])
        return np.zeros(X.shape[1]), np.ldexp(np.sqrt(of_column / n_rows), exponent)
    count, mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for first in range(0, n_rows, step := _rows_at_once(X.shape[1])):
        rows = np.ldexp(X[first : first + step].astype(np.float64), -exponent)
        there = ~np.isnan(rows)
        n = there.sum(axis=0)
        total = count + n
        here = np.where(there, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
        moved = here - mean
        squares += (np.where(there, rows - here, 0.0) ** 2).sum(axis=0)
        squares += moved**2 * count * n / np.maximum(total, 1)  # Chan, Golub and LeVeque: two parts put together
        mean += moved * n / np.maximum(total, 1)
        count = total
    deviation = np.sqrt(squares / np.maximum(count, 1))
    return np.ldexp(mean, exponent), np.ldexp(deviation, exponent)
