"""Integers that float64 does not hold: labels are exact, and features are errors with their place."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from gcwsnet.data import DataError, read
from gcwsnet.data._frames import encode_frame, learn_schema, open_frame

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


def test_int128_of_polars_is_a_clear_error() -> None:
    with pytest.raises(TypeError, match="must have types that Arrow has, got Int128"):
        open_frame(pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int128)}))
