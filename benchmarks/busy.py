"""The time of two threads as a share of that of one, beside processes that keep the processors busy.

Threads that wait for each other lose most where one of them has no processor. So hashing and training run with one
thread and with two, one right after the other, while 0, 1, 2 and 4 other processes compute without end. The median of
such ratios counts, and the middle half of them says how sure it is. Where no processor is free, two threads cannot be
faster than one; the question is how much slower they are.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import HighestLoad, Work, seconds
from gcwsnet import GCWSHasher, GCWSNetClassifier

NEIGHBOURS = (0, 1, 2, 4)
WITHOUT_END = "while True: pass"
CODES, NET = "hashing", "training"
TITLES = {CODES: "hashing, two threads against one", NET: "training, two threads against one"}


@contextmanager
def busy_neighbours(n: int) -> Iterator[None]:
    """Keep n processes busy."""
    running = [subprocess.Popen([sys.executable, "-S", "-c", WITHOUT_END]) for _ in range(n)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def works(n_rows: int) -> dict[str, Any]:
    """Return what is timed, by its name and its threads, such as "hashing 2"."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 54)).astype(np.float32), rng.integers(0, 7, n_rows)
    settings: dict[str, Any] = {"p": 1.0, "scale": None, "relevance": 0.0, "search": "off", "hidden": (64,)}
    settings |= {"epochs": 1, "ensemble": 1, "batch_size": 32, "random_state": 0}
    made: dict[str, Any] = {}
    for n_jobs in (1, 2):
        hasher = GCWSHasher(256, random_state=0, n_jobs=n_jobs).fit(X)
        made[f"{CODES} {n_jobs}"] = partial(hasher.transform, X)
        made[f"{NET} {n_jobs}"] = partial(GCWSNetClassifier(64, n_jobs=n_jobs, **settings).fit, X, y)
    return made


def ratios(alone: Work, shared: Work, repetitions: int) -> list[float]:
    """Return the times of two threads as shares of those of one right before or after them."""
    alone(), shared()
    found = []
    for number in range(repetitions):
        times = {work: seconds(work) for work in ((alone, shared) if number % 2 else (shared, alone))}
        found.append(times[shared] / times[alone])
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this subject."""
    add_count(parser, "--rows", 20_000, "rows that are hashed and learned")
    add_count(parser, "--repetitions", 15, "ratios, of which the median counts")


def run(options: argparse.Namespace) -> Section:
    """Return the table."""
    lines, load = [], HighestLoad()
    timed = works(options.rows)
    for n in NEIGHBOURS:
        with busy_neighbours(n):
            found = [ratios(timed[f"{name} 1"], timed[f"{name} 2"], options.repetitions) for name in TITLES]
        quartiles = [np.percentile(one, [25, 50, 75]) for one in found]
        shown = [f"{middle:.2f} ({low:.2f} to {high:.2f})" for low, middle, high in quartiles]
        log(n, *shown)
        lines.append([str(n), *shown])
    what = (
        f"{options.rows:,} rows of 54 columns; 256 hashes, and a net of 64 hidden units on 64 hashes in batches of "
        f"32.\nMedians of {options.repetitions} ratios, and in brackets the middle half of them. Below 1, two "
        f"threads are faster than one.\nThe load of the machine before the first of them was {load.value:.0f}."
    )
    table = markdown_table(["busy neighbours", *TITLES.values()], lines, align="r")
    return Section("\n".join([*environment(), what, "", table]))
