"""An experiment of the paper: what is run, what is shown of it, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from reproduction._facts import Fact
from reproduction.charts import Figure
from reproduction.datasets import COMPARABLE, availability
from reproduction.results import Results
from reproduction.settings import Settings
from reproduction.statements import NOT_MEASURED, Claim

CLOSE = 2.0
"""Points of accuracy within which a number agrees with the paper's."""


class Compared(NamedTuple):
    """A number of the paper beside ours."""

    what: str
    paper: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Experiment:
    """An experiment.

    Attributes
    ----------
    name : str
        What the command calls it.
    place, title : str
        What of the paper it is, for example "Figure 1", and what that shows.
    datasets : tuple of str
        What it needs.
    grid : callable
        From whether it is to be quick to the settings of all runs.
    figure : callable
        From results to what is drawn.
    claims : tuple of Claim
        What the paper says about it.
    compare : callable
        From results to the numbers of the paper beside ours.
    note : str
        What is done otherwise than in the paper, or is not said there.
    """

    name: str
    place: str
    title: str
    datasets: tuple[str, ...]
    grid: Callable[[bool], list[Settings]]
    figure: Callable[[Results], Figure]
    claims: tuple[Claim, ...] = ()
    compare: Callable[[Results], list[Compared]] = lambda _: []
    note: str = ""


def compared(what: str, paper: float, ours: float, origin: str | None, more: str = "") -> Compared:
    """An accuracy of the paper beside ours, with the verdict; `more` is shown behind ours."""
    off = ours - paper
    if origin not in COMPARABLE:
        verdict = f"{origin} data: {off:+.1f}, not to be compared"
    elif abs(off) <= CLOSE:
        verdict = "agrees"
    else:
        verdict = f"differs by {off:+.1f}"
    return Compared(what, f"{paper:g}", f"{ours:.1f}{more}", verdict)


def not_compared(what: str, paper: float, dataset: str) -> Compared:
    """An accuracy of the paper that has not been measured here."""
    return Compared(what, f"{paper:g}", "", NOT_MEASURED if availability(dataset).there else "dataset not available")


def compared_runs(results: Results, facts: Iterable[tuple[Fact, Settings]]) -> list[Compared]:
    """Numbers of the paper beside the accuracies of runs, where these have been done."""
    rows = []
    for fact, settings in facts:
        outcome = results.get(settings)
        if outcome is None:
            rows.append(not_compared(fact.place, fact.value, settings["dataset"]))
        else:
            rows.append(compared(fact.place, fact.value, outcome.accuracy, outcome.origin))
    return rows
