"""Datasets that are published as text: Larochelle et al., Covertype, Pendigits, PAMAP2, Daily and Sports Activities."""

import gzip
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction.datasets import load
from reproduction.datasets._catalog import DATASETS
from reproduction.datasets._layouts import dailysports_files
from tests.reproduction.datasets.layouts import assert_holds, resize, split_in_halves, tarred, text, zipped

RNG = np.random.default_rng(0)

PIXELS, DIGITS = RNG.random((24, 784)).round(8), np.arange(24) % 10
AMAT = {
    "X_train": PIXELS[:14],
    "y_train": DIGITS[:14],
    "X_test": PIXELS[14:],
    "y_test": DIGITS[14:],
}
AMAT_LINES = text(np.column_stack([PIXELS, DIGITS]))
NOISE_TAR = "mnist_noise_variation.tar.gz"
NOISE_FILES = [f"mnist_noise_variations_all_{level}.amat" for level in range(1, 7)]
IMAGE_FILES = {
    f"mnist_background_images_{part}.amat": text(np.column_stack([AMAT[f"X_{part}"], AMAT[f"y_{part}"]]))
    for part in ("train", "test")
}

FOREST = np.hstack([RNG.integers(-200, 4000, (21, 10)), RNG.integers(0, 2, (21, 44))])
COVER = np.arange(21) % 7
COVTYPE_LINES = text(np.column_stack([FOREST, COVER + 1]), ",", "%d")
COVTYPE_FILES = {
    "covtype.data.gz": gzip.compress(COVTYPE_LINES),
    "covtype.data": COVTYPE_LINES,
    "covertype.zip": zipped({"covtype.info": b"about", "covtype.data.gz": gzip.compress(COVTYPE_LINES)}),
}

PEN = {
    "X_train": RNG.integers(0, 101, (10, 16)),
    "y_train": np.arange(10),
    "X_test": RNG.integers(0, 101, (6, 16)),
    "y_test": np.arange(6),
}
PENDIGITS_ZIP = "pen+based+recognition+of+handwritten+digits.zip"
PENDIGITS_FILES = {
    f"pendigits.{part[:3]}": text(np.column_stack([PEN[f"X_{part}"], PEN[f"y_{part}"]]), ",", "%3d")
    for part in ("train", "test")
}

PAMAP = RNG.normal(size=(15, 54)).round(5)
PAMAP[:, 1] = [0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 16, 17, 24, 0, 0]
PAMAP[::4, 2] = np.nan
PAMAP[3, 3:20] = np.nan
PAMAP_ZIP = zipped(
    {"PAMAP2_Dataset/Optional/subject101.dat": b"9 9\n", "PAMAP2_Dataset/Protocol/subject101.dat": text(PAMAP)}
)
PAMAP_FILES = {
    "subject101.dat": text(PAMAP),
    "PAMAP2_Dataset.zip": PAMAP_ZIP,
    "pamap2+physical+activity+monitoring.zip": zipped({"readme.pdf": b"%PDF", "PAMAP2_Dataset.zip": PAMAP_ZIP}),
}

SPORTS_ZIP = "daily+and+sports+activities.zip"
SPORTS_NAMES = dailysports_files(19, 2, 1)
SEGMENTS = RNG.normal(size=(len(SPORTS_NAMES), 125, 45)).round(4)
SPORTS_FILES = {f"data/{name}": text(segment, ",") for name, segment in zip(SPORTS_NAMES, SEGMENTS, strict=True)}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the catalog expect the numbers of rows of the files of this module."""
    for name in ("m-noise1", "m-noise4", "m-image"):
        resize(monkeypatch, name, 14, 10)
    resize(monkeypatch, "covtype", 11, 10)
    resize(monkeypatch, "pendigits", 10, 6)
    resize(monkeypatch, "pamap101", 8, 7)
    npz, archive = DATASETS["dailysports"].file_sets
    resize(monkeypatch, "dailysports", 19, 19, file_sets=(npz, replace(archive, inside=SPORTS_NAMES)))


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_the_first_rows_of_a_noise_set_are_for_training(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(cache, {NOISE_FILES[3]: AMAT_LINES})
    found = load("m-noise4")
    assert_holds(found, AMAT)
    assert "M-Noise4 of Larochelle" in found.DESCR
    assert not caplog.records


def test_a_noise_set_is_found_among_all_in_the_archive(cache: Path) -> None:
    others = {f"./{name}": b"0 1 2\n" for name in NOISE_FILES}
    write(cache, {NOISE_TAR: tarred({"readme": b"", **others, f"./{NOISE_FILES[3]}": AMAT_LINES})})
    assert_holds(load("m-noise4"), AMAT)
    with pytest.raises(ValueError, match=r"all_1\.amat in .*\.tar\.gz .*line 1 must have 785 numbers, got 3"):
        load("m-noise1")


@pytest.mark.parametrize("packed", [False, True])
def test_m_image_has_a_file_for_training_and_one_for_testing(packed: bool, cache: Path) -> None:
    write(cache, {"mnist_background_images.zip": zipped(IMAGE_FILES)} if packed else IMAGE_FILES)
    assert_holds(load("m-image"), AMAT)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.DIRTYPE], ids=["symbolic link", "folder"])
def test_links_and_folders_of_a_tar_archive_are_not_read(kind: bytes, cache: Path) -> None:
    secret = cache / "secret"
    secret.write_bytes(AMAT_LINES)
    with tarfile.open(cache / NOISE_TAR, "w:gz") as archive:
        header = tarfile.TarInfo(NOISE_FILES[0])
        header.type = kind
        header.linkname = str(secret)
        archive.addfile(header)
    with pytest.raises(ValueError, match=r"mnist_noise_variation\.tar\.gz"):
        load("m-noise1")


@pytest.mark.parametrize("file", COVTYPE_FILES)
def test_rows_of_covtype_are_split_in_halves(file: str, cache: Path) -> None:
    write(cache, {file: COVTYPE_FILES[file]})
    found = load("covtype")
    assert_holds(found, split_in_halves(FOREST, COVER))
    assert "columns 10 to 53 are binary" in found.DESCR


WRONG_COVTYPE: list[tuple[bytes, str]] = [
    (COVTYPE_LINES.replace(b",", b";", 1), "line 1 must have 55 numbers, got 54"),
    (COVTYPE_LINES + b"1,2,3\n", "line 22 must have 55 numbers, got 3"),
    (COVTYPE_LINES.replace(b"\n", b"x\n", 3).replace(b"x\n", b"\n", 2), "line 3 must have numbers only, got '.x'"),
    (COVTYPE_LINES[:-2] + b"8\n", r"labels of .* must be among 0, 1, 2, 3, 4, 5, 6, got 7"),
    (COVTYPE_LINES[:-2] + b"1.5\n", r"must have integers as labels, got 1\.5 in row 20"),
    (
        b"".join(COVTYPE_LINES.splitlines(keepends=True)[:-1]),
        r"X_train of .* must have the shape \(11, 54\), got \(10, 54\)",
    ),
    (b"", "no lines"),
    (b"\n\r\n", "no lines"),
    (b"\n \n", "line 2 must have 55 numbers, got 1"),
    (COVTYPE_LINES.replace(b"\n", b"\xe9\n", 1), "line 1 must have numbers only"),
    (b"inf" + COVTYPE_LINES[COVTYPE_LINES.index(b",") :], r"every entry must be finite.*\[0, 0\] is infinity"),
]


@pytest.mark.parametrize(("content", "rule"), WRONG_COVTYPE)
def test_an_error_names_the_file_and_the_line(content: bytes, rule: str, cache: Path) -> None:
    write(cache, {"covtype.data": content})
    with pytest.raises(ValueError, match=rule) as error:
        load("covtype")
    assert str(cache / "covtype.data") in str(error.value)


@pytest.mark.parametrize("packed", [False, True])
def test_pendigits_has_the_published_split(packed: bool, cache: Path) -> None:
    write(
        cache,
        {PENDIGITS_ZIP: zipped({"pendigits-orig.tra.Z": b"other", **PENDIGITS_FILES})} if packed else PENDIGITS_FILES,
    )
    assert_holds(load("pendigits"), PEN)


@pytest.mark.parametrize("file", PAMAP_FILES)
def test_pamap101_has_the_51_columns_of_the_sensors_and_all_activities(file: str, cache: Path) -> None:
    """Time, activity and heart rate are left out, missing readings are 0, and optional activities are not read."""
    write(cache, {file: PAMAP_FILES[file]})
    found = load("pamap101")
    assert found.X_train.shape == (8, 51)
    assert_holds(found, split_in_halves(np.nan_to_num(PAMAP[:, 3:]), PAMAP[:, 1].astype(int)))
    assert "20 classes" in found.DESCR


def test_a_row_of_dailysports_is_a_segment_time_by_time(cache: Path) -> None:
    backwards = dict(reversed(list(SPORTS_FILES.items())))  # the order in the archive has no meaning
    write(cache, {SPORTS_ZIP: zipped(backwards)})
    assert_holds(load("dailysports"), split_in_halves(SEGMENTS.reshape(38, 5625), np.repeat(np.arange(19), 2)))
