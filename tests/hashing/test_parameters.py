"""The random numbers behind the hash: keys, an accurate logarithm, and parameters with the laws of Algorithm 1."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gcwsnet._keys import EPOCH_ORDER, keys, random_order
from gcwsnet.hashing.elementary import log, log_of_data, minus_log1m
from gcwsnet.hashing.parameters import GCWSParameters, parameters

BOUND = 2.0**-23


def relative_error(value: np.ndarray, exact: np.ndarray) -> float:
    return float(np.max(np.abs(value.astype(np.float64) - exact) / np.maximum(np.abs(exact), 1e-300)))


@pytest.fixture(scope="module")
def positive() -> np.ndarray:
    rng = np.random.default_rng(0)
    wide = np.exp(rng.uniform(-87, 88, 300_000))
    near_one = 1 + rng.uniform(-0.5, 1, 300_000) * 10.0 ** rng.uniform(-7, 0, 300_000)
    return np.concatenate([wide, near_one]).astype(np.float32)


def test_relative_error_is_below_2_to_minus_23(positive: np.ndarray) -> None:
    assert relative_error(log(positive), np.log(positive.astype(np.float64))) < BOUND


def test_minus_log1m_is_accurate_where_w_is_small() -> None:
    w = (10.0 ** np.random.default_rng(1).uniform(-9, 0, 300_000)).astype(np.float32)
    w = w[w < 0.999]
    assert relative_error(minus_log1m(w), -np.log1p(-w.astype(np.float64))) < 3 * BOUND


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_and_float64_give_the_same_bits(x: float) -> None:
    small, large = np.array([x], dtype=np.float32), np.array([x], dtype=np.float64)
    assert log_of_data(small).view(np.uint32) == log_of_data(large).view(np.uint32)


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_every_finite_number_has_an_accurate_logarithm(x: float) -> None:
    exact = np.log(abs(x))
    assert abs(float(log_of_data(np.array([x]))[0]) - exact) <= BOUND * abs(exact) + 2.0**-149


def test_logarithm_of_zero_is_minus_infinity() -> None:
    assert np.all(log_of_data(np.array([0.0, -0.0])) == -np.inf)


@pytest.mark.parametrize(("n", "first"), [(0, 0), (1, 5), (17, 0), (5000, 0), (5000, 2**33)])
def test_a_random_order_is_that_of_the_keys(n: int, first: int) -> None:
    low, high = keys(7, EPOCH_ORDER, np.arange(first, first + n))
    assert np.array_equal(random_order(7, EPOCH_ORDER, n, first), np.lexsort((low, high)))
    assert len(np.unique(high.astype(np.uint64) << np.uint64(32) | low)) == n


LAWS = {"r": stats.gamma(2), "c": stats.gamma(2), "beta": stats.uniform()}


def draws(q: GCWSParameters) -> dict[str, np.ndarray]:
    return {"r": q.r.astype(np.float64), "c": np.exp(q.log_c.astype(np.float64)), "beta": q.beta.astype(np.float64)}


def uniforms(q: GCWSParameters) -> dict[str, np.ndarray]:
    return {name: LAWS[name].cdf(values) for name, values in draws(q).items()}


@pytest.fixture(scope="module")
def many() -> dict[str, np.ndarray]:
    return uniforms(parameters(seed=1, features=np.arange(2000), hashes=np.arange(500)))


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x.ravel(), y.ravel())[0, 1])


@pytest.mark.parametrize(
    ("features", "hashes"),
    [(np.arange(500), np.arange(500)), ([7], np.arange(250_000)), (np.arange(250_000), [3])],
    ids=["many of both", "one feature", "one hash"],
)
def test_marginal_laws(features: np.ndarray, hashes: np.ndarray) -> None:
    for name, values in draws(parameters(5, features, hashes)).items():
        assert stats.kstest(values.ravel(), LAWS[name].cdf).statistic < 2 / np.sqrt(values.size)


def test_lower_tail_of_the_gamma_laws() -> None:
    """The samples with the least a have small c and large r: the tails matter as much as the bulk."""
    values = draws(parameters(2, np.arange(2000), np.arange(1000)))
    n = values["c"].size
    for name, threshold, p in [("c", 1e-2, LAWS["c"].cdf(1e-2)), ("r", 12.0, LAWS["r"].sf(12.0))]:
        count = np.sum(values[name] < threshold) if name == "c" else np.sum(values[name] > threshold)
        assert abs(count - n * p) < 4 * np.sqrt(n * p)


@pytest.mark.parametrize(("a", "b"), list(combinations(LAWS, 2)))
def test_r_c_and_beta_of_a_pair_are_uncorrelated(many: dict[str, np.ndarray], a: str, b: str) -> None:
    x, y = many[a], many[b]
    bound = 4.5 / np.sqrt(x.size)
    assert abs(correlation(x, y)) < bound
    assert abs(correlation(np.abs(x - 0.5), np.abs(y - 0.5))) < bound
    assert abs(correlation(x < 0.01, y < 0.01)) < bound


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("lag", [1, 2, 16, 255])
def test_no_correlation_along_features_or_hashes(many: dict[str, np.ndarray], name: str, lag: int) -> None:
    x = many[name]
    for shifted in (x, x.T):
        for kind in (shifted, np.abs(shifted - 0.5), (shifted < 0.02).astype(float)):
            a, b = kind[lag:], kind[:-lag]
            assert abs(correlation(a, b)) < 4.5 / np.sqrt(a.size)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("other", [2, 1 + 2**32])
def test_no_correlation_between_seeds(many: dict[str, np.ndarray], name: str, other: int) -> None:
    x = many[name]
    y = uniforms(parameters(other, np.arange(2000), np.arange(500)))[name]
    assert abs(correlation(x, y)) < 4.5 / np.sqrt(x.size)


def test_pairs_of_hashes_have_as_many_common_tails_as_chance(many: dict[str, np.ndarray]) -> None:
    """For each pair of hashes, features on which both have a small c: their number is spread as chance spreads it."""
    small = (many["c"] < 0.1).astype(float)
    common = (small.T @ small)[np.triu_indices(small.shape[1], 1)]
    n, p = len(small), 0.01
    z = (common - n * p) / np.sqrt(n * p * (1 - p))
    assert abs(z.mean()) < 0.1
    assert 0.97 < z.std() < 1.03
    assert np.abs(z).max() < 6


def test_a_parameter_depends_on_its_own_numbers_only() -> None:
    all_of_them = parameters(9, np.arange(40), np.arange(30))
    some = parameters(9, [17, 3], [29, 0, 4])
    for name in GCWSParameters._fields:
        assert np.array_equal(getattr(some, name), getattr(all_of_them, name)[np.ix_([17, 3], [29, 0, 4])])


def test_extreme_numbers_are_as_good_as_others() -> None:
    q = parameters(2**64 - 1, [0, 2**31, 2**32 - 1], [0, 2**20 - 1])
    assert np.all(q.r >= 2**-20)
    assert np.all(np.isfinite(q.log_c))
    assert np.all((q.beta > 0) & (q.beta < 1))
