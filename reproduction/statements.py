"""Statements of the paper, checked against results: in how many of the cases that a statement covers it holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from reproduction.experiment_data import COMPARABLE, DISPLAY_NAMES
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, key

HOLDS, FAILS, NOT_MEASURED = "holds", "does not hold", "not measured"
OWN_ROWS, OTHER_ROWS, SIMULATION = "the paper's own rows", "derived or rebuilt rows", "simulations"
"""What cases of statements are about: rows that the paper has, too, other rows, or no dataset at all."""


class Share(NamedTuple):
    """The share of the cases in which a statement must hold, and the words of the paper that ask for it."""

    words: str
    least: float


ALL = Share("all cases, where the paper makes no reservation", 1.0)
TYPICALLY = Share('at least 80% of the cases, where it says "typically"', 0.8)
OFTEN = Share('at least half of the cases, where it says "often"', 0.5)
SHARES = (ALL, TYPICALLY, OFTEN)

MUCH = 5.0
"""The points of accuracy that are "much", "considerable" or "substantial"."""
OBVIOUS = 2.0
"""The points of accuracy from which a gain or a loss is "obvious"."""
DRASTICALLY = 30.0
"""The points of accuracy that are a "drastic" improvement."""
SIMILAR = 1.0
"""The points of accuracy within which two results are "similar" or "comparable", and up to which a gain is "little"."""
NOTICEABLE = 0.5
"""The points of accuracy from which a gain is "noticeable" or a "further improvement"."""
CLOSE = 2.0
"""The points of accuracy within which a number agrees with one that the text gives."""
CONSISTENT = 3.0
"""The points of accuracy within which a net and a linear classifier are "consistent"."""
REASONABLE = 85.0
"""The percentage of the accuracy to compare with from which an accuracy is "reasonable"."""
CLOSE_TO_BEST = 95.0
"""The percentage of the best accuracy from which an accuracy is "close to the best"."""
FAILED = 50.0
"""The percentage of the accuracy to compare with below which training has "failed"."""
MAX_ERRORS = 5
"""The most standard errors by which a simulated number may be off; by chance one in two million is off by more."""
LIMITS = (
    f'"much", "considerably" and "substantially": more than {MUCH:g} points of accuracy, better or worse',
    f'"obvious": more than {OBVIOUS:g} points, better or worse',
    f'"drastically" better: by more than {DRASTICALLY:g} points',
    f'"noticeably" better, or a "further improvement": by more than {NOTICEABLE:g} points',
    '"much" or "substantially faster": at most half of the epochs that the other net needs for its last accuracy',
    f'"similar" or "comparable", and "little" gain: within {SIMILAR:g} point',
    f'"consistent": within {CONSISTENT:g} points; a number of the text: within {CLOSE:g} points',
    f'training "fails": less than {FAILED:g}% of the accuracy that it is compared with',
    f'"reasonable", "good" and "works well": at least {REASONABLE:g}% of the accuracy that it is compared with',
    f'"close to the best": at least {CLOSE_TO_BEST:g}% of the best',
    f'"robust": at each p at least {REASONABLE:g}% of the accuracy at the best p',
    f'"robust in comparison": {REASONABLE:g}% of the accuracy at the best p, at no fewer p than the alternative',
    f'"p close to 1": from 0.5 to 2; "bad" for another p: more than {MUCH:g} points worse than p = 1',
    '"mainly determined by k": twice as many hashes take longer, whatever b is for either',
    f"simulations: at most {MAX_ERRORS} standard errors off",
)
"""What words of the paper mean in numbers, for all statements alike."""


class NotMeasuredError(Exception):
    """An error for a statement whose results are missing."""


@dataclass(frozen=True)
class Case:
    """One of the cases that a statement covers.

    Attributes
    ----------
    what : str
        What it is about, for example "k = 64, b = 8, L = 2".
    value : float
        The number that decides, for example a difference of accuracies.
    holds : bool
    outcomes : tuple of Outcome
        The runs that the number comes from; none for a simulation.
    """

    what: str
    value: float
    holds: bool
    outcomes: tuple[Outcome, ...] = ()

    @property
    def dataset(self) -> str:
        """The name of its dataset; "" for a simulation."""
        return str(self.outcomes[0].settings["dataset"]) if self.outcomes else ""

    @property
    def origin(self) -> str:
        """Where the rows of its dataset are from; "" for a simulation."""
        return self.outcomes[0].origin or "" if self.outcomes else ""

    @property
    def rows(self) -> str:
        """The kind of rows that it is about."""
        if not self.outcomes:
            return SIMULATION
        return OWN_ROWS if self.origin in COMPARABLE else OTHER_ROWS


class Verdict(NamedTuple):
    """A verdict on a statement.

    Attributes
    ----------
    state : {"holds", "does not hold", "not measured"}
    numbers : str
        In how many cases it holds, and the range of the numbers that decide; or what is missing.
    against : tuple of str
        The cases in which it does not hold, with their numbers.
    datasets : dict
        How many of the cases that decide are on each dataset: of a statement that does not hold those against it.
    origins : dict
        Where the rows of these datasets are from.
    by_rows : dict
        The state by the cases on each kind of rows alone: the paper's own, others, and simulations.
    """

    state: str
    numbers: str
    against: tuple[str, ...] = ()
    datasets: Mapping[str, int] = MappingProxyType({})
    origins: Mapping[str, str] = MappingProxyType({})
    by_rows: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Statement:
    """A statement of the paper, with a check.

    Attributes
    ----------
    text : str
        What the paper says.
    rule : str
        What is checked in each case: the statement with its limits as numbers.
    cases : callable
        Takes the results, and returns all cases that the statement covers; raises NotMeasuredError if a run that one
        of them needs is missing.
    unit : str
        What the number of a case is, for example "points".
    share : Share
        In how many of the cases it must hold.
    why : str
        Our best explanation of cases against it, and what would settle it.
    """

    text: str
    rule: str
    cases: Callable[[Results], Sequence[Case]]
    unit: str = "points"
    share: Share = field(default=ALL)
    why: str = ""

    def verdict(self, results: Results) -> Verdict:
        """Return the verdict that results give."""
        try:
            cases = self.cases(results)
        except NotMeasuredError as error:
            return Verdict(NOT_MEASURED, str(error))
        state, against = self._state(cases), [case for case in cases if not case.holds]
        numbers = f"{tally(case.holds for case in cases)}, {spread([case.value for case in cases], self.unit)}"
        several = len({case.dataset for case in cases}) > 1
        named = tuple(
            f"{f'{DISPLAY_NAMES[case.dataset]}, ' if several else ''}{case.what}: {number(case.value, self.unit)}"
            for case in against
        )
        deciding = [case for case in (cases if state == HOLDS else against) if case.outcomes]
        kinds = dict.fromkeys(case.rows for case in cases)
        by_rows = {rows: self._state([case for case in cases if case.rows == rows]) for rows in kinds}
        return Verdict(
            state,
            numbers,
            named,
            Counter(case.dataset for case in deciding),
            {case.dataset: case.origin for case in deciding},
            by_rows,
        )

    def _state(self, cases: Sequence[Case]) -> str:
        return HOLDS if sum(case.holds for case in cases) >= self.share.least * len(cases) else FAILS


def all_done(results: Results, runs: Iterable[Settings]) -> list[Outcome]:
    """Return the outcomes of runs; an error that counts those that are missing if not all of them are done."""
    wanted = list(runs)
    outcomes = [outcome for one in wanted if (outcome := results.get(one)) is not None]
    if len(outcomes) < len(wanted):
        missing, covered = ({key(one) for one in some} for some in ([s for s in wanted if s not in results], wanted))
        raise NotMeasuredError(f"{len(missing)} of the {len(covered)} runs that it covers are not done")
    return outcomes


def all_pairs_done(results: Results, runs: Iterable[tuple[Settings, Settings]]) -> list[tuple[Outcome, Outcome]]:
    """Return the pairs of outcomes of pairs of runs; an error if not all of them are done."""
    pairs = list(runs)
    outcomes = iter(all_done(results, [one for pair in pairs for one in pair]))
    return list(zip(outcomes, outcomes, strict=True))


def better(pairs: Iterable[tuple[Outcome, Outcome]], by: float = 0.0, epoch: float | None = None) -> list[Case]:
    """Return cases in which the first of a pair must be better by more than `by` points, at the end or at an epoch."""
    cases = []
    for ours, theirs in pairs:
        gain = ours.accuracy - theirs.accuracy if epoch is None else ours.at(epoch) - theirs.at(epoch)
        cases.append(Case(case_name(ours.settings), gain, gain > by, (ours, theirs)))
    return cases


def faster(pairs: Iterable[tuple[Outcome, Outcome]]) -> list[Case]:
    """Return cases in which the first of a pair must need half as long for the accuracy with which the second ends.

    The number of a case is the share of the epochs of the second that it needs; infinite if it never gets there.
    """
    cases = []
    for ours, theirs in pairs:
        wanted = theirs.result["curve"]["accuracy"][-1]
        needed, whole = ours.epochs_to(wanted), theirs.epochs_to(wanted)
        enough = needed <= whole / 2 + 0.01  # a checkpoint is at the end of a batch
        cases.append(Case(case_name(ours.settings), needed / whole, enough, (ours, theirs)))
    return cases


def reaches(outcomes: Iterable[Outcome], epoch: float, percent: float, last: float | None = None) -> list[Case]:
    """Return cases in which the accuracy at an epoch must be some percent of the best, or of that at epoch `last`."""
    cases = []
    for outcome in outcomes:
        reference = max(outcome.result["curve"]["accuracy"]) if last is None else outcome.at(last)
        reached = 100 * outcome.at(epoch) / reference
        cases.append(Case(case_name(outcome.settings), reached, reached >= percent, (outcome,)))
    return cases


def case_name(settings: Settings) -> str:
    """Return what tells a run from the others of an experiment.

    Examples
    --------
    >>> from reproduction.settings import gcws, original
    >>> from reproduction.statements import case_name
    >>> case_name(gcws("semg", k=64, b=8, L=2)), case_name(original("semg", L=1))
    ('k = 64, b = 8, L = 2, H = 200', 'L = 1')
    """
    numbers = [f"{name} = {settings[name]:g}" for name in ("k", "b", "m", "L", "H") if _differs(settings, name)]
    return ", ".join(numbers)


def _differs(settings: Settings, name: str) -> bool:
    return name in settings and (name, settings[name]) not in {("H", 0), ("m", 1)}


def tally(holds: Iterable[bool]) -> str:
    """Return in how many cases a statement holds.

    Examples
    --------
    >>> from reproduction.statements import tally
    >>> tally([True, False, True])
    '2 of 3 cases'
    """
    cases = list(holds)
    return f"{sum(cases)} of {len(cases)} case{'s' * (len(cases) > 1)}"


def spread(values: Iterable[float], unit: str) -> str:
    """Return the smallest, the median and the largest of some numbers.

    Examples
    --------
    >>> from reproduction.statements import spread
    >>> spread([3, 1.25, 2], "points"), spread([2], "%")
    ('from 1.25 to 3, median 2 points', '2%')
    """
    numbers = list(values)
    if len(numbers) == 1:
        return number(numbers[0], unit)
    return f"from {number(min(numbers))} to {number(max(numbers))}, median {number(median(numbers), unit)}"


def number(value: float, unit: str = "") -> str:
    """Return a number with three digits and its unit; what is infinite is never reached.

    Examples
    --------
    >>> from reproduction.statements import number
    >>> number(0.5, "points"), number(1, "points"), number(85, "%")
    ('0.5 points', '1 point', '85%')
    """
    if not math.isfinite(value):
        return "never"
    digits = f"{value:.3g}"
    if not unit or unit == "%":
        return digits + unit
    return f"{digits} {unit.removesuffix('s') if digits == '1' else unit}"
