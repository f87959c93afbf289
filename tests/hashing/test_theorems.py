"""Theorems 1 and 2 of the paper: collisions happen as often as the pGMM kernel says.

65,536 hashes: the standard error of a share is at most 0.002, so that an error of 0.01 is five of them. Bounds are four
standard errors, for fixed seeds.
"""

import numpy as np
import pytest

from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel

K = 65_536
POWERS = [0.25, 1.0, 2.0, 20.0, 80.0]


def pairs(p: float, seed: int) -> np.ndarray:
    """A row and others more and more unlike it; signs and zeros too. p ln u is spread alike for every p."""
    rng = np.random.default_rng(seed)
    L = rng.normal(0, 1.5, 24)
    rows = [L + rng.normal(0, noise, 24) for noise in (0, 0.03, 0.1, 0.3, 1, 2, 4)]
    X = np.exp(np.array(rows) / p) * rng.choice([-1, 1], 24)
    X[2:, :4] *= -1
    X[3:, 5:8] = 0
    X[0, 6:9] = 0
    return X


def standard_error(share: np.ndarray) -> np.ndarray:
    return np.sqrt(share * (1 - share) / K)


@pytest.fixture(scope="module", params=POWERS)
def case(request: pytest.FixtureRequest) -> tuple[float, np.ndarray, np.ndarray]:
    p = request.param
    X = pairs(p, seed=int(p * 100))
    J = pgmm_kernel(X[:1], X, p=p)[0]
    assert J.min() < 0.1
    assert J.max() > 0.9
    return p, X, J


def test_theorem_1(case: tuple[float, np.ndarray, np.ndarray]) -> None:
    p, X, J = case
    i_star, t_star = GCWSHasher(K, p=p, random_state=1).fit(X).samples(X)
    share = ((i_star == i_star[0]) & (t_star == t_star[0])).mean(axis=1)
    assert np.all(np.abs(share - J) <= 4 * standard_error(J))


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 32])
def test_theorem_2(case: tuple[float, np.ndarray, np.ndarray], bits: int) -> None:
    p, X, J = case
    codes = GCWSHasher(K, p=p, bits=bits, random_state=2).fit_transform(X)
    share = (codes == codes[0]).mean(axis=1)
    expected = J + (1 - J) / 2**bits
    assert np.all(np.abs(share - expected) <= 4 * standard_error(expected))
    estimate = estimate_similarity(codes[0], codes, bits=bits)
    assert np.all(np.abs(estimate - J) <= 4 * standard_error(expected) / (1 - 2.0**-bits))


@pytest.mark.parametrize("bits", [1, 2, 8])
def test_codes_are_uniform_and_hashes_independent(bits: int) -> None:
    """Codes of one row over many hashes: each value as often as the others, and no pairing of neighbours."""
    X = np.random.default_rng(0).normal(size=(2, 30))
    codes = GCWSHasher(K, bits=bits, random_state=3).fit_transform(X)[0].astype(np.int64)
    n_cells = 2**bits
    for values, cells in ((codes, n_cells), (codes[1:] * n_cells + codes[:-1], n_cells**2)):
        counts = np.bincount(values, minlength=cells)
        expected = len(values) / cells
        chi2 = np.sum((counts - expected) ** 2) / expected
        assert abs(chi2 - (cells - 1)) < 4 * np.sqrt(2 * cells)


def test_binary_data_give_the_jaccard_similarity() -> None:
    rng = np.random.default_rng(4)
    X = (rng.random((6, 40)) < np.array([0.9, 0.7, 0.5, 0.3, 0.1, 0.5])[:, np.newaxis]).astype(np.float64)
    both = X @ X.T
    jaccard = both / (X.sum(axis=1)[:, np.newaxis] + X.sum(axis=1) - both)
    np.testing.assert_allclose(pgmm_kernel(X, p=7), jaccard, rtol=1e-12)
    codes = GCWSHasher(K, bits=16, random_state=5, p=7).fit_transform(X)
    error = np.abs(estimate_similarity(codes, codes, bits=16) - jaccard)
    assert np.all(error <= 4 * standard_error(jaccard) + 2**-15)


def test_zero_bit_is_biased_where_one_feature_dominates_and_t_bits_repair_it() -> None:
    """Near-duplicates with one dominating feature: i* agrees nearly always, (i*, t*) as often as the kernel says."""
    X = np.array([[10.0, 1.0, 1.0], [9.9, 1.0, 1.0]])
    J = pgmm_kernel(X, p=40)[0, 1]
    zero_bit = GCWSHasher(K, p=40, bits=16, t_bits=0, random_state=9).fit_transform(X)
    assert estimate_similarity(*zero_bit, bits=16) - J > 0.25
    exact = GCWSHasher(K, p=40, bits=16, random_state=9).fit_transform(X)
    assert abs(estimate_similarity(*exact, bits=16) - J) <= 4 * np.sqrt(J * (1 - J) / K) + 2**-15
    two_bits = GCWSHasher(K, p=40, bits=16, t_bits=2, random_state=9).fit_transform(X)
    assert abs(np.mean(two_bits[0] == two_bits[1]) - J) < 0.01
