"""Frames of pandas, polars and Arrow, and the same tables in files: one schema, one X."""

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from gcwsnet.files import Schema, read
from gcwsnet.tables._frames import encode_frame, is_frame, learn_schema, open_frame
from tests.files.conftest import whole


def table() -> pd.DataFrame:
    """A column of each kind, with missing values."""
    day = datetime.date(2020, 1, 1)
    return pd.DataFrame(
        {
            "height": [1.5, np.nan, 2.0, 3.0],
            "count": pd.array([1, None, 3, 4], dtype="Int64"),
            "flag": [True, False, True, True],
            "maybe": [True, None, False, True],
            "city": ["Rome", None, "Oslo", "Rome"],
            "kind": pd.Categorical(["b", "a", "b", None], categories=["b", "a", "never"]),
            "size": pd.Categorical(["s", "l", "s", None], categories=["s", "m", "l"], ordered=True),
            "when": pd.to_datetime(["2020-01-01", "2020-01-01T12:00", "1969-12-31", None], format="ISO8601"),
            "zone": pd.to_datetime(["2020-01-01T00:00+06:00"] * 4),
            "day": [day, None, day, day],
            "long": pd.to_timedelta(["1 days 06:00:00", "2 days", None, "-1 days +12:00:00"]),
        }
    )


NAMES = [
    *("height", "count", "flag", "maybe", "city=Oslo", "city=Rome", "kind=a", "kind=b", "size", "when", "zone", "day"),
    "long",
]
ROWS = [
    [1.5, 1, 1, 1, 0, 1, 0, 1, 0, 18262, 18261.75, 18262, 1.25],
    [np.nan, np.nan, 0, np.nan, 0, 0, 1, 0, 2, 18262.5, 18261.75, np.nan, 2],
    [2, 3, 1, 0, 1, 0, 0, 1, 0, -1, 18261.75, 18262, np.nan],
    [3, 4, 1, 1, 0, 1, 0, 0, np.nan, np.nan, 18261.75, 18262, -0.5],
]


def schema_of(frame: Any, missing: str = "nan") -> Schema:
    return learn_schema(open_frame(frame), missing)


def rows_of(frame: Any, schema: Schema) -> Any:
    return encode_frame(open_frame(frame), schema)


def test_each_kind_of_column_becomes_the_columns_that_the_rules_say() -> None:
    schema = schema_of(table())
    assert schema.feature_names() == NAMES
    np.testing.assert_array_equal(rows_of(table(), schema), ROWS)
    assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize(
    "convert",
    [
        pa.Table.from_pandas,
        pa.RecordBatch.from_pandas,
        pl.from_pandas,
        lambda frame: frame.convert_dtypes(),
        lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
        lambda frame: frame[frame.columns[::-1]],
        lambda frame: pa.concat_tables([pa.Table.from_pandas(frame[:1]), pa.Table.from_pandas(frame[1:])]),
    ],
    ids=["Arrow", "batch", "polars", "nullable", "pandas in Arrow", "another order", "chunks"],
)
def test_frames_of_any_library_give_the_same_x(convert: Any) -> None:
    schema = schema_of(table())
    np.testing.assert_array_equal(rows_of(convert(table()), schema), ROWS)


def test_files_give_the_same_x_as_frames(tmp_path: Path) -> None:
    schema = schema_of(table())
    table().to_csv(tmp_path / "a.csv", index=False)
    table().to_parquet(tmp_path / "a.parquet")
    table()[table().columns[::-1]].to_csv(tmp_path / "b.csv", index=False)
    for file in ("a.csv", "a.parquet", "b.csv"):
        np.testing.assert_array_equal(whole(read(tmp_path / file, schema=schema)).X, ROWS)
    np.testing.assert_array_equal(rows_of(pd.read_csv(tmp_path / "a.csv"), schema), ROWS)


def test_a_schema_learned_from_a_file_is_that_of_the_frame_read_from_it(tmp_path: Path) -> None:
    """But for the rule for missing values, and for the number of rows that a file is looked at."""
    table().to_csv(tmp_path / "a.csv", index=False)
    assert read(tmp_path / "a.csv", missing="nan").schema == schema_of(pd.read_csv(tmp_path / "a.csv"))
    table().to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", missing="nan").schema == schema_of(pd.read_parquet(tmp_path / "a.parquet"))


def test_many_categories_are_hashed_and_numbers_beside_them_are_marked() -> None:
    frame = pd.DataFrame({"id": [f"user{i}" for i in range(101)], "x": np.arange(101.0), "c": ["a", *["b"] * 100]})
    schema = schema_of(frame)
    assert [column.kind for column in schema.columns] == ["hashed", "number", "onehot"]
    assert schema.n_features == 3 + 16384
    X = rows_of(frame, schema)
    assert X.format == "csr"
    assert X[[5]].toarray()[0, :3].tolist() == [5, 0, 1]
    assert X[:, 3:].sum() == 101
    assert schema.numeric is not None
    assert schema.numeric.tolist() == [True, *[False] * (2 + 16384)]
    assert schema_of(frame[:100]).numeric is None


def test_missing_numbers_of_csr_are_stored() -> None:
    frame = pd.DataFrame({"id": [f"user{i}" for i in range(101)], "x": [np.nan, *np.arange(100.0)]})
    X = rows_of(frame, schema_of(frame))
    assert np.isnan(X[0, 0])
    assert X[:, [0]].nnz == 100


def test_more_than_1000_one_hot_columns_are_csr_and_wide_tables_of_numbers_are_not() -> None:
    values = [f"v{i}" for i in range(100)]
    assert schema_of(pd.DataFrame({f"c{i}": values for i in range(11)})).is_sparse
    assert not schema_of(pd.DataFrame({f"c{i}": values for i in range(10)})).is_sparse
    assert not schema_of(pd.DataFrame(np.ones((2, 1500))).assign(city=["Rome", "Oslo"])).is_sparse


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (table().drop(columns="city"), "'city' is missing; rename, add or drop columns"),
        (table().assign(more=1), "'more' is additional"),
        (table().rename(columns={"city": "town"}), "'city' is missing and 'town' is additional"),
        (table().assign(height=["a", "b", "c", "d"]), r"X\[0, 'height'\]: a value must be a number, .* got 'a'"),
        (table().assign(when=[1, 2, 3, 4]), r"X\[0, 'when'\]: the column must hold dates"),
        (table().assign(when=["2020-01-01", "soon", None, None]), r"X\[1, 'when'\]: a value must be a date .*'soon'"),
        (table().assign(flag=["true", "False", "no", None]), r"X\[2, 'flag'\]: a value must be true or false.*'no'"),
    ],
)
def test_a_frame_of_other_columns_is_an_error_that_names_the_column(frame: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rows_of(frame, schema_of(table()))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"a": [1, "x"]}), r"column 'a': a column must hold .* got the type object \(mixed-integer\)"),
        (pd.DataFrame({"a": [1j]}), "column 'a': .* got the type complex128"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), "column 'a': .* got the type period"),
        (pd.DataFrame({"a": pd.Categorical(pd.to_datetime(["2020"]))}), "column 'a': a category must be a text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column names must differ, got 'a' more than once"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "column names must differ, got '1' more than once"),
        (pd.DataFrame([[1, 2]], columns=["a", None]), "got (nan|None) for column number 1; rename it"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), r"got \('a', 'b'\) .*map\('_'.join\)"),
        (pa.table([[1], [2]], names=["a", "a"]), "column names must differ"),
        (pd.DataFrame({"a": []}), "at least one row"),
        (pd.DataFrame(index=[1, 2]), "at least one row and one column"),
        (pd.DataFrame({"a": pd.Series([None, None], dtype="string")}), "at least one value"),
    ],
)
def test_a_frame_that_cannot_be_learned_is_an_error_that_names_the_column(frame: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        schema_of(frame)


def test_columns_named_by_numbers_are_found_by_them() -> None:
    frame = pd.DataFrame([[1.0, "a"], [2.0, "b"]], columns=[7, 3]).infer_objects()
    schema = schema_of(frame)
    assert schema.feature_names() == ["7", "3=a", "3=b"]
    assert rows_of(frame[[3, 7]], schema).tolist() == [[1, 1, 0], [2, 0, 1]]


def test_missing_categories_are_errors_where_they_are_asked_to_be() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "city": ["Rome", None]})
    with pytest.raises(ValueError, match=r"X\[1, 'city'\]: a value must not be missing"):
        rows_of(frame, schema_of(frame, "error"))
    ordered = pd.DataFrame({"size": pd.Categorical(["s", "l"], ordered=True)})
    with pytest.raises(ValueError, match=r"X\[0, 'size'\]: an ordered category must be one of .* got 'xl'"):
        rows_of(pd.DataFrame({"size": ["xl"]}), schema_of(ordered, "error"))


def test_what_is_a_frame() -> None:
    assert all(is_frame(frame) for frame in (table(), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})))
    assert not any(is_frame(X) for X in (np.ones((2, 2)), [[1.0]], pd.Series([1.0]), None))
    assert not is_frame(pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(np.eye(3))))
    with pytest.raises(TypeError, match=r"give X\.collect\(\)"):
        is_frame(pl.LazyFrame({"a": [1]}))


def test_pandas_needs_no_pyarrow(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError(\"No module named 'pyarrow'\", name='pyarrow')")
    program = """
import gcwsnet, numpy as np, pandas as pd
frame = pd.DataFrame({
    "x": [1.0, None, 3.0, 4.0],
    "city": ["Rome", "Oslo", None, "Rome"],
    "id": pd.Categorical(["a", "b", "a", None]),
    "day": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-04"]),
    "flag": pd.array([True, None, False, True], dtype="boolean"),
})
many = pd.concat([frame] * 60, ignore_index=True).assign(user=[f"user{i}" for i in range(240)])
model = gcwsnet.GCWSNetClassifier(n_hashes=8, hidden=4, p=1.0, random_state=0)
for rows in (frame, many):
    y = ["a", "b"] * (len(rows) // 2)
    model.fit(rows, y)
    assert (model.predict(rows) == model.predict(rows[rows.columns[::-1]])).all()
try:
    import pyarrow
except ModuleNotFoundError:
    print("no pyarrow")
"""
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert result.stdout == "no pyarrow\n", result.stderr
