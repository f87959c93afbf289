"""Charts: series of numbers that dashes, markers and shades tell apart, so that no colors are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reproduction.results import Outcome, Results
from reproduction.settings import Settings

EPOCHS, ACCURACY = "epochs", "accuracy in %"


class Style(NamedTuple):
    """The look of a series.

    Attributes
    ----------
    dashes : {"-", "--", "-.", ":", ""}
        The kind of line; "" draws none.
    marker : {"o", "s", "^", "D", "v", "x", ""}
        The mark at each point; "" draws none.
    shade : float
        The gray, from 0 (black) to 1 (white).
    """

    dashes: str = "-"
    marker: str = ""
    shade: float = 0.0


ORIGINAL = Style("--", "", 0.0)
BY_K = {
    64: Style("-", "o", 0.55),
    128: Style("-", "s", 0.45),
    256: Style("-", "^", 0.25),
    512: Style("-", "D", 0.0),
}
BY_NUMBER = (
    Style("-", "o", 0.0),
    Style("-", "s", 0.3),
    Style("-", "^", 0.45),
    Style("-", "D", 0.55),
    Style("-", "v", 0.2),
    Style("-", "x", 0.4),
)


@dataclass(frozen=True)
class Series:
    """Points that belong together; `errors` are standard errors, drawn as bars."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style
    errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """Series that are drawn in one frame."""

    title: str
    series: tuple[Series, ...]
    x_label: str = EPOCHS
    y_label: str = ACCURACY
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """Charts side by side, in rows of `columns` charts."""

    charts: tuple[Chart, ...]
    columns: int = 3


def figure(charts: Iterable[Chart], columns: int = 3) -> Figure:
    """Return a figure of the charts that have a series."""
    return Figure(tuple(chart for chart in charts if chart.series), columns)


def accuracy_over_epochs(results: Results, runs: Iterable[tuple[str, Settings, Style]]) -> tuple[Series, ...]:
    """Return the accuracy over epochs, one series for each run that is done; `runs` are labels, settings and styles."""
    series = []
    for label, settings, style in runs:
        outcome = results.get(settings)
        if outcome is not None:
            curve = outcome.result["curve"]
            series.append(Series(label, tuple(curve["epoch"]), tuple(curve["accuracy"]), style))
    return tuple(series)


def accuracy_against(
    results: Results,
    label: str,
    name: str,
    values: Sequence[float],
    settings: Callable[..., Settings],
    style: Style,
    accuracy: Callable[[Outcome], float] = lambda outcome: outcome.accuracy,
) -> tuple[Series, ...]:
    """Return the accuracy against a number in which runs differ: one series, or none if no run is done.

    The number is the keyword `name` of `settings`.
    """
    outcomes = [(value, results.get(settings(**{name: value}))) for value in values]
    return accuracy_series(label, outcomes, style, accuracy)


def accuracy_series(
    label: str,
    outcomes: Iterable[tuple[float, Outcome | None]],
    style: Style,
    accuracy: Callable[[Outcome], float] = lambda outcome: outcome.accuracy,
) -> tuple[Series, ...]:
    """Return the accuracies of outcomes by their x: one series, or none if all outcomes are None."""
    points = [(float(x), accuracy(outcome)) for x, outcome in outcomes if outcome is not None]
    if not points:
        return ()
    return (Series(label, tuple(x for x, _ in points), tuple(y for _, y in points), style),)
