"""The native parser on texts that nobody would write by hand."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from gcwsnet import _core
from gcwsnet.files._sources import line_blocks
from tests.files.conftest import same

WIDEST = 2**31
ERROR = _core.Missing.ERROR


def parsed(text: bytes, base: int = 0, n_columns: int = WIDEST) -> Any:
    return _core.parse_libsvm(text, 0, base, n_columns, ERROR, False)


def in_blocks(text: bytes, block: int) -> tuple[list[float], list[float], list[int], list[int]]:
    """Labels, values, columns and row lengths, parsed block by block."""
    stream = io.BytesIO(text)
    y, values, columns, lengths = [], [], [], []
    for some in line_blocks(stream.read, path="", block_bytes=block):
        found = parsed(some.text)
        assert found[7] == _core.LibsvmFault.NONE
        y += found[0].tolist()
        values += found[1].tolist()
        columns += found[2].tolist()
        lengths += np.diff(found[3]).tolist()
    return y, values, columns, lengths


spaces = st.text(alphabet=" \t\r\x0b\x0c", min_size=1, max_size=3)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30).map(str),
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True).filter(
        lambda text: np.isfinite(float(text))
    ),
)


@st.composite
def rows(draw: Any) -> str:
    columns = sorted(draw(st.sets(st.integers(0, 2**31 - 1), max_size=5)))
    tokens = [draw(numbers), *(f"{column}:{draw(numbers)}" for column in columns)]
    if draw(st.booleans()):
        tokens.insert(1, f"qid:{draw(st.integers(0, 99))}")
    comment = draw(st.sampled_from(["", "#", " # 1:2 x", "#é"]))
    return draw(st.sampled_from(["", " ", "\t"])) + "".join(token + draw(spaces) for token in tokens) + comment


texts = st.lists(st.one_of(rows(), st.sampled_from(["", " ", "# comment"])), min_size=1, max_size=8).map(
    lambda lines: "\n".join(lines).encode()
)


@given(texts, st.booleans())
@settings(max_examples=150)
def test_texts_are_read_as_by_scikit_learn(text: bytes, ends: bool) -> None:
    text = text + b"\n" * ends
    X, y = load_svmlight_file(io.BytesIO(text), n_features=WIDEST, zero_based=True)
    labels, values, columns, indptr, _, n_bytes, n_lines, fault, *_ = parsed(text)
    assert fault == _core.LibsvmFault.NONE
    assert n_bytes == len(text)
    assert n_lines == text.count(b"\n") + (not ends and text.rpartition(b"\n")[2] != b"")
    assert same(labels, y)
    assert same(values, X.data)
    assert np.array_equal(columns, X.indices)
    assert np.array_equal(indptr, X.indptr)


@given(st.one_of(st.text(alphabet="019.+-eE:# \n\tqidnaf,", max_size=40).map(str.encode), st.binary(max_size=40)))
@settings(max_examples=1000)
def test_whatever_is_accepted_is_read_as_by_scikit_learn(text: bytes) -> None:
    """Where this parser takes all of a text, so does scikit-learn; it stops at a line that can be named."""
    labels, values, columns, indptr, lines, n_bytes, n_lines, fault, begin, end = parsed(text)
    assert text[:n_bytes].count(b"\n") == n_lines - (n_bytes == len(text) > 0 and not text.endswith(b"\n"))
    assert len(labels) == len(lines) == len(indptr) - 1
    X, y = load_svmlight_file(io.BytesIO(text[:n_bytes] + b"\n0 0:0"), n_features=WIDEST, zero_based=True)
    assert same(labels, y[:-1])
    assert same(values, X.data[:-1])
    assert np.array_equal(columns, X.indices[:-1])
    if fault == _core.LibsvmFault.NONE:
        assert n_bytes == len(text)
    else:
        assert n_bytes <= begin <= end <= len(text)
        assert b"\n" not in text[begin:end]


@given(texts, st.booleans())
@settings(max_examples=40)
def test_blocks_cut_at_every_byte_give_the_same_rows(text: bytes, ends: bool) -> None:
    text = text + b"\n" * ends
    expected = in_blocks(text, len(text) + 1)
    for block in range(1, len(text) + 1):
        assert in_blocks(text, block) == expected


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 40))
@settings(max_examples=1000)
def test_a_number_is_the_double_nearest_to_its_digits(value: float, digits: int) -> None:
    for text in (f"{value:.{digits}g}", f"{value:.{digits}e}", f"{value:.{digits}f}"):
        expected = float(text)
        found = parsed(f"{text} 0:1".encode())
        if np.isfinite(expected):
            assert same(found[0], np.array([expected])), text
        else:
            assert found[7] == _core.LibsvmFault.OVERFLOW


@pytest.mark.parametrize(
    "text",
    [
        "0" * 400 + "1",
        "1" + "0" * 308,
        "0." + "0" * 400 + "1e400",
        "1" + "0" * 400 + "e-400",
        "1e-99999999999999999999",
        "0e99999999999999999999",
        "179769313486231580793" + "0" * 288,
        "2.2250738585072011e-308",
        "1e23",
        "8.5e22",
        *("1e309", "1" + "0" * 309, "0." + "0" * 400 + "1e800", "1e99999999999999999999", "2e308"),
    ],
)
def test_numbers_at_the_ends_and_beyond(text: str) -> None:
    found = parsed(f"{text} 0:1".encode())
    if np.isfinite(float(text)):
        assert same(found[0], np.array([float(text)]))
    else:
        assert found[7] == _core.LibsvmFault.OVERFLOW


@given(st.lists(st.integers(0, 20), max_size=12))
def test_a_row_in_any_order_is_sorted_or_named_for_what_is_there_twice(columns: list[int]) -> None:
    found = parsed(("1 " + " ".join(f"{column}:{column + 1}" for column in columns)).encode())
    if len(set(columns)) == len(columns):
        assert found[2].tolist() == sorted(columns)
        assert found[1].tolist() == [column + 1 for column in sorted(columns)]
    else:
        assert found[7] == _core.LibsvmFault.DUPLICATE
        assert len(found[0]) == len(found[1]) == len(found[2]) == 0
