"""Output of the commands: values by name, and tables that are written row by row, as text, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import typer
from numpy.typing import NDArray

from gcwsnet._atomic import written_beside

Columns = list[NDArray[Any]]
Write = Callable[[Columns], None]


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

        def write(columns: Columns) -> None:
            for row in zip(*(column.tolist() for column in columns), strict=True):
                file.write(to_json(dict(zip(names, row, strict=True))) + "\n")

        return write
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(names)
    return lambda columns: lines.writerows(zip(*(column.tolist() for column in columns), strict=True))


@contextmanager
def _parquet_writer(file: IO[bytes], names: list[str]) -> Iterator[Write]:
    from gcwsnet.data._errors import require_pyarrow

    pyarrow, parquet = require_pyarrow("Parquet"), require_pyarrow("Parquet", "pyarrow.parquet")
    made: list[Any] = []

    def write(columns: Columns) -> None:
        table = pyarrow.table(dict(zip(names, columns, strict=True)))
        if not made:
            made.append(parquet.ParquetWriter(file, table.schema))
        made[0].write_table(table)

    try:
        yield write
    finally:
        for one in made:
            one.close()
