"""Streams of batches: what `read` returns, and what `skip`, `shuffle` and `split` make of it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._keys import SHUFFLE, SPLIT, random_order, stream_state
from gcwsnet._validation import check_integer, check_number
from gcwsnet.files._reader import Reader
from gcwsnet.tables._batch import Batch, joined, rebatched
from gcwsnet.tables._errors import ErrorHandler
from gcwsnet.tables._learn import MAX_LABELS, Findings, RowStatistics, Survey
from gcwsnet.tables._schema import Schema

MAX_BATCH_ROWS = 1 << 30


class Batches(ABC):
    """An iterable of `Batch`, all of `batch_rows` rows but the last one.

    Each ``for`` loop begins at the first row. Where the source can be read only once, such as standard input, a second
    loop is an error.
    """

    def __init__(self, batch_rows: int) -> None:
        self.batch_rows = check_integer("batch_rows", batch_rows, 1, MAX_BATCH_ROWS)

    @abstractmethod
    def __iter__(self) -> Iterator[Batch]: ...

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """How files become columns of X. All rows are read once if that is needed to learn it."""

    @property
    @abstractmethod
    def reusable(self) -> bool:
        """Whether the rows can be read more than once."""

    @abstractmethod
    def _error_handler(self) -> ErrorHandler:
        """Return the handler of the invalid rows of the last loop."""

    @abstractmethod
    def survey(self, *, max_labels: int = MAX_LABELS) -> Survey:
        """Read all rows once, and return their number, their width and their labels.

        Parameters
        ----------
        max_labels : int
            Distinct labels are kept up to this number.
        """

    @property
    def skipped(self) -> int:
        """The number of rows that the last loop has skipped so far, with ``on_error="skip"``."""
        return self._error_handler().skipped

    @property
    def skipped_rows(self) -> NDArray[np.int64]:
        """The numbers of the rows that the last loop has skipped so far, counted from 0 among all rows of all files."""
        return self._error_handler().skipped_rows

    @property
    def reasons(self) -> list[str]:
        """The error messages of the first skipped rows."""
        return list(self._error_handler().reasons)

    @property
    def unknown_categories(self) -> int:
        """The number of values in the last loop so far that are not among the categories of the schema."""
        return self._error_handler().unknown_categories

    @property
    def n_features(self) -> int:
        """D, the number of columns of X. All rows are read once if that is needed to learn it."""
        return self.schema.n_features

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of the file that make up X, in the order of X; None if they have no names."""
        names = [column.name for column in self.schema.columns]
        return [name for name in names if name is not None] or None

    def skip(self, n_rows: int) -> Batches:
        """Return the rows without the first `n_rows` valid ones, which are read and dropped."""
        n_rows = check_integer("n_rows", n_rows, 0, 1 << 62)
        return TransformedBatches(self, lambda batches: _without_first(batches, n_rows))


class ReaderBatches(Batches):
    """The batches of a reader."""

    def __init__(
        self,
        reader: Reader,
        *,
        batch_rows: int,
        on_error: str,
        rejects: str | os.PathLike[str] | None,
        schema: Schema | None,
    ) -> None:
        super().__init__(batch_rows)
        self._reader, self._schema = reader, schema
        self._is_final = schema is not None  # given or learned from all rows, not only from the beginning of a file
        self._on_error, self._rejects = on_error, rejects
        self._errors = ErrorHandler(on_error)
        self._survey: tuple[int, Survey] | None = None

    def __iter__(self) -> Iterator[Batch]:
        schema = self.schema
        errors = self._errors = ErrorHandler(self._on_error, self._rejects)
        n_rows = 0
        with errors.saving():
            for batch in rebatched(self._reader.read(schema, errors), self.batch_rows):
                n_rows += batch.n_rows
                yield batch
        self._reader.require_rows(n_rows, errors.skipped)
        errors.warn_of_unknown_categories()

    @property
    def schema(self) -> Schema:
        if self._schema is None:
            self._schema = self._reader.known_schema()
        if self._schema is None:
            self._schema = self._read_survey(MAX_LABELS)[0]
        return self._schema

    @property
    def reusable(self) -> bool:
        return self._reader.reusable

    def _error_handler(self) -> ErrorHandler:
        return self._errors

    def survey(self, *, max_labels: int = MAX_LABELS) -> Survey:
        if self._survey is not None and self._survey[0] == max_labels:
            return self._survey[1]
        return self._read_survey(max_labels)[1]

    def start_schema(self) -> Schema:
        """Return the schema that was given, or the one that rows are read with while the schema is learned."""
        return self._schema if self._schema is not None and self._is_final else self._reader.start_schema()

    def findings(self, start: Schema) -> Findings:
        """Read all rows once with a schema of `start_schema`, and return what is learned from them."""
        learn = Reader.learn if self._is_final else type(self._reader).learn
        findings = learn(self._reader, start, ErrorHandler(self._on_error), MAX_LABELS)
        self._reader.require_rows(findings.rows.n_rows, findings.skipped)
        return findings

    def learned_schema(self, start: Schema, findings: Findings) -> tuple[Schema, bool]:
        """Return the schema of all files whose findings were merged, and whether they must be read with it again."""
        if self._is_final:
            return start, False
        schema = self._reader.learned_schema(start, findings)
        return schema, self._reader.needs_another_pass(start, findings, schema)

    def _read_survey(self, max_labels: int) -> tuple[Schema, Survey]:
        """Read all rows once, and keep the schema and the survey."""
        if not self._reader.reusable:
            raise ValueError(
                "a survey reads all rows, but this source can be read only once; give what the survey would find "
                "(n_features, schema or hash_columns), or save the rows to a file"
            )
        errors = ErrorHandler(self._on_error)
        if self._schema is not None and self._is_final:
            schema, survey = self._schema, self._reader.survey(self._schema, errors, max_labels)
        else:
            schema, survey = self._reader.learn_schema(errors, max_labels)
        self._schema, self._is_final, self._survey = schema, True, (max_labels, survey)
        return schema, survey


class TransformedBatches(Batches):
    """Batches whose rows are a function of the rows of other batches.

    Parameters
    ----------
    source : Batches
    function : function of an iterable of batches that returns an iterator of batches of any size
    batch_rows : int, optional
    """

    def __init__(
        self,
        source: Batches,
        function: Callable[[Iterable[Batch]], Iterator[Batch]],
        batch_rows: int | None = None,
    ) -> None:
        super().__init__(source.batch_rows if batch_rows is None else batch_rows)
        self._source, self._function = source, function

    def __iter__(self) -> Iterator[Batch]:
        return rebatched(self._function(self._source), self.batch_rows)

    @property
    def schema(self) -> Schema:
        return self._source.schema

    @property
    def reusable(self) -> bool:
        return self._source.reusable

    def _error_handler(self) -> ErrorHandler:
        return self._source._error_handler()

    def survey(self, *, max_labels: int = MAX_LABELS) -> Survey:
        statistics, schema = RowStatistics(max_labels), self.schema
        for batch in self:
            statistics.update(batch)
        return statistics.survey(schema, self.skipped)


def _without_first(batches: Iterable[Batch], n_rows: int) -> Iterator[Batch]:
    for batch in batches:
        if n_rows < batch.n_rows:
            yield batch.rows(n_rows, batch.n_rows) if n_rows else batch
        n_rows = max(0, n_rows - batch.n_rows)


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
    return TransformedBatches(batches, lambda source: shuffled(source, buffer_rows, seed), batch_rows)


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

    def select(batches: Iterable[Batch], held_out: bool) -> Iterator[Batch]:
        for batch in batches:
            yield batch.take(_is_below(row_keys(batch.X, state), bound) == held_out)

    training = TransformedBatches(batches, lambda source: select(source, False))
    return training, TransformedBatches(batches, lambda source: select(source, True))


def _is_below(keys: NDArray[np.uint64], bound: int) -> NDArray[np.bool_]:
    return np.ones(len(keys), bool) if bound == 2**64 else keys < np.uint64(bound)


def row_keys(X: Any, state: int) -> NDArray[np.uint64]:
    """Return the keys of the rows of X that `split` compares."""
    out = np.empty(X.shape[0], np.uint64)
    if sparse.issparse(X):
        _core.csr_row_keys(X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False), state, out)
    else:
        _core.dense_row_keys(np.ascontiguousarray(X), state, out)
    return out
