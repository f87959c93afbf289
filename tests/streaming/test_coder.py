"""How files become codes, learned from some of their rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gcwsnet import GCWSHasher
from gcwsnet.data import Batch, Schema, read
from gcwsnet.estimators import learn_scaling
from gcwsnet.streaming._folder import Manifest, read_coder, stored_codes, write_coder, write_parts
from gcwsnet.streaming._learn_coder import learn_coder, sample
from gcwsnet.streaming._task import find_task

SETTINGS: dict[str, Any] = {
    "n_hashes": 16,
    "bits": 8,
    "t_bits": "all",
    "p": 2.0,
    "scale": "minmax",
    "encoding": "mixed",
    "missing": "error",
}


def rows(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)), rng.integers(0, 3, n)


def coder_of(X: Any, y: Any, **settings: Any) -> Any:
    batches = read((X, y), batch_rows=64)
    return learn_coder(batches, batches.survey(), SETTINGS | settings, "auto", 7, None)


def test_codes_are_those_of_scaling_and_hasher() -> None:
    X, y = rows()
    coder = coder_of(X, y)
    hasher = GCWSHasher(16, p=2.0, random_state=7).fit(X)
    assert_array_equal(coder.codes(X[:50]), hasher.transform(learn_scaling(X, "minmax").transform(X[:50])))
    assert coder.task == "classification"
    assert coder.classes.tolist() == [0, 1, 2]
    assert_array_equal(coder.target(y[:9].astype(float)), y[:9])


def test_a_sample_is_of_all_rows_whatever_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(3000)
    monkeypatch.setattr("gcwsnet.streaming._learn_coder.MOST_ROWS", 200)
    one, other = (sample(read((X, y), batch_rows=size), 3000, seed=1) for size in (64, 1000))
    assert one.n_rows == 200
    assert_array_equal(one.X, other.X)
    place = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in one.X]
    assert place == sorted(set(place))
    assert max(place) > 2500
    monkeypatch.setattr("gcwsnet.streaming._learn_coder.MOST_BYTES", 50 * 4 * 8)
    assert sample(read((X, y)), 3000, seed=1).n_rows == 50
    wide = sparse.csr_array(X)
    assert sample(read((wide, y)), 3000, seed=1).n_rows == 50 * 4 * 8 // (4 * 8 + 4 * 4)


def test_scaling_and_p_are_chosen_where_they_are_open() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6)) * [1, 1, 1e5, 1e5, 1e5, 1e5]
    coder = coder_of(X, X[:, 0] * X[:, 1] > 0, p="auto", scale="auto")
    assert len(coder.selection) > 5
    assert coder.scaling is not None


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


def test_tasks_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="labels are text"):
        find_task("regression", "strings", ("a",))
    with pytest.raises(ValueError, match="too many different labels"):
        find_task("classification", "numbers", None)
    with pytest.raises(ValueError, match="no labels"):
        find_task("auto", None, None)
    del tmp_path


@pytest.mark.parametrize("form", ["npy", "parquet"])
@pytest.mark.parametrize("labels", ["integers", "strings", "numbers"])
def test_a_folder_gives_back_what_was_put_in(
    form: str, labels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcwsnet.streaming._folder.BYTES_OF_A_PART", 16 * 150)
    X, numbers = rows()
    y = {"integers": numbers, "strings": np.array(["ash", "elm", "oak"])[numbers], "numbers": X[:, 0]}[labels]
    weight = np.random.default_rng(1).random(500)
    coder = coder_of(X, y)
    write_coder(tmp_path, coder, Schema(n_features=4))
    batches = [Batch(coder.codes(X[i : i + 70]), y[i : i + 70], weight[i : i + 70]) for i in range(0, 500, 70)]
    done = write_parts(tmp_path, 0, batches, form)
    assert done["rows"] == 500
    assert len(done["parts"]) == 4
    Manifest({}, [{"file": "a", **done}], 1).write(tmp_path)
    again, layout = read_coder(tmp_path)
    found = list(stored_codes(tmp_path, Manifest.read(tmp_path)))
    assert layout.n_features == 4
    assert_array_equal(np.concatenate([batch.X for batch in found]), coder.codes(X))
    assert_array_equal(np.concatenate([batch.y for batch in found]), y)
    assert_array_equal(np.concatenate([batch.weight for batch in found]), weight)
    assert_array_equal(again.codes(X), coder.codes(X))
    assert_array_equal(again.target(y), coder.target(y))


def test_a_damaged_folder_says_so(tmp_path: Path) -> None:
    X, y = rows()
    write_coder(tmp_path, coder_of(X, y), Schema(n_features=4))
    with pytest.raises(FileNotFoundError, match=r"codes\.json is missing"):
        Manifest.read(tmp_path)
    (tmp_path / "codes.json").write_text('{"version": 9}')
    with pytest.raises(ValueError, match="version 9"):
        Manifest.read(tmp_path)
    content = (tmp_path / "coder.safetensors").read_bytes()
    (tmp_path / "coder.safetensors").write_bytes(content[:-3] + b"xyz")
    with pytest.raises(ValueError, match="checksum"):
        read_coder(tmp_path)


def test_rows_of_another_width_are_refused() -> None:
    X, y = rows()
    with pytest.raises(ValueError, match="must have 4 columns as those before, got 3"):
        coder_of(X, y).codes(X[:, :3])
