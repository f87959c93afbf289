"""Pendigits in its published layout."""

from pathlib import Path

import numpy as np
import pytest

from gcwsnet.datasets import load
from tests.datasets.layouts import assert_holds, resize, text, zipped

RNG = np.random.default_rng(0)
ROWS = {"tra": RNG.integers(0, 101, (10, 16)), "tes": RNG.integers(0, 101, (6, 16))}
DIGITS = {"tra": np.arange(10), "tes": np.arange(6)}
LINES = {f"pendigits.{part}": text(np.column_stack([ROWS[part], DIGITS[part]]), ",", "%3d") for part in ROWS}
ZIP = "pen+based+recognition+of+handwritten+digits.zip"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    resize(monkeypatch, "pendigits", 10, 6)


@pytest.mark.parametrize("packed", [False, True])
def test_the_official_split_comes_out(packed: bool, cache: Path) -> None:
    files = {ZIP: zipped({"pendigits-orig.tra.Z": b"other", **LINES})} if packed else LINES
    for name, content in files.items():
        (cache / name).write_bytes(content)
    expected = {"X_train": ROWS["tra"], "y_train": DIGITS["tra"], "X_test": ROWS["tes"], "y_test": DIGITS["tes"]}
    assert_holds(load("pendigits"), expected)


def test_one_of_two_files_is_not_enough(cache: Path) -> None:
    (cache / "pendigits.tra").write_bytes(LINES["pendigits.tra"])
    with pytest.raises(FileNotFoundError, match=r"made of pendigits\.npz, .*neither is pen\+based"):
        load("pendigits")


def test_an_archive_without_the_files_is_named_with_what_it_lacks(cache: Path) -> None:
    (cache / ZIP).write_bytes(zipped({"pendigits.tra": LINES["pendigits.tra"]}))
    with pytest.raises(ValueError, match=r"handwritten\+digits\.zip must hold pendigits\.tes, and does not"):
        load("pendigits")


def test_a_line_is_named_with_the_file_inside_and_the_archive(cache: Path) -> None:
    (cache / ZIP).write_bytes(zipped({**LINES, "pendigits.tes": LINES["pendigits.tes"] + b"1,2\n"}))
    with pytest.raises(ValueError, match=r"^pendigits\.tes in .*digits\.zip .*line 7 must have 17 numbers, got 2"):
        load("pendigits")
