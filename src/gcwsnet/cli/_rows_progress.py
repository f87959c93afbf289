"""The progress through rows: a bar with their number and rate on a terminal, nothing where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def rows_progress(quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of each further batch of rows."""
    try:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn
    except ImportError:
        quiet = True
    if quiet or not Console(stderr=True).is_terminal:
        yield lambda n_rows: None  # noqa: ARG005
        return
    start = time.perf_counter()
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} rows, {task.fields[rate]:,.0f} rows/s"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("rows", total=None, rate=0.0)

        def advance(n_rows: int) -> None:
            done = bars.tasks[0].completed + n_rows
            bars.update(task, completed=done, rate=done / max(time.perf_counter() - start, 1e-9))

        yield advance
