"""Similarity estimates from codes."""

from itertools import product

import numpy as np
import pytest

from gcwsnet import GCWSHasher, estimate_similarity
from gcwsnet.encoding import _similarity

RNG = np.random.default_rng(0)
A = RNG.integers(0, 4, (5, 300), dtype=np.uint8)
B = RNG.integers(0, 4, (3, 300), dtype=np.uint8)
C = RNG.integers(0, 4, (2, 300), dtype=np.uint8)


def test_two_rows_are_theorem_2_inverted() -> None:
    J = estimate_similarity(A, B, bits=2)
    share = (A[:, np.newaxis] == B).mean(axis=2)
    np.testing.assert_allclose(J, (share - 1 / 4) / (1 - 1 / 4), atol=1e-12)


def test_shapes_follow_the_arguments() -> None:
    assert estimate_similarity(A, B, bits=2).shape == (5, 3)
    assert estimate_similarity(A[0], B, bits=2).shape == (3,)
    assert estimate_similarity(A, B[0], bits=2).shape == (5,)
    assert isinstance(estimate_similarity(A[0], B[0], bits=2), float)
    assert estimate_similarity(A, B, C, bits=2).shape == (5, 3, 2)
    assert estimate_similarity(A, B[1], C, bits=2).shape == (5, 2)
    assert isinstance(estimate_similarity(A[0], B[0], C[0], bits=2), float)


def test_each_estimate_is_that_of_its_rows() -> None:
    three = estimate_similarity(A, B, C, bits=2)
    for i, j, k in product(range(5), range(3), range(2)):
        assert three[i, j, k] == pytest.approx(estimate_similarity(A[i], B[j], C[k], bits=2), abs=1e-12)


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = estimate_similarity(A, B, C, bits=2), estimate_similarity(A, A, bits=2)
    monkeypatch.setattr(_similarity, "BATCH", 1)
    np.testing.assert_array_equal(estimate_similarity(A, B, C, bits=2), whole[0])
    np.testing.assert_array_equal(estimate_similarity(A, A, bits=2), whole[1])


@pytest.mark.parametrize("m", [2, 3, 4, 5])
@pytest.mark.parametrize("n_codes", [8, 256])
def test_mean_of_a_hash_is_one_if_all_samples_agree_and_else_zero(m: int, n_codes: int) -> None:
    """Over all ways to give d different samples codes, exactly: the estimate has no bias."""
    value = _similarity._values_of_distinct_counts(m, n_codes)
    # Ways to fill exactly `distinct` codes with d samples, by the recursion of the occupancy problem.
    ways = np.zeros(m + 2)
    ways[0] = 1.0
    for d in range(1, m + 1):
        step = np.zeros(m + 2)
        for distinct in range(1, d + 1):
            stays, grows = distinct / n_codes, (n_codes - distinct + 1) / n_codes
            step[distinct] = ways[distinct] * stays + ways[distinct - 1] * grows
        ways = step
        assert float(ways[: m + 1] @ value) == pytest.approx(1.0 if d == 1 else 0.0, abs=1e-12)


def test_codes_of_different_integer_types_are_compared_as_numbers() -> None:
    assert estimate_similarity(A, A.astype(np.int64), bits=2)[0, 0] == 1.0


def test_equal_rows_have_similarity_one() -> None:
    codes = GCWSHasher(64, bits=1, random_state=0).fit_transform(RNG.normal(size=(3, 5)))
    np.testing.assert_allclose(np.diag(estimate_similarity(codes, codes, bits=1)), 1.0)
    np.testing.assert_allclose(estimate_similarity(codes, codes[0], bits=1)[0], 1.0)


@pytest.mark.parametrize(
    ("arguments", "bits", "error", "words"),
    [
        ((A, B[:, :10]), 2, ValueError, r"as many hashes as each other, got \[10, 300\]"),
        ((A.astype(float), B), 2, TypeError, "codes must be integers, got the type float64"),
        ((A[np.newaxis], B), 2, ValueError, r"shape \(n, k\) or \(k,\).*got \(1, 5, 300\)"),
        ((A[:, :0], B[:, :0]), 2, ValueError, r"k of at least 1, got \(5, 0\)"),
        ((A, B), 0, ValueError, "bits must be from 1 to 32, got bits=0"),
        ((A, B), 40, ValueError, "bits must be from 1 to 32, got bits=40"),
        ((A, B), 2.0, TypeError, "bits must be an integer, got bits=2.0"),
        ((A[0], A[0], A[0]), 1, ValueError, "codes of 1 bits tell at most 2 rows apart, got 3 arguments"),
    ],
)
def test_bad_input_is_named(arguments: tuple[np.ndarray, ...], bits: int, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        estimate_similarity(*arguments, bits=bits)


def test_more_estimates_than_memory_are_refused_beforehand() -> None:
    many = np.broadcast_to(np.uint8(0), (3_000_000, 4))
    with pytest.raises(MemoryError, match=r"3000000 x 3000000 rows would take 65\.5 TiB"):
        estimate_similarity(many, many, bits=8)
