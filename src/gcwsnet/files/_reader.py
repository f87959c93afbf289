"""What all readers are: a `Reader`, or a `TableReader` of columns (CSV, Parquet, Arrow), and rows as `Batches`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._keys import SHUFFLE, SPLIT, random_order, stream_state
from gcwsnet._validation import check_integer, check_number
from gcwsnet.files._sources import Source
from gcwsnet.tables._batch import Batch, joined, rebatched
from gcwsnet.tables._columns import TableColumn
from gcwsnet.tables._encode import Learner, Survey, encode
from gcwsnet.tables._errors import ColumnReference, DataError, ErrorHandler, InvalidRows, NoRowsError, check_batch
from gcwsnet.tables._schema import (
    ColumnName,
    ColumnNames,
    ColumnSelection,
    FileColumn,
    ReadOptions,
    Schema,
    infer_schema,
    select_columns,
)

MAX_BATCH_ROWS = 1 << 30

MAX_BYTES_IN_MEMORY = 1 << 27

RowsOfTable = tuple[Mapping[int, TableColumn], ColumnSelection, InvalidRows]
"""The columns of some rows by their numbers, which of them are read, and the rows that could not be parsed."""


class Reader(ABC):
    """A reader of one format, with the schema of its rows, which may have to be learned from all of them.

    A new format needs a subclass with `start_schema` and `read`, or a subclass of `TableReader`, and an entry in
    `READERS` (`_read.py`), `EXTENSIONS` (`_sources.py`) and `INAPPLICABLE_OPTIONS` (`tables/_schema.py`).

    Parameters
    ----------
    sources : list of Source
        Empty for arrays.
    options : ReadOptions
    schema : Schema, optional
        The schema, where it is known before.
    on_error : {"stop", "skip"}
    rejects : path, optional

    Attributes
    ----------
    errors : ErrorHandler
        That of the last loop over the rows.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        options: ReadOptions,
        schema: Schema | None = None,
        on_error: str = "stop",
        rejects: str | os.PathLike[str] | None = None,
    ) -> None:
        self.sources, self.options = sources, options
        self.reusable = all(source.reusable for source in sources)
        self.errors = ErrorHandler(on_error)
        self._on_error, self._rejects = on_error, rejects
        self._schema = schema
        self._is_final = schema is not None  # given or learned from all rows, not only from the beginning of a file
        self._survey: Survey | None = None

    @abstractmethod
    def start_schema(self) -> Schema:
        """Return the schema as far as it is known before all rows were read."""

    @abstractmethod
    def read(self, schema: Schema, errors: ErrorHandler, learner: Learner | None = None) -> Iterator[Batch]:
        """Yield the valid rows in order, in batches of any size; a learner learns from the columns of a table."""

    def is_open(self, schema: Schema) -> bool:
        """Return whether a start schema must be completed by reading all rows."""
        del schema
        return False

    def finished_schema(self, learner: Learner) -> Schema:
        """Return the schema with what was learned from all rows."""
        return learner.schema()

    @property
    def schema(self) -> Schema:
        """The schema; all rows are read once if that is needed to learn it."""
        if self._schema is None:
            start = self.start_schema()
            if self.is_open(start):
                self.survey()
            else:
                self._schema = start
        assert self._schema is not None  # noqa: S101
        return self._schema

    def rows(self) -> Iterator[Batch]:
        """Yield the valid rows in batches of any size, and warn of unknown categories at the end."""
        schema = self.schema
        errors = self.errors = ErrorHandler(self._on_error, self._rejects)
        n_rows = 0
        with errors.saving():
            for batch in self.read(schema, errors):
                n_rows += batch.n_rows
                yield batch
        if n_rows == 0:
            raise no_rows([source.name for source in self.sources], errors.skipped)
        errors.note_placeholders(self.sources[0].name if self.sources else None)
        errors.warn_of_unknown_categories(stacklevel=4)  # of the loop over `rebatched` rows

    def survey(self) -> Survey:
        """Read all rows once, and return their survey; the schema is learned unless it is known."""
        if self._survey is None:
            if not self.reusable:
                raise ValueError(
                    "this source can be read only once, and all its rows must be read to know its columns; save the "
                    "rows to a file, or give n_features or hash_columns"
                )
            learner = self.learn(self.first_schema())
            if learner.n_rows == 0:
                raise no_rows([source.name for source in self.sources], learner.skipped)
            schema, is_complete = self.learned_schema(learner)
            if not is_complete:
                self._is_final = True
                learner = self.learn(schema)
            self._schema, self._is_final, self._survey = schema, True, learner.survey(schema)
        return self._survey

    def first_schema(self) -> Schema:
        """Return the schema to learn with: the one that is known, or that with which it is learned."""
        return self._schema if self._schema is not None and self._is_final else self.start_schema()

    def learn(self, schema: Schema) -> Learner:
        """Read all rows once with a schema of `first_schema`, and return what is learned from them."""
        errors = ErrorHandler(self._on_error)
        text_labels = not self._is_final and schema.label_type is not None
        learner = Learner(schema, self.sources[0].name if self.sources else None, text_labels=text_labels)
        if text_labels:
            schema = replace(schema, label_type="strings")
        for batch in self.read(schema, errors, None if self._is_final else learner):
            learner.update(batch)
        learner.skipped = errors.skipped
        return learner

    def learned_schema(self, learner: Learner) -> tuple[Schema, bool]:
        """Return the schema, and whether all rows that the learner has counted are valid with it."""
        if self._is_final:
            return learner.start, True
        schema = self.finished_schema(learner)
        shift = (schema.index_base or 0) - (learner.start.index_base or 0)
        return schema, learner.max_index - shift < schema.n_features


def no_rows(names: Sequence[str], skipped: int = 0) -> NoRowsError:
    """Return the error of files with these names that have no rows."""
    besides = f" besides the {skipped} skipped" if skipped else ""
    return NoRowsError(
        f"there must be at least one row, got none{besides}; is this the right file?",
        path=", ".join(names[:3]) + (", ..." if len(names) > 3 else "") or None,
    )


class TableReader(Reader):
    """A reader of files with columns. Subclasses parse them; this class encodes and checks the rows.

    Attributes
    ----------
    keep : sequence of str or int
        Columns that are read as they are, beside those of the rows.
    kept : list of list of ArrowColumn
        These columns of the rows that were read, some rows at a time, the invalid ones among them.
    """

    keep: Sequence[ColumnName] = ()

    has_types = True  # or all columns are texts

    @abstractmethod
    def file_columns(self, source: Source) -> list[FileColumn]:
        """Return the columns of a file."""

    @abstractmethod
    def read_columns(
        self, source: Source, schema: Schema, selection: ColumnSelection
    ) -> Iterator[tuple[Mapping[int, TableColumn], InvalidRows]]:
        """Yield the selected columns of a file by their numbers, some rows at a time.

        If another column that is kept as it is has been read as numbers, its text is under ~number.
        """

    def is_empty(self, source: Source) -> bool:
        """Return whether a file has no rows, which are needed to tell what its columns hold."""
        del source
        return False

    def start_schema(self) -> Schema:
        """Return the schema of the first file, without what must be learned from all rows."""
        source = next(iter(self._nonempty_sources()), None)
        if source is None:
            raise no_rows([source.name for source in self.sources])
        columns = self.file_columns(source)
        schema = infer_schema(columns, self.options, source.name)
        if self.has_types or schema.label_number is None:
            return schema
        return replace(schema, label_type="numbers" if columns[schema.label_number].kind == "number" else "strings")

    def is_open(self, schema: Schema) -> bool:
        """Return whether categories or widths must be learned from all rows."""
        return schema.is_open

    def read(self, schema: Schema, errors: ErrorHandler, learner: Learner | None = None) -> Iterator[Batch]:
        """Yield the valid rows, some at a time."""
        ends = np.cumsum([column.width for column in schema.columns])

        def reference(column: int) -> ColumnReference:
            number = int(np.searchsorted(ends, column, side="right"))
            return schema.columns[number].reference if number < len(ends) else None

        for columns, selection, invalid in self.tables(schema):
            batch = encode(columns, selection, schema, invalid, self.options.dtype or "float64")
            if self.keep:
                self.kept.append([columns.get(~number, columns[number]) for number in selection.others])
            labels = self.options.labels
            if labels is not None and batch.y is not None and batch.y.dtype.kind == "U":
                labels = [str(label) for label in labels]
            batch = check_batch(batch, invalid, missing=schema.missing, known_labels=labels, column_reference=reference)
            if learner is not None:
                valid = invalid.valid_mask(batch.n_rows)
                learner.update_columns(
                    columns, selection, valid if batch.weight is None else valid & (batch.weight != 0)
                )
            yield from errors.valid_rows(batch, invalid)

    def tables(self, schema: Schema) -> Iterator[RowsOfTable]:
        """Yield the columns of all files, some rows at a time."""
        required = self.options.label is not None, self.options.weight is not None
        for number, source in enumerate(self._nonempty_sources()):
            names = ColumnNames([column.name for column in self.file_columns(source)], source.name)
            selection = select_columns(schema, names, source.name, required=required)
            selection = selection._replace(others=tuple(names.require(name, "keep") for name in self.keep))
            found = selection.label is not None, selection.weight is not None
            if number > 0 and found != required:
                raise DataError(
                    f"files that are read together must all have label and weight, or none, as {self.sources[0].name}",
                    path=source.name,
                )
            required = found
            for columns, invalid in self.read_columns(source, schema, selection):
                yield columns, selection, invalid

    @cached_property
    def kept(self) -> list[list[TableColumn]]:
        return []

    def _nonempty_sources(self) -> Sequence[Source]:
        return [source for source in self.sources if not self.is_empty(source)]


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


def in_memory(batches: Batches, n_rows: int) -> Batches:
    """Return the `n_rows` rows of positive weight there are, which stay in memory if they take at most 128 MB."""
    rows = Batches(batches.reader, batches.batch_rows, lambda: (batch.weighted() for batch in batches))
    read = iter(rows)
    first = next(read, None)
    if first is None or n_rows * bytes_of_a_row(first) > MAX_BYTES_IN_MEMORY:
        return rows
    kept = [first, *read]
    return Batches(batches.reader, batches.batch_rows, lambda: kept)


def bytes_of_a_row(batch: Batch) -> int:
    """Return the bytes of the numbers of a row, on average."""
    X = batch.X
    n_bytes = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return n_bytes // max(batch.n_rows, 1)


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
