"""The rows of CSV text, judged by Python's csv and by pandas: none is lost, joined or cut, wherever blocks end."""

import csv
import io
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gcwsnet.files import DataError, read
from gcwsnet.files._csv import split_fields, split_rows
from gcwsnet.files._sources import LineBlock, line_blocks
from tests.files.conftest import Write, fault, whole

ALPHABET = 'ab1,"\n\r é'
texts = st.text(alphabet=ALPHABET, max_size=40)
fields = st.text(alphabet=ALPHABET, max_size=6)
BLOCKS = st.integers(1, 40)


def blocks_of(text: bytes, block: int) -> list[LineBlock]:
    read_bytes = io.BytesIO(text).read
    return list(line_blocks(read_bytes, delimiter=",", path="a.csv", block_bytes=block))


def rows_of_csv(text: str) -> list[list[str]]:
    """The rows that Python's csv reads, with a newline for each return outside of quotes, where csv refuses one."""
    made, state = [], "start"
    for number, letter in enumerate(text):
        if letter == "\r" and state != "quoted":
            made.append("" if text[number + 1 : number + 2] == "\n" else "\n")
            state = "start"
            continue
        made.append(letter)
        if state == "quoted":
            state = "closing" if letter == '"' else "quoted"
        elif letter == '"' and state in ("start", "closing"):
            state = "quoted"
        else:
            state = "start" if letter in ",\n" else "field"
    return [row for row in csv.reader(io.StringIO("".join(made), newline="")) if row]


@given(texts, BLOCKS)
@example('1,5"x,0\n2,6"x,1\n', 4)
@example('"a\rb",c\r\rd,e', 3)
def test_rows_are_those_of_pythons_csv_wherever_blocks_end(text: str, block: int) -> None:
    try:
        blocks = blocks_of(text.encode(), block)
    except DataError as error:
        assert "a double quote that opens a field must be closed" in str(error)  # noqa: PT017
        return
    assert b"".join(one.text for one in blocks) == text.encode()
    found = [split_fields(row.text, ",") for one in blocks for row in split_rows(one, ",")]
    assert found == rows_of_csv(text)


@given(texts, BLOCKS)
def test_lines_are_counted_by_newlines_returns_and_both(text: str, block: int) -> None:
    try:
        blocks = blocks_of(text.encode(), block)
    except DataError:
        return
    whole_text = split_rows(LineBlock(text.encode(), 1), ",")
    assert [row for one in blocks for row in split_rows(one, ",")] == whole_text
    position = 0
    for row in whole_text:
        position = text.encode().index(row.text, position)
        before = text.encode()[:position].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        assert row.line == 1 + before.count(b"\n")
        position += len(row.text)


def quoted(field: str, always: bool) -> str:
    return '"' + field.replace('"', '""') + '"' if always or any(one in field for one in ',"\r\n') else field


@given(
    st.lists(st.tuples(fields.map(lambda one: one + "x"), st.booleans()), min_size=1, max_size=8),
    BLOCKS,
    st.integers(0, 8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_texts_are_those_of_pandas_also_where_pyarrow_refuses_a_block(
    tmp_path_factory: Any, given_fields: list[tuple[str, bool]], block: int, refused: int, end: str
) -> None:
    """`+1` is a number that pyarrow refuses, so that the block with it goes another way."""
    lines = ["n,text,y"]
    for number, (field, always) in enumerate(given_fields):
        lines.append(f"{'+' if number == refused else ''}{number},{quoted(field, always)},0")
    text = end.join(lines) + end
    path = Path(tmp_path_factory.mktemp("csv")) / "a.csv"
    path.write_bytes(text.encode())
    expected = pd.read_csv(path, keep_default_na=False)
    assert len(expected) == len(given_fields)
    with patch("gcwsnet.files._csv.line_blocks", lambda one, **more: line_blocks(one, **more | {"block_bytes": block})):
        found = whole(read(path, columns=["n"], label="text"))
    assert found.X[:, 0].tolist() == expected["n"].tolist()
    assert found.y.astype(str).tolist() == expected["text"].astype(str).tolist()


def test_a_quote_within_a_field_is_a_letter_and_joins_no_rows(write: Write) -> None:
    path = write("a.csv", 'a,b,y\n1,5"x,0\n2,6"x,1\nNA ,7x,0\n4,8x,1\n')
    batches = read(path, label="y", missing="nan")
    found = whole(batches)
    assert found.X.shape[0] == 4
    assert found.y.tolist() == [0, 1, 0, 1]
    assert batches.skipped == 0
    assert batches.schema.columns[1].categories == ('5"x', '6"x', "7x", "8x")


def test_a_lone_return_within_quotes_survives_repair(write: Write) -> None:
    path = write("a.csv", 'a,b\n+1,"x\ry"\n2,z\n')
    assert read(path).schema.columns[1].categories == ("x\ry", "z")


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("size", [10, 300_000])
def test_a_quote_that_is_never_closed_is_an_error(on_error: str, size: int, write: Write) -> None:
    path = write("a.csv", "a,b\n" + "1,2\n" * size + '3,"4\n' + "5,6\n" * size)
    error = fault(read(path, on_error=on_error))
    assert "a double quote that opens a field must be closed" in str(error)
    assert error.line == size + 2


def test_each_byte_behind_an_open_quote_is_looked_at_once() -> None:
    looked_at = 0

    def counted(text: bytes, *more: Any) -> Any:
        nonlocal looked_at
        looked_at += len(text)
        return scan(text, *more)

    from gcwsnet import _core  # noqa: PLC0415

    scan = _core.scan_csv
    text = b'1,"2\n' + b"x" * 100_000
    with patch("gcwsnet._core.scan_csv", counted), pytest.raises(DataError, match="must be closed"):
        blocks_of(text, 100)
    assert looked_at == len(text)


def test_rows_of_nothing_but_delimiters_are_rows(write: Write) -> None:
    path = write("a.tsv", "a\tb\n\t\n1\t2\n" + "\t\n" * 3)
    with patch("gcwsnet.files._csv.line_blocks", lambda one, **more: line_blocks(one, **more | {"block_bytes": 3})):
        assert whole(read(path, missing="zero")).X.tolist() == [[0, 0], [1, 2], [0, 0], [0, 0], [0, 0]]


def test_fields_may_be_longer_than_pythons_csv_allows(write: Write) -> None:
    long = "x" * 200_000
    path = write("a.csv", f"a,b\n+1,{long}\n2,y\n")
    assert read(path).schema.columns[1].categories == (long, "y")


@pytest.mark.parametrize("value", ["NAN", "nAn", "+nan", "nan(1)", "NA", " NA", "nan ", ""])
@pytest.mark.parametrize("other", ["1", "+1"])
def test_a_missing_number_is_missing_in_both_ways(value: str, other: str, write: Write) -> None:
    found = whole(read(write("a.csv", f"a,b\n{other},2\n3,{value}\n"), header=True, missing="nan")).X
    assert found[:, 0].tolist() == [1, 3]
    assert np.isnan(found[1, 1])


@given(st.lists(st.sampled_from(["1,2", "x,2", "1", '"3",4', "inf,1"]), min_size=1, max_size=12), BLOCKS)
def test_skipped_rows_have_their_numbers(tmp_path_factory: Any, lines: list[str], block: int) -> None:
    path = Path(tmp_path_factory.mktemp("csv")) / "a.csv"
    path.write_text("a,b\n0,0\n" + "\n".join(lines))
    with patch("gcwsnet.files._csv.line_blocks", lambda one, **more: line_blocks(one, **more | {"block_bytes": block})):
        batches = read(path, on_error="skip", batch_rows=2)
        n_rows = sum(batch.n_rows for batch in batches)
    invalid = [number for number, line in enumerate(lines, start=1) if line not in ("1,2", '"3",4')]
    assert batches.skipped_rows.tolist() == invalid
    assert n_rows == 1 + len(lines) - len(invalid)


def test_a_byte_order_mark_is_no_part_of_the_text_however_it_is_cut() -> None:
    for block in (1, 2, 3, 50):
        (first, *rest) = blocks_of(b"\xef\xbb\xbfa,b\n1,2\n", block)
        assert first.text.startswith(b"a,b\n")
        assert b"".join([first.text, *(one.text for one in rest)]) == b"a,b\n1,2\n"
        assert all(one.first_line < two.first_line for one, two in pairwise([first, *rest]))
