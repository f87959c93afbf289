"""Bin-wise sampling: the law that it has given its bins, and that this is not the pGMM kernel.

Bounds are four standard errors, for fixed seeds. Each law has a control: a wrong one that the same bound refuses.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gcwsnet import gmm_transform, pgmm_kernel
from gcwsnet.hashing.reference import gcws
from gcwsnet.hashing.samplers import MAX_ATTEMPTS, bins_of_columns, binwise, donors
from tests.hashing.laws import GOLDEN_X

POWERS = [0.5, 1.0, 2.0]


def law_given_bins(X: np.ndarray, k: int, p: float, seed: int, *, fill: bool = True) -> np.ndarray:
    """P[samples of hash j agree] of two rows: the kernel of the columns of its source. Without `fill` of its bin."""
    u, v = gmm_transform(X) ** p
    bins = bins_of_columns(seed, np.arange(len(u)) >> 1, k)
    least, most = (np.bincount(bins, weights, k) for weights in (np.minimum(u, v), np.maximum(u, v)))
    J: np.ndarray = np.divide(least, most, out=np.zeros(k), where=most > 0)
    return J[donors(seed, most > 0)] if fill else J


def pair(n_columns: int, seed: int) -> np.ndarray:
    """Two rows with different zeros and some different signs. A tenth of the columns is heavy, and differs more."""
    rng = np.random.default_rng(seed)
    heavy = rng.random(n_columns) < 0.1
    u = rng.lognormal(0, 0.5, n_columns) * (rng.random(n_columns) < 0.8)
    v = u * np.exp(rng.normal(0, 0.3, n_columns)) * (rng.random(n_columns) < 0.9)
    u[heavy] *= 20
    v[heavy] *= rng.choice([2, 50], heavy.sum())
    v[0] *= -1
    return np.array([u, v])


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize(("n_columns", "k", "n_seeds"), [(200, 32, 80), (12, 64, 80)], ids=["few empty", "most empty"])
def test_collisions_have_the_law_given_the_bins(p: float, n_columns: int, k: int, n_seeds: int) -> None:
    found, law, unfilled = [], [], []
    kernel = 0.0
    for seed in range(n_seeds):
        X = pair(n_columns, seed)
        i, t = binwise(X, k, p=p, seed=seed)
        found.append((i[0] == i[1]) & (t[0] == t[1]))
        law.append(law_given_bins(X, k, p, seed))
        unfilled.append(law_given_bins(X, k, p, seed, fill=False))
        kernel += pgmm_kernel(X[:1], X[1:], p=p)[0, 0] / n_seeds
    J = np.array(law)
    assert np.all(np.array(found)[J == 0] == 0)  # one of the rows is empty there
    bound = 4 * np.sqrt(np.sum(J * (1 - J))) / J.size
    share = np.mean(found)
    assert abs(share - J.mean()) <= bound
    assert abs(share - kernel) > bound
    if n_columns < k:
        assert abs(share - np.mean(unfilled)) > bound


@pytest.mark.parametrize("p", POWERS)
def test_hashes_that_share_their_columns_are_independent(p: float) -> None:
    """Twelve columns, 64 bins: most samples are of donors. Their number of collisions varies as if drawn again."""
    k, z = 64, []
    for seed in range(200):
        X = pair(12, 1)
        J = law_given_bins(X, k, p, seed)
        i, t = binwise(X, k, p=p, seed=seed)
        z.append((np.sum((i[0] == i[1]) & (t[0] == t[1])) - J.sum()) / np.sqrt(np.sum(J * (1 - J))))
    assert abs(np.var(z) - 1) < 4 * np.sqrt(2 / len(z))


def test_one_bin_is_gcws() -> None:
    X = np.random.default_rng(0).normal(size=(5, 30))
    for a, b in zip(binwise(X, 1, p=2, seed=3), gcws(X, 1, p=2, seed=3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_sample_is_that_of_gcws_on_the_columns_of_its_source() -> None:
    X = np.random.default_rng(1).normal(size=(1, 20)) * (np.arange(20) % 3 > 0)
    k = 16
    i_star, t_star = binwise(X, k, seed=4)
    bins = bins_of_columns(4, np.arange(20), k)
    full = np.isin(np.arange(k), bins[X[0] != 0])
    for j, source in enumerate(donors(4, full)):
        i, t = gcws(np.where(bins == source, X, 0), k, seed=4)
        assert (i_star[0, j], t_star[0, j]) == (i[0, j], t[0, j])


def test_columns_fall_into_bins_uniformly_and_independently() -> None:
    bins = bins_of_columns(5, np.arange(100_000), 50)
    assert stats.chisquare(np.bincount(bins, minlength=50)).pvalue > 1e-4
    neighbours = np.bincount(bins[1:] * 50 + bins[:-1], minlength=2500)
    assert stats.chisquare(neighbours).pvalue > 1e-4
    assert bins_of_columns(0, [0, 1, 2, 3, 2**31 - 1], 256).tolist() == [80, 13, 183, 29, 13]


def test_donors_are_drawn_uniformly_and_those_of_different_bins_independently() -> None:
    k = 4000
    full = np.arange(k) % 2 == 0
    found = donors(6, full)[1::2]
    assert np.all(found % 2 == 0)
    assert stats.kstest(found / k, "uniform").statistic < 2 / np.sqrt(len(found))
    copies = np.bincount(found, minlength=k)[::2]
    assert abs(copies.var() - copies.mean()) < 4 * np.sqrt(2 / len(copies))  # Poisson


def test_where_no_draw_is_full_the_next_full_bin_gives() -> None:
    k = 20_000
    full = np.zeros(k, dtype=bool)
    full[[10, 700]] = True
    found = donors(7, full)
    assert set(found) == {10, 700}
    behind = np.where((np.arange(k) <= 10) | (np.arange(k) > 700), 10, 700)
    chance_of_a_draw = 1 - (1 - 2 / k) ** MAX_ATTEMPTS
    differ = np.mean(found != behind)
    assert 0 < differ < chance_of_a_draw


@given(
    k=st.integers(1, 60),
    full_u=st.sets(st.integers(0, 59), min_size=1),
    full_v=st.sets(st.integers(0, 59), min_size=1),
    seed=st.integers(0, 2**64 - 1),
)
@settings(max_examples=60)
def test_two_rows_have_the_first_common_donor_or_different_ones(
    k: int, full_u: set[int], full_v: set[int], seed: int
) -> None:
    """The donor of a row with the entries of both decides: who is full there takes it."""
    u, v = (np.isin(np.arange(k), [b % k for b in bins]) for bins in (full_u, full_v))
    both = donors(seed, u | v)
    assert np.all((u | v)[both])
    for full in (u, v):
        np.testing.assert_array_equal(donors(seed, full)[full[both]], both[full[both]])


GOLDEN: dict[float, tuple[list[list[int]], list[list[int]]]] = {
    0.5: (
        [[1, 8, 6, 6, 2, 2], [6, 8, 6, 4, 4, 3], [0, 8, 6, 4, 4, 2]],
        [[1, 0, 0, 0, 1, 1], [1, 0, 0, -217, -79, 1], [0, 0, 0, 0, 0, 0]],
    ),
    1.0: (
        [[1, 2, 1, 1, 2, 2], [6, 8, 6, 4, 4, 3], [0, 8, 6, 4, 4, 2]],
        [[1, 12, 1, 1, 2, 2], [1, 0, 0, -433, -157, 1], [0, 0, 0, 0, 0, 0]],
    ),
    80.0: (
        [[1, 2, 1, 1, 2, 2], [6, 3, 6, 4, 4, 3], [0, 8, 6, 4, 4, 2]],
        [[63, 943, 17, 55, 169, 120], [17, 68, 11, -34625, -12565, 83], [0, 0, 0, 0, 0, 0]],
    ),
}


@pytest.mark.parametrize("p", GOLDEN)
def test_golden_samples(p: float) -> None:
    i_star, t_star = binwise(GOLDEN_X, 6, p=p, seed=42)
    assert (i_star.tolist(), t_star.tolist()) == GOLDEN[p]
