"""Datasets by name: what comes out, and what is said if it cannot."""

import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gcwsnet
from gcwsnet.datasets import load, make_mnist_noise
from gcwsnet.datasets._catalog import DATASETS
from gcwsnet.datasets._load import NAMES
from tests.datasets.layouts import arrays


def test_load_is_reached_from_the_package() -> None:
    assert gcwsnet.datasets.load is load


@pytest.mark.parametrize("name", DATASETS)
def test_a_stored_dataset_is_the_numbers_of_its_file(name: str, small: dict[str, Any]) -> None:
    found = load(name)
    for key, array in small[name].items():
        assert np.array_equal(found[key], array)
        assert found[key].dtype == (np.float32 if key.startswith("X") else np.int64)
    assert found.name == name
    assert found.origin == ("rounded" if name == "dailysports" else "exact")
    assert found.DESCR.endswith("half precision.") == (name == "dailysports")
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
    lines = [line for line in (load.__doc__ or "").splitlines() if re.match(r'        "[a-z]', line)]
    told = {}
    for line in lines:
        names, numbers = re.match(r'\s+(".*")\s+((?:\d+\s+){4})', line).groups()  # type: ignore[union-attr]
        file = line[line.index(numbers) + len(numbers) :].split(",")[0]
        for name in [f"m-noise{level}" for level in range(1, 7)] if " to " in names else [names.strip('"')]:
            told[name] = (*map(int, numbers.split()), file)
    assert told.pop("digits")[:4] == (1347, 450, 64, 10)
    assert told == {
        name: (*vars(known.sizes).values(), len(known.labels), known.published[0].file)
        for name, known in DATASETS.items()
    }
    assert set(NAMES) == {*told, "digits"}


PAPER = {
    "semg": (1800, 1800, 2500, 6),
    "dailysports": (4560, 4560, 5625, 19),
    "m-noise1": (10_000, 4_000, 784, 10),
    "m-image": (12_000, 50_000, 784, 10),
    "covtype": (290_506, 290_506, 54, 7),
}


@pytest.mark.parametrize("name", PAPER)
def test_sizes_are_those_of_table_1(name: str) -> None:
    known = DATASETS[name]
    assert (*vars(known.sizes).values(), len(known.labels)) == PAPER[name]


def test_pamap101_has_the_rows_and_columns_of_table_1() -> None:
    """The paper says 20 classes, and PAMAP2 has 19 numbers of activities."""
    known = DATASETS["pamap101"]
    assert (*vars(known.sizes).values(), len(known.labels)) == (188_209, 188_208, 51, 19)


def test_digits_are_always_split_in_the_same_way() -> None:
    digits = load("digits")
    assert (digits.X_train.shape, digits.X_test.shape) == ((1347, 64), (450, 64))
    assert digits.y_train[:10].tolist() == [2, 8, 9, 7, 2, 1, 4, 9, 3, 2]
    assert digits.y_test[:10].tolist() == [2, 8, 2, 6, 6, 7, 1, 9, 8, 5]
    assert (digits.X_train.dtype, digits.y_train.dtype, digits.X_train.max()) == (np.float32, np.int64, 16)
    assert (digits.name, digits.origin) == ("digits", "bundled")


def test_noise_sets_are_rebuilt_from_mnist_and_that_is_said(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    y = np.arange(70_000) % 10
    X = np.zeros((70_000, 784), dtype=np.uint8)
    X[:, 400] = 10 * y
    np.savez_compressed(
        cache / "mnist.npz", X_train=X[:60_000], y_train=y[:60_000], X_test=X[60_000:], y_test=y[60_000:]
    )
    with caplog.at_level(logging.WARNING, "gcwsnet"):
        found = load("m-noise3")
    (record,) = caplog.records
    assert record.getMessage().startswith("m-noise3 is rebuilt from MNIST and is not the published set: the dataset")
    assert (found.X_train.shape, found.X_test.shape) == ((10_000, 784), (4_000, 784))
    assert (found.y_train.dtype, found.X_train.dtype) == (np.int64, np.float32)
    assert (found.name, found.origin) == ("m-noise3", "rebuilt")
    assert np.all(found.X_test[:, 400] >= np.float32(10 / 256) * found.y_test)
    made = make_mnist_noise(3, n_train=50, n_test=20)
    assert np.array_equal(made.X_train, found.X_train[:50])
    assert np.array_equal(made.X_test, found.X_train[50:70])


def test_an_unknown_name_is_answered_with_the_names() -> None:
    with pytest.raises(ValueError, match=r"name must be one of 'semg', .*'digits', got name='MNIST'") as error:
        load("MNIST")
    assert all(repr(name) in str(error.value) for name in NAMES)
    with pytest.raises(ValueError, match="got name=1"):
        load(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in DATASETS if not name.startswith("m-")])
def test_a_missing_file_is_named_with_its_place(name: str, cache: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        load(name)
    said = str(error.value)
    assert said.startswith(f"the dataset {name!r} is made of {name}.npz, which is not in {cache} (the cache folder), ")
    assert f"and neither is {DATASETS[name].published[0].file}" in said
    assert "; it is not downloaded while GCWSNET_OFFLINE is set; put " in said
    for published in DATASETS[name].published:
        assert f"{published.file} from {published.urls[0]}" in said


@pytest.mark.parametrize("name", ["m-noise2", "m-image"])
def test_a_missing_set_is_named_with_what_it_can_be_rebuilt_from(name: str, cache: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        load(name)
    said = str(error.value)
    assert said.startswith(f"the dataset {name!r} is made of {name}.npz, which is not in {cache}")
    assert f"; to rebuild it, the dataset {name!r} is made of mnist.npz, which is not in {cache}" in said
    assert said.count(str(cache)) == 2


def test_standardised_columns_of_any_dataset(small: dict[str, Any]) -> None:
    assert small
    found = load("pendigits", standardized=True)
    assert np.allclose(found.X_train.mean(axis=0), 0, atol=1e-6)
    assert np.allclose(found.X_train.std(axis=0), 1, atol=1e-5)
    with pytest.raises(TypeError, match="standardized must be True or False, got standardized=1"):
        load("pendigits", standardized=1)  # type: ignore[arg-type]
