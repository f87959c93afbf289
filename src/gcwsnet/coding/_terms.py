"""Rows of counts, as of words or clicks: rare columns weigh more, and long rows are made as short as others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._memory import require_columns
from gcwsnet._validation import Matrix, as_floats, rounded

KINDS_OF_TERMS = ("idf", "unit", "tfidf")


@dataclass(frozen=True, eq=False, repr=False)
class TermScaling:
    """A scaling of columns by a weight and of rows by their length; zeros stay zeros.

    Attributes
    ----------
    scale : {"idf", "unit", "tfidf"}
        Weights, rows of length 1, or both.
    weight : array of float64, shape (D,)
        ln((1 + n) / (1 + df)) + 1 for a column with df non-zero entries in n rows, as in scikit-learn; 1 with "unit".
    """

    scale: str
    weight: NDArray[np.float64]

    def transform(self, X: Matrix) -> Matrix:
        """Return X scaled, dense or CSR as it came, float32 if it was; no number becomes infinite."""
        X = as_floats(X)
        if not sparse.issparse(X):
            if self.scale == "idf":
                with np.errstate(over="ignore"):
                    return rounded(X.astype(np.float64) * self.weight, X.dtype)
            # A power of two that rows are divided by before they are weighted, so that nothing overflows
            near_one = np.ldexp(
                X.astype(np.float64), -_exponents(np.fmax.reduce(np.abs(X), axis=1, initial=0.0))[:, None]
            )
            weighted = near_one * self.weight
            return rounded(weighted / _lengths(weighted), X.dtype)
        numbers = X.data.astype(np.float64)
        if self.scale == "idf":
            with np.errstate(over="ignore"):
                weighted = numbers * self.weight[X.indices]
        else:
            row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            largest = np.zeros(X.shape[0])
            np.fmax.at(largest, row, np.abs(numbers))
            weighted = np.ldexp(numbers, -_exponents(largest)[row]) * self.weight[X.indices]
            weighted /= _lengths_of_rows(weighted, row, X.shape[0])[row]
        scaled = X.copy()
        scaled.data = rounded(weighted, X.dtype)
        return scaled

    def __repr__(self) -> str:
        how = {"idf": "columns by rarity", "unit": "rows of length 1", "tfidf": "columns by rarity, rows of length 1"}
        return f"TermScaling({self.scale!r}: {how[self.scale]})"


def learn_terms(X: Matrix, scale: str) -> TermScaling:
    """Return the weights of the columns of X."""
    n, D = X.shape
    if sparse.issparse(X):
        require_columns(D, 32, f"scale={scale!r}")
    if scale == "unit":
        return TermScaling(scale, np.ones(D))
    there = np.bincount(X.indices[X.data != 0], minlength=D) if sparse.issparse(X) else np.count_nonzero(X, axis=0)
    return TermScaling(scale, np.log((1 + n) / (1 + there)) + 1)


def _exponents(largest: NDArray[Any]) -> NDArray[np.int32]:
    return np.frexp(largest.astype(np.float64))[1]


def _lengths(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean length of each row, as a column; 1 for rows of zeros, and NaN counts as zero."""
    largest = np.fmax.reduce(np.abs(X), axis=1, initial=0.0, keepdims=True)
    largest[largest == 0] = 1.0
    squares = np.nan_to_num(X / largest) ** 2  # of shares, so none overflows
    length = largest * np.sqrt(np.cumsum(squares, axis=1)[:, -1:])  # one order of sums, whatever the layout of X
    return np.where(length > 0, length, 1.0)


def _lengths_of_rows(numbers: NDArray[np.float64], row: NDArray[np.int64], n_rows: int) -> NDArray[np.float64]:
    """Return the same for the entries of a sparse matrix, whose rows are given."""
    largest = np.zeros(n_rows)
    np.fmax.at(largest, row, np.abs(numbers))
    largest[largest == 0] = 1.0
    length = largest * np.sqrt(np.bincount(row, np.nan_to_num(numbers / largest[row]) ** 2, n_rows))
    return np.where(length > 0, length, 1.0)
