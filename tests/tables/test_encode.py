"""The encoding of categories: one-hot columns, hashed columns, and the hash that never changes."""

import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet._keys import _mix64_one
from gcwsnet.files import Schema, read
from gcwsnet.tables._encode import hash_to_columns
from gcwsnet.tables._schema import HASH_COLUMNS
from tests.files.conftest import Write, whole

PEOPLE = "age,city,label,w\n30,Rome,yes,1\n40.5,Oslo,no,2\n-5e1,Paris,yes,0.5\n+7,Rome,no,1\n"


def test_numbers_may_be_categories(write: Write) -> None:
    batches = read(write("a.csv", "zip,x\n10,1\n9,2\n10,3\n"), categorical=["zip"])
    assert whole(batches).X.tolist() == [[1, 0, 1], [0, 1, 2], [1, 0, 3]]
    assert batches.schema.feature_names() == ["zip=10", "zip=9", "x"]


def test_a_stream_with_text_needs_no_option(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PEOPLE.encode())))
    batches = read("-", label="label", weight="w")
    assert batches.n_features == 1 + HASH_COLUMNS
    of_file = whole(read(write("people.csv", PEOPLE), label="label", weight="w", hash_columns=HASH_COLUMNS))
    assert np.array_equal(whole(batches).X, of_file.X)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    assert whole(read("-")).X.tolist() == [[1, 2]]


def test_categories_that_hash_to_one_column_add_up(write: Write) -> None:
    path = write("a.csv", "a,b\nx,y\nz,w\n")
    assert whole(read(path, hash_columns=1)).X.tolist() == [[2], [2]]


def test_a_column_of_more_than_100_categories_is_hashed(write: Write) -> None:
    def schema(n: int) -> Schema:
        return read(write("a.csv", "id,x\n" + "\n".join(f"u{i},{i}" for i in range(n)))).schema

    assert (schema(100).n_features, schema(100).columns[0].kind) == (101, "onehot")
    assert (schema(101).n_features, schema(101).columns[0].kind) == (1 + 16384, "hashed")


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
def test_hashed_columns_follow_the_formula(column: str, texts: list[str], n_columns: int, cut: int) -> None:
    found = hash_to_columns(column, texts[cut:], n_columns)
    assert found.tolist() == [reference(column, text, n_columns) for text in texts[cut:]]


def test_hashed_columns_never_change() -> None:
    found = hash_to_columns("city", ["Rome", "Oslo", "", "東京", "Rome "], 1 << 20)
    assert found.tolist() == GOLDEN


GOLDEN = [838964, 433740, 1032447, 311408, 965184]


def test_each_hashed_column_is_equally_likely() -> None:
    """10,000 texts in 16 columns: 625 each, within five standard errors."""
    found = hash_to_columns("id", [f"user{i}" for i in range(10_000)], 16)
    counts = np.bincount(found, minlength=16)
    assert np.all(np.abs(counts - 625) < 5 * np.sqrt(10_000 * 15 / 256))


def test_a_text_is_hashed_differently_in_each_column_of_a_table() -> None:
    texts = [f"user{i}" for i in range(1000)]
    same = np.mean(hash_to_columns("a", texts, 1 << 20) == hash_to_columns("b", texts, 1 << 20))
    assert same < 0.01
