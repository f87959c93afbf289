"""Grids are run once, resume where they stopped, and give the same results in several processes."""

from pathlib import Path

import pytest

from reproduction.execution import execute
from reproduction.results import Results
from reproduction.settings import gcws, original, svm, theorem

GRID = [original("digits", L=1), gcws("digits", k=32, b=4, L=1), gcws("digits", k=64, b=4, L=1)]


def silent(_: str) -> None:
    pass


def test_a_stopped_grid_resumes_and_ends_with_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("torch")

    def stop(line: str) -> None:
        if line.startswith("[2/3]"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(GRID, Results(tmp_path / "stopped"), "small", jobs=1, say=stop)
    assert len(Results(tmp_path / "stopped")) == 2
    lines: list[str] = []
    for folder in ("stopped", "whole"):
        found = Results(tmp_path / folder)
        execute([one for one in GRID if one not in found], found, "small", jobs=1, say=lines.append)
    assert lines[0].startswith("[1/1] gcws digits k=64")
    stopped, whole = (Results(tmp_path / folder) for folder in ("stopped", "whole"))
    for settings in GRID:
        one, other = stopped.get(settings), whole.get(settings)
        assert one is not None
        assert other is not None
        assert one.result == other.result


@pytest.mark.slow
def test_several_processes_give_the_same_as_one(tmp_path: Path) -> None:
    grid = [svm("digits", kernel="rbf", parameter=5.0, C=(1,)), theorem("theorem1", size=1)]  # quick to start: no torch
    lines: list[str] = []
    both = Results(tmp_path / "two")
    execute(grid, both, "small", jobs=2, say=lines.append)
    execute(grid, Results(tmp_path / "one"), "small", jobs=1, say=silent)
    assert len(both) == len(lines) == 2
    for settings in grid:
        one, two = (Results(tmp_path / folder).get(settings) for folder in ("one", "two"))
        assert one is not None
        assert two is not None
        assert one.result == two.result
