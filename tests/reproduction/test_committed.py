"""The page in docs/ is what the results beside it say."""

import re
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Results, write_report

DOCS = Path(__file__).parents[2] / "docs"
MAKE = "python -m reproduction report"


@pytest.fixture(autouse=True)
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))


@pytest.fixture(scope="module")
def kept() -> Results:
    return Results(DOCS.parent / "reproduction" / "results")


def test_page_and_figures_are_those_of_the_results(kept: Results, tmp_path: Path) -> None:
    write_report(kept, tmp_path / "paper.html")
    made = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.glob("**/*.*")}
    there = {path.relative_to(DOCS).as_posix(): path.read_bytes() for path in (DOCS / "paper").glob("*.svg")}
    there["paper.html"] = (DOCS / "paper.html").read_bytes()
    assert set(made) == set(there), f"make them again: {MAKE}"
    assert [name for name in made if made[name] != there[name]] == [], f"make them again: {MAKE}"


def test_every_result_belongs_to_an_experiment(kept: Results) -> None:
    grids = [one for experiment in EXPERIMENTS.values() for quick in (True, False) for one in experiment.grid(quick)]
    assert [outcome.settings for outcome in kept if outcome.settings not in grids] == []


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if not name.startswith(("pamap101", "covtype-100"))])
def test_whole_grids_are_there(name: str, kept: Results) -> None:
    grid = [one for one in EXPERIMENTS[name].grid(False) if one.get("dataset") != "pamap101"]
    assert [one for one in grid if one not in kept] == []


def test_the_readme_shows_figures_that_are_there() -> None:
    shown = re.findall(r"\((docs/paper/[^)]*)\)", (DOCS.parent / "README.md").read_text(encoding="utf-8"))
    assert len(shown) >= 3
    assert [path for path in shown if not (DOCS.parent / path).exists()] == []
