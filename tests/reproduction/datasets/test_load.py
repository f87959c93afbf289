"""`load` returns a dataset by its name, or an error that names the way out."""

import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction.datasets import load, make_mnist_noise
from reproduction.datasets._catalog import DATASETS
from reproduction.datasets._load import NAMES
from tests.reproduction.datasets.layouts import arrays


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_has_the_numbers_of_its_npz_file(name: str, small: dict[str, Any]) -> None:
    found = load(name)
    for key, array in small[name].items():
        assert np.array_equal(found[key], array)
        assert found[key].dtype == (np.float32 if key.startswith("X") else np.int64)
    assert found.name == name
    assert found.origin == ("rounded" if name == "dailysports" else "exact")
    assert found.DESCR.endswith("half precision.") == (name == "dailysports")
    assert len(found.DESCR) > 50


def test_the_data_folder_comes_before_the_cache(
    small: dict[str, Any], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = small["pendigits"] | {"y_test": small["pendigits"]["y_test"] % 2}
    np.savez(tmp_path / "pendigits.npz", **changed)
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    assert np.array_equal(load("pendigits").y_test, changed["y_test"])
    assert np.array_equal(load("pendigits", data_home=cache).y_test, small["pendigits"]["y_test"])
    (tmp_path / "pendigits.npz").unlink()
    assert np.array_equal(load("pendigits").y_test, small["pendigits"]["y_test"])


def test_an_incomplete_dataset_is_an_error(cache: Path) -> None:
    np.savez(cache / "pendigits.npz", **arrays(7494, 3497, 16))
    place = re.escape(str(cache / "pendigits.npz"))
    with pytest.raises(ValueError, match=rf"^X_test of {place} must have the shape \(3498, 16\), got \(3497, 16\)"):
        load("pendigits")


def test_digits_are_always_split_in_the_same_way() -> None:
    digits = load("digits")
    assert (digits.X_train.shape, digits.X_test.shape) == ((1347, 64), (450, 64))
    assert digits.y_train[:10].tolist() == [2, 8, 9, 7, 2, 1, 4, 9, 3, 2]
    assert digits.y_test[:10].tolist() == [2, 8, 2, 6, 6, 7, 1, 9, 8, 5]
    assert (digits.X_train.dtype, digits.y_train.dtype, digits.X_train.max()) == (np.float32, np.int64, 16)
    assert (digits.name, digits.origin) == ("digits", "bundled")


def test_a_noise_set_is_rebuilt_from_mnist_with_a_warning(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    y = np.arange(70_000) % 10
    X = np.zeros((70_000, 784), dtype=np.uint8)
    X[:, 400] = 10 * y
    np.savez_compressed(
        cache / "mnist.npz", X_train=X[:60_000], y_train=y[:60_000], X_test=X[60_000:], y_test=y[60_000:]
    )
    with caplog.at_level(logging.WARNING, "gcwsnet"):
        found = load("m-noise3")
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "m-noise3 is rebuilt from MNIST and is not the published dataset: the dataset"
    )
    assert (found.X_train.shape, found.X_test.shape) == ((10_000, 784), (4_000, 784))
    assert (found.y_train.dtype, found.X_train.dtype) == (np.int64, np.float32)
    assert (found.name, found.origin) == ("m-noise3", "rebuilt")
    assert np.all(found.X_test[:, 400] >= np.float32(10 / 256) * found.y_test)
    made = make_mnist_noise(3, n_train=50, n_test=20)
    assert np.array_equal(made.X_train, found.X_train[:50])
    assert np.array_equal(made.X_test, found.X_train[50:70])


def test_the_error_for_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'semg', .*'digits', got name='MNIST'") as error:
        load("MNIST")
    assert all(repr(name) in str(error.value) for name in NAMES)
    with pytest.raises(ValueError, match="got name=1"):
        load(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DATASETS)
def test_the_error_for_a_missing_dataset_names_its_files_and_where_to_put_them(name: str, cache: Path) -> None:
    published = DATASETS[name].published
    with pytest.raises(FileNotFoundError) as error:
        load(name)
    message = str(error.value)
    assert message.startswith(f"the dataset {name!r} was not found: neither {name}.npz nor {published[0].file}")
    assert f" is in {cache} (the cache folder); it was not downloaded because GCWSNET_OFFLINE is set; put " in message
    for one in published:
        assert f"{one.file} from {one.urls[0]}" in message
    rebuilt = name.startswith("m-")
    assert ("; it can be rebuilt from MNIST, but the dataset 'mnist' was not found: " in message) == rebuilt


def test_the_columns_of_any_dataset_can_be_standardized(small: dict[str, Any]) -> None:
    assert small
    found = load("pendigits", standardized=True)
    assert np.allclose(found.X_train.mean(axis=0), 0, atol=1e-6)
    assert np.allclose(found.X_train.std(axis=0), 1, atol=1e-5)
    with pytest.raises(TypeError, match="standardized must be True or False, got standardized=1"):
        load("pendigits", standardized=1)  # type: ignore[arg-type]
