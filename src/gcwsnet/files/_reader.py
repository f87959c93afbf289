"""The base classes of all readers: `Reader`, and `TableReader` for formats with columns (CSV, Parquet, Arrow)."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gcwsnet.files._sources import Source
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._columns import TableColumn
from gcwsnet.tables._encode import encode
from gcwsnet.tables._errors import ColumnReference, DataError, ErrorHandler, InvalidRows, NoRowsError, check_batch
from gcwsnet.tables._learn import Learner, Survey
from gcwsnet.tables._schema import (
    ColumnNames,
    ColumnSelection,
    FileColumn,
    ReadOptions,
    Schema,
    infer_schema,
    select_columns,
)

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
        errors.warn_of_unknown_categories(stacklevel=4)  # of the loop over `rebatched` rows

    def survey(self) -> Survey:
        """Read all rows once, and return their survey; the schema is learned unless it is known."""
        if self._survey is None:
            if not self.reusable:
                raise ValueError(
                    "a survey reads all rows, but this source can be read only once; give what the survey would find "
                    "(n_features, schema or hash_columns), or save the rows to a file"
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
    """A reader of files with columns. Subclasses parse them; this class encodes and checks the rows."""

    has_types = True  # or all columns are texts

    @abstractmethod
    def file_columns(self, source: Source) -> list[FileColumn]:
        """Return the columns of a file."""

    @abstractmethod
    def read_columns(
        self, source: Source, schema: Schema, selection: ColumnSelection
    ) -> Iterator[tuple[Mapping[int, TableColumn], InvalidRows]]:
        """Yield the selected columns of a file by their numbers, some rows at a time."""

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
            found = selection.label is not None, selection.weight is not None
            if number > 0 and found != required:
                raise DataError(
                    f"files that are read together must all have label and weight, or none, as {self.sources[0].name}",
                    path=source.name,
                )
            required = found
            for columns, invalid in self.read_columns(source, schema, selection):
                yield columns, selection, invalid

    def _nonempty_sources(self) -> Sequence[Source]:
        return [source for source in self.sources if not self.is_empty(source)]
