"""Numeric columns spread over hat functions, so that the neighbourhood of a number counts as well as its size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats
from gcwsnet.coding._scaling import BINARY, NUMERIC, ColumnScaling, learn_scaling

KNOTS = 8
MOST_ROWS = 10_000
MOST_COLUMNS = 500
"""The most numeric columns that candidates of the search are spread."""


@dataclass(frozen=True, eq=False, repr=False)
class LocalScaling:
    """A scaling that standardises numeric columns and adds hat functions over their quantiles.

    A hat function is 1 at its own knot, falls linearly to 0 at the knots beside it, and is 0 beyond them. So a number
    has at most two of them, which add up to 1: pGMM then compares where numbers lie, and not only how large they are.

    Attributes
    ----------
    standardised : ColumnScaling
        The "numeric" scaling of the columns, which come first.
    knots : array of float64, shape (numeric columns, 8)
        The knots of each numeric column, ascending; where a column has fewer, the last one is repeated.
    """

    standardised: ColumnScaling
    knots: NDArray[np.float64]
    scale: str = "local"

    @property
    def kind(self) -> NDArray[np.str_]:
        """The kind of each column of the rows."""
        return self.standardised.kind

    @property
    def source(self) -> NDArray[np.int64]:
        """The column that each column of the result is made of."""
        numeric = np.flatnonzero(self.kind == NUMERIC)
        return np.concatenate([np.arange(len(self.kind)), np.repeat(numeric, self.knots.shape[1])])

    def transform(self, X: Matrix) -> Matrix:
        """Return standardised columns and hat functions, float32 if X was; NaN gives NaN and no hat."""
        if sparse.issparse(X):
            raise ValueError(
                "hat functions are for dense rows: most entries of a sparse matrix would no longer be zero"
            )
        X = as_floats(X)
        n, n_knots = len(X), self.knots.shape[1]
        out = np.zeros((n, len(self.source)), dtype=X.dtype)
        out[:, : len(self.kind)] = self.standardised.transform(X)
        rows, first = np.arange(n), len(self.kind)
        for column, knots in zip(np.flatnonzero(self.kind == NUMERIC), self.knots, strict=True):
            numbers = X[:, column].astype(np.float64)
            known = ~np.isnan(numbers)
            numbers = np.where(known, numbers.clip(knots[0], knots[-1]), knots[0])
            last = np.searchsorted(knots, knots[-1])  # the first of the knots that are the last one
            left = np.clip(np.searchsorted(knots, numbers, side="right") - 1, 0, max(last - 1, 0))
            with np.errstate(over="ignore", invalid="ignore"):
                share = (numbers - knots[left]) / (knots[left + 1] - knots[left])
            share = np.where(np.isfinite(share), share, 0.0)  # knots whose distance overflows or is 0
            out[rows, first + left] = np.where(known, 1 - share, 0.0)
            out[rows, first + left + 1] = np.where(known, share, 0.0)
            first += n_knots
        return out

    def __repr__(self) -> str:
        counts = {kind: int(np.count_nonzero(self.kind == kind)) for kind in np.unique(self.kind)}
        fate = {NUMERIC: f"standardised, with {self.knots.shape[1]} hat functions each", BINARY: "left as they are"}
        parts = [f"{n} {kind} {fate.get(kind, 'dropped')}" for kind, n in sorted(counts.items(), reverse=True)]
        return f"LocalScaling({', '.join(parts)})"


def learn_local(X: Matrix) -> LocalScaling:
    """Return the scaling of dense rows; knots are learned from at most 10,000 rows at equal distances.

    The knots are the distinct numbers of a column, if there are at most 8, and else its quantiles at equal steps.
    """
    standardised = learn_scaling(X, "numeric")
    some = as_floats(X[:: -(-X.shape[0] // MOST_ROWS)])
    numeric = np.flatnonzero(standardised.kind == NUMERIC)
    knots = np.empty((len(numeric), KNOTS))
    for number, column in enumerate(numeric):
        ordered = np.sort(some[:, column]).astype(np.float64)
        ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
        distinct = np.unique(ordered)
        if len(distinct) > KNOTS:
            distinct = np.unique(ordered[(len(ordered) - 1) * np.arange(KNOTS) // (KNOTS - 1)])
        if not len(distinct):  # all that is known of the column is in the other rows
            distinct = np.zeros(1)
        knots[number] = np.append(distinct, np.repeat(distinct[-1], KNOTS - len(distinct)))
    return LocalScaling(standardised, knots)
