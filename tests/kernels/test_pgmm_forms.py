"""The kernel of the same numbers is the same in whatever form they come, in little memory."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import pgmm_kernel
from gcwsnet.kernels import _exact

from .matrices import DENSE_BLOCKS, SPARSE_CHUNKS, random_rows

PATHS = pytest.mark.parametrize("path", [DENSE_BLOCKS, SPARSE_CHUNKS])
MIB = 1 << 20


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
