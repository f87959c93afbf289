"""Statements of the paper, checked against results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from reproduction.results import Outcome, Results
from reproduction.settings import Settings

HOLDS, FAILS, NOT_MEASURED = "holds", "does not hold", "not measured"


class NotMeasuredError(Exception):
    """Results that a statement is about are not there."""


class Verdict(NamedTuple):
    """What results say of a statement: "holds", "does not hold" or "not measured", and the numbers."""

    state: str
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper.

    Attributes
    ----------
    text : str
        What the paper says.
    rule : str
        What is checked: the statement with its limits as numbers.
    check : callable
        From results to whether it holds, and the numbers; raises NotMeasuredError without results.
    """

    text: str
    rule: str
    check: Callable[[Results], tuple[bool, str]]

    def verdict(self, results: Results) -> Verdict:
        """What results say."""
        try:
            holds, numbers = self.check(results)
        except NotMeasuredError as error:
            return Verdict(NOT_MEASURED, str(error))
        return Verdict(HOLDS if holds else FAILS, numbers)


def needed(results: Results, settings: Settings) -> Outcome:
    """The outcome of a run that a statement cannot do without."""
    outcome = results.get(settings)
    if outcome is None:
        raise NotMeasuredError("the runs that it is about have not been done")
    return outcome


def pairs(results: Results, settings: Iterable[tuple[Settings, Settings]]) -> list[tuple[Outcome, Outcome]]:
    """Pairs of outcomes, of those pairs of runs that have both been done; an error if none has."""
    found = [(a, b) for one, other in settings if (a := results.get(one)) and (b := results.get(other))]
    if not found:
        raise NotMeasuredError("the runs that it is about have not been done")
    return found


def those_done(results: Results, settings: Iterable[Settings]) -> list[Outcome]:
    """Outcomes of those runs that have been done; an error if none has."""
    found = [outcome for one in settings if (outcome := results.get(one))]
    if not found:
        raise NotMeasuredError("the runs that it is about have not been done")
    return found


def always_better(found: Iterable[tuple[Outcome, Outcome]], epoch: float | None = None) -> tuple[bool, str]:
    """Whether the first of each pair is better than the second, at the end or at an epoch, and the numbers."""
    gains = [a.accuracy - b.accuracy if epoch is None else a.at(epoch) - b.at(epoch) for a, b in found]
    better = [gain > 0 for gain in gains]
    return all(better), f"better in {in_how_many(better)} cases, by {span(gains)} points"


def in_how_many(holds: Iterable[bool]) -> str:
    """In how many cases a statement holds.

    Examples
    --------
    >>> from reproduction.statements import in_how_many
    >>> in_how_many([True, False, True])
    '2 of 3'
    """
    cases = list(holds)
    return f"{sum(cases)} of {len(cases)}"


def span(values: Iterable[float]) -> str:
    """The least and the largest of numbers.

    Examples
    --------
    >>> from reproduction.statements import span
    >>> span([3, 1.25, 2]), span([2])
    ('1.2 to 3.0', '2.0')
    """
    some = list(values)
    return f"{min(some):.1f} to {max(some):.1f}" if len(some) > 1 else f"{some[0]:.1f}"
