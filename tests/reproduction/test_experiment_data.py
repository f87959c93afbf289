"""Whether datasets are available is known without loading them."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from reproduction import experiment_data as datasets


@pytest.fixture(autouse=True)
def empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GCWSNET_OFFLINE", "1")
    return tmp_path


def test_a_missing_dataset_is_named_with_the_file_to_put_where(empty_folders: Path) -> None:
    found = datasets.availability("pamap101")
    assert not found.available
    assert found.state == "dataset not available"
    assert "put pamap2+physical+activity+monitoring.zip" in found.way_out
    assert str(empty_folders) in found.way_out
    fetched = datasets.fetch("pamap101")
    assert not fetched.available
    assert "GCWSNET_OFFLINE is set; put pamap2" in fetched.way_out


def test_derived_and_rebuilt_datasets_are_called_so(empty_folders: Path) -> None:
    assert not datasets.availability("m-image").available
    for file in ("mnist.npz", "semg_db2_diff.npz", "pendigits.npz"):
        (empty_folders / file).touch()
    assert datasets.availability("m-image") == (True, "available: rebuilt from MNIST", "")
    assert datasets.availability("semg") == (True, "available: derived", "")
    assert datasets.availability("pendigits") == (True, "available", "")
    (empty_folders / "m-image.npz").touch()
    assert datasets.availability("m-image") == (True, "available", "")


def test_digits_are_always_available_and_have_the_sizes_that_are_listed() -> None:
    assert datasets.availability("digits").available
    data = datasets.load_rows({"dataset": "digits", "standardized": False})
    assert datasets.sizes("digits") == (*map(len, (data.y_train, data.y_test)), data.X_train.shape[1])


def test_some_rows_for_testing_are_spread_over_all_of_them() -> None:
    data = datasets.load_rows({"dataset": "digits", "standardized": False})
    X, y = datasets.subsample_test_rows(data.X_test, data.y_test, 100)
    assert len(X) == len(y) == 90
    np.testing.assert_array_equal(X[1], data.X_test[5])
    assert len(datasets.subsample_test_rows(data.X_test, data.y_test, 450)[1]) == 450


def test_the_split_of_the_authors_takes_the_rows_that_it_names(
    empty_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a small Covtype in a known order, half of which the split has for training."""
    n = 40
    order = np.random.default_rng(0).permutation(n)
    X, y = np.column_stack([order, order % 2]).astype(np.float32), order
    stored = Bunch(X_train=X[:20], y_train=y[:20], X_test=X[20:], y_test=y[20:], origin="exact", DESCR="")
    monkeypatch.setattr(datasets, "load", lambda *_, **__: stored)
    assert not datasets.availability("covtype-authors").available
    wanted = np.arange(n) % 3 == 0
    np.save(empty_folders / datasets.AUTHORS_SPLIT, np.packbits(wanted))
    data = datasets.load_rows({"dataset": "covtype-authors", "standardized": True})
    assert sorted(data.y_train) == np.flatnonzero(wanted).tolist()
    assert sorted(data.y_test) == np.flatnonzero(~wanted).tolist()
    assert np.mean(data.X_train[:, 0]) == pytest.approx(0, abs=1e-6)


def test_a_regression_comes_with_scikit_learn() -> None:
    data = datasets.load_rows({"dataset": "diabetes", "standardized": True})
    assert datasets.sizes("diabetes") == (*map(len, (data.y_train, data.y_test)), data.X_train.shape[1])


def test_a_moment_of_dailysports_has_its_sensors_and_the_label_of_its_row(
    empty_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of 125 moments, each of which has its number among all moments 45 times; a label is the number of a row."""
    moments = np.repeat(np.arange(5_000, dtype=np.float32), datasets.MOMENT).reshape(40, -1)
    stored = Bunch(X_train=moments[:20], y_train=np.arange(20), X_test=moments[20:], y_test=np.arange(20, 40), DESCR="")
    monkeypatch.setattr(datasets, "load", lambda *_, **__: stored)
    monkeypatch.setattr(datasets, "MOMENTS", (1_000, 2_000))
    assert not datasets.availability("dailysports-moments").available
    assert "into the folder that GCWSNET_DATA names" in datasets.where_to_get("dailysports-moments")
    (empty_folders / "dailysports.npz").touch()
    assert datasets.availability("dailysports-moments").available
    data = datasets.load_rows({"dataset": "dailysports-moments", "standardized": False})
    assert data.origin == "derived"
    assert (len(data.y_train), len(data.y_test)) == (1_000, 2_000)
    assert datasets.sizes("dailysports-moments") == (*datasets.sizes("pamap101")[:2], data.X_train.shape[1])
    X, y = np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    assert len(np.unique(X[:, 0])) == len(y)
    np.testing.assert_array_equal(X, np.repeat(X[:, :1], datasets.MOMENT, axis=1))
    np.testing.assert_array_equal(X[:, 0] // 125, y)
