"""The logarithm of the hasher: accurate, and the same number from both float types."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.hashing.elementary import log, log_of_data, minus_log1m

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
