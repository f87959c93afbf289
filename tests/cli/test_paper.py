"""`gcwsnet paper`, on the digits that come with scikit-learn."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gcwsnet import paper
from gcwsnet.cli import app
from gcwsnet.paper import EXPERIMENTS
from gcwsnet.paper._settings import svm

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def little_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more experiment, which is quick, and no data."""
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path / "none"))
    monkeypatch.setenv("GCWSNET_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    one, two = (svm("digits", kernel="rbf", parameter=gamma, C=(1,)) for gamma in (1.0, 5.0))
    small = replace(
        EXPERIMENTS["table1"], name="small", datasets=("digits",), grid=lambda q: [one] if q else [one, two]
    )
    monkeypatch.setitem(EXPERIMENTS, "small", small)
    assert paper.EXPERIMENTS is EXPERIMENTS


def test_list_tells_what_is_done_and_which_data_are_missing() -> None:
    result = RUNNER.invoke(app, ["paper", "list"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert any(
        line.startswith("semg-p1 ") and "Figure 1 " in line and "full 0 of 51 runs, about" in line for line in lines
    )
    assert any(line.startswith("count-sketch-ratio") and "a formula, nothing to run" in line for line in lines)
    assert sum(line.endswith("pamap101: dataset not available") for line in lines) == 3
    assert sum("put pamap2" in line for line in lines) == 1


def test_run_does_what_is_missing_and_says_beforehand_how_long_it_takes() -> None:
    quick = RUNNER.invoke(app, ["paper", "run", "small", "--quick"])
    assert quick.exit_code == 0
    assert "small: 1 of 1 runs to do, about " in quick.stderr
    assert len(list(Path("paper-results").glob("svm-digits-*.json"))) == 1
    full = RUNNER.invoke(app, ["paper", "run", "small", "--results", "paper-results"])
    assert "small: 1 of 2 runs to do, about " in full.stderr
    assert "[1/1] svm digits kernel=rbf parameter=5 C=1: " in full.stderr
    again = RUNNER.invoke(app, ["paper", "run", "small"])
    assert "runs to do" not in again.stderr
    assert full.stdout == again.stdout == ""


def test_an_experiment_without_its_data_says_so_and_does_the_rest() -> None:
    result = RUNNER.invoke(app, ["paper", "run", "semg-p1", "--quick"])
    assert result.exit_code == 0
    assert "semg: dataset not available\n" in result.stderr
    assert "; put semg" in result.stderr
    assert "not measured: On the original data, L = 1" in result.stderr
    assert "not all data were there for: semg-p1" in result.stderr
    assert not Path("paper-results").exists()


def test_report_is_written_where_it_is_asked_for() -> None:
    result = RUNNER.invoke(app, ["paper", "report", "--out", "docs/page.html"])
    assert result.exit_code == 0
    assert Path("docs/page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["run", "figure1"], "NAME must be all, or one of table1, "), (["run", "small", "--jobs", "0"], "--jobs")],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(arguments: list[str], says: str) -> None:
    result = RUNNER.invoke(app, ["paper", *arguments])
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_damaged_result_is_one_line_and_exit_code_1() -> None:
    Path("paper-results").mkdir()
    Path("paper-results/x.json").write_text("{")
    result = RUNNER.invoke(app, ["paper", "list"])
    assert result.exit_code == 1
    assert "x.json must be JSON" in result.stderr
    assert result.stderr.count("\n") == 1
