"""Whether datasets are there is said without loading them."""

from pathlib import Path

import numpy as np
import pytest

from reproduction import datasets as _data


@pytest.fixture(autouse=True)
def empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GCWSNET_OFFLINE", "1")
    return tmp_path


def test_a_missing_dataset_is_named_with_the_file_to_put_where(empty_folders: Path) -> None:
    found = _data.availability("pamap101")
    assert not found.there
    assert found.told == "dataset not available"
    assert "put pamap2+physical+activity+monitoring.zip" in found.way_out
    assert str(empty_folders) in found.way_out
    fetched = _data.fetch("pamap101")
    assert not fetched.there
    assert "it is not downloaded while GCWSNET_OFFLINE is set; put pamap2" in fetched.way_out


def test_what_is_there_derived_or_rebuilt_is_called_so(empty_folders: Path) -> None:
    assert not _data.availability("m-image").there
    for file in ("mnist.npz", "semg_db2_diff.npz", "pendigits.npz"):
        (empty_folders / file).touch()
    assert _data.availability("m-image") == (True, "available: rebuilt from MNIST", "")
    assert _data.availability("semg") == (True, "available: derived", "")
    assert _data.availability("pendigits") == (True, "available", "")
    (empty_folders / "m-image.npz").touch()
    assert _data.availability("m-image") == (True, "available", "")


def test_digits_are_always_there_and_have_the_sizes_that_are_said() -> None:
    assert _data.availability("digits").there
    data = _data.rows_of({"dataset": "digits", "standardized": False})
    assert _data.sizes("digits") == (*map(len, (data.y_train, data.y_test)), data.X_train.shape[1])


def test_some_rows_for_testing_are_spread_over_all_of_them() -> None:
    data = _data.rows_of({"dataset": "digits", "standardized": False})
    X, y = _data.some_test_rows(data, 100)
    assert len(X) == len(y) == 90
    np.testing.assert_array_equal(X[1], data.X_test[5])
    assert len(_data.some_test_rows(data, 450)[1]) == 450
