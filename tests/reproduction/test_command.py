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
        datasets=("digits",),
        grid=lambda quick: [one] if quick else [one, two],
    )
    monkeypatch.setitem(EXPERIMENTS, "small", small)


def succeeds(*arguments: str) -> None:
    assert main([*arguments, "--results", "results"]) == 0


def test_list_says_what_is_done_and_which_datasets_are_missing(capsys: Captured) -> None:
    succeeds("list")
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("semg-p1 ") and "Figure 1 " in line and "(0 of 59 runs, about" in line for line in lines)
    assert any(line.startswith("count-sketch-ratio") and "a formula, nothing to run" in line for line in lines)
    assert sum(line.endswith("; not available: pamap101)") for line in lines) == 2
    assert len(lines) == len({line.split()[0] for line in lines})


def test_run_does_what_is_missing_and_says_beforehand_how_long_it_takes(capsys: Captured) -> None:
    succeeds("run", "small", "--quick")
    assert "small: 1 of 1 runs to do, about " in capsys.readouterr().err
    assert len(list(Path("results").glob("svm-digits-*.json"))) == 1
    succeeds("run", "small")
    full = capsys.readouterr()
    assert "small: 1 of 2 runs to do, about " in full.err
    assert "[1/1] svm digits kernel=rbf parameter=5 C=1: " in full.err
    succeeds("run", "small")
    repeated = capsys.readouterr()
    assert "runs to do" not in repeated.err
    assert full.out == repeated.out == ""


def test_an_experiment_without_its_data_says_so_and_does_the_rest(capsys: Captured) -> None:
    succeeds("run", "semg-p1", "--quick")
    said = capsys.readouterr().err
    assert "semg: dataset not available\n" in said
    assert "; put semg" in said
    assert "not measured: On the original data, L = 1" in said
    assert "not all datasets were available for: semg-p1" in said
    assert not Path("results").exists()


def test_runs_are_packed_for_git_and_unpacked(capsys: Captured) -> None:
    succeeds("run", "small", "--quick")
    succeeds("pack")
    assert [path.name for path in Path("results").iterdir()] == ["small.jsonl"]
    capsys.readouterr()
    succeeds("run", "small", "--quick")
    assert "runs to do" not in capsys.readouterr().err
    succeeds("unpack")
    assert [path.suffix for path in Path("results").iterdir()] == [".json"]


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
    Path("results/x.json").write_text("{")
    assert main(["list", "--results", "results"]) == 1
    said = capsys.readouterr().err
    assert "x.json must be JSON" in said
    assert said.count("\n") == 1
