"""Rows in a random order, as far as a buffer of them goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gcwsnet._keys import SHUFFLE, order
from gcwsnet._validation import check_integer
from gcwsnet.data._batch import Batch, joined, rebatched
from gcwsnet.data._batches import MOST_BATCH_ROWS, Batches, Derived


def shuffle(batches: Batches, buffer_rows: int, seed: int = 0, *, batch_rows: int | None = None) -> Batches:
    """The same rows in a random order.

    A buffer is filled with `buffer_rows` rows. Half of them, drawn at random, are given out in random order, and the
    buffer is filled again; at the end all that is left is given out. So a row comes at most `buffer_rows` rows too
    early, and a file whose rows are in the order of their labels is mixed well if the buffer holds several labels.

    Parameters
    ----------
    batches : Batches
    buffer_rows : int
        The rows that are kept in memory. As many as there are: every order is as likely.
    seed : int, default=0
        From 0 to 2**64 - 1. The order depends on it, on `buffer_rows` and on the number of rows alone: not on how the
        rows are cut into batches.
    batch_rows : int, optional
        Rows in a batch that comes out; without it as many as in one that goes in.

    Returns
    -------
    batches : Batches

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet.data import read, shuffle
    >>> rows = read(np.arange(8.0).reshape(8, 1))
    >>> [batch.X.ravel().tolist() for batch in shuffle(rows, buffer_rows=4, seed=0, batch_rows=4)]
    [[1.0, 2.0, 0.0, 4.0], [7.0, 6.0, 3.0, 5.0]]
    """
    buffer_rows = check_integer("buffer_rows", buffer_rows, 1, MOST_BATCH_ROWS)
    seed = check_integer("seed", seed, 0, 2**64 - 1)
    return Derived(batches, lambda source: shuffled(source, buffer_rows, seed), batch_rows)


def shuffled(batches: Iterable[Batch], buffer_rows: int, seed: int) -> Iterator[Batch]:
    """The rows of any batches in the order of `shuffle`, in pieces of half a buffer."""
    given_out = max(1, buffer_rows // 2)
    left: Batch | None = None
    n_draws = 0
    for filling in rebatched(batches, given_out):
        full = filling if left is None else joined([left, filling])
        if full.n_rows + given_out <= buffer_rows:
            left = full
            continue
        drawn = order(seed, SHUFFLE, full.n_rows, n_draws)
        n_draws += full.n_rows
        yield full.take(drawn[:given_out])
        left = full.take(drawn[given_out:])
    if left is not None and left.n_rows:
        yield left.take(order(seed, SHUFFLE, left.n_rows, n_draws))
