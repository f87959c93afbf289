"""Times that can be compared, and the machine they were taken on.

Median times, the machine and the versions are those of ``gcwsnet bench``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from gcwsnet.cli._hashing_speed import Work, machine, medians, n_cores, seconds, versions

__all__ = [
    "HighestLoad",
    "Work",
    "machine",
    "medians",
    "n_cores",
    "one_thread",
    "seconds",
    "versions",
]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, OpenMP and torch, as far as they are loaded, to one thread; gcwsnet has its own threads."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 1
    with threadpool_limits(1):
        if torch:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(threads)


class HighestLoad:
    """The highest load of the machine during a run, which tells whether something else was running."""

    def __init__(self) -> None:
        self.value = os.getloadavg()[0]

    def update(self) -> None:
        """Look at the load again."""
        self.value = max(self.value, os.getloadavg()[0])
