"""The relevance of columns: how much of the targets each of them explains by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats, require_columns

BINS = 16

MAX_ROWS, MAX_NUMBERS = 4000, 4_000_000
NUMBERS_AT_ONCE = 1 << 19

LEAST = 1e-3
"""The least relevance of a column, as a share of the largest one: no column is dropped."""

Floats = NDArray[np.float64]


def relevance(X: Matrix, target: NDArray[Any]) -> Floats:
    """Return the share of the targets' variance that each column explains by itself.

    At most 16 distinct numbers of a column have a bin each, and more are put into 16 bins of equally many rows, or into
    fewer where many are equal. Missing numbers have a bin of their own. The variance between the bins, less what as
    many bins of noise would have, over the whole variance is the relevance. For classes this is the relative decrease
    of the Gini impurity.

    Parameters
    ----------
    X : array or CSR of shape (n, D)
        At most 4,000 rows at equal distances are looked at. NaN is a missing number. Of sparse rows it only matters
        which entries are there.
    target : array of shape (n,) or (n, m)
        The numbers of classes, or numbers.

    Returns
    -------
    relevance : array of shape (D,)
        At least a thousandth of the largest one; 1 for all columns where none explains anything.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> relevance(X, (X[:, 0] > 0).astype(np.int64)).round(2)
    array([0.95, 0.  , 0.  ])
    """
    return with_least(explained(X, target))


def with_least(explained: Floats) -> Floats:
    """Return the relevance of columns that explain these shares."""
    most = explained.max(initial=0.0)
    return np.maximum(explained, LEAST * most) if most > 0 else np.ones(len(explained))


def explained(X: Matrix, target: NDArray[Any]) -> Floats:
    """Return the share of the targets' variance that each column explains, which may be 0; see `relevance`."""
    rows = max(500, min(MAX_ROWS, MAX_NUMBERS // max(1, X.shape[1]))) if not sparse.issparse(X) else MAX_ROWS
    step = -(-X.shape[0] // rows)
    X, target = X[::step], target[::step]
    targets = _Targets.of(target)
    return _of_sparse(X, targets) if sparse.issparse(X) else _of_dense(as_floats(X), targets)


def explained_by_values(X: NDArray[Any], target: NDArray[Any], together: int = 1) -> tuple[Floats, NDArray[np.int64]]:
    """Return the share of the targets' variance that the values of each dense column explain, and their number.

    Each value has a bin of its own, or as many neighbouring ones `together` have one. All rows count.
    """
    targets = _Targets.of(target)
    found, n_values = np.empty(X.shape[1]), np.empty(X.shape[1], dtype=np.int64)
    for column in range(X.shape[1]):
        values, bins = np.unique(X[:, column], return_inverse=True)
        bins, n_bins = bins // together, -(-len(values) // together)
        counts = np.bincount(bins, minlength=n_bins)
        found[column] = _explained(counts[None], targets.sums(bins, slice(None), n_bins)[None], targets)[0]
        n_values[column] = len(values)
    return found, n_values


def column_weights(relevance: Floats, power: float) -> Floats:
    """Return the factors of columns: a power of their relevance, 1 for the most relevant column."""
    share = relevance / relevance.max(initial=1e-300)
    return np.sqrt(share) if power == 0.5 else share**power


class _Targets(NamedTuple):
    """Targets to explain: one number for each class or for each column of numbers, and its variance."""

    of_row: NDArray[Any]
    n_classes: int
    total: Floats
    whole: float

    @classmethod
    def of(cls, target: NDArray[Any]) -> _Targets:
        n = len(target)
        if target.ndim == 1:
            classes, number = np.unique(target, return_inverse=True)
            total = np.bincount(number, minlength=len(classes)).astype(np.float64)
            return cls(number, len(classes), total, n - (total**2).sum() / n)
        values = target.astype(np.float64)
        total = values.sum(axis=0)
        return cls(values, 0, total, (values**2).sum() - (total**2).sum() / n)

    def binned(self, bins: NDArray[np.int64], n_bins: int) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows and the sums of the targets in each bin, for bins of shape (columns, rows)."""
        counts = np.bincount(bins.ravel(), minlength=n_bins)
        row = np.broadcast_to(np.arange(bins.shape[1]), bins.shape).ravel()
        return counts, self.sums(bins.ravel(), row, n_bins)

    def sums(self, bins: NDArray[np.int64], row: Any, n_bins: int) -> Floats:
        """Return the sums of the targets of the rows in each bin, of shape (n_bins, targets)."""
        of_row = self.of_row[row]
        if self.n_classes:
            counts = np.bincount(bins * self.n_classes + of_row, minlength=n_bins * self.n_classes)
            return counts.astype(np.float64).reshape(n_bins, self.n_classes)
        return np.stack([np.bincount(bins, column, minlength=n_bins) for column in of_row.T], axis=1)


def _of_dense(X: NDArray[np.floating[Any]], targets: _Targets) -> Floats:
    step = max(1, NUMBERS_AT_ONCE // max(1, len(X)))
    parts = [_of_columns(X[:, first : first + step], targets) for first in range(0, X.shape[1], step)]
    return np.concatenate([np.empty(0), *parts])


def _of_columns(X: NDArray[np.floating[Any]], targets: _Targets) -> Floats:
    by_column = np.ascontiguousarray(X.T)
    D, n = by_column.shape
    order = np.argsort(by_column, axis=1)  # NaN comes last
    ordered = np.take_along_axis(by_column, order, axis=1)
    there = n - np.count_nonzero(np.isnan(ordered), axis=1)[:, np.newaxis]
    place = np.arange(n)
    is_new = np.zeros((D, n), dtype=bool)  # where another number begins
    is_new[:, 1:] = (ordered[:, 1:] != ordered[:, :-1]) & (place[1:] < there)
    many = np.flatnonzero(np.count_nonzero(is_new, axis=1) >= BINS)
    steps = is_new.astype(np.int8)
    if len(many):
        first = np.maximum.accumulate(np.where(is_new[many], place, 0), axis=1)  # of the numbers that equal this one
        edges = np.take_along_axis(first, there[many] * np.arange(1, BINS) // BINS, axis=1)
        steps[many] = 0
        np.add.at(steps, (many[:, np.newaxis], edges), 1)
    of_place = np.cumsum(steps, axis=1, dtype=np.int64)
    of_place[place >= there] = BINS
    bins = np.empty((D, n), dtype=np.int64)
    np.put_along_axis(bins, order, of_place, axis=1)
    bins += (BINS + 1) * np.arange(D)[:, np.newaxis]
    counts, sums = targets.binned(bins, (BINS + 1) * D)
    return _explained(counts.reshape(D, -1), sums.reshape(D, BINS + 1, -1), targets)


def _of_sparse(X: Matrix, targets: _Targets) -> Floats:
    n, D = X.shape
    require_columns(D, 64 + 32 * len(targets.total), "the relevance of columns")
    there = X.data != 0
    row = np.repeat(np.arange(n), np.diff(X.indptr))[there]
    column = X.indices[there].astype(np.int64)
    present, sums = np.bincount(column, minlength=D), targets.sums(column, row, D)
    counts = np.stack([n - present, present], axis=1)
    return _explained(counts, np.stack([targets.total - sums, sums], axis=1), targets)


def _explained(counts: NDArray[Any], sums: Floats, targets: _Targets) -> Floats:
    """Return the share of the variance that lies between bins, less what is there by chance.

    Parameters
    ----------
    counts : array of shape (D, bins)
        The rows in each bin of each column.
    sums : array of shape (D, bins, targets)
        The sums of their targets.
    targets : _Targets
    """
    n = len(targets.of_row)
    if targets.whole <= 0:
        return np.zeros(len(counts))
    between = ((sums**2).sum(axis=2) / np.maximum(counts, 1)).sum(axis=1) - (targets.total**2).sum() / n
    by_chance = (np.count_nonzero(counts, axis=1) - 1) / n
    return np.maximum(between / targets.whole - by_chance, 0.0)
