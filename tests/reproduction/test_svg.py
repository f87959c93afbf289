"""Charts are small, well-formed and show every point."""

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.charts import ORIGINAL, RED, Chart, Figure, Series, Style, figure
from reproduction.svg import scale_of, svg, svg_of_figure

NAMES = {"svg": "http://www.w3.org/2000/svg"}
SERIES = (
    Series("k = 64 & <more>", (1.0, 2.0, 4.0), (10.0, 30.0, 20.0), Style("-", "o", RED)),
    Series("original data", (1.0, 4.0), (5.0, 6.0), ORIGINAL),
)


def elements(text: str, kind: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(text).findall(f".//svg:{kind}", NAMES)


def test_a_chart_is_xml_with_its_title_labels_and_markers() -> None:
    text = svg(Chart("b = 8: L < 2", SERIES))
    written = [element.text for element in elements(text, "text")]
    assert {"b = 8: L < 2", "k = 64 & <more>", "original data", "epochs", "accuracy in %"} <= set(written)
    assert len(elements(text, "circle")) == 4  # three points, and one beside the label
    assert len(text) < 4000


def test_series_are_told_apart_by_dashes_and_colors() -> None:
    paths = [e for e in elements(svg(Chart("", SERIES)), "path") if e.get("fill") == "none"]
    assert [(path.get("stroke"), path.get("stroke-dasharray")) for path in paths] == [
        (RED, None),
        ("#000000", "7 4"),
    ]


def test_all_points_are_inside_the_frame() -> None:
    text = svg(Chart("", SERIES, log_x=True, log_y=True))
    (frame,) = elements(text, "rect")
    x, y, width, height = (float(frame.get(name, "")) for name in ("x", "y", "width", "height"))
    for circle in elements(text, "circle")[:3]:
        assert x < float(circle.get("cx", "")) < x + width
        assert y < float(circle.get("cy", "")) < y + height


def test_bars_of_errors_are_inside_the_frame_and_a_single_point_is_seen() -> None:
    line = Series("", (1.0, 2.0), (3.0, 4.0), Style("", "s"), (5.0, 0.5))
    text = svg(Chart("", (line,)))
    (frame,) = elements(text, "rect")
    top, height = (float(frame.get(name, "")) for name in ("y", "height"))
    bars = re.findall(r'd="M[\d.]+ ([\d.]+)V([\d.]+)" stroke="#000000"', text)
    assert len(bars) == 2
    assert all(top < float(end) < top + height for bar in bars for end in bar)
    assert elements(svg(Chart("", (Series("", (1.0,), (2.0,), Style("-")),))), "circle")


def test_a_long_title_has_two_lines_above_the_frame() -> None:
    title = "M-Noise1 (rebuilt) to M-Noise6 (rebuilt): k = 512, b = 8, L = 2"
    text = svg(Chart(title, SERIES))
    lines = [e for e in elements(text, "text") if e.get("font-weight") == "bold"]
    assert " ".join(e.text or "" for e in lines) == title
    assert len(lines) == 2
    assert float(lines[1].get("y", "")) < float(elements(text, "rect")[0].get("y", ""))


def test_long_numbers_find_room_left_of_the_frame() -> None:
    line = Series("", (1.0, 2.0), (0.000977, 0.00195), Style("-"))
    wide, narrow = (
        float(elements(svg(Chart("", (one,), log_y=True)), "rect")[0].get("x", "")) for one in (line, SERIES[0])
    )
    assert wide > narrow + 20


def test_charts_of_a_figure_share_the_axis_of_what_they_show() -> None:
    low, high = (Chart("", (Series("", (1.0, 2.0), (y, y + 1), Style()),)) for y in (0.0, 90.0))
    other = replace(high, y_label="variance")
    shared = Figure((low, high, other))
    assert shared.y_values(low) == shared.y_values(high) == [0, 1, 90, 91]
    assert shared.y_values(other) == [90, 91]
    assert ">80</text>" in svg(low, shared.y_values(low))
    assert ">80</text>" not in svg(low)


def test_a_figure_puts_its_charts_side_by_side() -> None:
    chart = Chart("one", SERIES)
    text = svg_of_figure(Figure((chart,) * 5, columns=3))
    root = ElementTree.fromstring(text)
    assert float(root.get("width", "")) == 3 * 340
    assert len(elements(text, "g")) == 5
    assert figure([chart, Chart("empty", ())]).charts == (chart,)


@pytest.mark.parametrize("log", [False, True])
@given(values=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=9))
def test_every_number_has_a_place_and_ticks_are_in_range(values: list[float], log: bool) -> None:
    scale = scale_of(values, 0, 100, log=log)
    assert all(-1e-6 <= scale.place(value) <= 100 + 1e-6 for value in values)
    assert all(scale.least <= tick * (1 + 1e-9) and tick <= scale.most * (1 + 1e-9) for tick in scale.ticks())
    assert len(scale.ticks()) <= 12


def test_ticks_are_round_numbers() -> None:
    assert scale_of([0, 100], 0, 1, log=False).ticks() == [0, 20, 40, 60, 80, 100]
    assert scale_of([64, 512], 0, 1, log=True).ticks() == [64, 128, 256, 512]
    assert scale_of([0.01, 1000], 0, 1, log=True).ticks() == pytest.approx([0.01, 0.1, 1, 10, 100, 1000])
    assert scale_of([0.0001, 0.003, 0.01], 0, 1, log=True).ticks() == pytest.approx([0.0001, 0.001, 0.01])
    assert scale_of([0.00098, 0.00195], 0, 1, log=True).ticks() == pytest.approx(
        [0.001, 0.0012, 0.0014, 0.0016, 0.0018, 0.002]
    )
    assert scale_of([math.nan], 0, 1, log=False).ticks()


def test_deviations_are_a_band_around_a_line_and_bars_at_points() -> None:
    line = replace(SERIES[0], errors=(1.0, 2.0, 1.0))
    bands = [e for e in elements(svg(Chart("", (line,))), "path") if e.get("fill-opacity")]
    assert [band.get("fill") for band in bands] == [RED]
    points = replace(line, style=Style("", "o", RED))
    text = svg(Chart("", (points,)))
    assert "fill-opacity" not in text
    assert len([e for e in elements(text, "path") if e.get("stroke") == RED]) == 3
