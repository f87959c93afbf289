"""A batch of rows, and functions that cut, join and shuffle batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._keys import EPOCH_ORDER, random_order


class Batch(NamedTuple):
    """A batch of rows, with labels and weights where they are known.

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
        """The number of rows."""
        return int(self.X.shape[0])

    def rows(self, begin: int, end: int) -> Batch:
        """Return the rows from `begin` up to but not including `end`, without copying values."""
        if sparse.issparse(self.X):
            end = min(end, self.n_rows)
            indptr = self.X.indptr[min(begin, end) : end + 1]
            entries = slice(indptr[0], indptr[-1])
            X = canonical_csr(self.X.data[entries], self.X.indices[entries], indptr - indptr[0], self.X.shape[1])
        else:
            X = self.X[begin:end]
        y = None if self.y is None else self.y[begin:end]
        return Batch(X, y, None if self.weight is None else self.weight[begin:end])

    def take(self, chosen: NDArray[Any]) -> Batch:
        """Return the rows chosen by a boolean mask or by an array of row numbers."""
        X = mark_canonical(self.X[chosen]) if sparse.issparse(self.X) else self.X[chosen]
        y = None if self.y is None else self.y[chosen]
        return Batch(X, y, None if self.weight is None else self.weight[chosen])

    def weighted(self) -> Batch:
        """Return the rows of positive weight, from which alone something is learned."""
        return self if self.weight is None or self.weight.all() else self.take(np.flatnonzero(self.weight))


def weighted(batches: Iterable[Batch], batch_rows: int) -> Iterator[Batch]:
    """Yield the rows of positive weight in batches of `batch_rows` rows; the last one may be smaller."""
    return rebatched((batch.weighted() for batch in batches), batch_rows)


def mark_canonical(X: Any) -> Any:
    """Return X, marked as having sorted and unique indices, so that SciPy does not check them again."""
    X.has_sorted_indices = True
    X.has_canonical_format = True
    return X


def canonical_csr(values: Any, columns: Any, indptr: Any, n_columns: int) -> Any:
    """Return a csr_array of arrays whose indices are known to be sorted and unique."""
    return mark_canonical(sparse.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns)))


def joined(batches: Sequence[Batch]) -> Batch:
    """Return one batch with the rows of several, in their order."""
    if len(batches) == 1:
        return batches[0]
    X = [batch.X for batch in batches]
    return Batch(
        mark_canonical(sparse.vstack(X, format="csr")) if sparse.issparse(X[0]) else np.concatenate(X),
        None if batches[0].y is None else join_labels([batch.y for batch in batches]),
        None if batches[0].weight is None else np.concatenate([batch.weight for batch in batches]),
    )


def join_labels(parts: Sequence[Any]) -> NDArray[Any]:
    """Return all labels: floats that are whole become integers where others are, which float64 may not hold."""
    kinds = {part.dtype.kind for part in parts}
    if "f" in kinds and kinds <= {"f", "i"} and len(kinds) > 1 and all(_fits_integers(part) for part in parts):
        parts = [part.astype(np.int64) for part in parts]
    return np.concatenate(parts)


def _fits_integers(part: Any) -> bool:
    return part.dtype.kind == "i" or bool(np.all((part == np.floor(part)) & (np.abs(part) < 2.0**63)))


def rebatched(batches: Iterable[Batch], batch_rows: int) -> Iterator[Batch]:
    """Yield the rows of batches of any size in batches of `batch_rows` rows; the last one may be smaller."""
    pending: list[Batch] = []
    n_pending = 0
    for batch in batches:
        begin = 0
        while n_pending + batch.n_rows - begin >= batch_rows:
            end = begin + batch_rows - n_pending
            yield joined([*pending, batch.rows(begin, end)])
            begin, pending, n_pending = end, [], 0
        if begin < batch.n_rows:
            pending.append(batch.rows(begin, batch.n_rows))
            n_pending += batch.n_rows - begin
    if pending:
        yield joined(pending)


def shuffled_epochs(
    rows: Batch,
    seed: int,
    *,
    encode: Callable[[Any], NDArray[Any]] | None = None,
    block_rows: int | None = None,
    shuffle: bool = True,
) -> Callable[[int], Iterator[Batch]]:
    """Return a function from the number of an epoch to its rows, in blocks and in an order that the seed decides.

    Parameters
    ----------
    rows : Batch
    seed : int
    encode : callable, optional
        From the X of a block to its codes, where `rows` has none.
    block_rows : int, optional
        The rows of a block; all rows by default.
    shuffle : bool, default=True
        Whether each epoch has an order of its own.
    """
    n = rows.n_rows
    step = max(1, n if block_rows is None else block_rows)

    def epoch(number: int) -> Iterator[Batch]:
        order = random_order(seed, EPOCH_ORDER, n, number * n) if shuffle else None
        for first in range(0, n, step):
            block = rows.rows(first, first + step) if order is None else rows.take(order[first : first + step])
            yield block if encode is None else block._replace(X=encode(block.X))

    return epoch
