"""Grids are run once, resume where they stopped, and give the same results in several processes."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from reproduction import execution
from reproduction.execution import execute, expected_seconds, rule_of_thumb
from reproduction.results import Results
from reproduction.settings import gcws, original, svm, theorem
from tests.reproduction.outcomes import outcome

GRID = [original("digits", L=1), gcws("digits", k=32, b=4, L=1), gcws("digits", k=64, b=4, L=1)]


def silent(_: str) -> None:
    pass


def test_nothing_is_computed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    execute(GRID, Results(tmp_path), jobs=1, say=silent)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(times) == 3
    monkeypatch.setattr(execution, "compute", pytest.fail)
    execute(GRID, Results(tmp_path), jobs=1, say=silent)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


def test_a_stopped_grid_resumes_and_ends_with_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("torch")

    def stop(line: str) -> None:
        if line.startswith("[2/3]"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(GRID, Results(tmp_path / "stopped"), jobs=1, say=stop)
    assert len(Results(tmp_path / "stopped")) == 2
    lines: list[str] = []
    for folder in ("stopped", "whole"):
        execute(GRID, Results(tmp_path / folder), jobs=1, say=lines.append)
    assert lines[0].startswith("[1/1] gcws digits k=64")
    stopped, whole = (Results(tmp_path / folder) for folder in ("stopped", "whole"))
    for settings in GRID:
        one, other = stopped.get(settings), whole.get(settings)
        assert one is not None
        assert other is not None
        assert one.result == other.result


def test_several_processes_give_the_same_as_one(tmp_path: Path) -> None:
    grid = [svm("digits", kernel="rbf", parameter=5.0, C=(1,)), theorem("theorem1", size=1)]  # quick to start: no torch
    lines: list[str] = []
    both = Results(tmp_path / "two")
    execute(grid, both, jobs=2, say=lines.append)
    execute(grid, Results(tmp_path / "one"), jobs=1, say=silent)
    assert len(both) == len(lines) == 2
    for settings in grid:
        one, two = (Results(tmp_path / folder).get(settings) for folder in ("one", "two"))
        assert one is not None
        assert two is not None
        assert one.result == two.result


def test_a_process_that_was_killed_is_an_error_with_the_way_out(tmp_path: Path) -> None:
    grid = [theorem("theorem2", size=size) for size in range(1, 9)]

    def kill(_: str) -> None:
        for child in multiprocessing.active_children():
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(OSError, match="one of 2 processes was killed; finished runs are kept: start it again"):
        execute(grid, Results(tmp_path), jobs=2, say=kill)
    assert len(Results(tmp_path)) >= 1


def test_a_theorem_is_a_run_too(tmp_path: Path) -> None:
    settings = theorem("theorem2", size=1)
    results = Results(tmp_path)
    execute([settings], results, jobs=1, say=silent)
    found = results.get(settings)
    assert found is not None
    assert found.result["agrees"] is True
    assert found.origin is None


def test_the_expected_time_follows_the_runs_that_are_done(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert expected_seconds([GRID[1]], results)[0] == pytest.approx(rule_of_thumb(GRID[1]))
    done = outcome(GRID[2], 50.0)
    results.save(done)
    assert expected_seconds([GRID[1]], results)[0] == pytest.approx(rule_of_thumb(GRID[1]) / rule_of_thumb(GRID[2]))
    assert sum(expected_seconds(GRID[1:], results)) > expected_seconds([GRID[1]], results)[0]
