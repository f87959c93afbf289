"""The benchmark of streams: what it generates, and that a row is predicted before it is learned from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.accuracy.runs import append_run, read_runs
from benchmarks.streams.learners import LastLabel, StreamLearner
from benchmarks.streams.prequential import missing_runs, prequential
from benchmarks.streams.streams import Rows, Stream

LAST = StreamLearner("no-change", lambda _, n_classes, __: LastLabel(n_classes), random=False)


def rows(n: int = 7) -> Rows:
    return Rows(np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2, (3,))


@pytest.mark.parametrize(("batch", "expected"), [(1, [0, 0, 1, 0, 1, 0, 1]), (3, [0, 0, 0, 0, 0, 0, 1])])
def test_a_batch_is_predicted_before_it_is_learned_from(batch: int, expected: list[int]) -> None:
    probabilities, seconds, _ = prequential(LAST, rows(), batch, 0)
    assert probabilities.argmax(axis=1).tolist() == expected
    assert len(seconds) == -(-7 // batch)


def test_runs_go_on_where_they_stopped(tmp_path: Path) -> None:
    def missing(_: int) -> Rows:
        raise FileNotFoundError("there is no such file")

    streams = [Stream("rows", "generated", rows), Stream("nothing", "files", missing)]
    notices: list[str] = []

    def runs(seconds: float, learners: Any = (LAST,)) -> list[Any]:
        done = {run.key: run for run in read_runs(tmp_path)}
        return list(missing_runs(streams, learners, (50, 2, 2), done, seconds, notices.append))

    (found,) = runs(60)
    assert found.scores["accuracy"] == 50.0
    assert found.rows == 50
    append_run(tmp_path, found)
    assert runs(60) == []
    assert notices[0] == "nothing is left out: there is no such file"

    def fail(*_: Any) -> Any:
        raise ValueError("no such class")

    assert runs(60, [StreamLearner("broken", fail)]) == []
    assert notices[-2] == "broken does not learn from rows: ValueError: no such class"
