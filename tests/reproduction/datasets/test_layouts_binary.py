"""Datasets that are published in binary files, MNIST and sEMG for Basic Hand Movements, and npz files."""

import pickle
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.io import savemat

from reproduction.datasets import load
from reproduction.datasets._layouts import MATRICES, MOVEMENTS, SEMG_DAYS, SEMG_PEOPLE, read_npz
from tests.reproduction.datasets.layouts import arrays, assert_holds, idx, resize, split_in_halves, zipped

RNG = np.random.default_rng(0)
PIXELS = {"train": RNG.integers(0, 256, (12, 28, 28), np.uint8), "t10k": RNG.integers(0, 256, (10, 28, 28), np.uint8)}
DIGITS = {"train": np.arange(12, dtype=np.uint8) % 10, "t10k": np.arange(10, dtype=np.uint8)}
MNIST = {
    "X_train": PIXELS["train"].reshape(12, 784),
    "y_train": DIGITS["train"],
    "X_test": PIXELS["t10k"].reshape(10, 784),
    "y_test": DIGITS["t10k"],
}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the catalog expect the numbers of rows of the files of this module."""
    resize(monkeypatch, "mnist", 12, 10)
    for name, n in N_ROWS.items():
        resize(monkeypatch, name, n // 2, n // 2)


def write_mnist(folder: Path, *, compressed: bool) -> None:
    end = ".gz" if compressed else ""
    for part, pixels in PIXELS.items():
        (folder / f"{part}-images-idx3-ubyte{end}").write_bytes(idx(pixels, compressed=compressed))
        (folder / f"{part}-labels-idx1-ubyte{end}").write_bytes(idx(DIGITS[part], compressed=compressed))


@pytest.mark.parametrize("compressed", [False, True])
def test_the_pixels_of_mnist_are_read_line_by_line(compressed: bool, cache: Path) -> None:
    write_mnist(cache, compressed=compressed)
    assert_holds(load("mnist"), MNIST)


SEMG_ZIP = "semg+for+basic+hand+movements.zip"
SIGNAL_LENGTH = {"semg": 2500, "semg1": 3000}
SEMG_FILES = {"semg": SEMG_DAYS, "semg1": SEMG_PEOPLE}
N_ROWS = {"semg": 36, "semg1": 60}
SIGNALS = {
    file: {matrix: RNG.normal(size=(1, SIGNAL_LENGTH[name])).round(5) for matrix in MATRICES}
    for name in SEMG_FILES
    for file in SEMG_FILES[name]
}


def mat(signals: dict[str, Any], **changed: Any) -> bytes:
    file = BytesIO()
    kept = {name: matrix for name, matrix in {**signals, **changed}.items() if matrix is not None}
    savemat(file, kept, do_compression=True)
    return file.getvalue()


SEMG_MEMBERS = {file: mat(signals) for file, signals in SIGNALS.items()}
CHANNELS = ("ch1", "ch2")
SEMG_FOLDER = "sEMG_Basic_Hand_movements_upatras"
SEMG_ARCHIVES = {
    SEMG_ZIP: zipped(SEMG_MEMBERS),
    f"{SEMG_FOLDER}.zip": zipped({f"{SEMG_FOLDER}/{file}": content for file, content in SEMG_MEMBERS.items()}),
    "nested": zipped({f"{SEMG_FOLDER}.zip": zipped(SEMG_MEMBERS)}),
}


def semg_rows(name: str) -> dict[str, NDArray[Any]]:
    """Each channel of each trial is a row: file by file, movement by movement, channel by channel."""
    X = [
        SIGNALS[file][f"{movement}_{channel}"]
        for file in SEMG_FILES[name]
        for movement in MOVEMENTS
        for channel in CHANNELS
    ]
    y = [label for _ in SEMG_FILES[name] for label in range(6) for _ in CHANNELS]
    return split_in_halves(np.concatenate(X), np.array(y))


@pytest.mark.parametrize("layout", SEMG_ARCHIVES)
@pytest.mark.parametrize("name", SEMG_FILES)
def test_each_channel_of_a_trial_is_a_row(name: str, layout: str, cache: Path) -> None:
    (cache / (SEMG_ZIP if layout == "nested" else layout)).write_bytes(SEMG_ARCHIVES[layout])
    assert_holds(load(name), semg_rows(name))


def test_derived_rows_are_loaded_only_without_the_published_ones(cache: Path) -> None:
    np.savez(
        cache / "semg_db2_diff.npz",
        X_train=np.ones((900, 2500), "f4"),
        y_train=np.ones(900, int),
        X_test=np.ones((900, 2500), "f4"),
        y_test=np.ones(900, int),
    )
    found = load("semg")
    assert (found.origin, found.X_train.shape) == ("derived", (900, 2500))
    assert "channel 1 minus channel 2" in found.DESCR
    (cache / SEMG_ZIP).write_bytes(SEMG_ARCHIVES[SEMG_ZIP])
    assert load("semg").origin == "exact"


GOOD = arrays(5, 3, 4)
SHAPES = {name: array.shape for name, array in GOOD.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.npz"


def written(save: Callable[..., None], **changed: Any) -> bytes:
    file = BytesIO()
    save(file, **{**GOOD, **changed})
    return file.getvalue()


WRONG_NPZ: list[tuple[dict[str, Any], str]] = [
    ({"X_train": GOOD["X_train"][:4]}, r"X_train of PATH must have the shape \(5, 4\), got \(4, 4\)"),
    ({"y_test": GOOD["y_test"][:, np.newaxis]}, r"y_test of PATH must have the shape \(3,\), got \(3, 1\)"),
    ({"y_train": np.zeros(5)}, "y_train of PATH must hold integers, got the type float64"),
    ({"X_train": np.ones((5, 4), complex)}, "X_train of PATH must hold real numbers, got the type complex128"),
    ({"X_test": np.full((3, 4), np.nan)}, r"every entry must be finite.*PATH: X_test\[0, 0\] is NaN"),
]


@pytest.mark.parametrize(("changed", "rule"), WRONG_NPZ)
def test_an_array_that_breaks_a_rule_is_named_with_the_rule(changed: dict[str, Any], rule: str, path: Path) -> None:
    path.write_bytes(written(np.savez, **changed))
    with pytest.raises(ValueError, match=rule.replace("PATH", re.escape(str(path)))):
        read_npz(path, SHAPES)


def test_no_object_is_ever_loaded(path: Path, tmp_path: Path) -> None:
    touched = tmp_path / "touched"

    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (touched,)

    objects = np.full((5, 4), Touch(), dtype=object)
    path.write_bytes(written(np.savez, X_train=objects))
    with pytest.raises(ValueError, match=r"X_train of .* must hold real numbers, got the type object"):
        read_npz(path, SHAPES)
    path.write_bytes(pickle.dumps(objects))
    with pytest.raises(ValueError, match="must be an npz file"):
        read_npz(path, SHAPES)
    assert not touched.exists()
