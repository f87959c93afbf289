"""Columns shifted and divided one by one, so that they have the same scale before they are hashed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._memory import require_columns
from gcwsnet._validation import BATCH_BYTES, LARGEST, Matrix, all_finite, as_floats, rounded

SCALINGS = ("numeric", "standard", "minmax")
BYTES_OF_A_COLUMN = 160
"""What is kept and made for each column while a scaling is learned."""
NUMERIC, BINARY, CONSTANT, UNSEEN = KINDS_OF_COLUMNS = "numeric", "binary", "constant", "unseen"


@dataclass(frozen=True, eq=False, repr=False)
class ColumnScaling:
    """A scaling of each column by itself: (x - shift) / divisor.

    Attributes
    ----------
    scale : {"numeric", "standard", "minmax"}
        The rule that it was learned by.
    kind : array of str, shape (D,)
        What was seen in each column: "binary" (only 0 and 1), "constant" or "numeric"; "unseen" are sparse columns
        without an entry.
    shift, divisor : arrays of float64, shape (D,)
        An infinite divisor drops the column: zero entries are not hashed. The shift of sparse rows is 0.
    """

    scale: str
    kind: NDArray[np.str_]
    shift: NDArray[np.float64]
    divisor: NDArray[np.float64]

    def transform(self, X: Matrix) -> Matrix:
        """Return X scaled, dense or CSR as it came, float32 if it was; no number becomes infinite."""
        X = as_floats(X)
        if sparse.issparse(X):
            if self.shift.any():
                raise ValueError(
                    "this scaling was learned from dense rows and shifts columns, which would fill a sparse matrix; "
                    "fit on sparse rows, or give dense ones"
                )
            scaled = X.copy()
            with np.errstate(over="ignore"):
                scaled.data = rounded(X.data / self.divisor[X.indices], X.dtype)
            return scaled
        step = _rows_at_once(X.shape[1])
        with np.errstate(over="ignore", under="ignore"):
            if len(X) <= step:
                return self._transform_some(X)
            out = np.empty(X.shape, dtype=X.dtype)
            for first in range(0, len(X), step):
                out[first : first + step] = self._transform_some(X[first : first + step])
        return out

    def _transform_some(self, X: NDArray[Any]) -> NDArray[Any]:
        rows = X - self.shift  # in float64
        if X.dtype == np.float64:
            scaled = rows / self.divisor
            if all_finite(scaled):  # nothing to round
                return scaled
        beyond = np.isinf(rows)
        if beyond.any():  # halves do not overflow
            rows = np.where(beyond, (X / 2 - self.shift / 2) / (self.divisor / 2), rows / self.divisor)
        else:
            rows /= self.divisor
        return rounded(rows, X.dtype)

    def __repr__(self) -> str:
        counts = {kind: int(np.count_nonzero(self.kind == kind)) for kind in KINDS_OF_COLUMNS}
        fate = {
            "numeric": {NUMERIC: "standardised", BINARY: "left as they are", CONSTANT: "dropped"},
            "standard": {NUMERIC: "standardised", BINARY: "standardised", CONSTANT: "dropped"},
            "minmax": {NUMERIC: "put into [0, 1]", BINARY: "left as they are", CONSTANT: "dropped"},
        }[self.scale]
        fate[UNSEEN] = "scaled like the others"
        parts = [f"{count} {kind} {fate[kind]}" for kind, count in counts.items() if count]
        return f"ColumnScaling({self.scale!r}: {', '.join(parts)})"


def learn_scaling(X: Matrix, scale: str) -> ColumnScaling:
    """Return the shift and the divisor of each column of X; see `learn_preprocessing`."""
    if sparse.issparse(X):
        require_columns(X.shape[1], BYTES_OF_A_COLUMN, f"scale={scale!r}")
    least, most = _range(X)
    binary, constant = is_binary(X), least == most
    kind = _kinds(binary, constant)
    largest = np.maximum(np.abs(least), np.abs(most))
    if scale != "minmax":
        shift, divisor = _mean_and_deviation(X, largest)
    elif sparse.issparse(X):
        shift, divisor = np.zeros(X.shape[1]), largest
    else:
        with np.errstate(over="ignore"):
            shift, divisor = least, np.minimum(most - least, LARGEST[np.dtype(np.float64)])
    if scale == "numeric":
        shift, divisor = np.where(binary, 0.0, shift), np.where(binary, 1.0, divisor)
    if sparse.issparse(X):  # a column without an entry may get some later, which are then scaled like those of others
        unseen = largest == 0
        seen = divisor[~constant]
        kind, constant = np.where(unseen, UNSEEN, kind), constant & ~unseen
        with np.errstate(over="ignore"):
            of_others = min(float(np.median(seen)), LARGEST[np.dtype(np.float64)]) if len(seen) else 1.0
        divisor = np.where(unseen, of_others, divisor)
    dropped = constant | (divisor == 0)
    return ColumnScaling(scale, kind, np.where(dropped, 0.0, shift), np.where(dropped, np.inf, divisor))


def kinds_of_columns(X: Matrix) -> NDArray[np.str_]:
    """Return "constant", "binary" or "numeric" for each column."""
    least, most = _range(X)
    return _kinds(is_binary(X), least == most)


def _kinds(binary: NDArray[np.bool_], constant: NDArray[np.bool_]) -> NDArray[np.str_]:
    return np.where(constant, CONSTANT, np.where(binary, BINARY, NUMERIC))


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
    """Return whether each column holds nothing but 0 and 1."""
    if sparse.issparse(X):
        other = ~((X.data == 0) | (X.data == 1))
        return np.bincount(X.indices[other], minlength=X.shape[1]) == 0
    binary = np.ones(X.shape[1], dtype=bool)
    for first in range(0, X.shape[0], step := _rows_at_once(X.shape[1])):
        rows = np.require(X[first : first + step], requirements=["ALIGNED"])
        binary &= np.all((rows == 0) | (rows == 1), axis=0)
    return binary


def _mean_and_deviation(X: Matrix, largest: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column; of sparse columns 0 and the root mean square.

    Columns are divided by a power of two near their largest absolute value, so that no square overflows.
    """
    exponent = np.frexp(largest)[1].astype(np.int32)
    n_rows = X.shape[0]
    if sparse.issparse(X):
        square = np.ldexp(X.data.astype(np.float64), -exponent[X.indices]) ** 2
        of_column = np.bincount(X.indices, np.nan_to_num(square), X.shape[1])
        return np.zeros(X.shape[1]), np.ldexp(np.sqrt(of_column / n_rows), exponent)
    count, mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    total_here, squares_here, n = np.empty(X.shape[1]), np.empty(X.shape[1]), np.empty(X.shape[1], dtype=np.int64)
    for first in range(0, n_rows, step := _rows_at_once(X.shape[1])):
        rows = np.require(X[first : first + step], requirements=["ALIGNED"])
        _core.column_sums(rows, exponent, total_here, n)
        total = count + n
        here = total_here / np.maximum(n, 1)
        moved = here - mean
        _core.column_squares(rows, exponent, here, squares_here)
        squares += squares_here
        squares += moved**2 * count * n / np.maximum(total, 1)  # Chan, Golub and LeVeque: two parts put together
        mean += moved * n / np.maximum(total, 1)
        count = total
    deviation = np.sqrt(squares / np.maximum(count, 1))
    return np.ldexp(mean, exponent), np.ldexp(deviation, exponent)
