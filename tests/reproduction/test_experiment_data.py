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
