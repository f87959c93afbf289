"""Statements of the paper, checked against results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from reproduction.results import Outcome, Results
from reproduction.settings import Settings

HOLDS, FAILS, NOT_MEASURED = "holds", "does not hold", "not measured"
NO_RUNS = "the runs that it is about have not been done"


class NotMeasuredError(Exception):
    """An error for a statement whose results are missing."""


class Verdict(NamedTuple):
    """A verdict on a statement: "holds", "does not hold" or "not measured", and the numbers behind it."""

    state: str
    numbers: str


@dataclass(frozen=True)
class Statement:
    """A statement of the paper, with a check.

    Attributes
    ----------
    text : str
        What the paper says.
    rule : str
        What is checked: the statement with its limits as numbers.
    check : callable
        Takes the results, and returns whether the statement holds and the numbers; raises NotMeasuredError without
        results.
    """

    text: str
    rule: str
    check: Callable[[Results], tuple[bool, str]]

    def verdict(self, results: Results) -> Verdict:
        """Return the verdict that results give."""
        try:
            holds, numbers = self.check(results)
        except NotMeasuredError as error:
            return Verdict(NOT_MEASURED, str(error))
        return Verdict(HOLDS if holds else FAILS, numbers)


def required(results: Results, settings: Settings) -> Outcome:
    """Return the outcome of a run without which a statement cannot be checked."""
    outcome = results.get(settings)
    if outcome is None:
        raise NotMeasuredError(NO_RUNS)
    return outcome


def completed(results: Results, runs: Iterable[Settings]) -> list[Outcome]:
    """Return the outcomes of the runs that are done; an error if none is."""
    outcomes = [outcome for one in runs if (outcome := results.get(one))]
    if not outcomes:
        raise NotMeasuredError(NO_RUNS)
    return outcomes


def completed_pairs(results: Results, runs: Iterable[tuple[Settings, Settings]]) -> list[tuple[Outcome, Outcome]]:
    """Return the pairs of outcomes of those pairs of runs that are both done; an error if none is."""
    outcomes = [(a, b) for one, other in runs if (a := results.get(one)) and (b := results.get(other))]
    if not outcomes:
        raise NotMeasuredError(NO_RUNS)
    return outcomes


def always_better(outcomes: Iterable[tuple[Outcome, Outcome]], epoch: float | None = None) -> tuple[bool, str]:
    """Return whether the first of each pair is better than the second, at the end or at an epoch, and the numbers."""
    gains = [a.accuracy - b.accuracy if epoch is None else a.at(epoch) - b.at(epoch) for a, b in outcomes]
    better = [gain > 0 for gain in gains]
    return all(better), f"better in {tally(better)} cases, by {span(gains)} points"


def tally(holds: Iterable[bool]) -> str:
    """Return in how many cases a statement holds.

    Examples
    --------
    >>> from reproduction.statements import tally
    >>> tally([True, False, True])
    '2 of 3'
    """
    cases = list(holds)
    return f"{sum(cases)} of {len(cases)}"


def span(values: Iterable[float]) -> str:
    """Return the smallest and the largest of some numbers.

    Examples
    --------
    >>> from reproduction.statements import span
    >>> span([3, 1.25, 2]), span([2])
    ('1.2 to 3.0', '2.0')
    """
    numbers = list(values)
    return f"{min(numbers):.1f} to {max(numbers):.1f}" if len(numbers) > 1 else f"{numbers[0]:.1f}"
