"""Minwise hashing: rows as sets, with the Jaccard similarity as the law of their codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel
from gcwsnet.hashing.samplers import minwise, minwise_words

K = 16_384
NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, -2.5, 1e300])


def sets(n: int, d: int, share: float, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, d)) < share).astype(np.float32)


def test_codes_collide_with_the_jaccard_similarity() -> None:
    """Within four standard errors; half of the similarity is not."""
    X = sets(1, 300, 0.4, 0) * np.ones((6, 1), np.float32)
    for row, n in enumerate([0, 10, 40, 80, 200, 300]):
        X[row, :n] = sets(1, n, 0.4, row + 1)
    J = pgmm_kernel(X[:1], X)[0]
    hasher = GCWSHasher(K, bits=16, method="minwise", random_state=2).fit(X)
    codes = hasher.transform(X)
    bound = 4 * np.sqrt(J * (1 - J) / K) + 2.0**-15
    estimate = estimate_similarity(codes[0], codes, bits=16)
    assert np.all(np.abs(estimate - J) <= bound)
    assert np.any(np.abs(estimate - J / 2) > bound)


def test_every_member_of_a_set_is_the_sample_as_often_as_the_others() -> None:
    """Chi-squared over seven members and 16,384 hashes: below 30 with a probability of 0.99996."""
    X = np.zeros((1, 40))
    X[0, [0, 3, 4, 17, 18, 30, 39]] = 1
    i_star, _ = GCWSHasher(K, method="minwise", random_state=0).fit(X).samples(X)
    counts = np.bincount(i_star[0] // 2, minlength=40)[X[0] > 0]
    assert counts.sum() == K
    assert ((counts - K / 7) ** 2 / (K / 7)).sum() < 30


def test_two_hashes_choose_independently() -> None:
    X = np.ones((1, 4))
    i_star, _ = GCWSHasher(2 * K, method="minwise", random_state=0).fit(X).samples(X)
    pairs = np.bincount((i_star[0, ::2] // 2) * 4 + i_star[0, 1::2] // 2, minlength=16)
    assert ((pairs - K / 16) ** 2 / (K / 16)).sum() < 50


@given(hnp.arrays(np.float64, (5, 9), elements=NUMBERS), st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_samples_are_those_of_the_reference(X: np.ndarray, k: int, seed: int) -> None:
    expected = minwise(X, k, seed=seed)
    hasher = GCWSHasher(k, method="minwise", random_state=seed).fit(X)
    for form in (X, sparse.csr_array(X)):
        for found, wanted in zip(hasher.samples(form), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@given(hnp.arrays(np.float64, (5, 9), elements=NUMBERS))
def test_sizes_do_not_matter_and_signs_do(X: np.ndarray) -> None:
    hasher = GCWSHasher(30, method="minwise", random_state=1).fit(X)
    np.testing.assert_array_equal(hasher.transform(X), hasher.transform(np.sign(X)))
    i_star, _ = hasher.samples(X)
    of_negative, _ = hasher.samples(-X)
    assert np.all((i_star == -1) | (i_star != of_negative))


def test_words_never_change() -> None:
    """Golden numbers: codes are the same in every version."""
    assert minwise_words(0, [0, 1, 2**31], [0, 1, 255]).tolist() == GOLDEN_WORDS
    X = np.array([[1, 0, 1, 1, 0, 1, 1]])
    assert GCWSHasher(8, method="minwise", random_state=42).fit_transform(X).tolist() == [GOLDEN_CODES]


GOLDEN_WORDS = [
    [-550176690, -1608174004, -542361558],
    [376810506, 39174392, 1755609468],
    [747309723, -1055778288, -1050361517],
]
GOLDEN_CODES = [234, 247, 10, 7, 12, 65, 128, 64]


def test_a_power_has_no_effect_and_is_refused() -> None:
    with pytest.raises(ValueError, match="p has no effect with method='minwise'"):
        GCWSHasher(8, method="minwise", p=2.0).fit(np.ones((2, 3)))
