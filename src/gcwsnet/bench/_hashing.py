"""One run of the hashing benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from gcwsnet.bench import _ours, _peers
from gcwsnet.bench._cases import Case
from gcwsnet.bench._measure import machine, medians, n_cores, one_thread, versions
from gcwsnet.bench._problem import Problem
from gcwsnet.bench._report import Line, Report

PACKAGES = ("gcwsnet", "numpy", "scipy", "scikit-learn", "torch", "datasketch", "rensa")
Say = Callable[[str], None]


def measure(
    cases: Sequence[Case],
    *,
    repetitions: int = 5,
    growing: Mapping[str, Sequence[Case]] | None = None,
    say: Say = lambda _: None,
) -> Report:
    """Rows hashed per second by the hasher and by its peers, all in turn within one run.

    Parameters
    ----------
    cases : sequence of Case
        Rows to hash. Those whose files are not at hand, or are damaged, are left out.
    repetitions : int, default=5
        Each call is timed so often, after one that is not timed, and the median counts.
    growing : mapping of str to sequences of Case, optional
        Further rows, for pictures of the growth with D and k.
    say : function of str
        Gets a line for every step and for everything that is left out.

    Returns
    -------
    report : Report

    Examples
    --------
    >>> from gcwsnet.bench import CASES, measure
    >>> report = measure(CASES[:1])  # doctest: +SKIP
    >>> report.lines[0].rows_per_second["gcwsnet"]  # doctest: +SKIP
    188594.0
    """
    growing = growing or {}
    run = _Run(repetitions, len(cases) + sum(len(some) for some in growing.values()), say)
    with one_thread():
        ready = _ours.seconds_until_ready(repetitions)
        lines = list(run.lines(cases, variants=True))
        growth = {along: list(run.lines(some, variants=False)) for along, some in growing.items()}
    return Report(machine(), versions(*PACKAGES), run.load, repetitions, lines, growth, ready, run.left_out)


class _Run:
    """What the steps of a run share: the peers that are there, and what was left out."""

    def __init__(self, repetitions: int, n_steps: int, say: Say) -> None:
        self.repetitions, self.n_steps, self.say = repetitions, n_steps, say
        self.step = 0
        self.load = os.getloadavg()[0]
        self.left_out: list[str] = []
        self.peers, missing = _peers.installed(_peers.PEERS)
        for notice in missing:
            self.leave_out(notice)
        if n_cores() < 2:
            self.leave_out("two threads: there is one core")

    def leave_out(self, notice: str) -> None:
        self.left_out.append(notice)
        self.say(f"left out: {notice}")

    def lines(self, cases: Sequence[Case], *, variants: bool) -> Iterator[Line]:
        """The results of the cases whose rows are at hand."""
        for case in cases:
            self.step += 1
            self.load = max(self.load, os.getloadavg()[0])
            self.say(f"[{self.step}/{self.n_steps}] {case.title}, p={case.p:g}")
            try:
                X = case.rows()
            except (FileNotFoundError, ValueError) as error:  # not there, or damaged
                self.leave_out(f"{case.title}: {error}")
                continue
            rates = self.rates(case.title, Problem(X, case.p, case.n_hashes), variants)
            n_rows, n_columns = X.shape
            yield Line(case.name, case.title, case.p, case.n_hashes, n_rows, n_columns, rates)

    def rates(self, title: str, problem: Problem, variants: bool) -> dict[str, float]:
        """Median rows per second of all who can hash the rows."""
        works = _ours.plain(problem) | (_ours.variants(problem) if variants else {})
        for peer in self.peers:
            X = _peers.some_rows(peer, problem)
            try:
                work = peer.make(problem, X)
            except (MemoryError, RuntimeError) as error:  # of torch.compile, where there is no compiler
                self.leave_out(f"{peer.name} for {title}: {str(error).strip().splitlines()[0]}")
                continue
            if work is not None:
                works[peer.name] = (work, X.shape[0])
        times = medians({name: work for name, (work, _) in works.items()}, self.repetitions)
        return {name: n / times[name] for name, (_, n) in works.items()}
