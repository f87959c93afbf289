"""How an estimator begins on files: from a sample of their rows, whose codes and targets are those of all rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gcwsnet.estimators._gcwsnet import BaseGCWSNet
from gcwsnet.files import read
from gcwsnet.files._learn import FilesOptions, begun_estimator, coded, find_task, sample

HASHING: dict[str, Any] = {"n_hashes": 16, "bits": 8, "p": 2.0, "scale": "minmax", "relevance": 0}


def rows(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)), rng.integers(0, 3, n)


def begun(X: Any, y: Any, *, batch_rows: int = 64, task: str = "auto", **params: Any) -> BaseGCWSNet:
    batches = read((X, y), batch_rows=batch_rows)
    survey = batches.survey()
    some = sample(batches, survey.n_weighted, 7)
    options = FilesOptions(files=[], out=Path(), task=task, params={"hidden": (8,), "random_state": 7} | params)
    return begun_estimator(some, batches.schema, survey, survey.n_weighted, options)[0]


def test_a_sample_is_of_all_rows_whatever_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(3000)
    monkeypatch.setattr("gcwsnet.files._learn.SAMPLE_ROWS", 200)
    one, other = (sample(read((X, y), batch_rows=size), 3000, seed=1) for size in (64, 1000))
    assert one.n_rows == 200
    assert_array_equal(one.X, other.X)
    place = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in one.X]
    assert place == sorted(set(place))
    assert max(place) > 2500
    monkeypatch.setattr("gcwsnet.files._learn.SAMPLE_BYTES", 50 * 4 * 8)
    assert sample(read((X, y)), 3000, seed=1).n_rows == 50
    wide = sparse.csr_array(X)
    assert sample(read((wide, y)), 3000, seed=1).n_rows == 50 * 4 * 8 // (4 * 8 + 4 * 4)


@pytest.mark.parametrize(
    ("label_type", "labels", "task"),
    [
        ("strings", ("a", "b"), "classification"),
        ("integers", tuple(range(100)), "classification"),
        ("integers", tuple(range(101)), "regression"),
        ("integers", None, "regression"),
        ("numbers", (0.5, 1.5), "regression"),
    ],
)
def test_the_task_is_found_by_the_labels(label_type: str, labels: Any, task: str) -> None:
    assert find_task("auto", label_type, labels) == task


def test_tasks_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="labels are text"):
        find_task("regression", "strings", ("a",))
    with pytest.raises(ValueError, match="too many different labels"):
        find_task("classification", "numbers", None)
    with pytest.raises(ValueError, match="there are no labels to learn from; name their column with --label"):
        begun(rows()[0], None)


def test_rows_of_another_width_are_refused() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="must have 4 columns as those before, got 3"):
        next(coded(begun(X, y, **HASHING), read((X[:, :3], y)), 1))


def test_what_is_learned_does_not_depend_on_the_batches_and_the_threads() -> None:
    X, y = rows()
    one, other = (
        begun(X, y, batch_rows=size, n_jobs=n_jobs, n_hashes=16).coder_ for size, n_jobs in ((64, 1), (500, 2))
    )
    assert one.state()[1] == other.state()[1]
    assert_array_equal(one.codes(X, n_jobs=1), other.codes(X, n_jobs=2))
