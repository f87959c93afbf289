"""PAMAP2 in its published layout."""

from pathlib import Path

import numpy as np
import pytest

from gcwsnet.datasets import load
from tests.datasets.layouts import assert_holds, in_halves, resize, text, zipped

N = 15
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(N, 54)).round(5)
TABLE[:, 1] = [0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 16, 17, 24, 0, 0]
TABLE[::4, 2] = np.nan
TABLE[3, 3:20] = np.nan
LINES = text(TABLE)
INNER = {"PAMAP2_Dataset/Optional/subject101.dat": b"9 9\n", "PAMAP2_Dataset/Protocol/subject101.dat": LINES}
FILES = {
    "subject101.dat": LINES,
    "PAMAP2_Dataset.zip": zipped(INNER),
    "pamap2+physical+activity+monitoring.zip": zipped({"readme.pdf": b"%PDF", "PAMAP2_Dataset.zip": zipped(INNER)}),
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    resize(monkeypatch, "pamap101", 8, 7)


@pytest.mark.parametrize("file", FILES)
def test_the_51_columns_of_the_sensors_come_out_with_all_activities(file: str, cache: Path) -> None:
    """Time, activity and heart rate are left out; what is missing is 0; the protocol, not the optional activities."""
    (cache / file).write_bytes(FILES[file])
    found = load("pamap101")
    assert found.X_train.shape == (8, 51)
    assert_holds(found, in_halves(np.nan_to_num(TABLE[:, 3:]), TABLE[:, 1].astype(int)))
    assert "20 classes" in found.DESCR


def test_an_activity_that_pamap2_does_not_have_is_an_error(cache: Path) -> None:
    changed = TABLE.copy()
    changed[0, 1] = 8
    (cache / "subject101.dat").write_bytes(text(changed))
    with pytest.raises(ValueError, match=r"must be among 0, 1, 2, .*, 24, got 8"):
        load("pamap101")


def test_an_activity_that_is_missing_is_an_error(cache: Path) -> None:
    changed = TABLE.copy()
    changed[5, 1] = np.nan
    (cache / "subject101.dat").write_bytes(text(changed))
    with pytest.raises(ValueError, match="must have integers as labels, got nan in row 5"):
        load("pamap101")


def test_infinity_is_not_missing(cache: Path) -> None:
    changed = TABLE.copy()
    changed[2, 7] = -np.inf
    (cache / "subject101.dat").write_bytes(text(changed))
    with pytest.raises(ValueError, match=r"subject101\.dat\[2, 7\] is -infinity"):
        load("pamap101")
