"""Extremal sampling: its laws with and without t*, and the process behind it.

Bounds are four standard errors, for fixed seeds. Each law has a control: a wrong one that the same bound refuses. A
Kolmogorov-Smirnov statistic of n draws exceeds 2 / sqrt(n) with probability 7e-4.
"""

import numpy as np
import pytest
from scipy import stats

from gcwsnet import gmm_transform, pgmm_kernel
from gcwsnet.hashing.elementary import minus_log1m
from gcwsnet.hashing.samplers import E8, WIDTH, Points, extremal, lowest_points, number_of
from tests.hashing.laws import GOLDEN_X, K, agree, shares, zero_bit_law

POWERS = [0.5, 1.0, 2.0]


def rows_more_and_more_unlike() -> np.ndarray:
    rng = np.random.default_rng(0)
    L = rng.normal(0, 1, 10)
    X = np.exp([L + rng.normal(0, noise, 10) for noise in (0, 0.03, 0.3, 1, 2)]) * rng.choice([-1, 1], 10)
    X[2:, :2] *= -1
    X[3:, 3:5] = 0
    X[0, 4:6] = 0
    return X


X = rows_more_and_more_unlike()


@pytest.mark.parametrize("p", POWERS)
def test_collisions_are_the_kernel_and_those_of_i_star_have_their_own_law(p: float) -> None:
    J, Z = pgmm_kernel(X[:1], X[1:], p=p)[0], zero_bit_law(X, p)
    both, i_alone = shares(extremal(X, K, p=p, seed=1))
    assert agree(both, J)
    assert agree(i_alone, Z)
    assert not agree(both, Z)
    assert not agree(i_alone, J)
    assert not agree(both, pgmm_kernel(X[:1], X[1:], p=p * 1.2)[0])
    assert not agree(i_alone, zero_bit_law(X, p, of_the_smaller=False))


@pytest.mark.parametrize("scale", [1e-4, 0.37, 2.0, 1e5])
def test_the_law_does_not_depend_on_where_the_weights_are_in_their_cells(scale: float) -> None:
    k = 8192
    both, i_alone = shares(extremal(X * scale, k, seed=2))
    assert agree(both, pgmm_kernel(X[:1], X[1:])[0], k)
    assert agree(i_alone, zero_bit_law(X, 1.0), k)


def test_a_feature_is_the_sample_as_often_as_its_share_of_the_weight() -> None:
    W = gmm_transform(X)
    i_star, _ = extremal(X, K, seed=3)
    for row, weights in enumerate(W):
        counts = np.bincount(i_star[row], minlength=W.shape[1])
        assert agree(counts / K, weights / weights.sum())
        assert not agree(counts / K, weights**1.1 / np.sum(weights**1.1))


def points_of(L: list[float], n_features: int, n_hashes: int, seed: int = 4) -> Points:
    """Lowest points under each weight exp(L): weights x (features and hashes)."""
    features = np.tile(np.arange(n_features), len(L))
    found = lowest_points(seed, features, np.repeat(np.array(L, dtype=np.float32), n_features), n_hashes)
    return Points(found.y.reshape(len(L), -1), found.number.reshape(len(L), -1))


WEIGHTS = [-804.5, -8.0, -1e-6, 0.0, 1e-6, 0.01, 1.0, 4.0, 7.5, 7.99, 8.0, 9.0, 700.25]


def test_the_lowest_height_under_a_weight_is_exponential() -> None:
    y, _ = points_of(WEIGHTS, 40, 2000)
    for L, heights in zip(WEIGHTS, y, strict=True):
        within = np.exp(float(np.float32(L)) % 8)
        statistic = stats.kstest(heights * within, "expon").statistic
        assert statistic < 2 / np.sqrt(heights.size)
    assert stats.kstest(y[6] * np.exp(1.02), "expon").statistic > 2 / np.sqrt(y[6].size)


def test_heights_of_features_and_of_hashes_are_independent() -> None:
    y = lowest_points(5, np.arange(300), np.full(300, 3.0, dtype=np.float32), 300).y.astype(np.float64)
    u = 1 - np.exp(-y * np.exp(3))
    for a, b in [(u[1:], u[:-1]), (u[:, 1:], u[:, :-1]), (u[2:], u[:-2]), (u[:, 16:], u[:, :-16])]:
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 4.5 / np.sqrt(a.size)
        assert abs(np.corrcoef(a.ravel() < 0.02, b.ravel() < 0.02)[0, 1]) < 4.5 / np.sqrt(a.size)


def test_heights_of_weights_far_apart_are_independent() -> None:
    """They are of different cells. Weights a factor of e^-8 apart share a point that seldom."""
    y, _ = points_of([-5.0, 3.0, 11.0, 19.0, 3.0 + 2**20, 3.0], 80, 1000)
    correlation = np.corrcoef(np.log(y))
    assert np.all(np.abs(correlation[:5, :5] - np.eye(5)) < 4.5 / np.sqrt(y.shape[1]))
    assert correlation[1, 5] > 0.999


@pytest.mark.parametrize(
    ("low", "high", "wrong"),
    [(0.5, 0.6, 1.05), (7.9, 8.1, 1.05), (0.0, 0.7, 1.05), (7.0, 9.0, 1.1), (-0.2, 8.1, 4), (15.9, 24.2, 4)],
)
def test_two_weights_of_a_feature_have_one_point_as_often_as_their_ratio(low: float, high: float, wrong: float) -> None:
    """Within a cell, across the border of two, and with a cell in between."""
    _, number = points_of([low, high], 60, 1000)
    same = number[0] == number[1]
    ratio = np.array(np.exp(low - high))
    assert agree(np.mean(same), ratio, same.size)
    assert not agree(np.mean(same), ratio * wrong, same.size)


def test_as_the_weight_grows_the_height_falls_and_the_point_changes_with_it() -> None:
    L = np.arange(-17.0, 17.0, 0.25)
    y, number = points_of(L.tolist(), 10, 100)
    heights = y.astype(np.float64) * np.exp(-8 * np.floor(L / 8))[:, np.newaxis]
    ratio = heights[1:] / heights[:-1]
    same = number[1:] == number[:-1]
    assert np.all(np.abs(ratio[same] - 1) < 1e-6)  # one point, seen from two cells
    assert np.all(ratio[~same] < 1)
    jumps = np.sum(~same, axis=0)  # those that a step of 0.25 lets through: 1 - exp(-0.25) of the steps
    expected = len(same) * (1 - np.exp(-0.25))
    assert abs(jumps.mean() - expected) < 4 * np.sqrt(expected / len(jumps))


def test_features_five_cells_down_cannot_win() -> None:
    """The least height there can be, against the largest that the heaviest feature can have."""
    least = minus_log1m(np.array([2**-31], dtype=np.float32)) / WIDTH
    most = minus_log1m(np.array([1], dtype=np.float32)) / WIDTH * E8[1]
    assert least[0] * np.exp(8 * len(E8)) > 1000 * most[0]
    np.testing.assert_allclose(E8, np.exp(8.0 * np.arange(5)), rtol=2**-24)
    np.testing.assert_allclose(WIDTH, np.expm1(8), rtol=2**-24)


def test_numbers_of_points_are_different_within_2_to_the_18_cells() -> None:
    cell = np.arange(-(2**17) - 5, 2**17 - 5)
    numbers = np.concatenate([number_of(cell, step) for step in (0, 1, 63)])
    assert len(np.unique(numbers)) == numbers.size
    assert numbers.min() == -(2**23)
    assert numbers.max() == 2**23 - 1


def test_the_largest_powers_leave_the_heaviest_feature() -> None:
    X = np.array([[1e300, 1e-300, 2.0], [1e300, 3.0, 1e299], [-1e300, 1.0, 1e300], [1e-300, 0.0, 1e-299]])
    i_star, t_star = extremal(X, 50, p=1e6)
    assert np.all(i_star[:2] == 0)
    np.testing.assert_array_equal(t_star[0], t_star[1])
    assert set(i_star[2]) == {1, 4}
    assert np.all(i_star[3] == 4)


GOLDEN: dict[float, tuple[list[list[int]], list[list[int]]]] = {
    0.5: (
        [[8, 2, 2, 1, 2, 2], [8, 3, 3, 8, 6, 3], [8, 2, 2, 8, 6, 6]],
        [[-64, 6, -64, -64, 7, 9], [-64, 6, 9, -64, -64, -64], [-64, -64, -64, -64, -64, -64]],
    ),
    1.0: (
        [[2, 2, 2, 2, 2, 2], [8, 3, 3, 3, 6, 3], [8, 2, 2, 8, 6, 6]],
        [[8, 6, 7, 9, 6, 9], [-64, 6, 8, 3, -64, -64], [-64, -64, -64, -64, -64, -64]],
    ),
    80.0: (
        [[2, 2, 2, 2, 2, 2], [3, 3, 3, 3, 3, 3], [8, 2, 2, 8, 6, 6]],
        [[1798, 1799, 1797, 1798, 1795, 1798], [1281, 1282, 1280, 1280, 1281, 1282], [-64, -64, -64, -64, -64, -64]],
    ),
}


@pytest.mark.parametrize("p", GOLDEN)
def test_golden_samples(p: float) -> None:
    i_star, t_star = extremal(GOLDEN_X, 6, p=p, seed=42)
    assert (i_star.tolist(), t_star.tolist()) == GOLDEN[p]


def test_golden_points() -> None:
    y, number = lowest_points(0, [0, 0, 1], np.array([1, -100.5, 7], dtype=np.float32), 3)
    bits = [[f"{each:08x}" for each in row] for row in y.view(np.uint32)]
    assert bits[0] == ["3e0b8731", "3f8aad2e", "4010b363"]
    assert number.tolist() == [[-64, 11, -64], [-896, -827, -822], [0, 0, 1]]
