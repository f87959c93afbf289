"""The GMM transformation is that of the paper, for any matrix."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gcwsnet import gmm_transform
from gcwsnet.kernels import _exact

from .matrices import Floats, pairs

CSR = [sparse.csr_matrix, sparse.csr_array]


def test_is_the_example_of_the_paper() -> None:
    np.testing.assert_array_equal(gmm_transform([[-3, 17]]), [[0, 3, 17, 0]])
    np.testing.assert_array_equal(gmm_transform(sparse.csr_array([[-3, 17]])).toarray(), [[0, 3, 17, 0]])


@given(pairs())
@settings(max_examples=40)
def test_holds_positive_parts_in_even_columns_and_negative_parts_in_odd_ones(pair: tuple[Floats, Floats]) -> None:
    X = pair[0]
    for U in (gmm_transform(X), gmm_transform(sparse.csr_array(X)).toarray()):
        assert U.shape == (X.shape[0], 2 * X.shape[1])
        np.testing.assert_array_equal(U[:, 0::2], np.where(X > 0, X, 0))
        np.testing.assert_array_equal(U[:, 1::2], np.where(X < 0, -X, 0))
        assert not np.signbit(U).any()


@pytest.mark.parametrize("csr", CSR)
def test_of_csr_is_csr_of_its_kind_without_explicit_zeros(csr: Any) -> None:
    X = csr(([1.0, 0.0, -2.0], [2, 1, 0], [0, 2, 3]), shape=(2, 3))
    U = gmm_transform(X)
    assert type(U) is csr
    assert U.nnz == 2
    assert U.has_canonical_format
    np.testing.assert_array_equal(U.toarray(), [[0, 0, 0, 0, 1, 0], [0, 2, 0, 0, 0, 0]])


def test_leaves_its_input_alone() -> None:
    X = sparse.csr_array(([5.0, -7.0, 0.0], [1, 1, 0], [0, 3]), shape=(1, 2))
    U = gmm_transform(X)
    U.data[:] = 99
    np.testing.assert_array_equal(X.data, [5, -7, 0])
    np.testing.assert_array_equal(X.indices, [1, 1, 0])
    dense = np.array([[-3.0, 17.0]])
    gmm_transform(dense)[:] = 99
    np.testing.assert_array_equal(dense, [[-3, 17]])


@pytest.mark.parametrize("dtype", [*"febHB?", *"dglQ", ">f8"])
def test_keeps_every_value_of_any_type_of_number(dtype: str) -> None:
    X = np.array([[1, 0], [0, 1]], dtype=dtype)
    U = gmm_transform(X)
    assert U.dtype == (np.float32 if dtype in "febHB?" else np.float64)
    np.testing.assert_array_equal(U, [[1, 0, 0, 0], [0, 0, 1, 0]])


@pytest.mark.parametrize(("dtype", "size"), [(np.int8, 128.0), (np.int16, 32768.0), (np.int64, 2.0**63)])
def test_negates_the_least_integer(dtype: Any, size: float) -> None:
    X = np.array([[np.iinfo(dtype).min]])
    assert gmm_transform(X)[0, 1] == size
    assert gmm_transform(sparse.csr_array(X))[0, 1] == size


@given(st.sampled_from([2**30 - 1, 2**30, 2**31 - 1, 2**31]), st.booleans())
@settings(max_examples=10)
def test_numbers_the_columns_of_the_widest_matrix(n_columns: int, long_indices: bool) -> None:
    index = np.int64 if long_indices or n_columns >= 2**31 else np.int32
    parts = (np.array([2.0, -3.0]), np.array([0, n_columns - 1], dtype=index), np.array([0, 2], dtype=index))
    U = gmm_transform(sparse.csr_array(parts, shape=(1, n_columns)))
    assert U.shape == (1, 2 * n_columns)
    np.testing.assert_array_equal(U.indices, [0, 2 * n_columns - 1])
    np.testing.assert_array_equal(U.data, [2, 3])
    U.check_format()


def test_says_how_much_memory_it_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gcwsnet._validation.available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"matrix of 300000 x 20 numbers would take 45\.8 MiB.*1000 B are"):
        gmm_transform(np.ones((300_000, 10)))
    assert _exact.gmm_transform(np.ones((5, 10))).shape == (5, 20)
