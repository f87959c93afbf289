"""Streams of batches: what `read` returns, and what `shuffle` and `split` make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._keys import SHUFFLE, SPLIT, random_order, stream_state
from gcwsnet._validation import check_integer, check_number
from gcwsnet.files._reader import Reader
from gcwsnet.tables._batch import Batch, joined, rebatched
from gcwsnet.tables._learn import Learner, Survey
from gcwsnet.tables._schema import Schema

MAX_BATCH_ROWS = 1 << 30


class Batches:
    """An iterable of `Batch`, all of `batch_rows` rows but the last one.

    Each ``for`` loop begins at the first row. Where the source can be read only once, such as standard input, a second
    loop is an error.

    Attributes
    ----------
    batch_rows : int
    reader : Reader
        The reader of the files or arrays that the rows come from.
    """

    def __init__(
        self, reader: Reader, batch_rows: int, transformed: Callable[[], Iterable[Batch]] | None = None
    ) -> None:
        self.reader = reader
        self.batch_rows = check_integer("batch_rows", batch_rows, 1, MAX_BATCH_ROWS)
        self._transformed = transformed

    def __iter__(self) -> Iterator[Batch]:
        return rebatched(self.reader.rows() if self._transformed is None else self._transformed(), self.batch_rows)

    @property
    def schema(self) -> Schema:
        """How files become columns of X. All rows are read once if that is needed to learn it."""
        return self.reader.schema

    @property
    def reusable(self) -> bool:
        """Whether the rows can be read more than once."""
        return self.reader.reusable

    @property
    def skipped(self) -> int:
        """The number of rows that the last loop has skipped so far, with ``on_error="skip"``."""
        return self.reader.errors.skipped

    @property
    def skipped_rows(self) -> NDArray[np.int64]:
        """The numbers of the rows that the last loop has skipped so far, counted from 0 among all rows of all files."""
        return self.reader.errors.skipped_rows

    @property
    def reasons(self) -> list[str]:
        """The error messages of the first skipped rows."""
        return list(self.reader.errors.reasons)

    @property
    def unknown_categories(self) -> int:
        """The number of values in the last loop so far that are not among the categories of the schema."""
        return self.reader.errors.unknown_categories

    @property
    def n_features(self) -> int:
        """D, the number of columns of X. All rows are read once if that is needed to learn it."""
        return self.schema.n_features

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of the file that make up X, in the order of X; None if they have no names."""
        names = [column.name for column in self.schema.columns]
        return [name for name in names if name is not None] or None

    def survey(self) -> Survey:
        """Read all rows once, and return their number, their width and their labels."""
        if self._transformed is None:
            return self.reader.survey()
        learner = Learner(self.schema)
        for batch in self:
            learner.update(batch)
        learner.skipped = self.skipped
        return learner.survey(self.schema)


def shuffle(batches: Batches, buffer_rows: int, seed: int = 0, *, batch_rows: int | None = None) -> Batches:
    """Return the same rows in a random order.

    A buffer is filled with `buffer_rows` rows. Half of them, drawn at random, are returned in random order, and the
    buffer is filled again; at the end all remaining rows are returned. So a row comes at most `buffer_rows` rows too
    early, and a file whose rows are sorted by label is mixed well if the buffer holds several labels.

    Parameters
    ----------
    batches : Batches
    buffer_rows : int
        The number of rows that are kept in memory. If it holds all rows, every order is equally likely.
    seed : int, default=0
        From 0 to 2**64 - 1. The order depends only on it, on `buffer_rows` and on the number of rows, and not on how
        the rows are cut into batches.
    batch_rows : int, optional
        The number of rows of the returned batches, by default that of the given ones.

    Returns
    -------
    batches : Batches

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet.files import read, shuffle
    >>> rows = read(np.arange(8.0).reshape(8, 1))
    >>> [batch.X.ravel().tolist() for batch in shuffle(rows, buffer_rows=4, seed=0, batch_rows=4)]
    [[1.0, 2.0, 0.0, 4.0], [7.0, 6.0, 3.0, 5.0]]
    """
    buffer_rows = check_integer("buffer_rows", buffer_rows, 1, MAX_BATCH_ROWS)
    seed = check_integer("seed", seed, 0, 2**64 - 1)
    batch_rows = batches.batch_rows if batch_rows is None else batch_rows
    return Batches(batches.reader, batch_rows, lambda: shuffled(batches, buffer_rows, seed))


def shuffled(batches: Iterable[Batch], buffer_rows: int, seed: int) -> Iterator[Batch]:
    """Yield the rows of any batches in the order of `shuffle`, half a buffer at a time."""
    half = max(1, buffer_rows // 2)
    buffer: Batch | None = None
    n_keys = 0
    for batch in rebatched(batches, half):
        buffer = batch if buffer is None else joined([buffer, batch])
        if buffer.n_rows + half <= buffer_rows:
            continue
        drawn = random_order(seed, SHUFFLE, buffer.n_rows, n_keys)
        n_keys += buffer.n_rows
        yield buffer.take(drawn[:half])
        buffer = buffer.take(drawn[half:])
    if buffer is not None and buffer.n_rows:
        yield buffer.take(random_order(seed, SHUFFLE, buffer.n_rows, n_keys))


def split(batches: Batches, fraction: float, seed: int = 0) -> tuple[Batches, Batches]:
    """Return the training rows and the held-out rows, which are about the given fraction of all rows.

    Parameters
    ----------
    batches : Batches
        Each of the two results reads them on its own, so they must be readable more than once to use both.
    fraction : float
        The fraction that is held out, from 0 to 1.
    seed : int, default=0
        From 0 to 2**64 - 1.

    Returns
    -------
    training, held_out : Batches

    Notes
    -----
    Whether a row is held out depends only on the numbers of its X and on the seed: not on its position, its label, the
    batch, the format, how the numbers are written, or whether X is dense or CSR. So rows with equal X are never split,
    and a row stays where it is when rows are added. A number that float32 rounds is another number.

    The key of a row is mix(s + the sum over its entries that are not zero of mix(mix(s + (column + 1) g) ^ bits)),
    modulo 2**64. mix is the finalizer of splitmix64, g is 0x9e3779b97f4a7c15, s is the state of the stream number 13 of
    `seed` (docs/hash-specification.md), bits are those of the number as a double, and columns count from 0. A row is
    held out if its key is below fraction times 2**64.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet.files import read, split
    >>> training, held_out = split(read(np.arange(1000.0).reshape(1000, 1)), 0.2, seed=0)
    >>> sum(batch.n_rows for batch in training), sum(batch.n_rows for batch in held_out)
    (833, 167)
    """
    bound = int(check_number("fraction", fraction, 0, 1) * 2.0**64)
    state = stream_state(check_integer("seed", seed, 0, 2**64 - 1), SPLIT)

    def select(held_out: bool) -> Iterator[Batch]:
        for batch in batches:
            keys = row_keys(batch.X, state)
            below = np.ones(len(keys), bool) if bound == 2**64 else keys < np.uint64(bound)
            yield batch.take(below == held_out)

    training, held_out = (
        Batches(batches.reader, batches.batch_rows, partial(select, is_held_out)) for is_held_out in (False, True)
    )
    return training, held_out


def row_keys(X: Any, state: int) -> NDArray[np.uint64]:
    """Return the keys of the rows of X that `split` compares."""
    out = np.empty(X.shape[0], np.uint64)
    if sparse.issparse(X):
        _core.csr_row_keys(X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False), state, out)
    else:
        _core.dense_row_keys(np.ascontiguousarray(X), state, out)
    return out
