"""The relevance of columns for targets, against its definition."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.tables._preprocessing import column_weights, explained, with_least

RNG = np.random.default_rng(0)
N = 900
CLASSES = RNG.integers(0, 3, N)
NUMBERS = RNG.normal(size=(N, 2))


def relevance(X: Any, target: NDArray[Any]) -> NDArray[np.float64]:
    """Return the relevance of columns, of which none is 0."""
    return with_least(explained(X, target))


def shifted(target: NDArray[Any], noise: float) -> NDArray[np.float64]:
    of_row = target if target.ndim == 1 else target[:, 0]
    return of_row + noise * np.random.default_rng(1).normal(size=N)


def by_definition(column: NDArray[Any], target: NDArray[Any]) -> float:
    """The share of the variance of one-hot or given targets between bins, less what noise has, row by row."""
    values = np.eye(target.max() + 1)[target] if target.ndim == 1 else target
    known = sorted(number for number in column.tolist() if not np.isnan(number))
    edges = [known[len(known) * i // 16] for i in range(1, 16)] if known else []
    if len(set(known)) <= 16:
        edges = sorted(set(known))[1:]
    bins = [16 if np.isnan(number) else sum(number >= edge for edge in edges) for number in column.tolist()]
    mean = values.mean(axis=0)
    between = 0.0
    for one in set(bins):
        inside = values[[b == one for b in bins]]
        between += len(inside) * ((inside.mean(axis=0) - mean) ** 2).sum()
    whole = ((values - mean) ** 2).sum()
    more_bins = len(set(bins)) - 1
    return max(between / whole - more_bins / len(column), math.sqrt(2 * more_bins) / len(column))


def columns_for(target: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers that tell much and little, few distinct ones, a coin, holes, nothing but holes, and a constant."""
    rng = np.random.default_rng(2)
    holes = shifted(target, 1.0)
    holes[rng.random(N) < 0.3] = np.nan
    told_by_holes = np.where((target if target.ndim == 1 else target[:, 0]) > 0.5, np.nan, rng.normal(size=N))
    return np.column_stack(
        [
            shifted(target, 0.3),
            shifted(target, 3.0),
            np.round(shifted(target, 0.5)),
            (shifted(target, 0.5) > 0.7).astype(float),
            (shifted(target, 0.1) > 2.15).astype(float),
            np.arange(N) % 16,
            np.arange(N) % 17,
            holes,
            told_by_holes,
            np.full(N, np.nan),
            np.full(N, 4.0),
            rng.normal(size=N),
        ]
    )


@pytest.mark.parametrize("target", [CLASSES, NUMBERS], ids=["classes", "numbers"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_the_variance_between_bins(target: NDArray[Any], dtype: Any) -> None:
    X = columns_for(target).astype(dtype)
    expected = np.array([by_definition(column, target) for column in X.T])
    assert expected[0] > 0.3
    assert_allclose(relevance(X, target), np.maximum(expected, expected.max() / 1000), rtol=1e-9)


@pytest.mark.parametrize("target", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_sparse_rows_are_those_with_0_and_1(target: NDArray[Any]) -> None:
    rng = np.random.default_rng(3)
    tells = (target if target.ndim == 1 else target[:, 0]) > 0.5
    there = np.column_stack([tells ^ (rng.random(N) < share) for share in (0.05, 0.3, 0.5, 0.5)])
    there[:, 3] &= rng.random(N) < 0.03  # a rare one
    X = sparse.csr_array(there * rng.normal(5, 1, there.shape))
    expected = relevance(there.astype(float), target)
    assert_allclose(relevance(X, target), expected, rtol=1e-9)
    with_zeros = X.copy()
    with_zeros.data[::3] = 0
    without = with_zeros.copy()
    without.eliminate_zeros()
    assert_array_equal(relevance(with_zeros, target), relevance(without, target))


def test_a_missing_number_has_a_bin_of_its_own() -> None:
    X = np.zeros((N, 1))
    X[CLASSES == 1] = np.nan
    assert relevance(np.hstack([X, NUMBERS]), CLASSES)[0] == pytest.approx(0.5, abs=0.02)


def test_noise_has_next_to_no_relevance() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 200))
    target = rng.integers(0, 2, 4000)
    X[:, 0] += 3 * target
    found = relevance(X, target)
    assert found[0] > 0.6
    assert found[1:].max() < 0.015  # a chi-squared sum of 15 squares over 4,000 rows, of 199 columns
    assert found[1:].min() >= found[0] / 1000


@pytest.mark.parametrize("constant", [np.zeros(N, dtype=np.int64), np.ones((N, 1))])
def test_where_nothing_is_to_be_explained_all_columns_are_alike(constant: NDArray[Any]) -> None:
    for X in (NUMBERS, sparse.csr_array(np.abs(NUMBERS) > 1)):
        assert_array_equal(relevance(X, constant), np.ones(2))


def test_many_rows_are_looked_at_at_equal_distances() -> None:
    rng = np.random.default_rng(5)
    X, target = rng.normal(size=(9000, 2)), rng.integers(0, 2, 9000)
    X[:, 0] += target
    assert_array_equal(relevance(X, target), relevance(X[::3], target[::3]))
    assert_array_equal(
        relevance(sparse.csr_array(X > 0), target),
        relevance(sparse.csr_array(X[::3] > 0), target[::3]),
    )


def test_weights_are_powers_of_the_largest_share() -> None:
    found = np.array([0.25, 1e-4, 0.01])
    assert_allclose(column_weights(found, 1.0), [1, 4e-4, 0.04])
    assert_allclose(column_weights(found, 0.5), [1, 0.02, 0.2])
    assert_allclose(column_weights(found, 2.0), [1, 1.6e-7, 0.0016])
    assert column_weights(np.empty(0), 0.5).shape == (0,)
