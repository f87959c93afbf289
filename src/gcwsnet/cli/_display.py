"""What commands show and write: progress, the records of a training, and tables as text, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
import typer
from numpy.typing import NDArray

from gcwsnet._atomic import write_file, written_beside
from gcwsnet.cli._options import in_options
from gcwsnet.estimators._base import BaseTableModel
from gcwsnet.estimators._gcwsnet import BaseGCWSNet
from gcwsnet.files._train import CHECKPOINT, TrainingObserver, TrainingResult
from gcwsnet.net._history import Record
from gcwsnet.tables._columns import ArrowColumn
from gcwsnet.tables._errors import row_positions

if TYPE_CHECKING:
    from gcwsnet.files._reader import Batches
    from gcwsnet.neighbors._file_rows import FileBatches
    from gcwsnet.tables._batch import Batch


def reporter(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints a line on standard error, unless it is to be quiet."""
    return (lambda line: None) if quiet else (lambda line: print(line, file=sys.stderr))  # noqa: ARG005


class Bar:
    """A progress bar: rows, rows per second and the mean loss if there is one. It is shown on terminals alone."""

    def __init__(self, total: int | None = None, done: int = 0, *, quiet: bool = False) -> None:
        self._bars: Any = None
        self._rows, self._loss, self._start = 0, 0.0, time.perf_counter()
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        if console.is_terminal and not quiet:
            columns = (BarColumn(), TextColumn("{task.completed:,} rows, {task.fields[state]}"), TimeRemainingColumn())
            self._bars = Progress(*columns, console=console, transient=total is None)
            self._task = self._bars.add_task("rows", total=total, completed=done, state="")
            self._bars.start()

    def advance(self, rows: int, loss: float | None = None) -> None:
        """Show that further rows are done, with this mean loss."""
        self._rows += rows
        if self._bars is None:
            return
        state = f"{self._rows / max(time.perf_counter() - self._start, 1e-9):,.0f} rows/s"
        if loss is not None:
            self._loss += 0.05 * (loss - self._loss) if self._loss else loss
            state += f", loss {self._loss:.4f}"
        self._bars.update(self._task, advance=rows, state=state)

    def print(self, line: str) -> None:
        """Print a line on standard error, above the bar."""
        if self._bars is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bars.console.print(line, markup=False, highlight=False)

    def stop(self) -> None:
        """Remove the bar."""
        if self._bars is not None:
            self._bars.stop()


@contextmanager
def rows_progress(quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of each further batch of rows."""
    bar = Bar(quiet=quiet)
    try:
        yield bar.advance
    finally:
        bar.stop()


WIDTH = 11


class TrainingDisplay(TrainingObserver):
    """A display of a run, whose model goes to the folder `out`: a bar on a terminal, and lines on standard error.

    A `report` on the held-out rows is written to a file if one is given; `has_reported` says whether it was.
    """

    def __init__(self, out: Path, *, quiet: bool, report: Path | None = None, title: str = "") -> None:
        self.out, self.quiet = out, quiet
        self._report, self._title, self.has_reported = report, title, False
        self._bar: Bar | None = None
        self._header: list[str] = []
        self._shows_records = False
        self._rows = 0

    def __enter__(self) -> TrainingDisplay:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            kept = self.out / CHECKPOINT
            rest = f"the last checkpoint is {kept}: continue with --resume" if kept.exists() else "nothing was saved"
            print(f"gcwsnet: interrupted after {self._rows:,} rows; {rest}", file=sys.stderr)

    def hold_out(self, n_rows: int, n_held_out: int, epochs: int) -> None:
        """Say which rows the model learns from that is scored, and start a bar."""
        self._say(f"learning from {counted(n_rows, 'row')}, for a score on {counted(n_held_out, 'held-out row')}")
        self._bar = Bar(epochs * n_rows, quiet=self.quiet)

    def scored(self, score: dict[str, Any], estimator: BaseTableModel, rows: Batch) -> None:
        """Print the score, remove the bar, and write the report."""
        if self._bar is not None:
            self._bar.stop()
        found = [f"{label} {format_number(score[name])}" for name, label in SCORES.items() if name in score]
        self._say(f"held out: {', '.join(found)}; now learning from all rows")
        if self._report is not None:
            from gcwsnet.estimators._report import report

            page = report(estimator, rows.X, rows.y, title=self._title, score=score)
            write_file(self._report, page.encode())
            self.has_reported = True

    def start(self, estimator: BaseGCWSNet, n_rows: int | None, epochs: int) -> None:
        """Print what was chosen, and start the bar; records are shown from now on."""
        done, classes = estimator.n_rows_seen_, getattr(estimator, "classes_", None)
        chosen = [
            f"{'rows' if n_rows is None else counted(n_rows, 'row')} of {counted(estimator.n_features_in_, 'column')}",
            "regression" if classes is None else counted(len(classes), "class"),
            counted(epochs, "epoch"),
            f"scaling {getattr(estimator.scaling_, 'scale', None)}",
            f"p {estimator.p_:g}",
        ]
        self._say(", ".join(chosen))
        if done:
            self._say(f"resuming after {done:,} rows")
        self._rows, self._shows_records = 0, not self.quiet
        self._bar = Bar(None if n_rows is None else epochs * n_rows, done, quiet=self.quiet)

    def advance(self, rows: int, loss: float) -> None:
        """Show that a batch was learned, with this mean loss."""
        self._rows += rows
        if self._bar is not None:
            self._bar.advance(rows, loss)

    def record(self, record: Record) -> bool:
        """Show a record as a line of a table."""
        if self._shows_records and self._bar is not None:
            names = [name for name in record if name not in ("learning_rate", "seconds")]
            if set(names) - set(self._header):
                self._header = list(dict.fromkeys([*self._header, *names]))
                self._bar.print(" ".join(f"{_short(name):>{WIDTH}}" for name in self._header))
            self._bar.print(" ".join(f"{_formatted(name, record.get(name)):>{WIDTH}}" for name in self._header))
        return False

    def _say(self, line: str) -> None:
        if not self.quiet:
            print(line, file=sys.stderr)


SHORT = {
    "train_": "train ",
    "last_label_accuracy": "last label",
    "predicted_": "pred. ",
    "mean_": "all ",
    "eval_": "test ",
    "accuracy": "acc",
}


def _short(name: str) -> str:
    name = f"train_{name}" if name in ("loss", "accuracy", "rmse", "auc") else name
    for long, short in SHORT.items():
        name = name.replace(long, short)
    return name


def _formatted(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name in ("rows", "rounds") or name.endswith("_bytes"):
        return f"{value:,.0f}"
    return f"{value:.2f}" if name == "epoch" else f"{value:.4f}"


SCORES = {"accuracy": "accuracy", "log_loss": "log loss", "auc": "AUC", "r2": "R2", "mae": "MAE", "rmse": "RMSE"}


def summary(result: TrainingResult, out: Path) -> dict[str, Any]:
    """Return what a run has learned and how good it is, by name."""
    estimator = result.estimator
    last: dict[str, float] = {}
    for name, history in getattr(estimator, "history_", {}).items():
        known = [value for value in history if not math.isnan(value)]
        last |= {name: known[-1]} if known else {}
    values: dict[str, Any] = {
        "model": str(out),
        **_learned(estimator),
        "scale": getattr(estimator.scaling_, "scale", None),
        "p": estimator.p_,
    }
    if result.score is not None:
        values["held_out"] = result.score
    names = ("loss", "accuracy", "rmse", "auc", "last_label_accuracy")
    values |= {f"progressive_{name}": last[f"mean_{name}"] for name in names if f"mean_{name}" in last}
    values |= {
        f"test_{name}": last[f"eval_{name}"] for name in names if not math.isnan(last.get(f"eval_{name}", math.nan))
    }
    if result.skipped:
        values |= {"skipped": result.skipped, "reasons": [in_options(reason) for reason in result.reasons]}
    return values


def _learned(estimator: Any) -> dict[str, Any]:
    """Return the rows that a model has learned from, and how."""
    if hasattr(estimator, "machine_"):
        return {"rows": len(estimator.machine_.coefficients), "alpha": estimator.alpha_}
    epochs = estimator.n_epochs_seen_
    return {"rows": estimator.n_rows_seen_ // max(1, epochs), "epochs": epochs}


def print_summary(values: dict[str, Any], *, as_json: bool) -> None:
    """Print the summary of a run, with a table of the scores of held-out rows, or as JSON.

    The means over the rows before they were learned are shown where no rows were held out.
    """
    if as_json:
        print(to_json(values))
        return
    score = values.get("held_out")
    print_values(
        {
            name: format_number(value) if name.startswith("progressive_") else value
            for name, value in values.items()
            if name != "held_out" and not (score is not None and name.startswith("progressive_"))
        },
        as_json=False,
    )
    if score is not None:
        print(f"\n{held_out_line(score)}")
        print_table([[label, format_number(score[name])] for name, label in SCORES.items() if name in score])


def held_out_line(score: dict[str, Any]) -> str:
    """Return the line above the scores of held-out rows."""
    held_out = counted(score["rows"], "held-out row")
    return f"{held_out}, of a model that learned from the other {score['rows_learned']:,}:"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not 1.

    Examples
    --------
    >>> counted(1, "row"), counted(1000, "row"), counted(2, "class")
    ('1 row', '1,000 rows', '2 classes')
    """
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


def format_number(value: float | None) -> str:
    """Return a metric as tables show it."""
    return "undefined" if value is None else f"{value:.4f}" if abs(value) < 1000 else f"{value:,.1f}"


def print_table(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> None:
    """Print rows of texts as a table; the columns of `left` are aligned to the left, and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        line = [one.ljust(n) if place in left else one.rjust(n) for place, (one, n) in enumerate(cells)]
        print("  ".join(line).rstrip())


Columns = list[Any]


class Write(Protocol):
    """A function that writes columns, arrays of NumPy or of pyarrow; masked and null values are empty."""

    def __call__(self, columns: Columns) -> None: ...


def to_json(value: Any) -> str:
    """Return JSON as the standard has it: numbers that are not finite are null."""
    return json.dumps(_without_nan(value), allow_nan=False, default=str)


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
        with _text_writer(sys.stdout, names, as_json) as write:
            yield write
        sys.stdout.flush()
        return
    if out.suffix not in (".csv", ".parquet"):
        raise typer.BadParameter(f"The file must end with .csv or .parquet, got {str(out)!r}.", param_hint="--out")
    if as_json:
        raise typer.BadParameter("The option is for standard output. Leave out --json or --out.", param_hint="--json")
    with written_beside(out) as beside:
        if out.suffix == ".csv":
            file = io.TextIOWrapper(beside, encoding="utf-8", newline="")
            with _text_writer(file, names, as_json=False) as write:
                yield write
            file.detach()
        else:
            with _parquet_writer(beside, names) as write:
                yield write


@contextmanager
def _text_writer(file: IO[str], names: list[str], as_json: bool) -> Iterator[Write]:
    """Yield a function that writes rows as CSV or JSON; the names come before the first row, or at the end."""
    lines = csv.writer(file, lineterminator="\n")
    header = [] if as_json else [names]

    def write(columns: Columns) -> None:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        if as_json:
            file.writelines(to_json(dict(zip(names, row, strict=True))) + "\n" for row in rows)
        else:
            lines.writerows([*header, *rows])
            header.clear()

    yield write
    lines.writerows(header)


@contextmanager
def _parquet_writer(file: IO[bytes], names: list[str]) -> Iterator[Write]:
    from gcwsnet.tables._errors import PARQUET_COMPRESSION, require_pyarrow

    pyarrow, parquet = require_pyarrow("Parquet"), require_pyarrow("Parquet", "pyarrow.parquet")
    made: list[Any] = []

    def write(columns: Columns) -> None:
        arrays = (one if isinstance(one, pyarrow.Array) else pyarrow.array(one) for one in columns)
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

    So the n-th row that is written is that of the n-th row that was read. Columns that the reader keeps come first.
    `finish` writes the last rows.
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
        if n > len(places):
            filled = [np.ma.array(np.zeros(n, column.dtype), mask=True) for column in columns]
            for one, column in zip(filled, columns, strict=True):
                one[places] = column
            columns = filled
        if n:
            self._write([*self._kept_columns(n), *columns])
        self._n_written = end

    def _kept_columns(self, n: int) -> Columns:
        """Return the next rows of the columns that the reader keeps."""
        reader: Any = self._batches.reader
        if not getattr(reader, "keep", ()):
            return []
        from gcwsnet.tables._errors import require_pyarrow

        pieces: list[Columns] = []
        while n:
            arrays = [column.array for column in reader.kept.pop(0)]
            if len(arrays[0]) > n:
                reader.kept.insert(0, [ArrowColumn(one.slice(n)) for one in arrays])
            pieces.append([one.slice(0, n) for one in arrays])
            n -= len(pieces[-1][0])
        return [require_pyarrow("Arrow").concat_arrays(some) for some in zip(*pieces, strict=True)]


def report_skipped(batches: Batches | FileBatches, n_rows: int, consequence: str) -> None:
    """Say on standard error how many rows could not be read, and why the first could not."""
    if batches.skipped:
        print(
            f"gcwsnet: {batches.skipped:,} of {n_rows:,} rows could not be read{consequence}; the first: "
            f"{in_options(batches.reasons[0])}",
            file=sys.stderr,
        )
