"""A run of the benchmark: the hasher in several ways, and its peers."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from benchmarks.hashing import peers
from benchmarks.hashing.cases import FULL_SCAN, OURS, Case, Problem, hasher_call
from benchmarks.hashing.report import TWO_THREADS, HashingReport, Rates
from benchmarks.timing import HighestLoad, Work, medians, n_cores, one_thread, seconds
from gcwsnet import GCWSHasher, _core

READY_ROWS, READY_COLUMNS, READY_HASHES = 128, 5625, 256
Say = Callable[[str], None]


class Call(NamedTuple):
    """A call that hashes rows, and their number."""

    work: Work
    n_rows: int


def measure(
    cases: Sequence[Case],
    *,
    repetitions: int = 5,
    growth: Mapping[str, Sequence[Case]] | None = None,
    say: Say = lambda _: None,
) -> HashingReport:
    """Return the rows hashed per second by the hasher and by its peers, all in turn within one run.

    Parameters
    ----------
    cases : sequence of Case
        Rows to hash. Those whose files are missing or damaged are left out.
    repetitions : int, default=5
        How often each call is timed, after one that is not timed. The median counts.
    growth : mapping of str to sequences of Case, optional
        Further rows, for the picture of the growth with D and k.
    say : function of str
        Gets a line for every step and for everything that is left out.
    """
    growth = growth or {}
    run = _Run(repetitions, len(cases) + sum(map(len, growth.values())), say)
    with one_thread():
        ready = seconds_until_ready(repetitions)
        rates = list(run.rates(cases, other_ways=True))
        grown = {along: list(run.rates(some, other_ways=False)) for along, some in growth.items()}
    return HashingReport(
        load=run.load.value,
        repetitions=repetitions,
        rates=rates,
        growth=grown,
        ready=f"{READY_COLUMNS:,} signed columns, k = {READY_HASHES}",
        seconds_until_ready=ready,
        left_out=run.left_out,
    )


class _Run:
    """The state of a run: the peers that are installed, the steps so far, and what was left out."""

    def __init__(self, repetitions: int, n_steps: int, say: Say) -> None:
        self.repetitions, self.n_steps, self.say = repetitions, n_steps, say
        self.step = 0
        self.load = HighestLoad()
        self.left_out: list[str] = []
        self.peers, notices = peers.installed(peers.PEERS)
        for notice in notices:
            self.leave_out(notice)
        if n_cores() < 2:
            self.leave_out("two threads: there is one core")

    def leave_out(self, notice: str) -> None:
        """Note what is not measured, and why."""
        self.left_out.append(notice)
        self.say(f"left out: {notice}")

    def rates(self, cases: Sequence[Case], *, other_ways: bool) -> Iterator[Rates]:
        """Yield the rates of the cases whose rows are there."""
        for case in cases:
            self.step += 1
            self.load.update()
            self.say(f"[{self.step}/{self.n_steps}] {case.title}, p={case.p:g}")
            try:
                X = case.rows()
            except (FileNotFoundError, ValueError) as error:  # missing, or damaged
                self.leave_out(f"{case.title}: {error}")
                continue
            calls = hasher_calls(case, X) | (other_ways_of_hasher(case, X) if other_ways else {})
            calls |= dict(self.calls_of_peers(case.title, Problem(X, case.p, case.n_hashes)))
            times = medians({name: call.work for name, call in calls.items()}, self.repetitions)
            rates = {name: call.n_rows / times[name] for name, call in calls.items()}
            yield Rates(case.name, case.title, case.p, case.n_hashes, X.shape[0], X.shape[1], rates)

    def calls_of_peers(self, title: str, problem: Problem) -> Iterator[tuple[str, Call]]:
        """Yield the calls of the peers that can hash the rows."""
        for peer in self.peers:
            X = peers.some_rows(peer, problem)
            try:
                work = peer.make(problem, X)
            except (MemoryError, RuntimeError) as error:  # torch.compile raises RuntimeError without a compiler
                self.leave_out(f"{peer.name} for {title}: {str(error).strip().splitlines()[0]}")
                continue
            if work is not None:
                yield peer.name, Call(work, X.shape[0])


def hasher_calls(case: Case, X: Any) -> dict[str, Call]:
    """Return the calls of the hasher, and of its full scan, which gets fewer rows."""
    few = X[: max(64, X.shape[0] // 10)]
    return {
        OURS: Call(hasher_call(case, X), X.shape[0]),
        FULL_SCAN: Call(hasher_call(case, few, _core.Scan.FULL), few.shape[0]),
    }


def other_ways_of_hasher(case: Case, X: Any) -> dict[str, Call]:
    """Return the calls of the hasher with two threads, and on one thread with older instruction sets."""
    calls = {TWO_THREADS: Call(hasher_call(case, X, n_jobs=2), X.shape[0])} if n_cores() > 1 else {}
    for name in older_instruction_sets():
        with using(name):
            work = hasher_call(case, X)
        calls[name] = Call(under(name, work), X.shape[0])
    return calls


def older_instruction_sets() -> list[str]:
    """Return the instruction sets of this processor below the one in use."""
    names = _core.instruction_sets()
    return names[names.index(_core.instruction_set()) + 1 :]


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use an instruction set of this processor within a block."""
    before = _core.instruction_set()
    _core.use_instruction_set(name)
    try:
        yield
    finally:
        _core.use_instruction_set(before)


def under(name: str, work: Work) -> Work:
    """Return a work that runs with an instruction set."""

    def with_it() -> None:
        with using(name):
            work()

    return with_it


def seconds_until_ready(repetitions: int) -> float:
    """Return the median seconds of `fit` and of hashing the first 128 signed rows, which makes all tables."""
    X = np.random.default_rng(0).normal(size=(READY_ROWS, READY_COLUMNS)).astype(np.float32)

    def first_rows() -> None:
        GCWSHasher(READY_HASHES, random_state=0, n_jobs=1).fit(X[:1]).transform(X)

    return statistics.median(seconds(first_rows) for _ in range(repetitions))
