"""Charts of results as data, and their drawing with matplotlib."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.results import Outcome, Results
from reproduction.settings import Settings

EPOCHS, ACCURACY = "epochs", "accuracy in %"


class Style(NamedTuple):
    """The look of a series, as matplotlib names it: line, marker and color; "" draws none."""

    line: str = "-"
    marker: str = ""
    color: str = "#000000"


BLACK, BLUE, RED, GREEN, ORANGE, PURPLE = "#000000", "#0067b1", "#c8371f", "#2a8c55", "#e09a00", "#7d4698"
COLORS = (BLUE, RED, GREEN, ORANGE, PURPLE, BLACK)
"""Colors that people with any color vision tell apart."""

ORIGINAL = Style("--", "", BLACK)
BY_NUMBER = tuple(Style("-", marker, color) for marker, color in zip("os^Dvx", COLORS, strict=True))


class Points(NamedTuple):
    """Numbers along x, with standard deviations or none."""

    x: Sequence[float]
    y: Sequence[float]
    deviation: Sequence[float] = ()


class Series(NamedTuple):
    """Points that belong together; without points in the results it is not drawn."""

    label: str
    style: Style
    points: Callable[[Results], Points | None]


@dataclass(frozen=True)
class Chart:
    """Series that are drawn in one frame."""

    title: str
    series: tuple[Series, ...]
    x_label: str = EPOCHS
    y_label: str = ACCURACY
    log_x: bool = False
    log_y: bool = False


Drawn = list[tuple[Chart, list[tuple[Series, Points]]]]
"""Charts with the points that they have."""


def curve(settings: Settings, name: str = "accuracy") -> Callable[[Results], Points | None]:
    """Return the points of a number along the epochs of a run."""

    def points(results: Results) -> Points | None:
        outcome = results.get(settings)
        if outcome is None:
            return None
        found = outcome.result["curve"]
        return Points(found["epoch"], found[name], found.get("deviation", {}).get(name, ()))

    return points


def against(
    values: Iterable[float], run: Callable[[Any], Settings], epoch: float | None = None
) -> Callable[[Results], Points | None]:
    """Return the points of accuracies at the end, or at an epoch, against what `run` makes settings of."""
    values = tuple(values)
    return best_against(values, lambda value: [run(value)], epoch)


def best_against(
    values: Iterable[float], runs: Callable[[Any], list[Settings]], epoch: float | None = None
) -> Callable[[Results], Points | None]:
    """Return the points of the best accuracies among several runs for each value."""
    values = tuple(values)

    def points(results: Results) -> Points | None:
        found: list[tuple[float, Outcome]] = []
        for value in values:
            done = [outcome for one in runs(value) if (outcome := results.get(one)) is not None]
            if done:
                found.append((float(value), max(done, key=lambda outcome: outcome.accuracy)))
        if not found:
            return None
        y = [one.accuracy if epoch is None else one.at(epoch) for _, one in found]
        deviations = [one.deviation(epoch) for _, one in found]
        return Points([x for x, _ in found], y, deviations if any(deviations) else ())

    return points


def constant(points: Points) -> Callable[[Results], Points]:
    """Return points that no run changes."""
    return lambda _: points


def drawn(charts: Iterable[Chart], results: Results) -> Drawn:
    """Return the charts that have points, with these."""
    found = []
    for chart in charts:
        series = [(one, points) for one in chart.series if (points := one.points(results)) is not None]
        if any(one.style != ORIGINAL for one, _ in series):
            found.append((chart, series))
    return found


def digest(figure: Drawn) -> str:
    """Return a number of all that a figure shows; the file of the figure holds it."""
    shown = [
        (
            [getattr(chart, field.name) for field in fields(chart) if field.name != "series"],
            [
                (one.label, one.style, [[f"{value:.5g}" for value in values] for values in points])
                for one, points in series
            ],
        )
        for chart, series in figure
    ]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


def draw(figure: Drawn, path: Path, columns: int = 3) -> None:
    """Draw charts side by side as an SVG file. Charts with the same label have the same vertical axis."""
    import matplotlib as mpl  # noqa: PLC0415  # runs and verdicts need no charts
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(columns, len(figure))
    rows = math.ceil(len(figure) / columns)
    width = 9.6 if columns > 1 else 5.5
    size = (width, width / columns * 0.86 * rows + 0.4)
    look: dict[Any, Any] = {"font.size": 9.5 if columns > 2 else 11, "svg.fonttype": "none", "svg.hashsalt": "gcwsnet"}
    with mpl.rc_context(look):
        canvas = Figure(size, layout="constrained")
        frames = canvas.subplots(rows, columns, squeeze=False).ravel()
        for frame in frames[len(figure) :]:
            frame.set_axis_off()
        names: dict[str, Any] = {}
        for frame, (chart, series) in zip(frames, figure, strict=False):
            for one, points in series:
                names.setdefault(one.label, _draw_series(frame, one, points))
            frame.set_title(chart.title, fontsize="medium")
            frame.set_xlabel(chart.x_label)
            frame.set_ylabel(chart.y_label)
            if chart.log_x:
                frame.set_xscale("log", base=2 if _are_powers_of_2(series) else 10)
            if chart.log_y:
                frame.set_yscale("log")
            frame.grid(color="#dddddd")
        _share_axes(list(zip(frames, (chart for chart, _ in figure), strict=False)))
        names.pop("", None)
        per_row = max(int(11 * width / (max(map(len, names), default=0) + 8)), 1)
        canvas.legend(names.values(), names.keys(), loc="outside lower center", ncols=per_row, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, metadata={"Date": None, "Creator": None, "Identifier": digest(figure)})
    path.write_text(_shortened(path.read_text("utf-8")), "utf-8")


def _shortened(svg: str) -> str:
    """Return a file of matplotlib in one line, with places rounded to a hundredth of a point."""
    places = re.compile(r' (?:d|x|y|transform|points)="[^"]*"')
    number = re.compile(r"\d+\.\d{3,}")
    rounded = places.sub(lambda found: number.sub(lambda one: f"{float(one[0]):.2f}", found[0]), svg)
    return " ".join(rounded.split()) + "\n"


def _draw_series(frame: Any, series: Series, points: Points) -> Any:
    style = series.style
    marker = style.marker or ("o" if len(points.x) == 1 else "")
    every = max(len(points.x) // 20, 1) if style.line else 1
    look = {"color": style.color, "linewidth": 1.3, "markersize": 4}
    (line,) = frame.plot(points.x, points.y, linestyle=style.line or "none", marker=marker, markevery=every, **look)
    if len(points.deviation) and style.line:
        edges = zip(points.y, points.deviation, strict=True)
        low, high = zip(*((y - deviation, y + deviation) for y, deviation in edges), strict=True)
        frame.fill_between(points.x, low, high, color=style.color, alpha=0.15, linewidth=0)
    elif len(points.deviation):
        frame.errorbar(points.x, points.y, points.deviation, fmt="none", color=style.color, linewidth=1)
    return line


def _are_powers_of_2(series: list[tuple[Series, Points]]) -> bool:
    return all(math.frexp(x)[0] == 0.5 for _, points in series for x in points.x)


def _share_axes(frames: list[tuple[Any, Chart]]) -> None:
    for label in {(chart.y_label, chart.log_y) for _, chart in frames}:
        alike = [frame for frame, chart in frames if (chart.y_label, chart.log_y) == label]
        limits = [frame.get_ylim() for frame in alike]
        for frame in alike:
            frame.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
