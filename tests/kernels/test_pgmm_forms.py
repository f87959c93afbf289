"""The kernel of the same numbers is the same in whatever form they come, in little memory."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import pgmm_kernel
from gcwsnet.kernels import _exact

from .matrices import DENSE_BLOCKS, SPARSE_CHUNKS, forms, random_rows

PATHS = pytest.mark.parametrize("path", [DENSE_BLOCKS, SPARSE_CHUNKS])
MIB = 1 << 20


@PATHS
@pytest.mark.parametrize("density", [0.9, 0.3, 0.02])
@pytest.mark.parametrize("signed", [True, False])
def test_dense_and_csr_on_either_side(
    monkeypatch: pytest.MonkeyPatch, path: float, density: float, signed: bool
) -> None:
    monkeypatch.setattr(_exact, "DENSE_ENOUGH", path)
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
    monkeypatch.setattr(_exact, other, lambda *_: pytest.fail(f"{other} at density {density}"))
    pgmm_kernel(X)


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
    monkeypatch.setattr(_exact, "BLOCK_BYTES", MIB // 4)
    X = random_rows(750, 300)
    for args in ((X,), (X, X.copy()), (sparse.csr_array(X),), (X.astype(np.float32), sparse.csr_array(X))):
        assert peak_beside_the_result(*args) < 6 * MIB // 4


def test_memory_of_sparse_rows_is_the_result_and_a_few_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exact, "CHUNK_ENTRIES", 1 << 14)
    X: Any = sparse.random_array((1500, 3000), density=0.02, rng=np.random.default_rng(0), format="csr")
    for args in ((X,), (X, X.copy()), (X, X.toarray()), (X.toarray(), X)):
        assert peak_beside_the_result(*args) < 150 << 14
