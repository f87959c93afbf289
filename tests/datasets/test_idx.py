"""MNIST in its published layout."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from gcwsnet.datasets import load, make_mnist_noise
from tests.datasets.layouts import assert_holds, idx, resize

RNG = np.random.default_rng(0)
PIXELS = {"train": RNG.integers(0, 256, (12, 28, 28), np.uint8), "t10k": RNG.integers(0, 256, (10, 28, 28), np.uint8)}
DIGITS = {"train": np.arange(12, dtype=np.uint8) % 10, "t10k": np.arange(10, dtype=np.uint8)}
EXPECTED = {
    "X_train": PIXELS["train"].reshape(12, 784),
    "y_train": DIGITS["train"],
    "X_test": PIXELS["t10k"].reshape(10, 784),
    "y_test": DIGITS["t10k"],
}
IMAGES, LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    resize(monkeypatch, "mnist", 12, 10)


def write(folder: Path, *, packed: bool) -> None:
    end = ".gz" if packed else ""
    for part, pixels in PIXELS.items():
        (folder / f"{part}-images-idx3-ubyte{end}").write_bytes(idx(pixels, packed=packed))
        (folder / f"{part}-labels-idx1-ubyte{end}").write_bytes(idx(DIGITS[part], packed=packed))


@pytest.mark.parametrize("packed", [False, True])
def test_pictures_come_out_line_by_line(packed: bool, cache: Path) -> None:
    write(cache, packed=packed)
    assert_holds(load("mnist"), EXPECTED)


def test_noise_is_added_to_digits_in_this_layout(cache: Path) -> None:
    write(cache, packed=True)
    found = make_mnist_noise(6, n_train=20, n_test=2)
    assert np.bincount([*found.y_train, *found.y_test]).tolist() == [3, 3, *[2] * 8]


GOOD = idx(PIXELS["t10k"], packed=False)
WRONG = [
    (b"", "its first bytes are missing"),
    (GOOD[:3], "its first bytes are 0 0 8"),
    (b"\x00\x00\x0d" + GOOD[3:], "its first bytes are 0 0 13 3"),
    (idx(DIGITS["t10k"], packed=False), "its first bytes are 0 0 8 1"),
    (GOOD[:12], "its header says 10 x 28 bytes, and 0 follow"),
    (GOOD[:10], "cannot be read"),
    (GOOD[:-1], "its header says 10 x 28 x 28 bytes, and 7839 follow"),
    (GOOD + b"!", "its header says 10 x 28 x 28 bytes, and 7841 follow"),
    (GOOD[:4] + b"\xff" * 12 + GOOD[16:], "4294967295 x 4294967295 x 4294967295 bytes, and 7840 follow"),
    (gzip.compress(GOOD)[:-9], "EOFError"),
]


@pytest.mark.parametrize(("content", "rule"), WRONG)
def test_a_file_that_breaks_a_rule_is_named(content: bytes, rule: str, cache: Path) -> None:
    write(cache, packed=False)
    (cache / IMAGES).write_bytes(content)
    with pytest.raises(ValueError, match=rule) as error:
        load("mnist")
    assert str(error.value).startswith(f"{cache / IMAGES} must be an idx file of unsigned bytes with 3 axes, and ")


def test_fewer_digits_than_pictures_do_not_pass(cache: Path) -> None:
    write(cache, packed=False)
    (cache / LABELS).write_bytes(idx(DIGITS["t10k"][:9], packed=False))
    with pytest.raises(ValueError, match=r"y_test of .* must have the shape \(10,\), got \(9,\)"):
        load("mnist")
