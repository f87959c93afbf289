"""Times that can be compared: taken in turn within one run, with the machine they were taken on."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_limits

from gcwsnet import _core

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(works: Mapping[str, Work], repetitions: int) -> dict[str, float]:
    """Median seconds of each work, the works taking turns so that a slow moment of the machine meets all of them."""
    for work in works.values():
        work()
    rounds = [{name: seconds(work) for name, work in works.items()} for _ in range(repetitions)]
    return {name: statistics.median(one[name] for one in rounds) for name in works}


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for what is loaded now of BLAS, OpenMP and torch; gcwsnet has its own threads."""
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


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Name of the processor, as the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """The processor, its instruction set in use and its cores."""
    return f"{processor()}, {_core.instruction_set()}, {n_cores()} cores, {platform.system()}"


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python and of the packages that are installed."""
    found = {"Python": platform.python_version()}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def listed(found: Mapping[str, str]) -> str:
    """Names with their versions, on one line."""
    return ", ".join(f"{name} {number}" for name, number in found.items())
