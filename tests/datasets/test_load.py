"""Datasets by name: what comes out, and what is said if it cannot."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gcwsnet
from gcwsnet.datasets import load, make_mnist_noise
from gcwsnet.datasets._load import NAMES
from gcwsnet.datasets._stored import STORED
from tests.datasets.conftest import arrays

ORIGINS = {
    "semg": "derived",
    "dailysports": "rounded",
    "covtype": "exact",
    "pendigits": "exact",
    "mnist": "exact",
}


def test_load_is_reached_from_the_package() -> None:
    assert gcwsnet.datasets.load is load


@pytest.mark.parametrize("name", STORED)
def test_a_stored_dataset_is_the_numbers_of_its_file(name: str, small: dict[str, Any]) -> None:
    found = load(name)
    for key, array in small[name].items():
        assert np.array_equal(found[key], array)
        assert found[key].dtype == (np.float32 if key.startswith("X") else np.int64)
    assert found.name == name
    assert found.origin == ORIGINS[name]
    assert len(found.DESCR) > 50


def test_a_dataset_has_its_published_size(cache: Path) -> None:
    made = arrays(7494, 3498, 16)
    np.savez(cache / "pendigits.npz", **made)
    assert np.array_equal(load("pendigits").X_test, made["X_test"])


def test_a_part_of_a_dataset_does_not_pass_for_all(cache: Path) -> None:
    np.savez(cache / "pendigits.npz", **arrays(7494, 3497, 16))
    place = re.escape(str(cache / "pendigits.npz"))
    with pytest.raises(ValueError, match=rf"^X_test of {place} must have the shape \(3498, 16\), got \(3497, 16\)"):
        load("pendigits")


def test_the_table_of_names_is_true() -> None:
    lines = [line.split() for line in (load.__doc__ or "").splitlines() if line.strip().startswith('"')]
    told = {line[0].strip('"'): line[1:] for line in lines if len(line) == 6}
    assert set(told) == {*STORED, "digits"}
    for name, known in STORED.items():
        numbers = [str(number) for number in (known.n_train, known.n_test, known.n_columns)]
        assert told[name] == [known.file, *numbers, f'"{known.origin}"']


def test_digits_are_always_split_in_the_same_way() -> None:
    digits = load("digits")
    assert (digits.X_train.shape, digits.X_test.shape) == ((1347, 64), (450, 64))
    assert digits.y_train[:10].tolist() == [2, 8, 9, 7, 2, 1, 4, 9, 3, 2]
    assert digits.y_test[:10].tolist() == [2, 8, 2, 6, 6, 7, 1, 9, 8, 5]
    assert (digits.X_train.dtype, digits.y_train.dtype, digits.X_train.max()) == (np.float32, np.int64, 16)
    assert (digits.name, digits.origin) == ("digits", "bundled")


def test_noise_sets_are_rebuilt_from_mnist(cache: Path) -> None:
    y = np.arange(70_000) % 10
    X = np.zeros((70_000, 784), dtype=np.uint8)
    X[:, 400] = 10 * y
    np.savez_compressed(
        cache / "mnist.npz", X_train=X[:60_000], y_train=y[:60_000], X_test=X[60_000:], y_test=y[60_000:]
    )
    found = load("m-noise3")
    assert (found.X_train.shape, found.X_test.shape) == ((10_000, 784), (4_000, 784))
    assert (found.y_train.dtype, found.X_train.dtype) == (np.int64, np.float32)
    assert (found.name, found.origin) == ("m-noise3", "rebuilt")
    assert np.all(found.X_test[:, 400] >= np.float32(10 / 256) * found.y_test)
    made = make_mnist_noise(3, n_train=50, n_test=20)
    assert np.array_equal(made.X_train, found.X_train[:50])
    assert np.array_equal(made.X_test, found.X_train[50:70])


def test_an_unknown_name_is_answered_with_the_names() -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'semg', .*'m-noise6', got name='MNIST'") as error:
        load("MNIST")
    assert all(repr(name) in str(error.value) for name in NAMES)
    with pytest.raises(ValueError, match="got name=1"):
        load(1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "file"), [*((name, known.file) for name, known in STORED.items()), ("m-noise2", "mnist.npz")]
)
def test_a_missing_file_is_named_with_its_place(name: str, file: str, cache: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        load(name)
    assert str(error.value) == (
        f"the dataset {name!r} is made of {file}, which is not in {cache} (the cache folder); put it there, or name "
        "its folder in GCWSNET_DATA"
    )
