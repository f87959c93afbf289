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
from scipy import sparse

from gcwsnet import GCWSHasher, GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier
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


@pytest.mark.parametrize("suffix", ["csv", "tsv", "svm", "npy", "npz", "sparse.npz", "parquet", "arrow"])
def test_features_that_are_large_integers_are_errors_with_their_place(suffix: str, tmp_path: Path) -> None:
    path, X = tmp_path / f"a.{suffix}", np.array([[1, 2], [3, LARGE]])
    frame = pd.DataFrame(X, columns=["u", "v"])
    writers: dict[str, Any] = {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "svm": lambda: path.write_text("".join(f"1 1:{u} 2:{v}\n" for u, v in X)),
        "npy": lambda: np.save(path, X),
        "npz": lambda: np.savez(path, X=X),
        "sparse.npz": lambda: sparse.save_npz(path, sparse.csr_matrix(X)),
        "parquet": lambda: frame.to_parquet(path),
        "arrow": lambda: frame.to_feather(path),
    }
    writers[suffix]()
    line, column = {"csv": (3, "v"), "tsv": (3, "v"), "svm": (2, None)}.get(suffix, (2, 1 if "np" in suffix else "v"))
    with pytest.raises(DataError, match=f"integers beyond 2\\*\\*53 must be .*{LARGE}") as raised:
        list(read(path))
    assert (raised.value.path, raised.value.line, raised.value.column) == (str(path), line, column)


def test_large_integers_are_skipped_like_other_invalid_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"u,v\n1,{2**60}\n{LARGE},2\n+3,{LARGE}.0\n1e300,4\n")
    batches = read(path, on_error="skip")
    assert np.vstack([batch.X for batch in batches]).tolist() == [[1, 2**60], [3, 2**53], [1e300, 4]]
    assert batches.skipped_rows.tolist() == [1]


@pytest.mark.parametrize("value", [LARGE, 10**400, -(10**400)], ids=["2**53 + 1", "10**400", "-10**400"])
def test_large_integers_in_a_column_of_objects_are_errors_with_their_place(value: int) -> None:
    frame = open_frame(pd.DataFrame({"a": pd.Series([1, value, None], dtype=object)}))
    with pytest.raises(ValueError, match=r"X\[1, 'a'\]: integers beyond 2\*\*53"):
        encode_frame(frame, learn_schema(frame, "nan"))


@pytest.mark.parametrize("value", [LARGE, 10**400, -(10**400)], ids=["2**53 + 1", "10**400", "-10**400"])
@pytest.mark.parametrize("model", [GCWSHasher(8), GCWSNetClassifier(8, search="off"), PGMMClassifier()], ids=repr)
def test_large_integers_among_objects_are_errors_with_their_place(model: Any, value: int) -> None:
    for X in (np.array([[1], [value]] * 5, dtype=object), [[1], [value]] * 5):
        with pytest.raises(ValueError, match=r"integers beyond 2\*\*53 must be .* X\[1, 0\] is"):
            model.fit(X, [0, 1] * 5)
    model.fit(np.array([[1.5], [2**60]] * 5, dtype=object), [0, 1] * 5)  # a power of two is exact


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"u": 0.5, "v": pd.Series([1, LARGE], dtype=object)}),
        pd.DataFrame({"u": 0.5, "v": pd.Series([1, LARGE], dtype="Int64")}),
        pd.DataFrame({"u": 0.5, "v": [1, LARGE]}),
        pl.DataFrame({"u": [0.5, 0.5], "v": pl.Series([1, LARGE], dtype=pl.Int128)}),
        pl.DataFrame({"u": [0.5, 0.5], "v": [1, LARGE]}),
        pa.table({"u": [0.5, 0.5], "v": [1, LARGE]}),
    ],
    ids=["object", "Int64", "int64", "Int128", "polars", "arrow"],
)
def test_large_integers_in_a_frame_are_errors_with_their_place_for_a_hasher(frame: Any) -> None:
    with pytest.raises(ValueError, match=rf"integers beyond 2\*\*53 must be .* X\[1, 'v'\] is {LARGE}"):
        GCWSHasher(8).fit(frame)


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
