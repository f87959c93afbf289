"""The kernel of the same numbers is the same in whatever form they come, in little memory."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from gcwsnet import pgmm_kernel
from gcwsnet.kernels import _pgmm

from .matrices import DENSE_BLOCKS, SPARSE_CHUNKS, Floats, forms, random_rows

PATHS = pytest.mark.parametrize("path", [DENSE_BLOCKS, SPARSE_CHUNKS])
MIB = 1 << 20


@PATHS
@pytest.mark.parametrize("density", [0.9, 0.3, 0.02])
@pytest.mark.parametrize("signed", [True, False])
def test_dense_and_csr_on_either_side(
    monkeypatch: pytest.MonkeyPatch, path: float, density: float, signed: bool
) -> None:
    monkeypatch.setattr(_pgmm, "DENSE_ENOUGH", path)
    X = random_rows(40, 37, density=density, signed=signed)
    Y = random_rows(23, 37, density=density, signed=signed, seed=1)
    expected = pgmm_kernel(X, Y, p=1.5)
    for x in forms(X):
        np.testing.assert_allclose(pgmm_kernel(x, p=1.5), pgmm_kernel(X, p=1.5), rtol=1e-12)
        for y in forms(Y):
            np.testing.assert_allclose(pgmm_kernel(x, y, p=1.5), expected, rtol=1e-12)


@pytest.mark.parametrize("density", [0.9, 0.5, 0.2])
def test_path_is_chosen_by_density(monkeypatch: pytest.MonkeyPatch, density: float) -> None:
    X = sparse.csr_array(random_rows(30, 40, density=density))
    other = "_fill_sparse" if density**2 > 0.15 else "_fill_dense"
    monkeypatch.setattr(_pgmm, other, lambda *_: pytest.fail(f"{other} at density {density}"))
    pgmm_kernel(X)


@pytest.mark.parametrize("csr", [sparse.csr_matrix, sparse.csr_array])
@PATHS
def test_csr_in_any_order_with_duplicates_and_explicit_zeros(
    monkeypatch: pytest.MonkeyPatch, csr: Any, path: float
) -> None:
    monkeypatch.setattr(_pgmm, "DENSE_ENOUGH", path)
    data = [3.0, 1.0, -2.0, 4.0, -1.0, 0.0, 5.0, -5.0, -0.0]
    indices = [3, 0, 3, 1, 1, 2, 2, 2, 0]
    X = csr((data, indices, [0, 3, 5, 9]), shape=(3, 4))
    dense = np.array([[1.0, 0, 0, 1.0], [0, 3.0, 0, 0], [0, 0, 0, 0]])
    expected = pgmm_kernel(dense, p=2)
    np.testing.assert_allclose(pgmm_kernel(X, p=2), expected, rtol=1e-14)
    np.testing.assert_allclose(pgmm_kernel(X, dense, p=2), expected, rtol=1e-14)
    np.testing.assert_allclose(pgmm_kernel(dense, X, p=2), expected, rtol=1e-14)
    np.testing.assert_array_equal(X.data, data)
    np.testing.assert_array_equal(X.indices, indices)


@pytest.mark.parametrize("kind", ["coo", "csc", "bsr", "lil", "dok", "dia"])
def test_other_sparse_formats(kind: str) -> None:
    X: Any = sparse.csr_array(random_rows(8, 6, density=0.5))
    np.testing.assert_array_equal(pgmm_kernel(X.asformat(kind), p=2), pgmm_kernel(X, p=2))


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_either_type_of_indices(index: Any) -> None:
    X: Any = sparse.csr_array(random_rows(8, 60, density=0.05))
    typed = sparse.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
    np.testing.assert_array_equal(pgmm_kernel(typed, p=2), pgmm_kernel(X, p=2))


@pytest.mark.parametrize("dtype", [*"?bBhHiIqQefdg", ">f8", ">i4", "O"])
@pytest.mark.parametrize("p", [1.0, 2.5])
def test_any_type_of_number(dtype: str, p: float) -> None:
    whole = np.array([[0, 1, 3, 0, 100], [2, 0, 3, 1, 0], [0, 0, 0, 0, 0]])
    X = whole.astype(dtype)
    expected = pgmm_kernel(X.astype(np.float64), p=p)
    np.testing.assert_array_equal(pgmm_kernel(X, p=p), expected)
    np.testing.assert_allclose(pgmm_kernel(X, X.astype(np.float64), p=p), expected, rtol=1e-14)
    if dtype in "?bBhHiIqQfdg":
        np.testing.assert_allclose(pgmm_kernel(sparse.csr_array(X), p=p), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_the_least_integer(dtype: Any) -> None:
    least = np.iinfo(dtype).min
    half = np.array([[least // 2]])
    for p, expected in ((1, 0.5), (2, 0.25)):
        assert pgmm_kernel(np.array([[least]]), half, p=p)[0, 0] == pytest.approx(expected, rel=1e-14)
        assert pgmm_kernel(sparse.csr_array([[least]]), half, p=p)[0, 0] == pytest.approx(expected, rel=1e-14)


def test_any_layout(tmp_path: Path) -> None:
    X = random_rows(31, 17)
    wide = np.zeros((62, 34))
    wide[::2, 1::2] = X
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    layouts = [np.asfortranarray(X), wide[::2, 1::2], X[:, ::-1].copy()[:, ::-1], X[::-1].copy()[::-1], mapped, frozen]
    for Z in layouts:
        np.testing.assert_array_equal(pgmm_kernel(Z, p=2), pgmm_kernel(X, p=2))
        np.testing.assert_array_equal(pgmm_kernel(Z, X[:9], p=2), pgmm_kernel(X, X[:9], p=2))
    np.testing.assert_array_equal(pgmm_kernel(X.tolist(), p=2), pgmm_kernel(X, p=2))
    np.testing.assert_array_equal(X, mapped)


def as_pyarrow(X: Floats) -> pa.Table:
    return pa.table({f"c{i}": column for i, column in enumerate(X.T)})


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, as_pyarrow])
def test_frames(frame: Callable[[Floats], Any]) -> None:
    X, Y = random_rows(9, 4), random_rows(5, 4, seed=1)
    np.testing.assert_array_equal(pgmm_kernel(frame(X), p=2), pgmm_kernel(X, p=2))
    np.testing.assert_array_equal(pgmm_kernel(frame(X), frame(Y), p=2), pgmm_kernel(X, Y, p=2))
    np.testing.assert_array_equal(pgmm_kernel(sparse.csr_array(X), frame(Y), p=2), pgmm_kernel(X, Y, p=2))


def test_frame_of_columns_of_several_types() -> None:
    X = pd.DataFrame({"a": [1, 2], "b": [0.5, -1.5], "c": [True, False], "d": pd.array([3, 4], dtype="Int64")})
    expected = pgmm_kernel([[1, 0.5, 1, 3], [2, -1.5, 0, 4]])
    np.testing.assert_array_equal(pgmm_kernel(X), expected)


def test_the_widest_sparse_matrix_takes_little_memory() -> None:
    last = 2**31 - 1
    indices = np.array([0, 5, last, 5, last])
    X = sparse.csr_array((np.array([1.0, 2, 3, 2, -3]), indices, np.array([0, 3, 5])), shape=(2, 2**31))
    tracemalloc.start()
    K = pgmm_kernel(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(K, [[1, 2 / 9], [2 / 9, 1]], rtol=1e-15)
    assert peak < MIB


def peak_beside_the_result(*args: Any) -> int:
    pgmm_kernel(*(Z[:20] for Z in args), p=2)
    tracemalloc.start()
    K = pgmm_kernel(*args, p=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - int(K.nbytes)


def test_memory_is_the_result_and_a_few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pgmm, "BLOCK_BYTES", MIB)
    X = random_rows(1500, 600)
    for args in ((X,), (X, X.copy()), (sparse.csr_array(X),), (X.astype(np.float32), sparse.csr_array(X))):
        assert peak_beside_the_result(*args) < 6 * MIB


def test_memory_of_sparse_rows_is_the_result_and_a_few_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pgmm, "CHUNK_ENTRIES", 1 << 14)
    X: Any = sparse.random_array((1500, 3000), density=0.02, rng=np.random.default_rng(0), format="csr")
    for args in ((X,), (X, X.copy()), (X, X.toarray()), (X.toarray(), X)):
        assert peak_beside_the_result(*args) < 150 << 14
