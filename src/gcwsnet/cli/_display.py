"""The display of a training run: a bar, a line for each record, and a summary."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._progress import describe_event
from gcwsnet.estimators._train_files import CHECKPOINT, TrainingObserver, TrainingResult
from gcwsnet.training._following import Event
from gcwsnet.training._history import Record

WIDTH = 11


class TrainingDisplay(TrainingObserver):
    """A display of a run: a bar on a terminal, and lines on standard error.

    Parameters
    ----------
    out : Path
        The folder of the model.
    quiet : bool
    """

    def __init__(self, out: Path, *, quiet: bool) -> None:
        self.out, self.quiet = out, quiet
        self._bars: Any = None
        self._task: Any = None
        self._header: list[str] = []
        self._rows, self._loss, self._start = 0, 0.0, time.perf_counter()

    def __enter__(self) -> TrainingDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            kept = self.out / CHECKPOINT
            rest = f"the last checkpoint is {kept}: continue with --resume" if kept.exists() else "nothing was saved"
            print(f"gcwsnet: interrupted after {self._rows:,} rows; {rest}", file=sys.stderr)

    def start(self, estimator: GCWSNetEstimator, n_rows: int | None, epochs: int, done: int) -> None:
        """Print what was chosen, and start the bar."""
        if self.quiet:
            return
        chosen = [
            f"{'rows' if n_rows is None else f'{n_rows:,} rows'} of {estimator.n_features_in_:,} columns",
            f"{epochs} epoch{'s' * (epochs > 1)}",
            f"scaling {getattr(estimator.scaling_, 'scale', None)}",
            f"p {estimator.p_:g}",
        ]
        classes = getattr(estimator, "classes_", None)
        chosen.insert(1, "regression" if classes is None else f"{len(classes)} classes")
        print(", ".join(chosen), file=sys.stderr)
        coder = estimator.coder_
        if coder.epochs is None and any(one.stage == "last" for one in coder.selection):
            print(
                "the epochs and the temperature that gcwsnet hash has selected are for a net with default settings and "
                "are not used; to have a temperature for these settings, train on the files",
                file=sys.stderr,
            )
        if done:
            print(f"resuming after {done:,} rows", file=sys.stderr)
        self._start_bar(None if n_rows is None else epochs * n_rows, done)

    def _start_bar(self, total: int | None, done: int) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            return
        console = Console(stderr=True)
        if console.is_terminal:
            self._bars = Progress(
                BarColumn(),
                TextColumn("{task.completed:,} rows, {task.fields[state]}"),
                TimeRemainingColumn(),
                console=console,
            )
            self._task = self._bars.add_task("learning", total=total, completed=done, state="")
            self._bars.start()

    def advance(self, rows: int, loss: float) -> None:
        """Show that a batch was learned, with this mean loss."""
        self._rows += rows
        if self._bars is not None:
            self._loss += 0.05 * (loss - self._loss) if self._loss else loss
            rate = self._rows / max(time.perf_counter() - self._start, 1e-9)
            self._bars.update(self._task, advance=rows, state=f"{rate:,.0f} rows/s, loss {self._loss:.4f}")

    def record(self, record: Record) -> bool:
        """Show a record as a line of a table."""
        if not self.quiet:
            self._print(record)
        return False

    def event(self, event: Event) -> None:
        """Show an event of a stream as a line."""
        if not self.quiet:
            self._print_line(describe_event(event))

    def _print(self, record: Record) -> None:
        names = [name for name in record if name not in ("learning_rate", "seconds")]
        lines = []
        if set(names) - set(self._header):
            self._header = list(dict.fromkeys([*self._header, *names]))
            lines.append(" ".join(f"{_short(name):>{WIDTH}}" for name in self._header))
        lines.append(" ".join(f"{_formatted(name, record.get(name)):>{WIDTH}}" for name in self._header))
        for line in lines:
            self._print_line(line)

    def _print_line(self, line: str) -> None:
        if self._bars is not None:
            self._bars.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=sys.stderr, flush=True)


SHORT = {
    "last_label_accuracy": "last label",
    "predicted_": "pred. ",
    "mean_": "all ",
    "eval_": "test ",
    "accuracy": "acc",
}


def _short(name: str) -> str:
    for long, short in SHORT.items():
        name = name.replace(long, short)
    return name


def _formatted(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if name == "rows" else f"{value:.2f}" if name == "epoch" else f"{value:.4f}"


def summary(result: TrainingResult, out: Path) -> dict[str, Any]:
    """Return the last metrics of a run by name."""
    estimator = result.estimator
    last: dict[str, float] = {}
    for name, history in estimator.history_.items():
        known = [value for value in history if not math.isnan(value)]
        last |= {name: known[-1]} if known else {}
    values: dict[str, Any] = {
        "model": str(out),
        "rows": estimator.n_rows_seen_,
        "epochs": estimator.n_epochs_seen_,
        "scale": getattr(estimator.scaling_, "scale", None),
        "p": estimator.p_,
    }
    names = ("loss", "accuracy", "rmse", "auc", "last_label_accuracy")
    values |= {f"progressive_{name}": last[f"mean_{name}"] for name in names if f"mean_{name}" in last}
    values |= {
        f"test_{name}": last[f"eval_{name}"] for name in names if not math.isnan(last.get(f"eval_{name}", math.nan))
    }
    if result.skipped:
        values |= {"skipped": result.skipped, "reasons": result.reasons}
    return values
