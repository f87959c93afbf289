"""The benchmark of streams: what it generates, and that a row is predicted before it is learned from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.accuracy.runs import append_run, read_runs
from benchmarks.streams.learners import LastLabel, StreamLearner, all_learners
from benchmarks.streams.prequential import missing_runs, prequential
from benchmarks.streams.streams import ASLEEP, GENERATED, Rows, Stream, all_streams

LAST = StreamLearner("last label", lambda _, n_classes, __: LastLabel(n_classes), random=False)


def rows(n: int = 7) -> Rows:
    return Rows(np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2, (3,))


@pytest.mark.parametrize(("batch", "expected"), [(1, [0, 0, 1, 0, 1, 0, 1]), (3, [0, 0, 0, 0, 0, 0, 1])])
def test_a_batch_is_predicted_before_it_is_learned_from(batch: int, expected: list[int]) -> None:
    probabilities, seconds, _ = prequential(LAST, rows(), batch, 0)
    assert probabilities.argmax(axis=1).tolist() == expected
    assert len(seconds) == -(-7 // batch)


@pytest.mark.parametrize("name", GENERATED)
def test_generated_streams_have_all_classes_and_begin_the_same_for_any_seed(name: str) -> None:
    stream = all_streams()[name].load(8000)
    assert np.isfinite(stream.X).all()
    assert set(stream.y.tolist()) == set(range(stream.n_classes))
    assert all(0 < change < len(stream.y) for change in stream.changes)
    assert np.array_equal(stream.X, all_streams()[name].load(8000).X)
    if stream.n_known is not None:
        assert set(stream.y[: stream.changes[0]].tolist()) == set(range(stream.n_known))


def test_columns_that_wake_up_are_constant_before() -> None:
    assert np.ptp(all_streams()["all columns wake up"].load(4000).X[:ASLEEP], axis=0).max() == 0


@pytest.mark.parametrize("learner", all_learners(), ids=lambda one: one.name)
def test_each_learner_gives_probabilities_of_all_classes(learner: StreamLearner) -> None:
    pytest.importorskip(learner.needs)
    stream = all_streams()["new class"].load(100)
    probabilities, _, _ = prequential(learner, stream, 32, 0)
    assert probabilities.shape == (len(stream.y), stream.n_classes)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)


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
