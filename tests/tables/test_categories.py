"""Categories have the same meaning in every kind of frame and file."""

from __future__ import annotations

import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from gcwsnet.files import Schema, read
from gcwsnet.tables._frames import encode_frame, learn_schema, open_frame

MANY = [float(i) for i in range(150)]
VALUES: dict[str, pd.Series] = {
    "floats": pd.Series([1.0, 2.0, None, 1.0]),
    "odd floats": pd.Series([-0.0, 1e22, 1e16, 0.1, 1e-7, 2.5e-5, np.inf, -np.inf, 1.2345678901234567e30, None]),
    "Int64": pd.Series([1, 2, None, 9007199254740993], dtype="Int64"),
    "objects": pd.Series([1, 2.0, None, 3], dtype=object),
    "decimals": pd.Series([Decimal("1.00"), Decimal("2.50"), None, Decimal("12345678901234567891.5")], dtype=object),
    "booleans": pd.Series([True, False, True, True]),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "categories of floats": pd.Series([1.0, 2.0, None, 1.0]).astype("category"),
    "categories of integers": pd.Series([1, 2, 3, 1]).astype("category"),
    "categories of booleans": pd.Series([True, False, None, True], dtype=object).astype("category"),
    "ordered floats": pd.Series(pd.Categorical([1.0, 2.0, None, 1.0], ordered=True)),
    "Arrow floats": pd.Series([1.0, 2.0, None, 1.0], dtype=pd.ArrowDtype(pa.float64())),
    "texts": pd.Series(["01", "1", "1.0", "1.10", "1.1", "x", None]),
    "versions": pd.Series(["1.0", "2.0", "3.0"]),
    "missing texts": pd.Series(["NA", "", "nan", "None", "a", "b", None]),
    "many floats": pd.Series([*MANY, None]),
    "many integers": pd.Series(range(150), dtype="int64"),
    "many texts": pd.Series([f"{i:04}" for i in range(150)]),
}
FRAMES = ["pandas", "arrow", "polars"]
FILES = ["pandas.csv", "arrow.csv", "polars.csv", "pandas.tsv", "parquet", "feather"]


def as_categories(series: pd.Series) -> pd.DataFrame:
    """Return a frame whose column has categories of the values of a series."""
    plain = isinstance(series.dtype, pd.CategoricalDtype) or isinstance(series.dropna().iloc[0], str)
    return pd.DataFrame({"c": series if plain else series.astype("category"), "x": np.arange(float(len(series)))})


def in_format(frame: pd.DataFrame, format_: str, folder: Path) -> Any:
    """Return a frame as another kind of frame, or the path of the file that it is written to."""
    table = pa.Table.from_pandas(frame)
    path, type_ = folder / f"t.{format_}", table["c"].type
    plain = table.set_column(0, "c", table["c"].cast(type_.value_type)) if pa.types.is_dictionary(type_) else table
    makers: dict[str, Any] = {
        "pandas": lambda: frame,
        "arrow": lambda: table,
        "polars": lambda: pl.from_arrow(table),
        "pandas.csv": lambda: frame.to_csv(path, index=False),
        "arrow.csv": lambda: pyarrow.csv.write_csv(plain, path),
        "polars.csv": lambda: pl.DataFrame(plain).write_csv(path),
        "pandas.tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "parquet": lambda: frame.to_parquet(path),
        "feather": lambda: frame.to_feather(path),
    }
    made = makers[format_]()
    return path if format_ in FILES else made


def learned(data: Any) -> Schema:
    """Return the schema of a frame or of a file."""
    if isinstance(data, Path):
        return read(data, categorical=["c"], missing="nan").schema
    return learn_schema(open_frame(data), "nan")


def encoded(data: Any, schema: Schema) -> np.ndarray:
    """Return a frame or a file as X."""
    if isinstance(data, Path):
        (batch,) = read(data, schema=schema)
        X = batch.X
    else:
        X = encode_frame(open_frame(data), schema)
    return X.toarray() if schema.is_sparse else X


@pytest.mark.parametrize("values", VALUES)
def test_categories_match_in_every_pair_of_formats(values: str, tmp_path: Path) -> None:
    frame = as_categories(VALUES[values])
    made = {format_: in_format(frame, format_, tmp_path) for format_ in FRAMES + FILES}
    for training, data in made.items():
        schema = learned(data)
        if schema.columns[0].kind in ("number", "boolean"):  # polars has no categories of numbers
            continue
        expected = encoded(data, schema)
        for other, prediction in made.items():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = encoded(prediction, schema)
            np.testing.assert_array_equal(found, expected, err_msg=f"{training} -> {other}")


@pytest.mark.parametrize("dtype", ["float64", "float32", "object"])
@pytest.mark.parametrize("training", FILES)
def test_a_frame_of_numbers_matches_the_categories_of_a_file(training: str, dtype: str, tmp_path: Path) -> None:
    series = pd.Series([0.1, 2.0, None, 0.1])
    schema = learned(in_format(as_categories(series), training, tmp_path))
    X = encoded(pd.DataFrame({"c": series.astype(dtype), "x": 0.0}), schema)
    np.testing.assert_array_equal(X[:, :2], [[1, 0], [0, 1], [0, 0], [1, 0]])


def test_texts_that_look_like_numbers_stay_distinct() -> None:
    texts = ["01", "1", "1.0", "1.10", "1.1", "+1"]
    schema = learn_schema(open_frame(pd.DataFrame({"c": texts})), "nan")
    assert set(schema.columns[0].categories) == set(texts)
    X = encode_frame(open_frame(pd.DataFrame({"c": texts})), schema)
    np.testing.assert_array_equal(X.sum(axis=0), np.ones(len(texts)))


def test_unknown_categories_give_a_warning_that_names_the_column(tmp_path: Path) -> None:
    schema = learned(pd.DataFrame({"c": ["a", "b"], "x": [0.0, 1.0]}))
    other = pd.DataFrame({"c": ["a", "z", "z"], "x": 0.0})
    other.to_csv(tmp_path / "other.csv", index=False)
    for data in (other, tmp_path / "other.csv"):
        with pytest.warns(UserWarning, match="2 of 3 values of the column 'c' are none of its categories.*'z'"):
            encoded(data, schema)


@pytest.mark.parametrize("format_", ["pandas", "parquet", "feather"])
def test_ordered_categories_are_not_missing_where_missing_values_are_errors(format_: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["b", "a", "b"], ["b", "a"], ordered=True), "x": [1.0, 2.0, 3.0]})
    data = in_format(frame, format_, tmp_path)
    schema = read(data, missing="error").schema if isinstance(data, Path) else learn_schema(open_frame(data), "error")
    assert encoded(data, schema).tolist() == [[0, 1], [1, 2], [0, 3]]
