"""Charts as small SVG: no scripts, text that scales, and axes that the charts of a figure share.

The page of the report has more than a hundred of them. Files of matplotlib are five times as large, and take much
longer to draw.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from reproduction.charts import Chart, Figure, Series, Style


@dataclass(frozen=True)
class Scale:
    """An axis: numbers from `least` to `most` lie between the places `start` and `end`.

    With `log` they lie by their logarithms, and ticks are powers of `base`.
    """

    least: float
    most: float
    start: float
    end: float
    log: bool
    base: int = 10

    def place(self, value: float) -> float:
        """Return the place of a number."""
        least, most, value = (math.log(v) if self.log else v for v in (self.least, self.most, value))
        return self.start + (self.end - self.start) * (value - least) / (most - least)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about `count` round numbers in the range."""
        if not self.log:
            return _ticks(self.least, self.most, count)
        powers = _powers(self.least, self.most, self.base)
        return powers if len(powers) > 1 else _ticks(self.least, self.most, count)


def scale_of(values: Iterable[float], start: float, end: float, *, log: bool, margin: float = 0.04) -> Scale:
    """Return a scale on which all numbers have a place, with some room at both ends."""
    numbers = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not numbers:
        numbers = [1.0]
    least, most = min(numbers), max(numbers)
    if log:
        factor = max((most / least) ** margin, 1.05)
        base = 2 if all(math.frexp(number)[0] == 0.5 for number in numbers) else 10
        return Scale(least / factor, most * factor, start, end, True, base)
    room = (most - least) * margin or max(abs(most) * 0.1, 1.0)
    return Scale(least - room, most + room, start, end, False)


def _ticks(least: float, most: float, count: int) -> list[float]:
    raw = (most - least) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= 0.8 * raw)
    first, last = math.ceil(least / step - 1e-9), math.floor(most / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _powers(least: float, most: float, base: int) -> list[float]:
    """Return at most seven powers of the base in a range."""
    first, last = math.ceil(math.log(least, base) - 1e-9), math.floor(math.log(most, base) + 1e-9)
    step = max(-(-(last - first + 1) // 7), 1)
    return [float(base) ** power for power in range(first, last + 1, step)]


def tick_label(value: float) -> str:
    """Return a number as it stands beside an axis.

    Examples
    --------
    >>> from reproduction.svg import tick_label
    >>> tick_label(0.1), tick_label(40.0), tick_label(8192.0), tick_label(1e-5)
    ('0.1', '40', '8192', '1e-05')
    """
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e5 else f"{value:.4g}"


WIDTH, RIGHT, PLOT = 340, 10, 190
BELOW, ROW = 40, 16
LETTER = 6.8
"""An upper limit of the average width of a letter."""
DASHES = {"-": "", "--": "7 4", "-.": "8 3 2 3", ":": "2 3"}
MAX_MARKERS = 20


def svg(chart: Chart, y_values: Iterable[float] | None = None) -> str:
    """Return a chart as an SVG element; its vertical axis shows `y_values`, or those of its own series."""
    height = _height(chart)
    name = escape(chart.title, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{name}" font-family="sans-serif" font-size="11">'
        f"{''.join(_parts(chart, y_values))}</svg>"
    )


def svg_of_figure(figure: Figure) -> str:
    """Return all charts of a figure, side by side, as one SVG file."""
    rows = [figure.charts[first : first + figure.columns] for first in range(0, len(figure.charts), figure.columns)]
    heights = [max(map(_height, row)) for row in rows]
    width = WIDTH * max((len(row) for row in rows), default=1)
    parts, top = [], 0
    for row, height in zip(rows, heights, strict=True):
        parts += [
            f'<g transform="translate({WIDTH * column} {top})">{"".join(_parts(chart, figure.y_values(chart)))}</g>'
            for column, chart in enumerate(row)
        ]
        top += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _labelled(chart: Chart) -> list[Series]:
    return [series for series in chart.series if series.label]


def _columns(chart: Chart) -> int:
    """Return how many labels fit side by side below a chart."""
    longest = max((len(series.label) for series in _labelled(chart)), default=0)
    return next(columns for columns, most in ((4, 7), (3, 12), (2, 22), (1, longest)) if longest <= most)


def _title(chart: Chart) -> list[str]:
    """Return the lines of the title."""
    return textwrap.wrap(chart.title, 53) or [""]


def _top(chart: Chart) -> int:
    """Return where the frame begins, below the title."""
    return 12 + 14 * len(_title(chart))


def _height(chart: Chart) -> int:
    return _top(chart) + PLOT + BELOW + ROW * -(-len(_labelled(chart)) // _columns(chart)) + 6


def _parts(chart: Chart, y_values: Iterable[float] | None) -> Iterator[str]:
    """Yield the elements of a chart."""
    top, right = _top(chart), WIDTH - RIGHT
    bottom = top + PLOT
    y = scale_of(Figure((chart,)).y_values(chart) if y_values is None else y_values, bottom, top, log=chart.log_y)
    left = round(22 + LETTER * max(len(tick_label(value)) for value in y.ticks()))
    x = scale_of((v for series in chart.series for v in series.x), left, right, log=chart.log_x)
    for place, text in enumerate(_title(chart)):
        centered = f'x="{WIDTH / 2:g}" y="{16 + 14 * place}" text-anchor="middle" font-weight="bold"'
        yield f"<text {centered}>{escape(text)}</text>"
    yield from _axes(chart, x, y)
    for series in chart.series:
        yield from _series(series, x, y)
    yield from _legend(chart, bottom + BELOW)


def _axes(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    """Yield the frame, the grid, and the numbers and labels beside them."""
    left, right, bottom, top = x.start, x.end, y.start, y.end
    for value in x.ticks():
        place = f"{x.place(value):.1f}"
        yield f'<path d="M{place} {top}V{bottom}" stroke="#ddd"/>'
        yield f'<text x="{place}" y="{bottom + 14}" text-anchor="middle">{tick_label(value)}</text>'
    for value in y.ticks():
        place = f"{y.place(value):.1f}"
        yield f'<path d="M{left} {place}H{right}" stroke="#ddd"/>'
        yield f'<text x="{left - 4}" y="{place}" dy="4" text-anchor="end">{tick_label(value)}</text>'
    yield f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" stroke="#000"/>'
    yield f'<text x="{(left + right) / 2:g}" y="{bottom + 29}" text-anchor="middle">{escape(chart.x_label)}</text>'
    turned = f'transform="translate(12 {(top + bottom) / 2:g}) rotate(-90)"'
    yield f'<text {turned} text-anchor="middle">{escape(chart.y_label)}</text>'


def _series(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    points = [
        (x.place(a), y.place(b))
        for a, b in zip(series.x, series.y, strict=True)
        if (a > 0 or not x.log) and (b > 0 or not y.log)
    ]
    color = series.style.color
    if series.style.dashes and len(points) > 1:
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        yield f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4"{_dashed(series.style)}/>'
    bars = [
        (x.place(a), y.place(low), y.place(high))
        for a, (low, high) in zip(series.x, series.bars, strict=False)
        if (a > 0 or not x.log) and (low > 0 or not y.log)
    ]
    if series.style.dashes and len(bars) > 1:
        edge = [(a, high) for a, _, high in bars] + [(a, low) for a, low, _ in reversed(bars)]
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in edge)
        yield f'<path d="{path}z" fill="{color}" fill-opacity="0.15"/>'
    else:
        yield from (f'<path d="M{a:.1f} {low:.1f}V{high:.1f}" stroke="{color}"/>' for a, low, high in bars)
    every = -(-len(points) // MAX_MARKERS)
    marked = points[::every] if series.style.dashes else points
    if series.style.marker or len(points) == 1:
        yield from (_marker(series.style.marker or "o", a, b, color) for a, b in marked)


def _dashed(style: Style) -> str:
    return f' stroke-dasharray="{DASHES[style.dashes]}"' if DASHES[style.dashes] else ""


def _marker(kind: str, a: float, b: float, color: str) -> str:
    if kind == "o":
        return f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.8" fill="{color}"/>'
    if kind == "x":
        return f'<path d="M{a - 3:.1f} {b - 3:.1f}l6 6m0 -6l-6 6" stroke="{color}" stroke-width="1.4"/>'
    corners = {
        "s": ((-2.6, -2.6), (2.6, -2.6), (2.6, 2.6), (-2.6, 2.6)),
        "^": ((0, -3.4), (3.2, 2.4), (-3.2, 2.4)),
        "v": ((0, 3.4), (3.2, -2.4), (-3.2, -2.4)),
        "D": ((0, -3.6), (3.6, 0), (0, 3.6), (-3.6, 0)),
    }[kind]
    start = f"M{a + corners[0][0]:.1f} {b + corners[0][1]:.1f}"
    steps = "".join(f"l{d[0] - c[0]:g} {d[1] - c[1]:g}" for c, d in pairwise(corners))
    return f'<path d="{start}{steps}z" fill="{color}"/>'


def _legend(chart: Chart, top: int) -> Iterator[str]:
    columns = _columns(chart)
    width = (WIDTH - 20) / columns
    for place, series in enumerate(_labelled(chart)):
        left, middle = 10 + width * (place % columns), top + 8 + ROW * (place // columns)
        color = series.style.color
        if series.style.dashes:
            path = f'd="M{left:.1f} {middle}h26" stroke="{color}" stroke-width="1.4"'
            yield f"<path {path}{_dashed(series.style)}/>"
        if series.style.marker:
            yield _marker(series.style.marker, left + 13, middle, color)
        yield f'<text x="{left + 31:.1f}" y="{middle + 4}">{escape(series.label)}</text>'
