"""How files become codes and targets, learned from some of their rows."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gcwsnet import GCWSHasher
from gcwsnet.files import read
from gcwsnet.files._learn import FileCoder, RunOptions, find_task, learn_from_files, sample
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.search import selected_training
from gcwsnet.tables._coder import CoderSettings
from gcwsnet.tables._scaling import fit_scaling

NET = TrainingSettings(hidden=(8,))


def rows(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)), rng.integers(0, 3, n)


def coder_of(X: Any, y: Any, task: str = "auto", **settings: Any) -> FileCoder:
    batches = read((X, y), batch_rows=64)
    given: dict[str, Any] = {"n_hashes": 16, "p": 2.0, "scale": "minmax", "relevance": 0}
    options = RunOptions(coder=CoderSettings(**given | settings), training=NET, task=task, seed=7)
    return learn_from_files(batches, batches.survey(), options)


def test_codes_are_those_of_preprocessing_and_hasher() -> None:
    X, y = rows()
    coder = coder_of(X, y)
    hasher = GCWSHasher(16, p=2.0, random_state=7).fit(X)
    scaling: Any = fit_scaling(X, "minmax")
    assert_array_equal(coder.codes(X[:50], None), hasher.transform(scaling.transform(X[:50])))
    assert coder.task == "classification"
    targets: Any = coder.targets
    assert targets.classes.tolist() == [0, 1, 2]
    assert_array_equal(coder.target(y[:9].astype(float)), y[:9])


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
    coder = coder_of(X, X[:, 0] * X[:, 1] > 0, p="auto", scale="auto")
    assert len(coder.selection) > 5
    assert [one.chosen for one in coder.selection].count(True) == 1
    assert selected_training(coder.selection)[0] == 5


def test_codes_are_those_of_all_nets() -> None:
    X, y = rows()
    alone = coder_of(X, y)
    batches = read((X, y))
    options = RunOptions(coder=alone.coder.settings, seed=7)
    together = learn_from_files(batches, batches.survey(), options)
    assert together.coder.n_codes == 4 * 16
    codes = together.codes(X, None)
    assert codes.shape == (500, 64)
    assert_array_equal(codes[:, :16], alone.codes(X, None))


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
    X, _ = rows()
    coder = coder_of(X, None)
    assert (coder.targets, coder.task) == (None, None)
    with pytest.raises(ValueError, match="there are no labels to learn from; name their column with --label"):
        coder.target(None)


def test_rows_of_another_width_are_refused() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="must have 4 columns as those before, got 3"):
        coder_of(X, y).codes(X[:, :3], None)


@pytest.mark.parametrize("labels", ["integers", "strings", "numbers", None])
def test_a_state_gives_back_a_coder_with_the_same_codes_and_targets(labels: str | None) -> None:
    X, numbers = rows()
    names = np.array(["ash", "elm", "oak"])[numbers]
    y = {"integers": numbers, "strings": names, "numbers": X[:, 0], None: None}[labels]
    coder = coder_of(X, y)
    arrays, description = coder.state()
    again = FileCoder.from_state(arrays, json.loads(json.dumps(description, allow_nan=False)))
    assert (again.label_type, again.n_rows, again.task) == (labels, 500, coder.task)
    assert again.schema.to_json() == coder.schema.to_json()
    assert_array_equal(again.codes(X, None), coder.codes(X, None))
    if y is not None:
        assert_array_equal(again.target(y), coder.target(y))
    assert again.state()[1] == description


def test_a_coder_does_not_depend_on_the_batches_and_the_threads() -> None:
    X, y = rows()
    settings = CoderSettings(n_hashes=16)
    found = []
    for size, n_jobs in ((64, 1), (500, 2)):
        batches = read((X, y), batch_rows=size)
        options = RunOptions(coder=settings, training=NET, seed=7, n_jobs=n_jobs)
        found.append(learn_from_files(batches, batches.survey(), options))
    assert found[0].state()[1] == found[1].state()[1]
    assert_array_equal(found[0].codes(X, 1), found[1].codes(X, 2))
