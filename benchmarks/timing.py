"""Times that can be compared, and the machine they were taken on.

Median times, the machine and the versions are those of ``gcwsnet bench``.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from gcwsnet.cli._hashing_speed import Work, machine, medians, n_cores, seconds, versions

__all__ = [
    "HighestLoad",
    "Work",
    "copies_per_second",
    "machine",
    "medians",
    "n_cores",
    "one_thread",
    "peak_bytes",
    "seconds",
    "versions",
]

COPIED = 1 << 26  # numbers, far more than a cache holds


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


def copies_per_second(n_threads: int, repetitions: int) -> float:
    """Return the bytes that are read and written in a second while a large array is copied, at best."""
    source, target = np.ones(COPIED, np.float32), np.zeros(COPIED, np.float32)
    parts = list(zip(np.split(target, n_threads), np.split(source, n_threads), strict=True))
    with ThreadPoolExecutor(n_threads) as pool:
        best = min(seconds(lambda: list(pool.map(lambda pair: np.copyto(*pair), parts))) for _ in range(repetitions))
    return 2 * source.nbytes / best


def peak_bytes() -> int:
    """Return the highest memory of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class HighestLoad:
    """The highest load of the machine during a run, which tells whether something else was running."""

    def __init__(self) -> None:
        self.value = os.getloadavg()[0]

    def update(self) -> None:
        """Look at the load again."""
        self.value = max(self.value, os.getloadavg()[0])
