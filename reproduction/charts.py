"""Charts: series of numbers that colors tell apart, and dashes and markers where there is no color."""

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
    color : str
        One of the colors of this module.
    """

    dashes: str = "-"
    marker: str = ""
    color: str = "#000000"


BLACK, BLUE, RED, GREEN, ORANGE, PURPLE = "#000000", "#0067b1", "#c8371f", "#2a8c55", "#e09a00", "#7d4698"
COLORS = (BLUE, RED, GREEN, ORANGE, PURPLE, BLACK)
"""Colors that people with any color vision tell apart."""

ORIGINAL = Style("--", "", BLACK)
BY_NUMBER = tuple(Style("-", marker, color) for marker, color in zip("os^Dvx", COLORS, strict=True))
BY_K = dict(zip((64, 128, 256, 512), BY_NUMBER, strict=False))


@dataclass(frozen=True)
class Series:
    """Points that belong together; `errors` are drawn as a band around a line, and as bars at single points."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    style: Style
    errors: tuple[float, ...] = ()

    @property
    def bars(self) -> list[tuple[float, float]]:
        """The ends of the bars, or the edges of the band."""
        return [(value - error, value + error) for value, error in zip(self.y, self.errors, strict=False)]

    @property
    def reach(self) -> list[float]:
        """All values that have a place on the vertical axis."""
        return [*self.y, *(end for bar in self.bars for end in bar)]


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

    def y_values(self, chart: Chart) -> list[float]:
        """Return the values that the vertical axis of a chart must show: those of all charts with the same label."""
        alike = [one for one in self.charts if (one.y_label, one.log_y) == (chart.y_label, chart.log_y)]
        return [value for one in alike for series in one.series for value in series.reach]


def figure(charts: Iterable[Chart], columns: int = 3) -> Figure:
    """Return a figure of the charts that have a series."""
    return Figure(tuple(chart for chart in charts if chart.series), columns)


def accuracy_over_epochs(results: Results, runs: Iterable[tuple[str, Settings, Style]]) -> tuple[Series, ...]:
    """Return the accuracy over epochs, one series for each run that is done; `runs` are labels, settings and styles."""
    series = []
    for label, settings, style in runs:
        outcome = results.get(settings)
        if outcome is not None:
            series.append(curve_series(label, outcome, "accuracy", style))
    return tuple(series)


def curve_series(label: str, outcome: Outcome, name: str, style: Style) -> Series:
    """Return one of the numbers that an outcome has along the epochs, with its deviation over several seeds."""
    curve = outcome.result["curve"]
    return Series(
        label, tuple(curve["epoch"]), tuple(curve[name]), style, tuple(curve.get("deviation", {}).get(name, ()))
    )


def accuracy_against(
    results: Results,
    label: str,
    name: str,
    values: Sequence[float],
    settings: Callable[..., Settings],
    style: Style,
    epoch: float | None = None,
) -> tuple[Series, ...]:
    """Return the accuracy against a number in which runs differ: one series, or none if no run is done.

    The number is the keyword `name` of `settings`. The accuracy is that at the end, or at an epoch.
    """
    outcomes = [(value, results.get(settings(**{name: value}))) for value in values]
    return accuracy_series(label, outcomes, style, epoch)


def accuracy_series(
    label: str, outcomes: Iterable[tuple[float, Outcome | None]], style: Style, epoch: float | None = None
) -> tuple[Series, ...]:
    """Return the accuracies of outcomes by their x: one series, or none if all outcomes are None."""
    points = [
        (float(x), outcome.accuracy if epoch is None else outcome.at(epoch), outcome.deviation(epoch))
        for x, outcome in outcomes
        if outcome is not None
    ]
    if not points:
        return ()
    x, y, deviations = (tuple(numbers) for numbers in zip(*points, strict=True))
    return (Series(label, x, y, style, deviations if any(deviations) else ()),)
