"""The command ``python -m reproduction``, on the digits that come with scikit-learn."""

from dataclasses import replace
from pathlib import Path

import pytest

from reproduction import EXPERIMENTS
from reproduction.__main__ import main
from reproduction.settings import svm

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def small_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add an experiment that is quick, and hide all datasets."""
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path / "none"))
    monkeypatch.setenv("GCWSNET_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    one, two = (svm("digits", kernel="rbf", parameter=gamma, C=(1,)) for gamma in (1.0, 5.0))
    small = replace(
        EXPERIMENTS["table1"],
        name="small",
        runs=[one, two],
        statements=(),
    )
    monkeypatch.setitem(EXPERIMENTS, "small", small)


def succeeds(*arguments: str) -> None:
    assert main([*arguments, "--results", "results"]) == 0


def test_list_says_what_is_done_and_which_datasets_are_missing(capsys: Captured) -> None:
    succeeds("list")
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("semg-p1 ") and "Figure 1 " in line and "(0 of 59 runs, about" in line for line in lines)
    assert any(line.startswith("count-sketch-ratio") and "a formula, nothing to run" in line for line in lines)
    assert sum("; not available: pamap101" in line for line in lines) == 2
    assert len(lines) == len({line.split()[0] for line in lines})


def test_run_does_what_is_missing_and_says_beforehand_how_long_it_takes(capsys: Captured) -> None:
    succeeds("run", "small")
    assert "small: 2 of 2 runs to do, about " in capsys.readouterr().err
    path = Path("results/small.jsonl")
    first, _ = path.read_text().splitlines(keepends=True)
    path.write_text(first)
    succeeds("run", "small")
    repeated = capsys.readouterr()
    assert "small: 1 of 2 runs to do, about " in repeated.err
    assert "[1/1] svm digits kernel=rbf parameter=5 C=1: " in repeated.err
    assert repeated.out == ""
    assert len(path.read_text().splitlines()) == 2
    succeeds("run", "small")
    assert "runs to do" not in capsys.readouterr().err


def test_an_experiment_without_its_data_says_so_and_does_the_rest(capsys: Captured) -> None:
    succeeds("run", "semg-p1")
    said = capsys.readouterr().err
    assert "semg: dataset not available\n" in said
    assert "; put semg" in said
    assert "not yet run (0 of 0 cases): On the original data, L = 1" in said
    assert "not all datasets were available for: semg-p1" in said
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "figure1"], "argument NAME: invalid choice: 'figure1' (choose from "),
        (["run", "small", "--jobs", "0"], "argument --jobs: must not be 0: 1 is one process"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_argument_is_named_and_has_exit_code_2(arguments: list[str], message: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert message in capsys.readouterr().err


def test_a_damaged_result_is_one_line_and_exit_code_1(capsys: Captured) -> None:
    Path("results").mkdir()
    Path("results/x.jsonl").write_text("{")
    assert main(["list", "--results", "results"]) == 1
    said = capsys.readouterr().err
    assert "x.jsonl, line 1, must be JSON" in said
    assert said.count("\n") == 1
