"""What figures show: charts of lines that are told apart by dashes, markers and shades, not by colors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reproduction.results import Outcome, Results
from reproduction.settings import Settings

EPOCHS, ACCURACY = "epochs", "accuracy in %"


class Style(NamedTuple):
    """How a line looks.

    Attributes
    ----------
    dashes : {"-", "--", "-.", ":", ""}
        The last one is no line.
    marker : {"o", "s", "^", "D", "v", "x", ""}
        The last one is no marker.
    shade : float
        From 0 (black) to 1 (white).
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
class Line:
    """Numbers along x; `errors` are standard errors that are drawn as bars."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style
    errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """Lines that are drawn together."""

    title: str
    lines: tuple[Line, ...]
    x_label: str = EPOCHS
    y_label: str = ACCURACY
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """Charts side by side; `columns` of them in the paper."""

    charts: tuple[Chart, ...] = field(default=())
    columns: int = 3


def figure(charts: Iterable[Chart], columns: int = 3) -> Figure:
    """A figure of those charts that have a line."""
    return Figure(tuple(chart for chart in charts if chart.lines), columns)


def over_epochs(results: Results, some: Iterable[tuple[str, Settings, Style]]) -> tuple[Line, ...]:
    """Accuracy over epochs, a line for each run that has been done."""
    lines = []
    for label, settings, style in some:
        outcome = results.get(settings)
        if outcome is not None:
            curve = outcome.result["curve"]
            lines.append(Line(label, tuple(curve["epoch"]), tuple(curve["accuracy"]), style))
    return tuple(lines)


def against(
    results: Results,
    label: str,
    name: str,
    values: Sequence[float],
    settings: Callable[..., Settings],
    style: Style,
    reached: Callable[[Outcome], float] = lambda outcome: outcome.accuracy,
) -> tuple[Line, ...]:
    """Accuracy against a number that runs differ in: a line, or none if no run has been done.

    The number is the keyword `name` of `settings`.
    """
    return line_of(label, [(value, results.get(settings(**{name: value}))) for value in values], style, reached)


def line_of(
    label: str,
    found: Iterable[tuple[float, Outcome | None]],
    style: Style,
    reached: Callable[[Outcome], float] = lambda outcome: outcome.accuracy,
) -> tuple[Line, ...]:
    """The accuracies of outcomes along a number, of those that there are: a line, or none if there is no outcome."""
    there = [(float(value), reached(outcome)) for value, outcome in found if outcome is not None]
    if not there:
        return ()
    return (Line(label, tuple(x for x, _ in there), tuple(y for _, y in there), style),)
