"""Charts as small SVG: no colors, no scripts, text that scales.

The page of the report has more than a hundred of them. Those of matplotlib were tried: five times as large, and as long
to draw as the tests of all else in this folder take.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape
from itertools import chain, pairwise

from reproduction._scale import Scale, number, scale_of
from reproduction.charts import Chart, Figure, Line, Style

WIDTH, RIGHT, PLOT = 340, 10, 190
BELOW, ROW = 40, 16
LETTER = 6.8
"""How wide a letter is, at most on average."""
DASHES = {"-": "", "--": "7 4", "-.": "8 3 2 3", ":": "2 3"}
MOST_MARKERS = 20


def svg(chart: Chart) -> str:
    """A chart as an SVG element that is as wide as its place."""
    height = _height(chart)
    name = escape(chart.title, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{name}" font-family="sans-serif" font-size="11">{"".join(_parts(chart))}</svg>'
    )


def svg_of_figure(figure: Figure) -> str:
    """All charts of a figure, side by side as in the paper, as one SVG file."""
    rows = [figure.charts[first : first + figure.columns] for first in range(0, len(figure.charts), figure.columns)]
    heights = [max(map(_height, row)) for row in rows]
    width = WIDTH * max((len(row) for row in rows), default=1)
    parts, top = [], 0
    for row, height in zip(rows, heights, strict=True):
        parts += [
            f'<g transform="translate({WIDTH * column} {top})">{"".join(_parts(chart))}</g>'
            for column, chart in enumerate(row)
        ]
        top += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _labelled(chart: Chart) -> list[Line]:
    return [line for line in chart.lines if line.label]


def _columns(chart: Chart) -> int:
    """Labels beside each other below a chart."""
    longest = max((len(line.label) for line in _labelled(chart)), default=0)
    return next(columns for columns, most in ((4, 7), (3, 12), (2, 22), (1, longest)) if longest <= most)


def _title(chart: Chart) -> list[str]:
    """The lines of the title."""
    return textwrap.wrap(chart.title, 53) or [""]


def _top(chart: Chart) -> int:
    """Where the frame begins, below the title."""
    return 12 + 14 * len(_title(chart))


def _height(chart: Chart) -> int:
    return _top(chart) + PLOT + BELOW + ROW * -(-len(_labelled(chart)) // _columns(chart)) + 6


def _parts(chart: Chart) -> Iterator[str]:
    """The elements of a chart."""
    top, right = _top(chart), WIDTH - RIGHT
    bottom = top + PLOT
    low_to_high = (v for line in chart.lines for v in (*line.y, *chain(*_bars(line))))
    y = scale_of(low_to_high, bottom, top, log=chart.log_y)
    left = round(22 + LETTER * max(len(number(value)) for value in y.ticks()))
    x = scale_of((v for line in chart.lines for v in line.x), left, right, log=chart.log_x)
    for place, text in enumerate(_title(chart)):
        centered = f'x="{WIDTH / 2:g}" y="{16 + 14 * place}" text-anchor="middle" font-weight="bold"'
        yield f"<text {centered}>{escape(text)}</text>"
    yield from _axes(chart, x, y)
    for line in chart.lines:
        yield from _line(line, x, y)
    yield from _legend(chart, bottom + BELOW)


def _axes(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    """The frame, the grid and what stands beside them."""
    left, right, bottom, top = x.start, x.end, y.start, y.end
    for value in x.ticks():
        place = f"{x.place(value):.1f}"
        yield f'<path d="M{place} {top}V{bottom}" stroke="#ddd"/>'
        yield f'<text x="{place}" y="{bottom + 14}" text-anchor="middle">{number(value)}</text>'
    for value in y.ticks():
        place = f"{y.place(value):.1f}"
        yield f'<path d="M{left} {place}H{right}" stroke="#ddd"/>'
        yield f'<text x="{left - 4}" y="{place}" dy="4" text-anchor="end">{number(value)}</text>'
    yield f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" stroke="#000"/>'
    yield f'<text x="{(left + right) / 2:g}" y="{bottom + 29}" text-anchor="middle">{escape(chart.x_label)}</text>'
    turned = f'transform="translate(12 {(top + bottom) / 2:g}) rotate(-90)"'
    yield f'<text {turned} text-anchor="middle">{escape(chart.y_label)}</text>'


def _grey(style: Style) -> str:
    return "#" + 3 * f"{round(255 * style.shade):02x}"


def _line(line: Line, x: Scale, y: Scale) -> Iterator[str]:
    points = [
        (x.place(a), y.place(b))
        for a, b in zip(line.x, line.y, strict=True)
        if (a > 0 or not x.log) and (b > 0 or not y.log)
    ]
    grey = _grey(line.style)
    if line.style.dashes and len(points) > 1:
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        yield f'<path d="{path}" fill="none" stroke="{grey}" stroke-width="1.4"{_dashed(line.style)}/>'
    for value, low, high in zip(line.x, *_bars(line), strict=False):
        if low > 0 or not y.log:
            yield f'<path d="M{x.place(value):.1f} {y.place(low):.1f}V{y.place(high):.1f}" stroke="{grey}"/>'
    every = -(-len(points) // MOST_MARKERS)
    shown = points[::every] if line.style.dashes else points
    if line.style.marker or len(points) == 1:
        yield from (_marker(line.style.marker or "o", a, b, grey) for a, b in shown)


def _bars(line: Line) -> tuple[list[float], list[float]]:
    pairs = list(zip(line.y, line.errors, strict=False))
    return [value - error for value, error in pairs], [value + error for value, error in pairs]


def _dashed(style: Style) -> str:
    return f' stroke-dasharray="{DASHES[style.dashes]}"' if DASHES[style.dashes] else ""


def _marker(kind: str, a: float, b: float, grey: str) -> str:
    if kind == "o":
        return f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.8" fill="{grey}"/>'
    if kind == "x":
        return f'<path d="M{a - 3:.1f} {b - 3:.1f}l6 6m0 -6l-6 6" stroke="{grey}" stroke-width="1.4"/>'
    corners = {
        "s": ((-2.6, -2.6), (2.6, -2.6), (2.6, 2.6), (-2.6, 2.6)),
        "^": ((0, -3.4), (3.2, 2.4), (-3.2, 2.4)),
        "v": ((0, 3.4), (3.2, -2.4), (-3.2, -2.4)),
        "D": ((0, -3.6), (3.6, 0), (0, 3.6), (-3.6, 0)),
    }[kind]
    start = f"M{a + corners[0][0]:.1f} {b + corners[0][1]:.1f}"
    steps = "".join(f"l{d[0] - c[0]:g} {d[1] - c[1]:g}" for c, d in pairwise(corners))
    return f'<path d="{start}{steps}z" fill="{grey}"/>'


def _legend(chart: Chart, top: int) -> Iterator[str]:
    columns = _columns(chart)
    width = (WIDTH - 20) / columns
    for place, line in enumerate(_labelled(chart)):
        left, middle = 10 + width * (place % columns), top + 8 + ROW * (place // columns)
        grey = _grey(line.style)
        if line.style.dashes:
            path = f'd="M{left:.1f} {middle}h26" stroke="{grey}" stroke-width="1.4"'
            yield f"<path {path}{_dashed(line.style)}/>"
        if line.style.marker:
            yield _marker(line.style.marker, left + 13, middle, grey)
        yield f'<text x="{left + 31:.1f}" y="{middle + 4}">{escape(line.label)}</text>'
