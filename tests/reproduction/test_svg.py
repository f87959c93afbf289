"""Charts are small, well-formed and show every point."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.charts import ORIGINAL, RED, Chart, Series, Style
from reproduction.svg import scale_of, svg

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


def test_all_points_are_inside_the_frame() -> None:
    text = svg(Chart("", SERIES, log_x=True, log_y=True))
    (frame,) = elements(text, "rect")
    x, y, width, height = (float(frame.get(name, "")) for name in ("x", "y", "width", "height"))
    for circle in elements(text, "circle")[:3]:
        assert x < float(circle.get("cx", "")) < x + width
        assert y < float(circle.get("cy", "")) < y + height


@pytest.mark.parametrize("log", [False, True])
@given(values=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=9))
def test_every_number_has_a_place_and_ticks_are_in_range(values: list[float], log: bool) -> None:
    scale = scale_of(values, 0, 100, log=log)
    assert all(-1e-6 <= scale.place(value) <= 100 + 1e-6 for value in values)
    assert all(scale.least <= tick * (1 + 1e-9) and tick <= scale.most * (1 + 1e-9) for tick in scale.ticks())
    assert len(scale.ticks()) <= 12
