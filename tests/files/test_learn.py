"""How an estimator begins on files: from a sample of their rows, whose codes and targets are those of all rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gcwsnet import GCWSHasher
from gcwsnet.estimators._gcwsnet import BaseGCWSNet
from gcwsnet.files import read
from gcwsnet.files._learn import FilesOptions, begun_estimator, coded, find_task, sample
from gcwsnet.search import selected_training
from gcwsnet.tables._scaling import fit_scaling

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


def test_codes_are_those_of_preprocessing_and_hasher() -> None:
    X, y = rows()
    estimator: Any = begun(X, y, **HASHING)
    hasher = GCWSHasher(16, p=2.0, random_state=7).fit(X)
    scaling: Any = fit_scaling(X, "minmax")
    batch = next(coded(estimator, read((X[:50], y[:50].astype(float))), 1))
    assert_array_equal(batch.X, hasher.transform(scaling.transform(X[:50])))
    assert_array_equal(batch.y, y[:50])
    assert estimator.classes_.tolist() == [0, 1, 2]


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


def test_preprocessing_and_p_are_selected_where_they_are_auto() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6)) * [1, 1, 1e5, 1e5, 1e5, 1e5]
    estimator = begun(X, X[:, 0] * X[:, 1] > 0, n_hashes=16)
    assert len(estimator.selection_) > 5
    assert [one.chosen for one in estimator.selection_].count(True) == 1
    assert selected_training(estimator.selection_)[0] == 5


def test_codes_are_those_of_all_nets() -> None:
    X, y = rows()
    alone, together = (begun(X, y, **HASHING, hidden=hidden).coder_ for hidden in ((8,), "auto"))
    assert together.n_codes == 4 * 16
    assert_array_equal(together.codes(X)[:, :16], alone.codes(X))


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
