"""Output of the commands: values by name, and tables that are written row by row, as text, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
import typer
from numpy.typing import NDArray

from gcwsnet._atomic import written_beside
from gcwsnet.data._errors import row_positions

if TYPE_CHECKING:
    from gcwsnet.data import Batches
    from gcwsnet.neighbors._file_rows import FileBatches

Columns = list[NDArray[Any]]


class Write(Protocol):
    """A function that writes columns; values are empty in the rows that a boolean array `missing` chooses."""

    def __call__(self, columns: Columns, missing: NDArray[np.bool_] | None = None) -> None: ...


def to_json(value: Any) -> str:
    """Return JSON as the standard has it: numbers that are not finite are null."""
    return json.dumps(_without_nan(value), allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_values(values: dict[str, Any], *, as_json: bool) -> None:
    """Print values by name, one on each line, or as JSON."""
    print(to_json(values) if as_json else "\n".join(f"{name}: {value}" for name, value in values.items()))


@contextmanager
def writer_for(out: Path | None, names: list[str], *, as_json: bool) -> Iterator[Write]:
    """Yield a function that writes columns with these names. A file is moved into its place when all is written."""
    if out is None:
        yield _text_writer(sys.stdout, names, as_json)
        sys.stdout.flush()
        return
    if out.suffix not in (".csv", ".parquet"):
        raise typer.BadParameter(f"The file must end with .csv or .parquet, got {str(out)!r}.", param_hint="--out")
    if as_json:
        raise typer.BadParameter("The option is for standard output. Leave out --json or --out.", param_hint="--json")
    with written_beside(out) as beside:
        if out.suffix == ".csv":
            file = io.TextIOWrapper(beside, encoding="utf-8", newline="")
            yield _text_writer(file, names, as_json=False)
            file.detach()
        else:
            with _parquet_writer(beside, names) as write:
                yield write


def _text_writer(file: IO[str], names: list[str], as_json: bool) -> Write:
    if as_json:

        def write(columns: Columns, missing: NDArray[np.bool_] | None = None) -> None:
            for row in _rows(columns, missing):
                file.write(to_json(dict(zip(names, row, strict=True))) + "\n")

        return write
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(names)
    return lambda columns, missing=None: lines.writerows(_rows(columns, missing))


def _rows(columns: Columns, missing: NDArray[np.bool_] | None) -> Iterator[tuple[Any, ...]]:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    if missing is None:
        return rows
    nothing = (None,) * len(columns)
    return (nothing if empty else row for row, empty in zip(rows, missing.tolist(), strict=True))


@contextmanager
def _parquet_writer(file: IO[bytes], names: list[str]) -> Iterator[Write]:
    from gcwsnet.data._errors import PARQUET_COMPRESSION, require_pyarrow

    pyarrow, parquet = require_pyarrow("Parquet"), require_pyarrow("Parquet", "pyarrow.parquet")
    made: list[Any] = []

    def write(columns: Columns, missing: NDArray[np.bool_] | None = None) -> None:
        arrays = (pyarrow.array(column, mask=missing) for column in columns)
        table = pyarrow.table(dict(zip(names, arrays, strict=True)))
        if not made:
            made.append(parquet.ParquetWriter(file, table.schema, compression=PARQUET_COMPRESSION))
        made[0].write_table(table)

    try:
        yield write
    finally:
        for one in made:
            one.close()


class WriteInPlace:
    """A function that writes columns of the rows of batches, with empty values in the places of skipped rows.

    So the n-th row that is written is that of the n-th row that was read. `finish` writes the last ones.
    """

    def __init__(self, write: Write, batches: Batches) -> None:
        self._write, self._batches = write, batches
        self._n_valid = self._n_written = 0
        self._last: Columns = []

    def __call__(self, columns: Columns) -> None:
        """Write the columns of the next valid rows."""
        n = len(columns[0])
        positions = row_positions(np.arange(self._n_valid, self._n_valid + n), self._batches.skipped_rows)
        self._write_up_to(int(positions[-1]) + 1, columns, positions - self._n_written)
        self._n_valid += n
        self._last = [column[:0] for column in columns]

    def finish(self) -> int:
        """Write empty values for the skipped rows at the end, and return the number of all rows."""
        self._write_up_to(self._n_valid + self._batches.skipped, self._last, np.empty(0, np.int64))
        return self._n_written

    def _write_up_to(self, end: int, columns: Columns, places: NDArray[np.int64]) -> None:
        n = end - self._n_written
        if n == len(places):
            if n:
                self._write(columns)
        else:
            missing = np.ones(n, dtype=bool)
            missing[places] = False
            filled = [np.zeros(n, column.dtype) for column in columns]
            for one, column in zip(filled, columns, strict=True):
                one[places] = column
            self._write(filled, missing)
        self._n_written = end


def report_skipped(batches: Batches | FileBatches, n_rows: int, consequence: str) -> None:
    """Say on standard error how many rows could not be read, and why the first could not."""
    if batches.skipped:
        print(
            f"gcwsnet: {batches.skipped:,} of {n_rows:,} rows could not be read{consequence}; the first: "
            f"{batches.reasons[0]}",
            file=sys.stderr,
        )
