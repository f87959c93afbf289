"""Rows may come in any form: kernels, hashers and sketches take the same numbers alike and refuse the same input."""

import re
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import gcwsnet

FUNCTIONS: dict[str, Any] = {
    "gmm_transform": gcwsnet.gmm_transform,
    "pgmm_kernel": lambda X: gcwsnet.pgmm_kernel(X, p=2),
    "GCWSHasher": lambda X: gcwsnet.GCWSHasher(37, random_state=1).fit_transform(X),
    "CountSketch": lambda X: gcwsnet.CountSketch(n_bins=5, random_state=1).fit_transform(X),
    "RandomFourierFeatures": lambda X: gcwsnet.RandomFourierFeatures(9, random_state=1).fit_transform(X),
}
CLOSE = {"pgmm_kernel": 1e-12, "RandomFourierFeatures": 1e-5}  # sums in another order, and float32 stays
X = np.random.default_rng(0).integers(-50, 50, (31, 6)) * np.random.default_rng(1).choice([0, 1.0], (31, 6))


@pytest.fixture(params=FUNCTIONS)
def function(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def assert_same(function: str, form: Any, rows: Any = X) -> None:
    """Assert that the rows have the same result in another form."""
    found, expected = (FUNCTIONS[function](each) for each in (form, rows))
    found, expected = (each.toarray() if sparse.issparse(each) else np.asarray(each) for each in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=CLOSE.get(function, 0), atol=CLOSE.get(function, 0))


@pytest.mark.parametrize("dtype", [*"?bBhHiIqQefdg", ">f4", ">f8", ">i4", "O"])
def test_any_type_of_number(function: str, dtype: str) -> None:
    numbers = np.array([[0, 1, 3, 0, 100], [2, 0, 3, 1, 0], [0, 0, 0, 0, 0]]).astype(dtype)
    assert_same(function, numbers, numbers.astype(np.float64))
    if dtype in "?bBhHiIqQfdg":
        assert_same(function, sparse.csr_array(numbers), numbers.astype(np.float64))


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda Z: np.repeat(Z, 2, axis=0)[::2],
        lambda Z: np.repeat(Z, 2, axis=1)[:, ::2],
        lambda Z: Z[::-1].copy()[::-1],
        lambda Z: Z[:, ::-1].copy()[:, ::-1],
        lambda Z: np.frombuffer(b" " + Z.tobytes(), dtype=np.uint8)[1:].view(Z.dtype).reshape(Z.shape),
        lambda Z: np.array([(1, row) for row in Z], dtype=np.dtype([("a", "i1"), ("b", "f8", Z.shape[1])]))["b"],
        lambda Z: np.ma.masked_array(Z, mask=False),
        lambda Z: Z.tolist(),
    ],
    ids=["Fortran", "row", "column", "rows reversed", "columns reversed", "unaligned", "field", "masked", "list"],
)
def test_any_layout(function: str, layout: Any) -> None:
    assert_same(function, layout(X))


def test_a_read_only_memory_map(function: str, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    assert_same(function, np.load(tmp_path / "X.npy", mmap_mode="r"))


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "bsr", "lil", "dok", "dia"])
def test_any_sparse_format(function: str, kind: str) -> None:
    assert_same(function, sparse.csr_array(X).asformat(kind))
    assert_same(function, sparse.csr_matrix(X).asformat(kind))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
def test_unsorted_indices_duplicates_and_explicit_zeros(function: str, form: Any) -> None:
    Z = form(([1.0, 2.0, 0.0, 3.0, -1.0, 5.0, -5.0, -0.0], [3, 0, 1, 2, 2, 1, 1, 0], [0, 3, 8]), shape=(2, 4))
    before = [Z.data.copy(), Z.indices.copy(), Z.indptr.copy()]
    assert_same(function, Z, np.array([[2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]]))
    for array, copy in zip((Z.data, Z.indices, Z.indptr), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_frames_equal_arrays(function: str, frame: Any) -> None:
    assert_same(function, frame({f"c{i}": column for i, column in enumerate(X.T)}))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
@pytest.mark.parametrize("name", ["GCWSHasher", "CountSketch", "RandomFourierFeatures"])
def test_the_columns_of_frames_are_checked(name: str, frame: Any) -> None:
    fitted = getattr(gcwsnet, name)().fit(frame({f"c{i}": column for i, column in enumerate(X.T)}))
    assert list(fitted.feature_names_in_) == [f"c{i}" for i in range(6)]
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame({f"d{i}": column for i, column in enumerate(X.T)}))


def test_a_frame_of_several_types(function: str) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, -1.5], "c": [True, False], "d": pd.array([3, 4], dtype="Int64")})
    assert_same(function, frame, [[1, 0.5, 1, 3], [2, -1.5, 0, 4]])


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (X[0], ValueError, "Expected 2D array, got 1D array"),
        (3.0, ValueError, "Expected 2D array, got scalar"),
        (None, ValueError, "Expected 2D array, got scalar"),
        ({"a": 1}, ValueError, "Expected 2D array, got scalar"),
        (X[np.newaxis], ValueError, "Found array with dim 3"),
        (X[:0], ValueError, "0 sample(s)"),
        (X[:, :0], ValueError, "0 feature(s)"),
        (sparse.csr_array((0, 4)), ValueError, "0 sample(s)"),
        (sparse.csr_array((4, 0)), ValueError, "0 feature(s)"),
        ([[1, 2], [3]], ValueError, "inhomogeneous shape"),
        ([["a", "b"]], ValueError, "X must hold numbers, X[0, 0] is 'a'; convert the column, or encode it"),
        (np.array([[1, "x"]], dtype=object), ValueError, "X must hold numbers, X[0, 1] is 'x'"),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), ValueError, "X must hold numbers, X[0, 'b'] is 'x'"),
        (X * 1j, ValueError, "Complex data not supported"),
        (sparse.csr_array([[1j, 2.0]]), ValueError, "Complex data not supported"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, "must hold real numbers, got the type datetime64[D]"),
        (np.array([[1]], dtype="m8[s]"), TypeError, "must hold real numbers, got the type timedelta64[s]"),
        (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), TypeError, "must hold real numbers, got the type object"),
        (np.ma.masked_less(X, 0), ValueError, "X has masked entries; fill them first"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_wrong_types_and_shapes_are_refused(function: str, rows: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        FUNCTIONS[function](rows)


@pytest.mark.parametrize(("value", "called"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "-infinity")])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array, pd.DataFrame])
def test_the_first_entry_that_is_not_finite_is_named(function: str, value: float, called: str, form: Any) -> None:
    for dtype in (np.float32, np.float64):
        bad = X.astype(dtype)
        bad[6, 2], bad[7, 0] = value, np.nan
        with pytest.raises(ValueError, match=re.escape(f"X[6, 2] is {called}; impute it or drop the row")):
            FUNCTIONS[function](form(bad))


def test_a_number_beyond_float64_is_infinite(function: str) -> None:
    large = X.astype(np.longdouble)
    with np.errstate(over="ignore"):
        large[6, 2] = np.longdouble(10) ** 400  # infinite where a long double is a double
    with pytest.raises(ValueError, match=re.escape("X[6, 2] is infinity")):
        FUNCTIONS[function](large)


DAY = datetime(2020, 1, 1)
VALUES: dict[str, list[Any]] = {
    "dates": [date(2020, 1, 1), date(2020, 1, 2)],
    "datetimes": [DAY, DAY],
    "durations": [timedelta(1), timedelta(2)],
    "times": [time(1), time(2)],
    "with missing": [None, date(2020, 1, 1)],
}
FRAMES: dict[str, Any] = {
    "pandas": lambda values: pd.DataFrame({"x": [1.0, 2.0], "when": values}),
    "pandas objects": lambda values: pd.DataFrame({"x": [1.0, 2.0], "when": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"x": [1.0, 2.0], "when": values}),
    "arrow": lambda values: pa.table({"x": [1.0, 2.0], "when": values}),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", VALUES)
def test_a_column_of_dates_is_refused_by_name(frame: str, kind: str) -> None:
    X = FRAMES[frame](VALUES[kind])
    for function in FUNCTIONS.values():
        with pytest.raises(TypeError, match="X must hold real numbers, got dates or times in the column 'when'"):
            function(X)


@pytest.mark.filterwarnings("ignore:'when' has the same value in all rows")  # two hours of one day
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", ["dates", "datetimes"])
def test_estimators_take_dates_as_days_from_every_frame(frame: str, kind: str) -> None:
    X = FRAMES[frame](VALUES[kind])
    model = gcwsnet.GCWSNetClassifier(4, hidden=(2,), search="off", epochs=1).fit(X, [0, 1])
    assert model.schema_ is not None
    assert [column.kind for column in model.schema_.columns] == ["number", "date"]
