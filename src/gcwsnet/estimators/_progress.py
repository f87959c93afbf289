"""A progress bar with rows per second, loss and time left; lines of a log where there is no terminal."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gcwsnet.net._history import Record
from gcwsnet.net._trainer import Observer
from gcwsnet.search import Candidate, describe

logger = logging.getLogger("gcwsnet")


class LogObserver(Observer):
    """An observer that writes records to the log and passes them on.

    Parameters
    ----------
    level : int
        The level of the lines.
    estimator : GCWSNetClassifier or GCWSNetRegressor
        Its callbacks are called with it and each record. If one of them returns True, the run ends.
    """

    def __init__(self, level: int, estimator: Any) -> None:
        self._level, self._estimator = level, estimator

    def record(self, record: Record) -> bool:
        """Write a record to the log, and call all callbacks."""
        logger.log(self._level, "%s", ", ".join(f"{name} {value:.6g}" for name, value in record.items()))
        answers = [callback(self._estimator, dict(record)) for callback in self._estimator.callbacks or ()]
        return any(answer is True for answer in answers)


class _BarObserver(LogObserver):
    def __init__(self, estimator: Any, bar: Any, task: Any) -> None:
        super().__init__(logging.DEBUG, estimator)
        self._bar, self._task = bar, task
        self._start, self._rows, self._loss = time.perf_counter(), 0, 0.0

    def advance(self, rows: int, loss: float) -> None:
        self._rows += rows
        self._loss += 0.05 * (loss - self._loss) if self._loss else loss
        rate = self._rows / max(time.perf_counter() - self._start, 1e-9)
        self._bar.update(self._task, advance=rows, state=f"{rate:,.0f} rows/s, loss {self._loss:.4f}")


@contextmanager
def progress(estimator: Any, n_rows: int) -> Iterator[Observer]:
    """Show the progress of an estimator through rows, and call its callbacks at each record.

    Parameters
    ----------
    estimator : GCWSNetClassifier or GCWSNetRegressor
        If its `verbose` is 0, nothing is shown; else a bar on the standard error or, where that is no terminal or rich
        is not installed, a line of the logger "gcwsnet" of level INFO at each record, which is shown whatever the level
        of the logger is.
    n_rows : int
        How many rows the run goes over.
    """
    if not estimator.verbose:
        yield LogObserver(logging.DEBUG, estimator)
        return
    console = _terminal()
    if console is None:
        with shown_log():
            yield LogObserver(logging.INFO, estimator)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("rows, {task.fields[state]}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as bars:
        yield _BarObserver(estimator, bars, bars.add_task("learning", total=n_rows, state=""))


@contextmanager
def shown_log() -> Iterator[None]:
    """Show the lines of level INFO: by the handlers that there are, or else on the standard error."""
    level = logger.level
    handler = None if logger.hasHandlers() else logging.StreamHandler()
    if handler is not None:
        logger.addHandler(handler)
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)


def _terminal() -> Any:
    """Return the console of rich on the standard error, or None where that is no terminal or rich is missing."""
    try:
        from rich.console import Console  # noqa: PLC0415
    except ImportError:
        return None
    console = Console(stderr=True)
    return console if console.is_terminal else None


def show_selection(verbose: int, candidates: list[Candidate]) -> None:
    """Write the candidates of a selection to the log, and show that if `verbose` is not 0."""
    if verbose and candidates:
        with shown_log():
            for one in candidates:
                logger.info("%s", describe(one))
