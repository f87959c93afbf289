"""Charts are small, well-formed and show every point."""

from xml.etree import ElementTree

from reproduction.charts import ORIGINAL, RED, Chart, Series, Style
from reproduction.svg import svg

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
