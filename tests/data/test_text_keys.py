"""The hash of categories: its formula, its law, and that it stays as it is."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet._keys import _mix64_one
from gcwsnet.data._text_keys import hashed_columns


def reference(column: str, text: str, n_columns: int) -> int:
    state = 0xCBF29CE484222325
    for byte in f"{column}={text}".encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return (_mix64_one(state) >> 32) * n_columns >> 32


@given(
    st.text(alphabet="abcé", max_size=3),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=5),
    st.integers(1, 2**31),
    st.integers(0, 2),
)
def test_columns_are_those_of_the_formula(column: str, texts: list[str], n_columns: int, cut: int) -> None:
    found = hashed_columns(column, pa.array(texts, "string")[cut:], n_columns)
    assert found.tolist() == [reference(column, text, n_columns) for text in texts[cut:]]


def test_columns_stay_as_they_are() -> None:
    found = hashed_columns("city", pa.array(["Rome", "Oslo", "", "東京", "Rome "]), 1 << 20)
    assert found.tolist() == GOLDEN


GOLDEN = [838964, 433740, 1032447, 311408, 965184]


def test_each_column_is_as_likely() -> None:
    """10,000 texts in 16 columns: 625 each, within five standard errors."""
    found = hashed_columns("id", pa.array([f"user{i}" for i in range(10_000)]), 16)
    counts = np.bincount(found, minlength=16)
    assert np.all(np.abs(counts - 625) < 5 * np.sqrt(10_000 * 15 / 256))


def test_a_text_has_other_columns_in_other_columns_of_the_table() -> None:
    texts = pa.array([f"user{i}" for i in range(1000)])
    same = np.mean(hashed_columns("a", texts, 1 << 20) == hashed_columns("b", texts, 1 << 20))
    assert same < 0.01
