"""Charts are small, well-formed and show every point."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.paper._charts import Chart, Figure, Line, Style, figure
from gcwsnet.paper._scale import scale_of
from gcwsnet.paper._svg import svg, svg_of_figure

NAMES = {"svg": "http://www.w3.org/2000/svg"}
LINES = (
    Line("k = 64 & <more>", (1.0, 2.0, 4.0), (10.0, 30.0, 20.0), Style("-", "o", 0.5)),
    Line("original data", (1.0, 4.0), (5.0, 6.0), Style("--", "", 0.0)),
)


def elements(text: str, kind: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(text).findall(f".//svg:{kind}", NAMES)


def test_a_chart_is_xml_with_its_title_labels_and_markers() -> None:
    text = svg(Chart("b = 8: L < 2", LINES))
    written = [element.text for element in elements(text, "text")]
    assert {"b = 8: L < 2", "k = 64 & <more>", "original data", "epochs", "accuracy in %"} <= set(written)
    assert len(elements(text, "circle")) == 4  # three points, and one beside the label
    assert len(text) < 4000


def test_lines_are_told_apart_by_dashes_and_shades() -> None:
    paths = [e for e in elements(svg(Chart("", LINES)), "path") if e.get("fill") == "none"]
    assert [(path.get("stroke"), path.get("stroke-dasharray")) for path in paths] == [
        ("#808080", None),
        ("#000000", "7 4"),
    ]


def test_all_points_are_inside_the_frame() -> None:
    text = svg(Chart("", LINES, log_x=True, log_y=True))
    (frame,) = elements(text, "rect")
    x, y, width, height = (float(frame.get(name, "")) for name in ("x", "y", "width", "height"))
    for circle in elements(text, "circle")[:3]:
        assert x < float(circle.get("cx", "")) < x + width
        assert y < float(circle.get("cy", "")) < y + height


def test_bars_of_errors_are_drawn_and_a_single_point_is_seen() -> None:
    line = Line("", (1.0, 2.0), (3.0, 4.0), Style("", "s", 0.0), (0.5, 0.5))
    with_bars, without = (svg(Chart("", (one,))) for one in (line, Line("", line.x, line.y, line.style)))
    assert len(elements(with_bars, "path")) == len(elements(without, "path")) + 2
    assert elements(svg(Chart("", (Line("", (1.0,), (2.0,), Style("-")),))), "circle")


def test_a_figure_puts_its_charts_side_by_side() -> None:
    chart = Chart("one", LINES)
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
    assert scale_of([math.nan], 0, 1, log=False).ticks()
