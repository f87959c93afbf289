"""Statements of the paper, checked against results: in how many of the cases that a statement covers it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from reproduction.experiment_data import COMPARABLE
from reproduction.results import Outcome, Results
from reproduction.rules import ALL, CONTRADICTED, HOLDS, HOLDS_BUT, SMALL, UNTESTED, Share, Small
from reproduction.settings import Settings, key, original

NOT_RUN = "not yet run"
OWN_ROWS, OTHER_ROWS, SIMULATION = "the paper's own rows", "derived or rebuilt rows", "simulations"
"""What cases of statements are about: rows that the paper has, too, other rows, or no dataset at all."""
RECOMMENDED = 8
"""The b that the paper recommends."""

Pair = tuple[Settings, Settings]
Test = Callable[[float], bool]


class Case(NamedTuple):
    """One of the cases that a statement covers: the settings of its first run, the number that decides, and whether."""

    settings: Settings
    value: float
    holds: bool
    origin: str | None

    @property
    def rows(self) -> str:
        """The kind of rows that it is about."""
        if self.origin is None:
            return SIMULATION
        return OWN_ROWS if self.origin in COMPARABLE else OTHER_ROWS

    def has(self, small: Small) -> bool:
        """Return whether it is about codes as small as these."""
        return self.settings["method"] == "gcws" and small.has(self.settings["k"], self.settings["b"])


class Verdict(NamedTuple):
    """A verdict on a statement.

    Attributes
    ----------
    state : str
        One of the four classes, or that runs are missing.
    cases : list of Case
        The cases that decide; those on derived or rebuilt rows if there are no others.
    small : str
        The small codes for which it need not hold, of a statement that holds except for them.
    missing : int
        The runs that are missing.
    others : list of Case
        Cases that do not decide, as they are on derived or rebuilt rows.
    """

    state: str
    cases: Sequence[Case] = ()
    small: str = ""
    missing: int = 0
    others: Sequence[Case] = ()

    @property
    def rows(self) -> str:
        """The kind of rows that the verdict rests on."""
        return self.cases[0].rows if self.cases else ""


@dataclass(frozen=True)
class Statement:
    """A statement of the paper, with a check.

    Attributes
    ----------
    text : str
        What the paper says.
    rule : str
        What is checked in each case: the statement with its limits as numbers.
    runs : sequence of tuple of Settings
        The runs of each case.
    measure : callable
        Returns of the outcomes of these runs the number that decides, or several of them.
    test : callable
        Whether the statement holds with that number.
    share : Share
        In how many of the cases it must hold.
    unit : str
        What the numbers are.
    why : str
        What explains the cases against it.
    """

    text: str
    rule: str
    runs: Sequence[tuple[Settings, ...]]
    measure: Callable[..., float | list[float]]
    test: Test
    share: Share = ALL
    unit: str = "points"
    why: str = ""

    def verdict(self, results: Results) -> Verdict:
        """Return the verdict that results give."""
        missing = {key(one) for case in self.runs for one in case if one not in results}
        if missing or not self.runs:
            return Verdict(NOT_RUN, missing=len(missing))
        cases = []
        for runs in self.runs:
            outcomes = [outcome for one in runs if (outcome := results.get(one)) is not None]
            found = self.measure(*outcomes)
            numbers = found if isinstance(found, list) else [found]
            cases += [Case(runs[0], number, self.test(number), outcomes[0].origin) for number in numbers]
        return judge(cases, self.share)


def judge(cases: Sequence[Case], share: Share) -> Verdict:
    """Return the verdict that cases give: those on the paper's own rows decide, or simulations."""
    own, others = ([case for case in cases if (case.rows == OTHER_ROWS) == other] for other in (False, True))
    if not own:
        return Verdict(UNTESTED, others)
    if _hold(own, share):
        return Verdict(HOLDS, own, others=others)
    for small in SMALL:
        larger = [case for case in own if not case.has(small)]
        hashed = any(case.settings["method"] == "gcws" for case in larger)  # else none of its codes is left
        if hashed and len(larger) < len(own) and _hold(larger, share):
            return Verdict(HOLDS_BUT, own, small.name, others=others)
    return Verdict(CONTRADICTED, own, others=others)


def _hold(cases: Sequence[Case], share: Share) -> bool:
    return sum(case.holds for case in cases) >= share.least * len(cases)


def tally(cases: Iterable[Case]) -> str:
    """Return in how many of some cases a statement holds."""
    found = [case.holds for case in cases]
    return f"{sum(found)} of {len(found)}"


def middle(cases: Sequence[Case], unit: str) -> str:
    """Return the median of the numbers of cases."""
    value = median(case.value for case in cases)
    sign = "+" if unit == "points" and value > 0 else ""
    return f"{sign}{value:.3g}{unit if unit == '%' else f' {unit}'}".replace("-", "\u2212")


def recommended(cases: Iterable[Case]) -> list[Case]:
    """Return the cases with the b that the paper recommends."""
    return [case for case in cases if case.settings["method"] == "gcws" and case.settings["b"] == RECOMMENDED]


def above(least: float) -> Test:
    """Return the test whether a number is larger."""
    return lambda value: value > least


def at_least(least: float) -> Test:
    """Return the test whether a number is as large."""
    return lambda value: value >= least


def at_most(most: float) -> Test:
    """Return the test whether a number is not larger."""
    return lambda value: value <= most


def within(most: float) -> Test:
    """Return the test whether a difference is not larger, in either direction."""
    return lambda value: abs(value) <= most


def gain(ours: Outcome, theirs: Outcome) -> float:
    """Return by how many points the first run is better in the end."""
    return ours.accuracy - theirs.accuracy


def head_start(ours: Outcome, theirs: Outcome) -> float:
    """Return how far the first run is above the last accuracy of the second, in half of the epochs that this takes."""
    goal = theirs.result["curve"]["accuracy"][-1]
    half = theirs.epochs_to(goal) / 2 + 0.01  # a checkpoint is at the end of a batch
    ours_by_then = zip(ours.result["curve"]["epoch"], ours.result["curve"]["accuracy"], strict=True)
    return max((accuracy for epoch, accuracy in ours_by_then if epoch <= half), default=0.0) - goal


def percent_at(epoch: float, outcome: Outcome, last: float | None = None) -> float:
    """Return the accuracy at an epoch in percent of the best of the run, or of that at the epoch `last`."""
    reference = max(outcome.result["curve"]["accuracy"]) if last is None else outcome.at(last)
    return 100 * outcome.at(epoch) / reference


def percent(ours: Outcome, *others: Outcome) -> float:
    """Return the accuracy of a run in percent of the best of several."""
    return 100 * ours.accuracy / max(one.accuracy for one in (ours, *others))


def plain(one: Settings) -> Settings:
    """Return settings of the same net on the original data."""
    return original(one["dataset"], L=one["L"], H=one["H"], epochs=one["epochs"])


def beside_plain(grid: Iterable[Settings]) -> list[Pair]:
    """Return each run of GCWSNet with the same net on the original data."""
    return [(one, plain(one)) for one in grid if one["method"] == "gcws"]


def with_more_bits(grid: Iterable[Settings]) -> list[Pair]:
    """Return each run of GCWSNet with that of the next smaller b."""
    runs = [one for one in grid if one["method"] == "gcws"]
    steps = {more: less for less, more in pairwise(sorted({one["b"] for one in runs}))}
    return [(one, {**one, "b": steps[one["b"]]}) for one in runs if one["b"] in steps]


FASTER = (
    "in at most half of the epochs that the same net on the original data needs for the accuracy with which it ends, "
    "GCWSNet is as good"
)


def faster(text: str, runs: Sequence[Pair], rule: str = FASTER, why: str = "") -> Statement:
    """Return the statement that the first of each pair of runs is much faster."""
    return Statement(text, rule, runs, head_start, at_least(0), why=why)


def better(text: str, rule: str, runs: Sequence[Pair], by: float = 0.0, share: Share = ALL, why: str = "") -> Statement:
    """Return the statement that the first of each pair of runs is better by more than `by` points in the end."""
    return Statement(text, rule, runs, gain, above(by), share, why=why)


def reaches(
    text: str, rule: str, grid: Iterable[Settings], epoch: float, least: float, *, last: float | None = None,
    share: Share = ALL, why: str = ""
) -> Statement:  # fmt: skip
    """Return the statement that some percent of the accuracy are reached at an epoch."""
    return Statement(
        text, rule, [(one,) for one in grid], partial(percent_at, epoch, last=last), at_least(least), share, "%", why
    )
