"""The hasher itself: as it is, with the full scan, with two threads, and with lesser instruction sets."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gcwsnet import _core
from gcwsnet.bench._measure import Work, n_cores, seconds
from gcwsnet.bench._problem import Problem
from gcwsnet.hashing import GCWSHasher, _gcws

OURS, FULL_SCAN, TWO_THREADS = "gcwsnet", "full scan", "two threads"
READY_ROWS, READY_COLUMNS, READY_HASHES = 128, 5625, 256


def plain(problem: Problem) -> dict[str, tuple[Work, int]]:
    """Hashing by the way that looks quickest and by the full scan: the calls and their rows."""
    n = problem.X.shape[0]
    few = min(n, max(64, n // 10))
    return {
        OURS: (transform(problem, problem.X), n),
        FULL_SCAN: (transform(problem, problem.X[:few], scan=_core.Scan.FULL), few),
    }


def variants(problem: Problem) -> dict[str, tuple[Work, int]]:
    """The same with two threads, and on one thread with lesser instruction sets."""
    n = problem.X.shape[0]
    works = {TWO_THREADS: (transform(problem, problem.X, n_jobs=2), n)} if n_cores() > 1 else {}
    for name in lesser_instruction_sets():
        with using(name):
            work = transform(problem, problem.X)
        works[name] = (under(name, work), n)
    return works


def transform(problem: Problem, X: Any, scan: _core.Scan = _core.Scan.AUTO, n_jobs: int = 1) -> Work:
    """The call of a hasher."""
    before = _gcws.SCAN
    _gcws.SCAN = scan
    try:
        hasher = GCWSHasher(problem.n_hashes, p=problem.p, random_state=0, n_jobs=n_jobs).fit(X[:1])
    finally:
        _gcws.SCAN = before
    return lambda: hasher.transform(X)


def lesser_instruction_sets() -> list[str]:
    """Instruction sets of this processor below the one in use."""
    names = _core.instruction_sets()
    return names[names.index(_core.instruction_set()) + 1 :]


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use an instruction set within a block."""
    before = _core.instruction_set()
    _core.use_instruction_set(name)
    try:
        yield
    finally:
        _core.use_instruction_set(before)


def under(name: str, work: Work) -> Work:
    """A work with an instruction set."""

    def with_it() -> None:
        with using(name):
            work()

    return with_it


def seconds_until_ready(repetitions: int) -> float:
    """Median seconds from nothing to tables: `fit`, and the first 128 signed rows, which make all tables."""
    X = np.random.default_rng(0).normal(size=(READY_ROWS, READY_COLUMNS)).astype(np.float32)

    def first_rows() -> None:
        GCWSHasher(READY_HASHES, random_state=0, n_jobs=1).fit(X[:1]).transform(X)

    return statistics.median(seconds(first_rows) for _ in range(repetitions))
