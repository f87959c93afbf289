"""Covertype in its published layout."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gcwsnet.datasets import load
from tests.datasets.layouts import assert_holds, in_halves, resize, text, zipped

N = 21
RNG = np.random.default_rng(0)
X = np.hstack([RNG.integers(-200, 4000, (N, 10)), RNG.integers(0, 2, (N, 44))])
Y = np.arange(N) % 7
LINES = text(np.column_stack([X, Y + 1]), ",", "%d")
FILES = {
    "covtype.data.gz": gzip.compress(LINES),
    "covtype.data": LINES,
    "covertype.zip": zipped({"covtype.info": b"about", "covtype.data.gz": gzip.compress(LINES)}),
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    resize(monkeypatch, "covtype", 11, 10)


@pytest.mark.parametrize("file", FILES)
def test_rows_come_out_in_halves(file: str, cache: Path) -> None:
    (cache / file).write_bytes(FILES[file])
    found = load("covtype")
    assert_holds(found, in_halves(X, Y))
    assert "columns 10 to 53 are binary" in found.DESCR


def test_numeric_columns_are_standardised_and_binary_ones_left_alone(cache: Path) -> None:
    (cache / "covtype.data").write_bytes(LINES)
    plain, found = load("covtype"), load("covtype", standardized=True)
    mean, deviation = plain.X_train[:, :10].mean(axis=0), plain.X_train[:, :10].std(axis=0)
    for part in ("X_train", "X_test"):
        assert np.array_equal(found[part][:, 10:], plain[part][:, 10:])
        assert np.allclose(found[part][:, :10], (plain[part][:, :10] - mean) / deviation, atol=1e-5)
    assert found.DESCR.startswith(plain.DESCR)
    assert "10 are standardised by the rows for training and 44 that hold only 0 and 1 are as they were" in found.DESCR


WRONG: list[tuple[bytes, str]] = [
    (LINES.replace(b",", b";", 1), "line 1 must have 55 numbers, got 54"),
    (LINES + b"1,2,3\n", "line 22 must have 55 numbers, got 3"),
    (LINES.replace(b"\n", b"x\n", 3).replace(b"x\n", b"\n", 2), "line 3 must have numbers only, got '.x'"),
    (LINES[:-2] + b"8\n", r"labels of .* must be among 0, 1, 2, 3, 4, 5, 6, got 7"),
    (LINES[:-2] + b"1.5\n", r"must have integers as labels, got 1\.5 in row 20"),
    (b"".join(LINES.splitlines(keepends=True)[:-1]), r"X_train of .* must have the shape \(11, 54\), got \(10, 54\)"),
    (b"", "no lines"),
    (b"\n\r\n", "no lines"),
    (b"\n \n", "line 2 must have 55 numbers, got 1"),
    (LINES.replace(b"\n", b"\xe9\n", 1), "line 1 must have numbers only"),
    (b"inf" + LINES[LINES.index(b",") :], r"every entry must be finite.*\[0, 0\] is infinity"),
]


@pytest.mark.parametrize(("content", "rule"), WRONG)
def test_what_is_wrong_is_named_with_file_and_line(content: bytes, rule: str, cache: Path) -> None:
    (cache / "covtype.data").write_bytes(content)
    with pytest.raises(ValueError, match=rule) as error:
        load("covtype")
    assert re.search(re.escape(str(cache / "covtype.data")), str(error.value))


def test_empty_lines_are_no_rows(cache: Path) -> None:
    (cache / "covtype.data").write_bytes(LINES.replace(b"\n", b"\r\n\n"))
    assert_holds(load("covtype"), in_halves(X, Y))


def test_a_class_that_does_not_occur_is_missed(cache: Path) -> None:
    (cache / "covtype.data").write_bytes(text(np.column_stack([X, np.minimum(Y, 5) + 1]), ",", "%d"))
    with pytest.raises(ValueError, match="must have 7 labels, got 6"):
        load("covtype")


@pytest.mark.parametrize("length", range(0, len(FILES["covtype.data.gz"]), 40))
def test_a_file_that_was_cut_off_is_an_error(length: int, cache: Path) -> None:
    (cache / "covtype.data.gz").write_bytes(FILES["covtype.data.gz"][:length])
    with pytest.raises(ValueError, match=re.escape(str(cache / "covtype.data.gz"))):
        load("covtype")


def test_a_damaged_packed_file_is_an_error_or_has_the_same_numbers(cache: Path) -> None:
    content: Any = bytearray(FILES["covtype.data.gz"])
    for place in range(0, len(content), 3):
        content[place] ^= 0x55
        (cache / "covtype.data.gz").write_bytes(content)
        content[place] ^= 0x55
        try:
            found = load("covtype")
        except ValueError as error:
            assert str(cache / "covtype.data.gz") in str(error)  # noqa: PT017
        else:
            assert_holds(found, in_halves(X, Y))
