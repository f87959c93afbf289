"""Similarity estimates from codes and from sketches."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import CountSketch, estimate_similarity
from gcwsnet.hashing import _similarity
from gcwsnet.hashing._hasher import one_hot

RNG = np.random.default_rng(0)
A = RNG.integers(0, 4, (5, 300), dtype=np.uint8)
B = RNG.integers(0, 4, (3, 300), dtype=np.uint8)
SKETCH = CountSketch(8, bits=2, random_state=0).fit(A)
Z, W = SKETCH.transform(A), SKETCH.transform(B)


def test_two_rows_are_theorem_2_inverted() -> None:
    J = estimate_similarity(A, B, bits=2)
    share = (A[:, np.newaxis] == B).mean(axis=2)
    np.testing.assert_allclose(J, (share - 1 / 4) / (1 - 1 / 4), atol=1e-12)


def test_shapes_follow_the_arguments() -> None:
    assert estimate_similarity(A, B, bits=2).shape == (5, 3)
    assert estimate_similarity(A[0], B, bits=2).shape == (3,)
    assert estimate_similarity(A, B[0], bits=2).shape == (5,)
    assert isinstance(estimate_similarity(A[0], B[0], bits=2), float)


@pytest.mark.parametrize(("arguments", "n_hashes"), [((A, B), None), ((Z, W), 300)])
def test_batches_change_nothing(arguments: Any, n_hashes: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = estimate_similarity(*arguments, bits=2, n_hashes=n_hashes)
    monkeypatch.setattr(_similarity, "BATCH", 1)
    np.testing.assert_array_equal(estimate_similarity(*arguments, bits=2, n_hashes=n_hashes), whole)


@pytest.mark.parametrize(
    ("arguments", "bits", "error", "words"),
    [
        ((A, B[:, :10]), 2, ValueError, "the same number of hashes, got 300 and 10"),
        ((A.astype(float), B), 2, TypeError, "codes must be integers, got the type float64; give sketches and one-hot"),
        ((A[np.newaxis], B), 2, ValueError, r"shape \(n, k\) or \(k,\).*got \(1, 5, 300\)"),
        ((A[:, :0], B[:, :0]), 2, ValueError, r"k of at least 1, got \(5, 0\)"),
        ((A, B), 0, ValueError, "bits must be from 1 to 32, got bits=0"),
    ],
)
def test_bad_input_is_named(arguments: tuple[np.ndarray, ...], bits: int, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        estimate_similarity(*arguments, bits=bits)


def test_more_estimates_than_memory_are_refused_beforehand() -> None:
    many = np.broadcast_to(np.uint8(0), (3_000_000, 4))
    with pytest.raises(MemoryError, match=r"3000000 x 3000000 rows would take 65\.5 TiB"):
        estimate_similarity(many, many, bits=8)


def test_sketches_give_their_inner_product_over_k_put_into_theorem_2() -> None:
    inner = Z.toarray().astype(np.int64) @ W.toarray().astype(np.int64).T
    J = estimate_similarity(Z, W, bits=2, n_hashes=300)
    np.testing.assert_allclose(J, (inner / 300 - 1 / 4) / (1 - 1 / 4), atol=1e-12)
    assert J.shape == (5, 3)
    assert J.dtype == np.float64


def test_inner_products_of_small_integers_do_not_overflow() -> None:
    """100 times 100 in one bin is beyond the type of the sketch."""
    big = sparse.csr_matrix(np.array([[100, 0]], dtype=np.int8))
    assert estimate_similarity(big, big, bits=32, n_hashes=100)[0, 0] == pytest.approx(100)


@pytest.mark.parametrize(
    ("bits", "form"), [*product([2, 20, 32], [sparse.csr_matrix, sparse.coo_array]), (2, sparse.csc_array)]
)
def test_one_hot_vectors_give_the_estimates_of_their_codes(bits: int, form: Any) -> None:
    one_hot_a, one_hot_b = (form(one_hot(codes, bits)) for codes in (A, B))
    found = estimate_similarity(one_hot_a, one_hot_b, bits=bits, n_hashes=300)
    np.testing.assert_allclose(found, estimate_similarity(A, B, bits=bits), atol=1e-12)


def test_the_axis_of_a_sparse_vector_is_left_out() -> None:
    first, second = sparse.coo_array(Z.toarray()[0]), sparse.coo_array(W.toarray()[0])
    whole = estimate_similarity(Z, W, bits=2, n_hashes=300)
    assert estimate_similarity(Z[:1], W, bits=2, n_hashes=300).shape == (1, 3)
    np.testing.assert_array_equal(estimate_similarity(first, W, bits=2, n_hashes=300), whole[0])
    np.testing.assert_array_equal(estimate_similarity(Z, second, bits=2, n_hashes=300), whole[:, 0])
    assert estimate_similarity(first, second, bits=2, n_hashes=300) == whole[0, 0]
    assert isinstance(estimate_similarity(first, second, bits=2, n_hashes=300), float)


def test_sketches_in_which_everything_cancels_and_sketches_of_no_rows() -> None:
    nothing = sparse.csr_matrix((2, 150), dtype=np.int16)
    np.testing.assert_allclose(estimate_similarity(nothing, nothing, bits=2, n_hashes=300), np.full((2, 2), -1 / 3))
    np.testing.assert_allclose(estimate_similarity(Z, nothing, bits=2, n_hashes=300), np.full((5, 2), -1 / 3))
    assert estimate_similarity(Z, W[:0], bits=2, n_hashes=300).shape == (5, 0)
    assert estimate_similarity(Z[:0], W, bits=2, n_hashes=300).shape == (0, 3)


def test_sketches_with_more_bins_than_memory_are_compared_all_the_same() -> None:
    codes = RNG.integers(0, 2**32, (4, 50), dtype=np.uint32)
    codes[1, :25] = codes[0, :25]
    sketches = CountSketch(n_bins=2**32, bits=32, random_state=0).fit_transform(codes)
    found = estimate_similarity(sketches, sketches, bits=32, n_hashes=50)
    np.testing.assert_allclose(found, estimate_similarity(codes, codes, bits=32), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "n_hashes", "error", "words"),
    [
        ((Z, W), None, TypeError, "n_hashes is needed for sketches: k, the number of codes that were sketched"),
        ((A, B), 300, TypeError, "n_hashes is for sketches; codes have as many hashes as columns, got n_hashes=300"),
        ((Z, B), 300, TypeError, "codes and sketches cannot be compared"),
        ((Z, W[:, :9]), 300, ValueError, "the same number of bins, got 150 and 9"),
        ((one_hot(A, 2), one_hot(B, 2)), 299, ValueError, "those of row 0 to 300 with n_hashes=299; give the number"),
        ((Z * 1j, W), 300, TypeError, "sketches must hold integers or real numbers, got the type complex128"),
        ((sparse.csr_array(np.diag([1, np.nan])),) * 2, 300, ValueError, "those of row 1 to nan with n_hashes=300"),
    ],
)
def test_bad_sketches_are_named(arguments: tuple[Any, ...], n_hashes: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        estimate_similarity(*arguments, bits=2, n_hashes=n_hashes)
