"""Integers that float64 does not hold, dates far away, and labels of odd types: exact, or errors with their place."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.files import DataError, read
from gcwsnet.tables._columns import parse_date
from gcwsnet.tables._frames import encode_frame, learn_schema, open_frame

FIRST = 1234567890123456781
LARGE = 2**53 + 1


def write_rows(path: Path, labels: Any) -> Path:
    """Write rows with labels in the format of a path."""
    if path.suffix == ".svm":
        path.write_text("".join(f"{label} 1:0.5\n" for label in labels))
    elif path.suffix == ".npz":
        np.savez(path, X=np.full((len(labels), 1), 0.5), y=np.array(labels))
    elif path.suffix == ".parquet":
        pd.DataFrame({"x": 0.5, "y": labels}).to_parquet(path)
    else:
        pd.DataFrame({"x": 0.5, "y": labels}).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("suffix", ["csv", "tsv", "svm", "npz", "parquet"])
@pytest.mark.parametrize("small", [[], [3] * 50], ids=["large", "small and large"])
def test_labels_that_are_large_integers_are_exact(suffix: str, small: list[int], tmp_path: Path) -> None:
    labels = [*small, FIRST, FIRST + 1, FIRST + 2]
    path = write_rows(tmp_path / f"a.{suffix}", labels)
    options: dict[str, Any] = {} if suffix in ("svm", "npz") else {"label": "y"}
    found = [one for batch in read(path, batch_rows=10, **options) for one in np.asarray(batch.y).tolist()]
    assert found == labels
    survey = read(path, **options).survey()
    assert survey.label_type == "integers"
    assert survey.labels == tuple(sorted(set(labels)))


def test_labels_beyond_int64_are_text_or_an_error(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.csv", [str(10**30 + 1), str(10**30 + 2)])
    survey = read(path, label="y").survey()
    assert (survey.label_type, survey.labels) == ("strings", (str(10**30 + 1), str(10**30 + 2)))
    with pytest.raises(DataError, match=r"a\.svm:1:1: labels that are integers must be within int64, got '1000"):
        list(read(write_rows(tmp_path / "a.svm", [10**30 + 1]), n_features=1, index_base=1))


def test_int128_of_polars_is_a_clear_error() -> None:
    with pytest.raises(TypeError, match="must have types that Arrow has, got Int128"):
        open_frame(pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int128)}))


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("make", [pa.timestamp, pa.duration])
def test_dates_and_durations_beyond_the_microseconds_of_int64_do_not_wrap(make: Any, unit: str) -> None:
    column = pa.array([0, 2**62, None, -(2**62)], make(unit))
    days = 2**62 / {"s": 86_400, "ms": 86_400_000}[unit]
    frame = open_frame(pa.table({"a": column}))
    X = encode_frame(frame, learn_schema(frame, "nan"))
    np.testing.assert_array_equal(X[:, 0], [0, days, np.nan, -days])


@pytest.mark.parametrize("zone", ["+99:99", "+24:00", "-00:60", "+1260"])
def test_a_time_with_a_zone_that_there_is_not_is_no_date(zone: str) -> None:
    assert parse_date(f"2024-01-01T00:00:00{zone}") is None
    assert parse_date("2024-01-01T00:00:00-23:59") is not None


@pytest.mark.parametrize(
    "labels", [pa.array([[1, 2], [3]]), pa.array([{"a": 1}] * 2), pa.array([b"a", b"\xff"]), pa.array([[1.5]] * 2)]
)
def test_labels_of_a_type_that_is_no_label_are_errors_with_their_place(labels: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": labels}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet:1:y: a label must be a number, a boolean or text, got the type"):
        list(read(tmp_path / "a.parquet", label="y"))


@pytest.mark.parametrize("estimator", [GCWSNetClassifier, GCWSNetRegressor])
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (pd.Series(pd.to_timedelta(["1 days", None])), "missing values.*NaT"),
        (pd.Series(pd.to_datetime(["2024-01-01", None])), "missing values.*NaT"),
        ([1, 10**400], "more than 300 digits"),
        (pd.Series([[1, 2], [3]]), r"one label for each row, y\[0\] is \[1, 2\]"),
        (pl.Series([[1, 2], [3]]), r"one label for each row, y\[0\] is"),
        (pl.Series([1, 2], dtype=pl.Int128), "one number or one text for each row"),
    ],
)
def test_targets_that_are_missing_or_no_labels_are_clear_errors(estimator: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        estimator(n_hashes=8, p=1.0, scale=None, random_state=0).fit(np.eye(2), y)


def test_decimals_and_integers_of_64_bits_are_labels() -> None:
    for y in ([2**63 + 1, 2**63 + 2], [Decimal(1), Decimal(2)], [2**53 + 1, 2**53 + 2]):
        objects = np.array(y * 5, dtype=object)
        model = GCWSNetClassifier(n_hashes=8, p=1.0, scale=None, random_state=0).fit(np.eye(10), objects)
        assert model.classes_.tolist() == y
