"""CSV files as people have them: separators, decimal commas, encodings, words for missing values."""

import gzip
import io
import logging
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from gcwsnet.files import DataError, Schema, read
from gcwsnet.tables._frames import encode_frame, learn_schema, open_frame

NUMBERS = [[1.5, 2.0], [-3.25, 4e3], [0.0, 7.0]]


def numbers_of(path: Path, **settings: Any) -> Any:
    return np.concatenate([batch.X for batch in read(path, **settings)])


@pytest.mark.parametrize(("sep", "decimal"), [(",", "."), *((sep, decimal) for sep in ";\t|" for decimal in ".,")])
def test_separators_and_decimal_points_are_found(
    sep: str, decimal: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [sep.join(str(number).replace(".", decimal) for number in row) for row in NUMBERS]
    (tmp_path / "rows.csv").write_text("\n".join([sep.join("ab"), *rows]) + "\n")
    with caplog.at_level(logging.INFO, logger="gcwsnet.files"):
        assert_array_equal(numbers_of(tmp_path / "rows.csv"), NUMBERS)
    said = " ".join(caplog.messages)
    assert (f"{sep!r} separates fields" in said) == (sep != ",")
    assert ("numbers have decimal commas" in said) == (decimal == ",")
    assert_array_equal(numbers_of(tmp_path / "rows.csv", sep=sep, decimal=decimal), NUMBERS)


def test_labels_with_decimal_commas_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;y\n1,5;2,25\n2,5;-3\n;4,75e1\n")
    batches = read(tmp_path / "a.csv", label="y", missing="zero")
    assert batches.survey().label_type == "numbers"
    np.testing.assert_array_equal(next(iter(batches)).y, [2.25, -3.0, 47.5])
    (tmp_path / "b.csv").write_text("x;y\n1,5;1\n2,5;a,b\n")
    assert read(tmp_path / "b.csv", label="y").survey().labels == ("1", "a,b")


def test_text_with_another_separator_does_not_change_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1;2,x\n3;4,y\n")
    assert [column.name for column in read(tmp_path / "rows.csv").schema.columns] == ["a", "b"]
    (tmp_path / "quoted.csv").write_text('"a;b",c\n1,2\n3,4\n')
    assert [column.name for column in read(tmp_path / "quoted.csv").schema.columns] == ["a;b", "c"]


def test_a_row_that_pyarrow_refuses_has_the_same_numbers_with_decimal_commas(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a;b;y\n1,5;2;x\n+,25;1e3;y\n3;?;x\n", encoding="utf-8")
    assert_array_equal(
        numbers_of(tmp_path / "rows.csv", label="y", missing="nan"), [[1.5, 2.0], [0.25, 1000.0], [3.0, np.nan]]
    )


@pytest.mark.parametrize("text", ["?", "unknown", "-", "n.a."])
def test_a_word_for_a_missing_number_is_one_and_is_counted(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "rows.csv").write_text(f"a,b\n{text},x\n1,{text}\n2,x\n{text},y\n")
    rows = read(tmp_path / "rows.csv", missing="nan")
    with caplog.at_level(logging.INFO, logger="gcwsnet.files"):
        X = np.concatenate([batch.X for batch in rows])
    assert_array_equal(X[:, 0], [np.nan, 1, 2, np.nan])
    assert rows.schema.columns[0].kind == "number"
    assert text in rows.schema.columns[1].categories  # of a column of words it is one
    assert f"rows.csv: 2 values {text!r} of the column 'a' count as missing" in caplog.messages[-1]
    with pytest.raises(DataError, match=r"rows\.csv:2:a: a value must not be missing"):
        list(read(tmp_path / "rows.csv"))


def test_further_texts_that_are_missing_are_remembered_by_the_schema(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n-999,x\n1,nix\n2,x\n")
    rows = read(tmp_path / "rows.csv", missing="nan", na_values=["-999", "nix"])
    assert_array_equal(next(iter(rows)).X, [[np.nan, 1], [1, 0], [2, 1]])
    schema = Schema.from_json(rows.schema.to_json())
    assert schema == rows.schema
    assert_array_equal(next(iter(read(tmp_path / "rows.csv", schema=schema))).X, [[np.nan, 1], [1, 0], [2, 1]])


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("compressed", [False, True])
def test_an_encoding_can_be_given(encoding: str, compressed: bool, tmp_path: Path) -> None:
    text = "âge,größe\n" + "1,é\n2,ü\n" * 9000
    content = text.encode(encoding)
    path = tmp_path / ("rows.csv.gz" if compressed else "rows.csv")
    path.write_bytes(gzip.compress(content) if compressed else content)
    rows = read(path, encoding=encoding)
    assert [column.name for column in rows.schema.columns] == ["âge", "größe"]
    assert rows.schema.columns[1].categories == ("é", "ü")
    assert sum(batch.n_rows for batch in rows) == 18_000


def test_a_stream_has_an_encoding_and_a_separator_too(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "größe;y\n1,5;a\n2,5;b\n".encode("utf-16")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    rows = read("-", encoding="utf-16", label="y")
    assert [batch.X.tolist() for batch in rows] == [[[1.5], [2.5]]]
    assert rows.columns == ["größe"]


def test_names_of_columns_that_are_not_utf_8_are_an_error_that_says_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes("âge,b\n1,2\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"must be UTF-8, got '.+xe2ge', bytes as in Latin-1.*give encoding='cp1252'"):
        list(read(tmp_path / "rows.csv"))
    assert numbers_of(tmp_path / "rows.csv", encoding="cp1252").tolist() == [[1, 2]]
    with pytest.raises(DataError, match="must be a text in utf-16, and it is not"):
        list(read(tmp_path / "rows.csv", encoding="utf-16"))


def test_a_column_without_a_name_is_called_as_in_pandas(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(",a,\n0,1,2\n1,3,4\n")
    assert [column.name for column in read(tmp_path / "rows.csv").schema.columns] == ["Unnamed: 0", "a", "Unnamed: 2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sep": ";;"}, "sep must be one character"),
        ({"sep": '"'}, "sep must be one character"),
        ({"decimal": "x"}, "decimal must be"),
        ({"encoding": "klingon"}, "encoding must be one that Python knows"),
        ({"na_values": "?"}, "na_values must be a list"),
    ],
)
def test_wrong_options_are_named(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises((ValueError, TypeError), match=message):
        read(tmp_path / "rows.csv", **given)


DAYS = [(date(2024, month, day) - date(1970, 1, 1)).days for month, day in ((12, 31), (2, 1))]


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["31/12/2024", "1/2/2024"], "day first"),
        (["31.12.2024", "01.02.2024"], "day first"),
        (["12/31/2024", "02/01/2024"], "month first"),
        (["12-31-2024", "2-1-2024"], "month first"),
        (["2024-12-31", "2024-02-01"], ""),
    ],
)
def test_dates_are_read_in_the_order_that_the_file_has(texts: list[str], order: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("d,a\n" + "".join(f"{text},1\n" for text in texts))
    rows = read(tmp_path / "rows.csv")
    assert (rows.schema.columns[0].kind, rows.schema.columns[0].date_order) == ("date", order)
    assert next(iter(rows)).X[:, 0].tolist() == DAYS
    assert Schema.from_json(rows.schema.to_json()) == rows.schema
    frame = open_frame(pd.DataFrame({"d": texts, "a": [1, 1]}))
    assert encode_frame(frame, learn_schema(frame, "nan"))[:, 0].tolist() == DAYS


def test_dates_that_fit_both_orders_are_read_with_the_day_first_and_a_note_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "rows.csv").write_text("d,a\n01/02/2024,1\n03/04/2024,2\n")
    with caplog.at_level(logging.INFO, logger="gcwsnet.files"):
        X = numbers_of(tmp_path / "rows.csv")
    assert X[0, 0] == DAYS[1]
    assert "dates such as '01/02/2024' of the column 'd' are read with the day first" in caplog.messages[0]
    (tmp_path / "late.csv").write_text("d,a\n" + "01/02/2024,1\n" * 1001 + "12/31/2024,2\n")
    with pytest.raises(DataError, match=r"late\.csv:1003:d: a value must be a date such as 31/12/2024.*'12/31/2024'"):
        numbers_of(tmp_path / "late.csv")


@pytest.mark.parametrize("texts", [["31/12/2024", "12/31/2024"], ["31/12/24"], ["31/12.2024"], ["30/02/2024"]])
def test_other_texts_with_slashes_are_categories(texts: list[str], tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("d,a\n" + "".join(f"{text},1\n" for text in texts))
    assert read(tmp_path / "rows.csv").schema.columns[0].kind == "onehot"
