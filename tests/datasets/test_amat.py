"""The sets of Larochelle et al. in their published layout."""

import tarfile
from pathlib import Path

import numpy as np
import pytest

from gcwsnet.datasets import load
from tests.datasets.layouts import assert_holds, resize, tarred, text, zipped

RNG = np.random.default_rng(0)
X = RNG.random((24, 784)).round(8)
Y = np.arange(24) % 10
SPLIT = {"X_train": X[:14], "y_train": Y[:14], "X_test": X[14:], "y_test": Y[14:]}
LINES = text(np.column_stack([X, Y]))
NOISE = [f"mnist_noise_variations_all_{level}.amat" for level in range(1, 7)]
IMAGE = {
    f"mnist_background_images_{part}.amat": text(np.column_stack([SPLIT[f"X_{part}"], SPLIT[f"y_{part}"]]))
    for part in ("train", "test")
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("m-noise1", "m-noise4", "m-image"):
        resize(monkeypatch, name, 14, 10)


def test_the_first_rows_of_a_noise_set_are_for_training(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    (cache / NOISE[3]).write_bytes(LINES)
    found = load("m-noise4")
    assert_holds(found, SPLIT)
    assert "M-Noise4 of Larochelle" in found.DESCR
    assert not caplog.records


def test_a_noise_set_is_found_among_all_in_the_archive(cache: Path) -> None:
    others = {f"./{name}": b"0 1 2\n" for name in NOISE}
    (cache / "mnist_noise_variation.tar.gz").write_bytes(tarred({"readme": b"", **others, f"./{NOISE[3]}": LINES}))
    assert_holds(load("m-noise4"), SPLIT)
    with pytest.raises(ValueError, match=r"all_1\.amat in .*\.tar\.gz .*line 1 must have 785 numbers, got 3"):
        load("m-noise1")


@pytest.mark.parametrize("packed", [False, True])
def test_images_have_a_file_for_training_and_one_for_testing(packed: bool, cache: Path) -> None:
    files = {"mnist_background_images.zip": zipped(IMAGE)} if packed else IMAGE
    for name, content in files.items():
        (cache / name).write_bytes(content)
    assert_holds(load("m-image"), SPLIT)


def test_an_archive_without_the_file_is_an_error(cache: Path) -> None:
    (cache / "mnist_noise_variation.tar.gz").write_bytes(tarred({NOISE[3]: LINES}))
    with pytest.raises(ValueError, match=r"tar\.gz must hold mnist_noise_variations_all_1\.amat, and does not"):
        load("m-noise1")


@pytest.mark.parametrize("length", [0, 10, 100, 5000, 40_000])
def test_an_archive_that_was_cut_off_is_an_error(length: int, cache: Path) -> None:
    content = tarred({NOISE[0]: LINES})
    assert length < len(content)
    (cache / "mnist_noise_variation.tar.gz").write_bytes(content[:length])
    with pytest.raises(ValueError, match=r"mnist_noise_variation\.tar\.gz"):
        load("m-noise1")


@pytest.mark.parametrize("kind", ["symbolic link", "folder"])
def test_what_is_no_file_of_an_archive_is_not_read(kind: str, cache: Path) -> None:
    secret = cache / "secret"
    secret.write_bytes(LINES)
    with tarfile.open(cache / "mnist_noise_variation.tar.gz", "w:gz") as archive:
        header = tarfile.TarInfo(NOISE[0])
        header.type = tarfile.SYMTYPE if kind == "symbolic link" else tarfile.DIRTYPE
        header.linkname = str(secret)
        archive.addfile(header)
    with pytest.raises(ValueError, match=r"mnist_noise_variation\.tar\.gz"):
        load("m-noise1")


def test_a_damaged_published_file_is_not_replaced_by_a_rebuilt_one(cache: Path, small: object) -> None:  # noqa: ARG001
    for level in (1, 4):
        (cache / f"m-noise{level}.npz").unlink()
    (cache / NOISE[0]).write_bytes(b"damaged")
    with pytest.raises(ValueError, match="line 1 must have 785 numbers, got 1"):
        load("m-noise1")
