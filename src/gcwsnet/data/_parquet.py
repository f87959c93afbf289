"""Parquet files, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gcwsnet.data._arrow import needed_pyarrow
from gcwsnet.data._columns import FileColumn, Picks
from gcwsnet.data._encode import Table
from gcwsnet.data._errors import DataError, Faults
from gcwsnet.data._inputs import Input
from gcwsnet.data._layout import Layout
from gcwsnet.data._screen import Rows, numbered
from gcwsnet.data._tables import TableReader

ROWS_AT_ONCE = 8192
BUFFER = 1 << 20


class ParquetReader(TableReader):
    """Parquet files, row group by row group."""

    def file_columns(self, given: Input) -> list[FileColumn]:
        """By the types of the file. A vector is as wide as in the first row."""
        schema, first = self._schema(given)
        return [file_column(field, first) for field in schema]

    def label_type(self, given: Input, label: int) -> str | None:
        """None: the file has types."""
        del given, label
        return None

    def tables(
        self, given: Input, layout: Layout, picks: Picks, n_columns: int, faults: Faults
    ) -> Iterator[tuple[Table, Rows]]:
        """Some thousand rows at a time."""
        del layout, n_columns, faults
        chosen = list(dict.fromkeys([*picks.features, *(n for n in (picks.label, picks.weight) if n is not None)]))
        first = 0
        with damaged(given.name):
            for batch in self._batches(given, chosen):
                arrays = dict(zip(chosen, batch.columns, strict=True))
                table = Table(
                    [arrays[number] for number in picks.features],
                    None if picks.label is None else arrays[picks.label],
                    None if picks.weight is None else arrays[picks.weight],
                )
                yield table, numbered(given.name, first)
                first += batch.num_rows

    def _schema(self, given: Input) -> tuple[Any, Any]:
        """The schema, and the first row where there is one."""
        with damaged(given.name):
            file = self._file(given)
            schema = file.schema_arrow
            lists = [field.name for field in schema if is_list(field.type)]
            first = next(file.iter_batches(1, columns=lists), None) if lists else None
            return schema, first

    def _batches(self, given: Input, chosen: list[int]) -> Iterator[Any]:
        file = self._file(given)
        names = file.schema_arrow.names
        columns = [names[number] for number in chosen]
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns, use_threads=False):
            yield batch.select(columns)

    def _file(self, given: Input) -> Any:
        parquet = needed_pyarrow("Parquet", "pyarrow.parquet")
        if not given.reusable or given.packing() is not None:
            raise DataError(
                "Parquet must be a file, not a stream, and not packed; unpack it into a file", path=given.name
            )
        return parquet.ParquetFile(given.name, buffer_size=BUFFER, pre_buffer=False)


@contextmanager
def damaged(path: str) -> Iterator[None]:
    """DataError for what a file that is cut off or damaged may cause inside."""
    pyarrow = needed_pyarrow("tables")
    try:
        yield
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, EOFError) as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DataError(
            f"the file must be whole, and it is cut off or damaged ({why}); get it again", path=path
        ) from error


def is_list(kind: Any) -> bool:
    """Whether a type of pyarrow is a list of numbers."""
    types = needed_pyarrow("tables").types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return lists and (types.is_integer(kind.value_type) or types.is_floating(kind.value_type))


def file_column(field: Any, first: Any) -> FileColumn:
    """A field of a schema as a column. A list is as wide as in the first row."""
    types = needed_pyarrow("tables").types
    kind = field.type
    if is_list(kind):
        width = 1 if first is None else len(first.column(field.name)[0].as_py() or ())
        return FileColumn(field.name, "index vector" if types.is_integer(kind.value_type) else "vector", width)
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind):
        return FileColumn(field.name, "text")
    is_number = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return FileColumn(field.name, "number" if any(test(kind) for test in is_number) else str(kind))
