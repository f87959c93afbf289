"""A bar for downloads; nothing where there is no terminal, or no rich to draw it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show how much of a file has come: the callable that is given is told of each number of further bytes."""
    try:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
    except ModuleNotFoundError:
        yield _quiet
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _quiet
        return
    shown = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*shown, console=console, transient=True) as bars:
        task = bars.add_task(name, total=total)
        yield lambda more: bars.update(task, advance=more)


def _quiet(_: int) -> None:
    """Show nothing."""
