"""Parquet and Arrow files, read by pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from gcwsnet.files._reader import TableReader
from gcwsnet.files._sources import Source
from gcwsnet.tables._columns import ArrowColumn, TableColumn, arrow_kind
from gcwsnet.tables._errors import DataError, InvalidRows, damage_as_data_error, require_pyarrow
from gcwsnet.tables._schema import ColumnSelection, FileColumn, Schema

TABLE_ROWS = 8192
FIRST_ROWS = 1000
ARROW_FILE_PREFIX = b"ARROW1"


class PyarrowReader(TableReader):
    """A reader of files that pyarrow reads as record batches."""

    @abstractmethod
    def _arrow_schema(self, source: Source) -> tuple[Any, Any]:
        """Return the pyarrow schema, and a record batch of the first rows, with lists and text at least, or None."""

    @abstractmethod
    def _record_batches(self, source: Source, numbers: list[int]) -> Iterator[Any]:
        """Yield record batches of the columns with the given numbers, in their order."""

    def file_columns(self, source: Source) -> list[FileColumn]:
        """Return the columns by the types of the file. The first rows tell the width of a vector and dates in text."""
        with _damage_as_data_error(source.name):
            arrow_schema, first = self._arrow_schema(source)
        twice = [name for name, count in Counter(arrow_schema.names).items() if count > 1]
        if twice:
            raise DataError(
                f"column names must differ, got {twice[0]!r} more than once; rename or drop one of them",
                path=source.name,
                column=twice[0],
            )
        return [
            FileColumn(field.name, arrow_kind(field.type))
            if first is None or not _is_looked_at(field)
            else FileColumn.describe(field.name, ArrowColumn(first.column(field.name).slice(0, FIRST_ROWS)))
            for field in arrow_schema
        ]

    def read_columns(
        self, source: Source, schema: Schema, selection: ColumnSelection
    ) -> Iterator[tuple[Mapping[int, TableColumn], InvalidRows]]:
        """Yield the columns of some thousand rows at a time."""
        del schema
        first = 0
        with _damage_as_data_error(source.name):
            for batch in self._record_batches(source, selection.numbers):
                arrays = zip(selection.numbers, batch.columns, strict=True)
                columns = {number: ArrowColumn(array) for number, array in arrays}
                yield columns, InvalidRows.numbered(source.name, first)
                first += batch.num_rows


class ParquetReader(PyarrowReader):
    """A reader of Parquet files, row group by row group."""

    def _arrow_schema(self, source: Source) -> tuple[Any, Any]:
        file = self._open_file(source)
        names = list({field.name: None for field in file.schema_arrow if _is_looked_at(field)})
        return file.schema_arrow, next(file.iter_batches(FIRST_ROWS, columns=names), None) if names else None

    def _record_batches(self, source: Source, numbers: list[int]) -> Iterator[Any]:
        file = self._open_file(source)
        columns = [file.schema_arrow.names[number] for number in numbers]
        for batch in file.iter_batches(TABLE_ROWS, columns=columns, use_threads=False):
            yield batch.select(columns)

    def _open_file(self, source: Source) -> Any:
        source.require_plain_file("Parquet")
        parquet = require_pyarrow("Parquet", "pyarrow.parquet")
        return parquet.ParquetFile(source.name, buffer_size=1 << 20, pre_buffer=False)


class ArrowReader(PyarrowReader):
    """A reader of files with an Arrow file (Feather) or an Arrow stream, record batch by record batch."""

    def _arrow_schema(self, source: Source) -> tuple[Any, Any]:
        with _open_arrow(source) as (arrow_schema, batches):
            return arrow_schema, next((batch for batch in batches if batch.num_rows), None)

    def _record_batches(self, source: Source, numbers: list[int]) -> Iterator[Any]:
        with _open_arrow(source) as (_, batches):
            for batch in batches:
                for begin in range(0, batch.num_rows, TABLE_ROWS):
                    yield batch.slice(begin, TABLE_ROWS).select(numbers)


@contextmanager
def _open_arrow(source: Source) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Give the pyarrow schema of a file and its record batches."""
    source.require_plain_file("Arrow")
    pyarrow = require_pyarrow("Arrow")
    with pyarrow.OSFile(source.name) as file:
        if source.head().startswith(ARROW_FILE_PREFIX):
            opened = pyarrow.ipc.open_file(file)
            yield opened.schema, (opened.get_batch(number) for number in range(opened.num_record_batches))
        else:
            stream = pyarrow.ipc.open_stream(file)
            yield stream.schema, iter(stream)


def _damage_as_data_error(path: str) -> AbstractContextManager[None]:
    damage = (require_pyarrow("tables").ArrowException, OSError, EOFError)
    return damage_as_data_error(path, damage, "the file must be complete, and it is truncated or damaged")


def _is_looked_at(field: Any) -> bool:
    """Return whether the first values of a column tell more than its type: those of lists and of text do."""
    return arrow_kind(field.type) in ("vector", "text")
