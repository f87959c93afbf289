"""A batch of rows, and how batches are cut and joined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class Batch(NamedTuple):
    """Rows with what is known about them.

    Attributes
    ----------
    X : array or csr_array of shape (n, D), float32 or float64
        The indices of a csr_array are sorted and unique.
    y : array of shape (n,) or None
        Labels: numbers or strings.
    weight : float64 array of shape (n,) or None
    """

    X: Any
    y: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    def rows(self, begin: int, end: int) -> Batch:
        """The rows from `begin` to before `end`; nothing is copied."""
        y = None if self.y is None else self.y[begin:end]
        weight = None if self.weight is None else self.weight[begin:end]
        return Batch(_csr_rows(self.X, begin, end) if sparse.issparse(self.X) else self.X[begin:end], y, weight)

    def take(self, chosen: NDArray[Any]) -> Batch:
        """The rows that a mask or an array of row numbers chooses."""
        y = None if self.y is None else self.y[chosen]
        weight = None if self.weight is None else self.weight[chosen]
        X = self.X[chosen]
        return Batch(canonical(X) if sparse.issparse(X) else X, y, weight)


def canonical(X: Any) -> Any:
    """X, known to have sorted and unique indices: nobody need look again."""
    X.has_sorted_indices = True
    X.has_canonical_format = True
    return X


def csr(values: Any, columns: Any, ends: Any, n_columns: int) -> Any:
    """A csr_array of arrays whose indices are sorted and unique."""
    return canonical(sparse.csr_array((values, columns, ends), shape=(len(ends) - 1, n_columns)))


def _csr_rows(X: Any, begin: int, end: int) -> Any:
    ends = X.indptr[begin : min(end, X.shape[0]) + 1]
    entries = slice(ends[0], ends[-1])
    return csr(X.data[entries], X.indices[entries], ends - ends[0], X.shape[1])


def joined(batches: Sequence[Batch]) -> Batch:
    """One batch of the rows of several, in their order."""
    if len(batches) == 1:
        return batches[0]
    X = [batch.X for batch in batches]
    return Batch(
        canonical(sparse.vstack(X, format="csr")) if sparse.issparse(X[0]) else np.concatenate(X),
        None if batches[0].y is None else np.concatenate([batch.y for batch in batches]),
        None if batches[0].weight is None else np.concatenate([batch.weight for batch in batches]),
    )


def rebatched(pieces: Iterable[Batch], batch_rows: int) -> Iterator[Batch]:
    """The rows of pieces of any sizes in batches of one size; the last one may be smaller."""
    waiting: list[Batch] = []
    n_waiting = 0
    for piece in pieces:
        begin = 0
        while n_waiting + piece.n_rows - begin >= batch_rows:
            end = begin + batch_rows - n_waiting
            yield joined([*waiting, piece.rows(begin, end)])
            begin, waiting, n_waiting = end, [], 0
        if begin < piece.n_rows:
            waiting.append(piece.rows(begin, piece.n_rows))
            n_waiting += piece.n_rows - begin
    if waiting:
        yield joined(waiting)
