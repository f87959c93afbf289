"""`gcwsnet bench`, on rows so few that it is quick."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gcwsnet import bench
from gcwsnet.bench import _ours, _peers
from gcwsnet.bench._cases import Case, dataset, uniform
from gcwsnet.cli import app

RUNNER = CliRunner()
SMALL = Case("small", "small rows", lambda: uniform(30, 20), quick=True)
OTHER = Case("other", "other rows", lambda: uniform(30, 10), p=2)
REAL = Case("real", "real rows", lambda: dataset("mnist", 10))


@pytest.fixture(autouse=True)
def few_and_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CASES", (SMALL, OTHER, REAL))
    monkeypatch.setattr(bench, "growing", lambda quick: {"D": [SMALL], "k": [SMALL]})  # noqa: ARG005
    monkeypatch.setattr(_peers, "PEERS", [one for one in _peers.PEERS if one.package == "numpy"])
    monkeypatch.setattr(_ours, "READY_COLUMNS", 50)
    monkeypatch.delenv("GCWSNET_DATA", raising=False)
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))
    dataset.cache_clear()


def test_quick_prints_a_table_and_says_what_it_does_on_stderr() -> None:
    result = RUNNER.invoke(app, ["bench", "--quick", "--repetitions", "1"])
    assert result.exit_code == 0
    assert "| small rows | 1 |" in result.stdout
    assert "other rows" not in result.stdout
    assert "medians of 1" in result.stdout
    assert "[1/1] small rows" in result.stderr


def test_all_rows_are_hashed_and_what_is_missing_is_said() -> None:
    result = RUNNER.invoke(app, ["bench", "--repetitions", "1"])
    assert result.exit_code == 0
    assert "| other rows | 2 |" in result.stdout
    assert "left out: real rows: the dataset 'mnist' was not found: neither mnist.npz nor " in result.stderr


def test_json_is_all_of_stdout() -> None:
    result = RUNNER.invoke(app, ["bench", "--rows", "other", "--rows", "small", "--repetitions", "1", "--json"])
    assert result.exit_code == 0
    assert [line["name"] for line in json.loads(result.stdout)["lines"]] == ["other", "small"]


def test_plot_writes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "growth.png"
    result = RUNNER.invoke(app, ["bench", "--quick", "--repetitions", "1", "--plot", str(picture)])
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rows", "none"], "rows must be one of small, other, real, got 'none'"),
        (["--rows", "real"], "GCWSNET_DATA"),
        (["--repetitions", "0"], "--repetitions"),
        (["--repetitions", "x"], "--repetitions"),
        (["--plot", "picture.doc"], "a picture must be one of"),
        (["--plot", "no-folder/picture.png"], "the folder of a picture must be there"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(arguments: list[str], says: str) -> None:
    if "--plot" in arguments:
        pytest.importorskip("matplotlib")
    result = RUNNER.invoke(app, ["bench", *arguments])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
