"""Columns of categorical integers: how they are told from numbers, and what they become."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.tables._preprocessing import Recipe, categorical_columns, fit_preprocessing
from gcwsnet.tables._scaling import (
    MAX_DENSE_LEVELS,
    MIN_ROWS_OF_A_LEVEL,
    LevelScaling,
    fit_scaling,
    possible_levels,
)

RNG = np.random.default_rng(0)
N, N_LEVELS = 3000, 100
NUMBERS = RNG.integers(0, N_LEVELS, N)
MEANING = RNG.permutation(N_LEVELS)
X = np.column_stack([NUMBERS, RNG.normal(size=N), RNG.integers(0, N_LEVELS, N), RNG.integers(0, 5, N)]).astype(
    np.float64
)


def test_a_column_is_categorical_if_neighbouring_values_mean_different_things() -> None:
    looked_up = (MEANING[NUMBERS] >= N_LEVELS // 2).astype(np.int64)
    assert_array_equal(categorical_columns(X, looked_up), [0])
    assert_array_equal(categorical_columns(X, MEANING[NUMBERS][:, None].astype(np.float32)), [0])
    larger_or_not = (NUMBERS >= N_LEVELS // 2).astype(np.int64)
    assert_array_equal(categorical_columns(X, larger_or_not), [])
    smooth = np.sin(NUMBERS / 10)[:, None]
    assert_array_equal(categorical_columns(X, smooth), [])
    assert_array_equal(categorical_columns(X, RNG.integers(0, 2, N)), [])


def test_possible_levels_are_integers_with_many_values_that_rows_share() -> None:
    fractions, single, few = NUMBERS + 0.5, np.arange(N), NUMBERS % 16
    with_missing = np.where(RNG.random(N) < 0.1, np.nan, NUMBERS)
    some = np.column_stack([NUMBERS, fractions, single, few, with_missing, -NUMBERS]).astype(np.float64)
    assert_array_equal(possible_levels(some), [0, 4, 5])


@pytest.mark.parametrize("n_levels", [20, 2 * MAX_DENSE_LEVELS])
def test_each_value_of_enough_rows_has_a_column_beside_the_number(n_levels: int) -> None:
    rows = np.column_stack([RNG.normal(size=2000), RNG.integers(0, n_levels, 2000)])
    rows[:3, 1] = 1e6  # the value of three rows
    scaling = LevelScaling.fit(rows)
    values, counts = np.unique(rows[:, 1], return_counts=True)
    values = values[counts >= MIN_ROWS_OF_A_LEVEL]
    assert_array_equal(scaling.values, values)
    assert_array_equal(scaling.source, [0, 1, *[1] * len(values)])
    new = np.array([[0.5, values[3]], [0.5, -7.0], [0.5, np.nan], [0.5, 1e6]])
    out: Any = scaling.transform(new)
    assert sparse.issparse(out) == (len(values) > MAX_DENSE_LEVELS)
    out = out.toarray() if sparse.issparse(out) else out
    numeric: Any = fit_scaling(rows, "numeric")
    assert_array_equal(out[:, :2], numeric.transform(new))
    expected = np.zeros((4, len(values)))
    expected[0, 3] = 1
    assert_array_equal(out[:, 2:], expected)


def test_sparse_and_dense_results_are_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    scaling = LevelScaling.fit(X)
    dense = scaling.transform(X.astype(np.float32))
    monkeypatch.setattr("gcwsnet.tables._scaling.MAX_DENSE_LEVELS", 0)
    as_csr: Any = scaling.transform(X.astype(np.float32))
    assert as_csr.dtype == dense.dtype == np.float32
    assert_array_equal(as_csr.toarray(), dense)


def test_the_relevance_of_a_level_is_that_of_its_values() -> None:
    target = (MEANING[NUMBERS] / N_LEVELS + 0.2 * X[:, 1])[:, None]
    by_size = fit_preprocessing(X, Recipe("numeric", 1.0), target)
    by_value = fit_preprocessing(X, Recipe("levels", 1.0), target)
    assert by_size.weight[1] == 1.0  # type: ignore[union-attr, index]
    assert by_size.weight[0] < 0.5  # type: ignore[union-attr, index]
    assert by_value.weight[0] == 1.0  # type: ignore[union-attr, index]
    assert 0.2 < by_value.weight[1] < 0.9  # type: ignore[union-attr, index]


def test_targets_that_are_looked_up_by_a_level_are_learned() -> None:
    """One numeric column is one neighbourhood; as a number, the code hides what the other column says."""
    y = 3.0 * MEANING[NUMBERS] / N_LEVELS + X[:, 1] + 0.3 * RNG.normal(size=N)
    settings: dict[str, Any] = {"random_state": 0, "ensemble": 1, "hidden": 32, "n_hashes": 64}
    as_level, as_number = (
        GCWSNetRegressor(scale=scale, **settings).fit(X[:2000], y[:2000]) for scale in ("auto", "numeric")
    )
    assert as_level.scaling_.scale == "levels"
    assert "1 of them categorical" in as_level.explain()
    assert as_level.score(X[2000:], y[2000:]) > as_number.score(X[2000:], y[2000:]) + 0.1


def test_tables_without_levels_have_no_such_candidate() -> None:
    y = (NUMBERS >= N_LEVELS // 2).astype(np.int64)
    model = GCWSNetClassifier(16, hidden=8, random_state=0).fit(X[:600], y[:600])
    assert "levels" not in {one.scale for one in model.selection_}
