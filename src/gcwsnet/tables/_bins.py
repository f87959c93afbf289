"""Bins of columns, for an additive model: quantiles, with frequent values, and missing ones, in bins of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import as_floats

BIN_BITS = 6
MAX_BINS = (1 << BIN_BITS) - 1
MISSING_BIN = MAX_BINS
MAX_FITTED_ROWS = 50_000
"""The most rows that bins are learned from; of more rows, every m-th is taken."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of each column of dense rows.

    Attributes
    ----------
    ends : array of float64, shape (sum of counts,)
        The largest numbers of the bins of each column, ascending; the last bin of a column has no end.
    counts : array of int64, shape (D,)
        The ends that each column has.
    """

    ends: Floats
    counts: NDArray[np.int64]

    @classmethod
    def fit(cls, X: NDArray[np.floating]) -> Bins:
        """Return bins of about equally many rows, at most 63 for a column.

        Examples
        --------
        >>> Bins.fit(np.array([[0.0], [0.0], [3.0], [np.nan]])).codes(np.array([[-1.0], [2.0], [np.nan]])).tolist()
        [[0], [1], [63]]
        """
        some = as_floats(X[:: -(-len(X) // MAX_FITTED_ROWS)])
        ends = [_ends(some[:, column].astype(np.float64)) for column in range(X.shape[1])]
        return cls(np.concatenate(ends), np.array([len(one) for one in ends], dtype=np.int64))

    @property
    def of_columns(self) -> list[Floats]:
        """The ends of each column."""
        return np.split(self.ends, np.cumsum(self.counts)[:-1])

    def codes(self, X: NDArray[np.floating]) -> NDArray[np.uint8]:
        """Return the number of each value's bin; 63 is that of missing values."""
        X = as_floats(X)
        codes = np.empty(X.shape, dtype=np.uint8)
        for column, ends in enumerate(self.of_columns):
            numbers = X[:, column].astype(np.float64)
            codes[:, column] = np.where(np.isnan(numbers), MISSING_BIN, np.searchsorted(ends, numbers))
        return codes


def _ends(numbers: Floats) -> Floats:
    """Return the ends of the bins of a column.

    A value that would fill two bins or more has one of its own, so that 92% of zeros leave the other bins to the rest.
    The other values between two of these are put into bins of about equally many rows.
    """
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if len(values) <= MAX_BINS:
        return values[:-1]
    alone = np.zeros(len(values), dtype=bool)
    while True:
        n_bins = MAX_BINS - 2 * int(alone.sum()) - 1  # each gap between values of their own may need one more
        more = ~alone & (counts * n_bins >= 2 * counts[~alone].sum())
        if not more.any():
            break
        alone |= more
    gap = np.cumsum(alone)
    rows = np.where(alone, 0, counts)
    of_gap = np.bincount(gap, rows, minlength=gap[-1] + 1)
    bins_of_gap = np.maximum(1, of_gap * n_bins // rows.sum())
    before = np.cumsum(rows) - rows - (np.cumsum(of_gap) - of_gap)[gap]
    place = before * bins_of_gap[gap] // np.maximum(of_gap[gap], 1)
    is_last = (gap[1:] != gap[:-1]) | (place[1:] != place[:-1]) | alone[:-1]
    return values[:-1][is_last]
