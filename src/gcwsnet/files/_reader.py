"""The base classes of all readers: `Reader`, and `TableReader` for formats with columns (CSV, Parquet, Arrow)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gcwsnet.files._sources import Source
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._encode import Table, encode
from gcwsnet.tables._errors import ColumnReference, DataError, ErrorHandler, InvalidRows, RowOrigin, check_batch
from gcwsnet.tables._learn import Findings, RowStatistics, SchemaLearner, Survey, TextLabelStatistics
from gcwsnet.tables._schema import (
    ColumnNames,
    ColumnSelection,
    FileColumn,
    ReadOptions,
    Schema,
    infer_schema,
    select_columns,
)


class Reader(ABC):
    """A reader of one format.

    A new format needs a subclass with `known_schema` and `read`, or a subclass of `TableReader`, and an entry in
    `READERS` (`_read.py`), `EXTENSIONS` (`_sources.py`) and `INAPPLICABLE_OPTIONS` (`_options.py`).

    Parameters
    ----------
    sources : list of Source
        Empty for arrays.
    options : ReadOptions
    """

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        self.sources, self.options = sources, options
        self.reusable = all(source.reusable for source in sources)

    @abstractmethod
    def known_schema(self) -> Schema | None:
        """Return the schema if it is known without reading all rows, else None."""

    @abstractmethod
    def read(self, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield the valid rows in order, in batches of any size."""

    def learn_schema(self, errors: ErrorHandler, max_labels: int) -> tuple[Schema, Survey]:
        """Read all rows once, and return the schema and the survey."""
        start = self.start_schema()
        findings = self.learn(start, errors, max_labels)
        schema = self.learned_schema(start, findings)
        if self.needs_another_pass(start, findings, schema):
            return schema, self.survey(schema, ErrorHandler(errors.on_error), max_labels)
        return schema, self.summarize(schema, findings)

    def start_schema(self) -> Schema:
        """Return the schema that rows are read with while the schema is learned from them.

        Readers whose `known_schema` may return None override this and `learned_schema`.
        """
        schema = self.known_schema()
        if schema is None:
            raise NotImplementedError(f"{type(self).__name__} must learn its schema from all rows")
        return schema

    def learn(self, schema: Schema, errors: ErrorHandler, max_labels: int) -> Findings:
        """Read all rows once with a schema, and return what is learned from them."""
        statistics = RowStatistics(max_labels)
        for batch in self.read(schema, errors):
            statistics.update(batch)
        return Findings(statistics, skipped=errors.skipped)

    def learned_schema(self, start: Schema, findings: Findings) -> Schema:
        """Return the schema of rows that were read with `start`."""
        del findings
        return start

    def needs_another_pass(self, start: Schema, findings: Findings, schema: Schema) -> bool:
        """Return whether some rows that were read with `start` are invalid with the schema that was learned."""
        del start, findings, schema
        return False

    def survey(self, schema: Schema, errors: ErrorHandler, max_labels: int) -> Survey:
        """Read all rows once with a schema, and return their survey."""
        return self.summarize(schema, Reader.learn(self, schema, errors, max_labels))

    def summarize(self, schema: Schema, findings: Findings) -> Survey:
        """Return the survey of rows, or raise DataError if there are none."""
        self.require_rows(findings.rows.n_rows, findings.skipped)
        return findings.survey(schema)

    def require_rows(self, n_rows: int, skipped: int) -> None:
        """Raise DataError if no row was read."""
        if n_rows == 0:
            names = [source.name for source in self.sources]
            besides = f" besides the {skipped} skipped" if skipped else ""
            raise DataError(
                f"there must be at least one row, got none{besides}; is this the right file?",
                path=", ".join(names[:3]) + (", ..." if len(names) > 3 else "") or None,
            )


class TableReader(Reader):
    """A reader of files with columns. Subclasses parse tables; this class encodes and checks them."""

    @abstractmethod
    def file_columns(self, source: Source) -> list[FileColumn]:
        """Return the columns of a file."""

    def is_empty(self, source: Source) -> bool:
        """Return whether a file has not even columns. Such files are ignored if there are others."""
        del source
        return False

    @abstractmethod
    def text_label_type(self, source: Source, label: int) -> str | None:
        """Return how the first labels of a text file parse, "numbers" or "strings", or None if the file has types."""

    @abstractmethod
    def read_tables(
        self, source: Source, schema: Schema, selection: ColumnSelection, errors: ErrorHandler
    ) -> Iterator[tuple[Table, RowOrigin]]:
        """Yield the selected columns of a file, some rows at a time."""

    def known_schema(self) -> Schema | None:
        """Return the schema of the first file, or None if categories or widths must be learned from all rows."""
        schema = self._inferred_schema()
        return None if schema.is_open else schema

    def read(self, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield a batch for each table."""
        for table, origin in self._read_all_tables(schema, errors):
            batch, invalid = self._encode(table, schema)
            yield invalid.drop_from(batch, origin, errors)

    def start_schema(self) -> Schema:
        """Return the schema of the first file, without what must be learned from all rows."""
        return self._inferred_schema()

    def learn(self, schema: Schema, errors: ErrorHandler, max_labels: int) -> Findings:
        """Learn categories, the width of sparse rows and the type of text labels from the valid rows."""
        text_labels = None if schema.label_type is None else TextLabelStatistics(max_labels)
        start = schema if text_labels is None else replace(schema, label_type="strings")
        statistics, learner = RowStatistics(max_labels), SchemaLearner(schema, self.sources[0].name)
        for table, origin in self._read_all_tables(start, errors):
            batch, invalid = self._encode(table, start)
            valid = invalid.valid_mask(batch.n_rows)
            if batch.weight is not None:
                valid &= batch.weight != 0
            batch = invalid.drop_from(batch, origin, errors)
            if text_labels is not None and batch.y is not None:
                text_labels.update(batch.y)
                batch = batch._replace(y=None)
            statistics.update(batch)
            learner.update(table, valid)
        return Findings(statistics, text_labels, learner, errors.skipped)

    def learned_schema(self, start: Schema, findings: Findings) -> Schema:
        """Return the schema with categories, widths and the type of text labels."""
        schema = start if findings.columns is None else findings.columns.schema()
        return schema if findings.labels is None else replace(schema, label_type=findings.labels.schema_label_type)

    def _inferred_schema(self) -> Schema:
        """Return the schema of the first file, without what must be learned from all rows."""
        source = self._nonempty_sources()[0]
        schema = infer_schema(self.file_columns(source), self.options, source.name)
        if schema.label_number is None:
            return schema
        return replace(schema, label_type=self.text_label_type(source, schema.label_number))

    def _read_all_tables(self, schema: Schema, errors: ErrorHandler) -> Iterator[tuple[Table, RowOrigin]]:
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
            yield from self.read_tables(source, schema, selection, errors)

    def _nonempty_sources(self) -> Sequence[Source]:
        return [source for source in self.sources if not self.is_empty(source)] or self.sources

    def _encode(self, table: Table, schema: Schema) -> tuple[Batch, InvalidRows]:
        invalid = InvalidRows()
        batch = encode(table, schema, invalid, self.options.dtype or "float64")
        batch = check_batch(
            batch,
            invalid,
            missing=schema.missing,
            known_labels=self._known_labels(batch),
            column_reference=_file_column_reference(schema),
        )
        return batch, invalid

    def _known_labels(self, batch: Batch) -> Sequence[Any] | None:
        """Return the labels that are allowed, as strings where the file has strings."""
        labels = self.options.labels
        if labels is None or batch.y is None or batch.y.dtype.kind != "U":
            return labels
        return [str(label) for label in labels]


def _file_column_reference(schema: Schema) -> Callable[[int], ColumnReference]:
    """Return a function from a column of X to what errors call the column of the file that it comes from."""
    ends = np.cumsum([column.width for column in schema.columns])

    def reference(column: int) -> ColumnReference:
        number = int(np.searchsorted(ends, column, side="right"))
        return schema.columns[number].reference if number < len(schema.columns) else None

    return reference
