"""Times that can be compared, and the machine they were taken on."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from gcwsnet import _core

Work = Callable[[], object]
COPIED = 1 << 26  # numbers, far more than a cache holds


def medians(works: Mapping[str, Work], repetitions: int) -> dict[str, float]:
    """Return median seconds; the works take turns, so that a slow moment of the machine meets all of them."""
    for work in works.values():
        work()
    rounds = [{name: seconds(work) for name, work in works.items()} for _ in range(repetitions)]
    return {name: statistics.median(one[name] for one in rounds) for name in works}


def seconds(work: Work) -> float:
    """Return the wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """Return the processor, the instruction set in use, the cores and the system, on one line."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    return f"{processor}, {_core.instruction_set()}, {n_cores()} cores, {platform.system()}"


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed."""
    found = {"Python": platform.python_version()}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


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
