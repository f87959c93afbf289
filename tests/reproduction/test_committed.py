"""The report in docs/ says what the committed results say."""

import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

from reproduction import EXPERIMENTS, Results, write_report
from reproduction.settings import SEEDED, key_of_all_seeds
from reproduction.statements import FAILS, NotMeasuredError

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WAY_OUT = "write the report again with: make paper"
PLACES = ("d", "x", "y", "cx", "cy")


class Outline(HTMLParser):
    """What a page or a figure says: its headings, tables, statements and labels, and where its charts have points.

    Markup, style sheets and unmarked paragraphs are left out, so that these can change without new results.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.places: list[float] = []
        self._inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("h2", "td", "text") or (tag in ("li", "p") and "class" in given):
            self._inside = True
            self.texts.append(f"{tag} {given.get('class', '')}: ")
        for name in PLACES:
            self.places += map(float, re.findall(r"-?[\d.]+", given.get(name) or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h2", "td", "text", "li", "p"):
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[-1] += data

    def differences(self, other: "Outline") -> list[tuple[str, str]]:
        """Return the texts that differ; places may differ by a tenth, to which they are rounded."""
        texts = [pair for pair in zip_longest(self.texts, other.texts, fillvalue="nothing") if pair[0] != pair[1]]
        same = len(self.places) == len(other.places) and np.allclose(self.places, other.places, rtol=0, atol=0.11)
        return texts if same else [*texts, ("points of charts", "other points")]


@pytest.fixture(scope="module")
def committed() -> Results:
    return Results(ROOT / "reproduction" / "results")


@pytest.fixture(scope="module")
def written(committed: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report on the committed results where no dataset is available, and return its folder."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GCWSNET_DATA", "GCWSNET_CACHE"):
            patch.setenv(name, str(folder / "none"))
        write_report(committed, folder / "paper.html")
    return folder


@pytest.mark.slow
def test_the_page_says_what_the_results_say(written: Path) -> None:
    expected, page = (Outline((folder / "paper.html").read_text(encoding="utf-8")) for folder in (written, DOCS))
    assert len(page.texts) > 2000
    assert page.differences(expected)[:3] == [], WAY_OUT


@pytest.mark.slow
def test_the_figures_show_what_the_results_say(written: Path) -> None:
    expected, figures = (
        {path.name: Outline(path.read_text(encoding="utf-8")) for path in (folder / "paper").glob("*.svg")}
        for folder in (written, DOCS)
    )
    assert set(figures) == set(expected), WAY_OUT
    assert [name for name in figures if figures[name].differences(expected[name])] == [], WAY_OUT


def test_every_result_belongs_to_an_experiment(committed: Results) -> None:
    grids = [one for experiment in EXPERIMENTS.values() for quick in (True, False) for one in experiment.grid(quick)]
    known = {key_of_all_seeds(one) for one in grids}
    assert [outcome.settings for outcome in committed if key_of_all_seeds(outcome.settings) not in known] == []


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if not name.startswith("pamap101")])
def test_whole_grids_are_there(name: str, committed: Results) -> None:
    grid = [one for one in EXPERIMENTS[name].grid(False) if one.get("dataset") != "pamap101"]
    assert [one for one in grid if one not in committed] == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nets_that_are_compared_have_the_same_number_of_seeds(name: str, committed: Results) -> None:
    comparable = EXPERIMENTS[name].comparable(committed)
    seeds: dict[tuple[str, int | None], set[int]] = {}
    for one in EXPERIMENTS[name].grid(False):
        found = comparable.get(one)
        if found is not None and one["method"] in SEEDED:
            seeds.setdefault((one["dataset"], one.get("epochs")), set()).add(found.seeds)
    assert all(len(numbers) == 1 for numbers in seeds.values())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cases_have_names_of_their_own_and_what_does_not_hold_has_an_explanation(name: str, committed: Results) -> None:
    results = EXPERIMENTS[name].comparable(committed)
    for statement in EXPERIMENTS[name].statements:
        assert statement.why or statement.verdict(results).state != FAILS, statement.text
        try:
            cases = statement.cases(results)
        except NotMeasuredError:
            continue
        names = Counter((*(one.settings["dataset"] for one in case.outcomes[:1]), case.what) for case in cases)
        assert [name for name, count in names.items() if count > 1] == [], statement.text


def test_the_documentation_counts_statements_as_the_page_does() -> None:
    page, _, _ = unescape((DOCS / "paper.html").read_text(encoding="utf-8")).partition("</table>")
    rows = re.findall(r"<tr><td>([^<]*)</td><td>(\d+)</td><td>(\d+)</td><td>(\d*)</td></tr>", page)
    text = " ".join((DOCS / "reproduction.md").read_text(encoding="utf-8").split())
    for what, holds, fails, _ in rows[:-1]:
        assert f"| {what} | {holds} | {fails} |" in text
    _, holds, fails, not_measured = rows[-1]
    n = int(holds) + int(fails) + int(not_measured)
    assert f"Of {n} statements {holds} hold here, {fails} do not, and {not_measured} are not measured." in text
    assert f"Of {n} statements {holds} hold, {fails} do not, and {not_measured} are not measured:" in text
