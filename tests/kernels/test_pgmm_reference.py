"""The fast kernel equals the slow one in the log domain, and both equal exact arithmetic."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gcwsnet import pgmm_kernel
from gcwsnet.kernels import _exact
from gcwsnet.kernels.reference import pgmm

from .matrices import DENSE_BLOCKS, POWERS, SPARSE_CHUNKS, Floats, assert_promised, pairs, random_rows, scaled_pairs

PATHS = pytest.mark.parametrize("path", [DENSE_BLOCKS, SPARSE_CHUNKS])


def exact(x: Floats, y: Floats, p: int) -> float:
    """Equation (4) for two rows, with fractions: the ratio is rounded once."""
    minima = maxima = Fraction(0)
    for u, v in zip(x.tolist(), y.tolist(), strict=True):
        for sign in (1, -1):
            a, b = (max(Fraction(sign * w), Fraction(0)) ** p for w in (u, v))
            minima += min(a, b)
            maxima += max(a, b)
    return float(minima / maxima) if maxima else 1.0


@given(pairs(), st.sampled_from([1, 2, 20]))
@settings(max_examples=20)
def test_both_equal_exact_arithmetic(pair: tuple[Floats, Floats], p: int) -> None:
    X, Y = pair
    expected = np.array([[exact(x, y, p) for y in Y] for x in X])
    assert_promised(pgmm(X, Y, p).clip(0, 1), expected)
    assert_promised(pgmm_kernel(X, Y, p=p), expected)
    assert_promised(pgmm_kernel(sparse.csr_array(X), sparse.csr_array(Y), p=p), expected)


@PATHS
@given(pair=st.one_of(pairs(), scaled_pairs()), p=POWERS)
@settings(max_examples=80)
def test_equal_on_any_numbers(path: float, pair: tuple[Floats, Floats], p: float) -> None:
    X, Y = pair
    expected = pgmm(X, Y, p)
    assert_promised(pgmm_kernel(X, Y, p=p), expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_exact, "DENSE_ENOUGH", path)
        assert_promised(pgmm_kernel(sparse.csr_array(X), Y, p=p), expected)
        assert_promised(pgmm_kernel(X, sparse.csr_array(Y), p=p), expected)
        assert_promised(pgmm_kernel(sparse.csr_array(X), p=p), pgmm(X, X, p))


@pytest.mark.parametrize("p", [0.01, 1.0, 80.0, 1000.0])
@pytest.mark.parametrize("size", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_equal_on_nearly_equal_rows(p: float, size: float) -> None:
    x = size * random_rows(1, 30)
    Y = x * (1 + np.array([[0.0], [1e-9], [1e-6], [-1e-6], [1e-3], [-1e-3]]) * random_rows(6, 30, seed=1))
    expected = pgmm(x, Y, p)
    assert_promised(pgmm_kernel(x, Y, p=p), expected)
    assert_promised(pgmm_kernel(sparse.csr_array(x), sparse.csr_array(Y), p=p), expected)
    assert p < 80 or expected.min() < 0.999  # else the kernel could say 1 for all of them


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 300, 5), (300, 1, 5), (270, 33, 1030), (33, 35, 2049)])
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_equal_on_more_rows_than_a_call_and_more_columns_than_a_chunk(
    shape: tuple[int, int, int], density: float
) -> None:
    n, m, n_columns = shape
    X, Y = random_rows(n, n_columns, density=density), random_rows(m, n_columns, density=density, seed=1)
    rows, columns = np.unique(np.r_[0, n // 2, n - 1]), np.unique(np.r_[0, m // 2, m - 1])
    expected = pgmm(X[rows], Y[columns], 2.5)
    for form in (np.asarray, sparse.csr_array):
        assert_promised(pgmm_kernel(form(X), form(Y), p=2.5)[np.ix_(rows, columns)], expected)


@PATHS
@pytest.mark.parametrize("x_form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("y_form", [np.asarray, sparse.csr_array, None])
@pytest.mark.parametrize("p", [1.0, 2.5])
def test_equal_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch, path: float, x_form: Any, y_form: Any, p: float
) -> None:
    X, Y = random_rows(19, 21, density=0.6), random_rows(17, 21, density=0.4, seed=1)
    expected = pgmm(X, X if y_form is None else Y, p)
    monkeypatch.setattr(_exact, "DENSE_ENOUGH", path)
    for block_bytes, rows_per_call, chunk_entries in [(1, 3, 1), (8 * 21 * 10, 7, 100), (8 * 21 * 19, 19, 10**6)]:
        monkeypatch.setattr(_exact, "BLOCK_BYTES", block_bytes)
        monkeypatch.setattr(_exact, "ROWS_PER_CALL", rows_per_call)
        monkeypatch.setattr(_exact, "CHUNK_ENTRIES", chunk_entries)
        K = pgmm_kernel(x_form(X), p=p) if y_form is None else pgmm_kernel(x_form(X), y_form(Y), p=p)
        assert_promised(K, expected)
        assert y_form is not None or np.array_equal(K, K.T)
