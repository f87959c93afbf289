"""The report is one page that needs nothing else, and says which statements hold."""

import html
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Results
from reproduction.report import report
from tests.browser import found_by
from tests.reproduction.outcomes import outcome, results

VOID = {"meta", "br"}
PHONE, DESKTOP = 360, 1280
PAGE = Path(__file__).parents[2] / "docs" / "paper.html"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Return results of the quick grids of some experiments, and hide all datasets."""
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path / "none"))
    grids = {"learning-rates": False, "semg-p1": True, "covtype-1": False, "power-pendigits": True, "nrff": True}
    runs = {json.dumps(one): one for name, quick in grids.items() for one in EXPERIMENTS[name].grid(quick)}
    return results(tmp_path / "results", *(outcome(one, 30.0 + one.get("b", 0)) for one in runs.values()))


class Strict(HTMLParser):
    """Raises for what is not closed in order, and for ids that are not unique."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            assert given["id"] not in self.ids
            self.ids.add(given["id"] or "")
        self.links += [str(given[name]) for name in ("src", "href") if name in given]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_strict_html_that_loads_nothing(made: Results) -> None:
    text = report(made)
    parser = Strict()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    assert all(link.startswith("#") and link[1:] in parser.ids for link in parser.links)
    assert set(EXPERIMENTS) <= parser.ids
    assert "<script" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert '<meta name="viewport"' in text


def test_every_statement_is_there_with_its_verdict(made: Results) -> None:
    text = report(made)
    for experiment in EXPERIMENTS.values():
        for statement in experiment.statements:
            assert html.escape(statement.text) in text
    assert text.count('<li class="holds">') > 0
    assert text.count('<li class="does-not-hold">') > 0
    assert text.count('<li class="not-measured">') > 0


def test_datasets_that_are_not_the_papers_are_marked(tmp_path: Path) -> None:
    runs = [outcome(one, 17.0 + 33 * (one["method"] == "gcws")) for one in EXPERIMENTS["semg-p1"].grid(False)]
    made = results(tmp_path, *(replace(one, origin="derived") for one in runs))
    text = report(made)
    assert "SEMG: derived dataset (derived from published data, and not the rows of the paper)." in text
    assert "<td>derived data: -3.0, not to be compared</td>" in text
    assert '<span class="state">Holds:</span> The results for the original data' in text
    assert "48 of 48 cases, from 33 to 33, median 33 points; cases: 48 on SEMG, derived." in text
    assert ">SEMG (derived), p = 1: b = 8, L = 1</text>" in text
    assert ">SEMG, p = 1: b" not in text


LOOK = """
<!DOCTYPE html><meta charset="utf-8"><script>
window.problems = [];
function look(frame) {
  const page = frame.contentDocument;
  const folded = page.documentElement.scrollHeight;
  page.querySelectorAll("details").forEach(one => one.open = true);
  const pictures = [...page.querySelectorAll("svg")].map(one => one.getBoundingClientRect());
  const found = {problems, folded, width: page.documentElement.scrollWidth, pictures: pictures.length,
    shown: pictures.filter(one => one.width > 100 && one.height > 100 && one.right <= frame.clientWidth).length,
    letters: Math.min(...[...page.querySelectorAll("svg text")].map(one => one.getBoundingClientRect().height))};
  document.body.innerHTML = "<pre>" + JSON.stringify(found) + "</pre>";
}
</script><body><iframe width="%d" height="700" style="border:0" onload="look(this)" srcdoc="%s"></iframe></body>
"""
REPORTS_ERRORS = "<script>addEventListener('error', event => parent.problems.push(event.message || 'not loaded'), true)"


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_browser_shows_every_figure_without_scrolling_sideways(width: int, tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    watched = text.replace("<head>", f"<head>{REPORTS_ERRORS}</script>", 1)
    found = found_by(LOOK % (width, html.escape(watched)), tmp_path)
    assert found["problems"] == []
    assert found["pictures"] == found["shown"] == text.count("<svg") > 20
    assert found["width"] <= width
    assert found["folded"] < 30_000
    assert found["letters"] > 9
