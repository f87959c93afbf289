"""The page and the figures in docs/ say what the committed results say."""

from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, Results
from reproduction.charts import digest
from reproduction.report import Evidence, report
from reproduction.settings import key_of_all_seeds, with_our_defaults

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WAY_OUT = "write the report again with: make paper"


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence(Results(ROOT / "reproduction" / "results"))


def test_the_page_says_what_the_results_say(evidence: Evidence) -> None:
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in report(evidence).splitlines() if line not in page][:3] == [], WAY_OUT


def test_the_figures_show_what_the_results_say(evidence: Evidence) -> None:
    shown = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "paper").glob("*.svg")}
    expected = {name: digest(drawn) for name, _, drawn, _ in evidence.figures() if drawn}
    assert set(shown) == set(expected), WAY_OUT
    assert [name for name, number in expected.items() if number not in shown[name]] == [], WAY_OUT


def test_every_result_belongs_to_an_experiment(evidence: Evidence) -> None:
    runs = [one for experiment in EXPERIMENTS.values() for one in experiment.runs]
    known = {key_of_all_seeds(one) for run in runs for one in (run, with_our_defaults(run))}
    assert [outcome.settings for outcome in evidence.results if key_of_all_seeds(outcome.settings) not in known] == []


def test_with_our_defaults_everything_is_run(evidence: Evidence) -> None:
    ours = evidence.results.with_our_defaults()
    runs = [one for experiment in EXPERIMENTS.values() for one in experiment.runs if one.get("dataset") != "pamap101"]
    assert [one for one in runs if one not in ours] == []
