"""The report is one page that needs nothing else, and says which statements hold."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Outcome, Results, write_report
from reproduction.report import STORY, report
from reproduction.settings import Settings, gcws, key
from reproduction.statements import FAILS
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


def test_the_top_says_on_which_rows_statements_hold(tmp_path: Path) -> None:
    def made_up(one: Settings) -> Outcome:
        if one["method"] == "original":
            return outcome(one, 30.0, [3.0 * step for step in range(1, 11)])
        return outcome(one, 60.0 + one["b"] + (10 if one["p"] == 80 else 0))

    own = ("covtype", "dailysports", "pendigits")
    grids = [one for name in ("covtype-1", "learning-rates", "m-noise-levels") for one in EXPERIMENTS[name].grid(False)]
    made = [replace(made_up(one), origin="exact" if one["dataset"] in own else "rebuilt") for one in grids]
    top = report(results(tmp_path, *made)).partition("<h2>Rules</h2>")[0]
    assert "<th>hold</th><th>do not hold</th><th>not measured</th>" in top
    assert "<td>the paper&#x27;s own rows</td><td>2</td><td>1</td>" in top  # Covtype is much faster, and not at 84%
    assert "<td>derived or rebuilt rows</td><td>1</td><td>0</td>" in top
    assert "<td>simulations</td><td>0</td><td>0</td>" in top


def test_a_statement_is_judged_on_each_kind_of_rows_alone(tmp_path: Path) -> None:
    def failing(*against: str) -> tuple[int, int]:
        """Return how many statements fail on own and on other rows if b = 1 is no better than NRFF on some datasets."""
        made = [
            replace(
                outcome(
                    one, 30.0 if one["method"] == "nrff" or (one["b"] == 1 and one["dataset"] in against) else 60.0
                ),
                origin="derived" if one["dataset"] == "semg" else "rounded",
            )
            for one in EXPERIMENTS["nrff"].grid(False)
        ]
        top, _, _ = report(results(tmp_path / "-".join(against), *made)).partition("Rules")
        own, other, *_ = re.findall(r"rows</td><td>\d+</td><td>(\d+)</td>", top)
        return int(own), int(other)

    own, other = failing("semg", "dailysports")
    assert failing("dailysports") == (own, other - 1)
    assert failing("semg") == (own - 1, other)


def test_what_does_not_hold_is_listed_with_an_explanation(made: Results) -> None:
    failing, _, _ = report(made).partition("<h2>What does not hold</h2>")[2].partition("<h2>")
    (figure_4,) = (item for item in failing.split("</li>") if '<a href="#covtype-1">Figure 4: ' in item)
    assert figure_4.count("After one epoch the accuracy is 84% with GCWSNet") == 1
    checked = "k = 64, b = 8, L = 2, H = 200: both within 2 points. It holds in 0 of 2 cases"
    assert f'<span class="rule">Checked: {checked}' in figure_4
    assert "; against it: 2 on Covtype.</span>" in figure_4


def test_an_explanation_follows_the_statements_that_it_explains() -> None:
    _, _, failing = PAGE.read_text(encoding="utf-8").partition("<h2>What does not hold</h2>")
    explained = 0
    for name, experiment in EXPERIMENTS.items():
        item = failing.partition(f'<a href="#{name}">')[2].partition("</li>")[0]
        for statement in experiment.statements:
            _, found, rest = item.partition(f'<span class="said">{html.escape(statement.text)}</span>')
            if found:
                explanation, _, _ = rest.partition("Our explanation:</em> ")[2].partition("</span>")
                assert explanation == html.escape(statement.why)
                explained += 1
    assert explained > 20


def test_every_statement_that_does_not_hold_has_an_explanation() -> None:
    committed = Results(PAGE.parents[1] / "reproduction" / "results")
    failing = [
        statement
        for experiment in EXPERIMENTS.values()
        for statement in experiment.statements
        if statement.verdict(experiment.comparable(committed)).state == FAILS
    ]
    assert len(failing) > 20
    assert [statement.text for statement in failing if not statement.why] == []


def test_missing_data_are_named_with_the_file_to_get_and_no_folder_of_this_machine(made: Results) -> None:
    text = report(made)
    assert "PAMAP101: dataset not available; put pamap2+physical+activity+monitoring.zip from https://" in text
    assert str(made.folder.parent) not in text


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


def test_commands_and_times_are_written(made: Results) -> None:
    text = report(made)
    done = "10 of 59 runs of the full grid are done; they took 10 s"
    assert f"<code>python -m reproduction run semg-p1 --quick</code>: {done}" in text
    made.save(outcome(gcws("semg", k=128, b=2, L=3, epochs=5), 40.0))
    assert "<code>python -m reproduction run semg-p1</code>: 11 of 59 runs" in report(made)
    first, *others = [one.settings for one in made if one.settings.get("dataset") == "semg"]
    made.save(outcome({**first, "seed": 1}, 42.0))
    assert "<code>python -m reproduction run semg-p1</code>: 11 of 59 runs" in report(made)
    for settings in others:
        made.save(outcome({**settings, "seed": 1}, 42.0))
    assert "<code>python -m reproduction run semg-p1 --seeds 2</code>: 11 of 59 runs" in report(made)


def test_numbers_of_the_paper_stand_beside_ours(made: Results) -> None:
    text = report(made)
    row = "<td>section 2: k = 64, b = 8, L = 2, H = 200, after 1 epoch</td><td>84</td><td>38.0</td>"
    assert f"{row}<td>differs by -46.0</td>" in text


def test_page_and_figures_are_written(made: Results, tmp_path: Path) -> None:
    out = tmp_path / "docs" / "paper.html"
    write_report(made, out)
    assert out.read_text(encoding="utf-8") == report(made)
    pictures = {path.name for path in (tmp_path / "docs" / "paper").iterdir()}
    assert {"semg-p1.svg", "covtype-1.svg", "count-sketch-ratio.svg", "story-fourier.svg"} <= pictures
    assert "pamap101-1.svg" not in pictures
    assert not list(out.parent.glob(".*"))


@pytest.mark.parametrize("name", STORY)
def test_a_figure_of_the_story_has_the_charts_that_are_named(name: str, tmp_path: Path) -> None:
    runs = {key(one): one for experiment, _ in STORY[name] for one in EXPERIMENTS[experiment].grid(True)}
    write_report(results(tmp_path / "results", *(outcome(one, 30.0) for one in runs.values())), tmp_path / "page.html")
    written = (tmp_path / "page" / f"{name}.svg").read_text(encoding="utf-8")
    for _, title in STORY[name]:
        assert f">{html.escape(title)}</text>" in written


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
