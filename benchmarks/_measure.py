"""Times that can be compared: taken in turn within one run, with the machine they were taken on."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

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
    return f"{processor()}, {_core.instruction_set()}, {os.cpu_count()} cores, {platform.system()}"


def versions(*packages: str) -> str:
    """Python and packages with their versions."""
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)])


def table(times: Mapping[str, float], baseline: str) -> str:
    """Markdown table of seconds and of their share of the baseline's."""
    lines = ["| | seconds | of the baseline |", "| :-- | --: | --: |"]
    lines += [f"| {name} | {time:.3f} | {time / times[baseline]:.3f} |" for name, time in times.items()]
    return "\n".join(lines)
