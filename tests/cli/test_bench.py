"""`gcwsnet bench`, on so few rows that it is quick."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gcwsnet import _core
from gcwsnet.cli import _hashing_speed, app
from gcwsnet.cli._hashing_speed import Case, binary_rows, uniform_rows

RUNNER = CliRunner()
DENSE = Case("dense", "dense rows", lambda: uniform_rows(30, 20), n_hashes=16)
SPARSE = Case("sparse", "sparse rows", lambda: binary_rows(70, 5, 100), p=2, n_hashes=16)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hashing_speed, "CASES", (DENSE, SPARSE))


def test_a_table_has_a_line_for_each_case_and_progress_is_on_stderr() -> None:
    result = RUNNER.invoke(app, ["bench", "--repetitions", "1"])
    assert result.exit_code == 0
    machine, versions, _, _, _, head, *lines = result.stdout.splitlines()
    assert _core.instruction_set() in machine
    assert versions.startswith("Python 3.")
    assert head.split() == ["rows", "p", "gcwsnet", "full", "scan", "NumPy"]
    assert [line.split()[:3] for line in lines] == [["dense", "rows", "1"], ["sparse", "rows", "2"]]
    assert "medians of 1" in result.stdout
    assert result.stderr == "[1/2] dense rows, p=1\n[2/2] sparse rows, p=2\n"


def test_json_is_all_of_stdout() -> None:
    result = RUNNER.invoke(app, ["bench", "--repetitions", "1", "--json"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["versions"]["gcwsnet"]
    assert report["repetitions"] == 1
    assert [(case["name"], case["p"], case["n_hashes"]) for case in report["cases"]] == [
        ("dense", 1, 16),
        ("sparse", 2, 16),
    ]
    for case in report["cases"]:
        assert set(case["rows_per_second"]) == {"gcwsnet", "full scan", "NumPy"}
        assert all(rate > 0 for rate in case["rows_per_second"].values())


@pytest.mark.parametrize("arguments", [["--repetitions", "0"], ["--repetitions", "x"], ["--quick"]])
def test_a_wrong_argument_is_one_line_and_exit_code_2(arguments: list[str]) -> None:
    result = RUNNER.invoke(app, ["bench", *arguments])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert arguments[0] in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_command_needs_no_peer_and_no_benchmarks() -> None:
    """Of all that the repository compares with, the command imports NumPy alone."""
    program = (
        "import sys\n"
        "from gcwsnet.cli import _hashing_speed\n"
        "_hashing_speed.CASES = _hashing_speed.CASES[:0]\n"
        "from gcwsnet.cli import app\n"
        "app(['bench'], standalone_mode=False)\n"
        "peers = {'torch', 'datasketch', 'rensa', 'lightgbm', 'matplotlib', 'benchmarks'}\n"
        "assert not peers & set(sys.modules), peers & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_generated_rows_have_the_entries_they_promise() -> None:
    X = _hashing_speed.lognormal_rows(20, 5, 100)
    assert X.shape == (20, 100)
    assert set(X.getnnz(axis=1)) == {5}
    assert X.has_sorted_indices
    assert set(binary_rows(20, 5, 100).data) == {1}
    assert uniform_rows(20, 5).min() > 0


def test_works_take_turns_and_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    times = iter([9.0, 1.0, 2.0, 3.0, 5.0, 2.0])

    def seconds(work: _hashing_speed.Work) -> float:
        work()
        return next(times)

    monkeypatch.setattr(_hashing_speed, "seconds", seconds)
    works = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    assert _hashing_speed.medians(works, 3) == {"a": 5.0, "b": 2.0}
    assert calls == ["a", "b"] * 4
