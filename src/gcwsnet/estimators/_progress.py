"""A bar that shows rows per second, the loss and the time left; lines of a log where there is no terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gcwsnet.estimators._history import Record
from gcwsnet.estimators._selection import Candidate

logger = logging.getLogger("gcwsnet")


class Progress:
    """A display of progress that writes records as lines of the log.

    Parameters
    ----------
    level : int
        The level of the lines.
    """

    def __init__(self, level: int) -> None:
        self._level = level

    def advance(self, rows: int, loss: float) -> None:
        """Show that a batch of rows was learned, with this mean loss."""

    def record(self, record: Record) -> None:
        """Show a record of the history."""
        logger.log(self._level, "%s", ", ".join(f"{name} {value:.6g}" for name, value in record.items()))


class _Bar(Progress):
    def __init__(self, bar: Any, task: Any) -> None:
        super().__init__(logging.DEBUG)
        self._bar, self._task = bar, task
        self._start, self._rows, self._loss = time.perf_counter(), 0, 0.0

    def advance(self, rows: int, loss: float) -> None:
        self._rows += rows
        self._loss += 0.05 * (loss - self._loss) if self._loss else loss
        rate = self._rows / max(time.perf_counter() - self._start, 1e-9)
        self._bar.update(self._task, advance=rows, state=f"{rate:,.0f} rows/s, loss {self._loss:.4f}")


@contextmanager
def progress(verbose: int, rows: int) -> Iterator[Progress]:
    """Show the progress of training.

    Parameters
    ----------
    verbose : int
        0 shows nothing; else a bar on the standard error or, where that is no terminal, a line of the logger "gcwsnet"
        of level INFO for each record.
    rows : int
        The rows to learn, counted in each epoch.
    """
    if not verbose:
        yield Progress(logging.DEBUG)
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Progress(logging.INFO)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("rows, {task.fields[state]}"), TimeRemainingColumn())
    with Bars(*columns, console=console) as bars:
        yield _Bar(bars, bars.add_task("learning", total=rows, state=""))


def show_selection(verbose: int, candidates: list[Candidate]) -> None:
    """Show the candidates, as a table or as lines of the log."""
    for one in candidates:
        level = logging.INFO if verbose else logging.DEBUG
        logger.log(level, "scale %s, p %g: %.4f +- %.4f%s", one.scale, one.p, one.score, one.error, " *" * one.chosen)
    if not verbose:
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    console = Console(stderr=True)
    if console.is_terminal:
        table = Table("scale", "p", "score", "+/-", "seconds", "", title="Scalings and powers, compared on some rows")
        for one in candidates:
            numbers = (f"{one.p:g}", f"{one.score:.4f}", f"{one.error:.4f}", f"{one.seconds:.2f}")
            table.add_row(str(one.scale), *numbers, "chosen" if one.chosen else "")
        console.print(table)
