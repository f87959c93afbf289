"""Columns of integers that are codes: of a shop, a flight, a school. Each value gets a column of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats
from gcwsnet.coding._relevance import BINS, explained_by_values
from gcwsnet.coding._scaling import NUMERIC, ColumnScaling, learn_scaling

MOST_ROWS = 20_000
"""The most rows that tell whether a column is of codes."""
MOST_DENSE_COLUMNS = 256
"""With more columns for values the result is sparse."""
LEAST_ROWS_OF_A_VALUE = 4
"""Fewer rows say little about a value, and would have as many columns as they are."""
LEAST_SHARE, LEAST, ERRORS = 0.2, 0.002, 3.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class CodeScaling:
    """A scaling that standardises numeric columns and adds a column of 0 and 1 for each value of a code.

    Two codes that are close to each other as numbers have nothing in common, and pGMM compares numbers by their size.
    With a column for each value it compares codes by equality.

    Attributes
    ----------
    standardised : ColumnScaling
        The "numeric" scaling of the columns, which come first.
    columns : array of int64, shape (codes,)
        The columns of codes.
    counts : array of int64, shape (codes,)
        How many values of each of them have a column.
    values : array of float64, shape (sum of counts,)
        These values, ascending for each column of codes.
    """

    standardised: ColumnScaling
    columns: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: Floats
    scale: str = "codes"

    @property
    def kind(self) -> NDArray[np.str_]:
        """The kind of each column of the rows."""
        return self.standardised.kind

    @cached_property
    def source(self) -> NDArray[np.int64]:
        """The column that each column of the result is made of."""
        return np.concatenate([np.arange(len(self.kind)), np.repeat(self.columns, self.counts)])

    def transform(self, X: Matrix) -> Matrix:
        """Return standardised columns and those of the values, float32 if X was; an unknown value has no column.

        The result is dense if the values have at most 256 columns, and else CSR.
        """
        if sparse.issparse(X):
            raise ValueError("codes are told from dense rows: columns of sparse ones have no entry for most rows")
        X = as_floats(X)
        n, D = X.shape
        rows: list[NDArray[np.int64]] = []
        places: list[NDArray[np.int64]] = []
        ends = np.cumsum(self.counts)
        for column, end, count in zip(self.columns, ends, self.counts, strict=True):
            known = self.values[end - count : end]
            numbers = X[:, column].astype(np.float64)
            place = np.minimum(np.searchsorted(known, numbers), count - 1)
            there = np.flatnonzero(known[place] == numbers)
            rows.append(there)
            places.append(D + end - count + place[there])
        row, place = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (rows, places))
        scaled, width = self.standardised.transform(X), len(self.source)
        if len(self.values) <= MOST_DENSE_COLUMNS:
            out = np.zeros((n, width), dtype=X.dtype)
            out[:, :D] = scaled
            out[row, place] = 1
            return out
        row = np.concatenate([np.repeat(np.arange(n), D), row])
        place = np.concatenate([np.tile(np.arange(D), n), place])
        data = np.concatenate([scaled.ravel(), np.ones(len(place) - n * D, dtype=X.dtype)])
        return sparse.csr_array((data, (row, place)), shape=(n, width))

    def __repr__(self) -> str:
        n_numeric = int(np.count_nonzero(self.kind == NUMERIC))
        return (
            f"CodeScaling({n_numeric} numeric standardised, {len(self.columns)} of them codes with "
            f"{len(self.values)} columns for their values)"
        )


def learn_codes(X: Matrix, columns: NDArray[np.int64] | None = None) -> CodeScaling:
    """Return the scaling of dense rows, with these columns as codes, or all that may be codes.

    Values of fewer than four rows have no column.
    """
    X = as_floats(X)
    columns = possible_codes(X) if columns is None else columns
    values: list[Floats] = [np.empty(0)]
    for column in columns:
        distinct, counts = np.unique(X[:, column].astype(np.float64), return_counts=True)
        values.append(distinct[(counts >= LEAST_ROWS_OF_A_VALUE) & ~np.isnan(distinct)])
    n_values = np.array([len(one) for one in values[1:]], dtype=np.int64)
    known = n_values > 0  # a sample may have too few rows of each value
    return CodeScaling(learn_scaling(X, "numeric"), columns[known], n_values[known], np.concatenate(values))


def possible_codes(X: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return the columns of integers with more than 16 values, where at least half of the rows share theirs."""
    found = []
    for column in range(X.shape[1]):
        numbers = X[:, column]
        if not _all_integers(numbers[:100]) or not _all_integers(numbers):
            continue
        _, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        if len(counts) > BINS and 2 * counts[counts > 1].sum() >= len(numbers):
            found.append(column)
    return np.array(found, dtype=np.int64)


def code_columns(X: Matrix, target: NDArray[Any]) -> NDArray[np.int64]:
    """Return the columns of dense rows that are codes for the targets.

    These are possible codes that explain clearly less of the targets' variance if each value is taken together with
    the next one: numbers that are neighbours mean nearly the same, and codes do not. What is lost must be a fifth of
    what the values explain, 0.002 of the variance, and three standard errors of what values without a meaning explain.
    At most 20,000 rows at equal distances are looked at.
    """
    step = -(-X.shape[0] // MOST_ROWS)
    X, target = as_floats(X[::step]), target[::step]
    columns = possible_codes(X)
    if not len(columns):
        return columns
    by_value, n_values = explained_by_values(X[:, columns], target)
    by_two, _ = explained_by_values(X[:, columns], target, together=2)
    error = np.sqrt(2 * n_values) / len(X)
    least = np.maximum(LEAST, np.maximum(LEAST_SHARE * by_value, ERRORS * error))
    return columns[by_value - by_two > least]


def _all_integers(numbers: NDArray[np.floating[Any]]) -> bool:
    return bool(np.all((numbers == np.floor(numbers)) | np.isnan(numbers)))
