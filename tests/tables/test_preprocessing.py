"""The preprocessing of rows: scaled and weighted columns, and marks of missing values."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from gcwsnet.tables._preprocessing import (
    Preprocessing,
    Recipe,
    TablePreprocessing,
    column_weights,
    explained,
    fit_preprocessing,
    incomplete_columns,
    preprocessing_from_state,
    with_least,
)
from gcwsnet.tables._scaling import FOR_DENSE_ROWS, KINDS, fit_scaling

RNG = np.random.default_rng(0)
N = 300
CLASSES = RNG.integers(0, 3, N)
NUMBERS = np.column_stack([CLASSES + RNG.normal(size=N), RNG.normal(7, 3, N), np.exp(RNG.normal(size=N))])
HOLES = NUMBERS.copy()
HOLES[::4, 1] = np.nan
COINS = (RNG.random((N, 4)) < [0.5, 0.1, 0.3, 0.02]).astype(float)
IS_NUMBER = np.array([False, True, True, False, False, True, False])
TABLE = np.empty((N, 7))
TABLE[:, IS_NUMBER], TABLE[:, ~IS_NUMBER] = HOLES, COINS


def dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def scaled(X: Any, scale: str | None) -> Any:
    scaling = fit_scaling(X, scale)
    return X if scaling is None else scaling.transform(X)


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_columns_are_multiplied_by_a_power_of_their_relevance(power: float, form: Any) -> None:
    X = form(np.abs(NUMBERS))
    prepared: Any = fit_preprocessing(X, Recipe("minmax", power), CLASSES)
    weight = column_weights(with_least(explained(X, CLASSES)), power)
    assert_array_equal(prepared.weight, weight)
    assert_allclose(dense(prepared.transform(X)), dense(scaled(X, "minmax")) * weight, rtol=1e-12)
    single = prepared.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    with pytest.raises(ValueError, match="the relevance of columns needs the targets"):
        fit_preprocessing(X, Recipe("minmax", power))


def test_hats_weigh_as_their_column() -> None:
    prepared = fit_preprocessing(NUMBERS, Recipe("local", 1.0), CLASSES)
    assert isinstance(prepared, Preprocessing)
    assert prepared.weight is not None
    expected = scaled(NUMBERS, "local") * prepared.weight[[0, 1, 2, *[0] * 8, *[1] * 8, *[2] * 8]]
    assert_allclose(prepared.transform(NUMBERS), expected, rtol=1e-12)
    assert prepared.n_columns == 27


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_indicators_mark_what_is_missing_in_columns_that_had_holes(power: float, form: Any) -> None:
    X = form(HOLES)
    prepared: Any = fit_preprocessing(X, Recipe("numeric", power, indicators=True), CLASSES)
    assert_array_equal(prepared.incomplete, [1])
    out = dense(prepared.transform(X))
    assert out.shape == (N, prepared.n_columns) == (N, 4)
    weight = 1.0 if prepared.weight is None else prepared.weight[1]
    assert_array_equal(out[:, 3], np.isnan(HOLES[:, 1]) * weight)
    assert_array_equal(np.isnan(out[:, 1]), np.isnan(HOLES[:, 1]))
    other = np.array([[np.nan, np.nan, 1.0]])
    assert_array_equal(dense(prepared.transform(form(other)))[:, 3], [weight])


def test_without_holes_there_are_no_indicators() -> None:
    for X in (NUMBERS, sparse.csr_array(NUMBERS), NUMBERS > 0):
        assert not len(incomplete_columns(X))
    assert fit_preprocessing(NUMBERS, Recipe("numeric", 0.0, indicators=True)).n_columns == 3


@pytest.mark.parametrize("recipe", [Recipe(scale, power) for scale in ("numeric", "quantile", "local", "minmax", None)
                                    for power in (0.0, 0.5)])  # fmt: skip
@pytest.mark.parametrize("indicators", [False, True])
def test_numbers_of_a_table_are_treated_alike_in_csr_and_in_a_dense_array(recipe: Recipe, indicators: bool) -> None:
    recipe = Recipe(recipe.scale, recipe.relevance, indicators)
    one: Any = fit_preprocessing(TABLE, recipe, CLASSES)
    other: Any = fit_preprocessing(sparse.csr_array(TABLE), recipe, CLASSES, IS_NUMBER)
    assert isinstance(other, TablePreprocessing)
    left, right = one.transform(TABLE), other.transform(sparse.csr_array(TABLE))
    assert right.shape == (N, other.n_columns) == left.shape
    assert other.n_features == 7
    # columns of numbers, their hats and their marks come first in a table; in an array all columns come first
    columns = [*np.flatnonzero(IS_NUMBER), *range(7, left.shape[1]), *np.flatnonzero(~IS_NUMBER)]
    assert_allclose(right.toarray(), left[:, columns], rtol=1e-9, atol=1e-12)


def test_text_columns_that_tell_nothing_weigh_little_beside_numbers_that_tell_all() -> None:
    target = (np.arange(N) % 2).astype(np.int64)
    X = np.column_stack([target + 0.1 * RNG.normal(size=N), np.arange(N) // 2 % 2, np.ones(N)])
    numeric = np.array([True, False, False])
    prepared: Any = fit_preprocessing(sparse.csr_array(X), Recipe("numeric", 1.0), target, numeric)
    assert prepared.of_others.weight.max() < 0.01
    assert_array_equal(prepared.of_numbers.weight, [1.0])


def test_a_mask_is_of_no_account_where_rows_are_dense_or_have_no_numbers() -> None:
    assert isinstance(fit_preprocessing(TABLE, Recipe(), None, IS_NUMBER), Preprocessing)
    none = np.zeros(7, dtype=bool)
    assert isinstance(fit_preprocessing(sparse.csr_array(TABLE), Recipe(), None, none), Preprocessing)


RECIPES = [
    Recipe(scale, power, indicators) for scale in (*KINDS, None) for power, indicators in ((0.0, False), (0.5, True))
]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("form", ["array", "csr", "table"])
def test_a_state_gives_back_the_preprocessing(recipe: Recipe, form: str) -> None:
    if form == "csr" and recipe.scale in FOR_DENSE_ROWS:
        return
    X: Any = np.abs(TABLE) if form == "array" else sparse.csr_array(np.abs(TABLE))
    prepared = fit_preprocessing(X, recipe, CLASSES, IS_NUMBER if form == "table" else None)
    arrays, description = prepared.state()
    again = preprocessing_from_state(arrays, json.loads(json.dumps(description)))
    assert type(again) is type(prepared)
    assert (again.recipe, again.n_features, again.n_columns) == (recipe, 7, prepared.n_columns)
    assert repr(again.scaling) == repr(prepared.scaling)
    assert_array_equal(dense(again.transform(X)), dense(prepared.transform(X)))
    more, also = again.state()
    assert also == description
    assert more.keys() == arrays.keys()


EXTREMES = [0.0, 1.0, -1.0, 5e-324, 1e-300, -1e-310, 1e300, 1.7e308, -1.7e308, 3e38, float("nan")]


@settings(max_examples=200, deadline=None)
@given(
    scale=st.sampled_from([None, *KINDS]),
    learned=arrays(np.float64, (6, 2), elements=st.sampled_from(EXTREMES)),
    rows=arrays(np.float64, (4, 2), elements=st.sampled_from(EXTREMES)),
    as_csr=st.booleans(),
)
def test_no_scaling_makes_a_nan_or_an_infinity(scale: str | None, learned: Any, rows: Any, as_csr: bool) -> None:
    """A row that overflowed was NaN after the scaling "tfidf", and dropped after "minmax"."""
    as_csr = as_csr and scale not in FOR_DENSE_ROWS
    form = sparse.csr_array if as_csr else np.asarray
    scaling = fit_scaling(form(learned), scale)
    with np.errstate(all="raise", under="ignore"):
        found = form(rows) if scaling is None else scaling.transform(form(rows))
    found = dense(found)
    assert not (np.isnan(found[:, :2]) & ~np.isnan(rows)).any()
    assert not np.isinf(found).any()


def test_the_range_of_a_column_may_be_more_than_a_double_holds() -> None:
    X = np.array([[-1.7e308], [0.0], [1.7e308]])
    for scale in ("minmax", "numeric", "standard"):
        scaling = fit_scaling(X, scale)
        assert scaling is not None
        first, middle, last = scaling.transform(X)[:, 0]
        assert -2 < first < middle < last < 2


@pytest.mark.parametrize("relevance", [0.0, 1.0])
@pytest.mark.parametrize("scale", ["numeric", "local", "levels"])
@pytest.mark.parametrize("is_table", [False, True])
def test_learned_factors_multiply_all_that_was_made_of_a_column(scale: str, is_table: bool, relevance: float) -> None:
    X, numeric = (sparse.csr_array(TABLE), IS_NUMBER) if is_table else (HOLES, None)
    prepared: Any = fit_preprocessing(X, Recipe(scale, relevance, True), CLASSES, numeric)
    factors = RNG.uniform(0.5, 2.0, X.shape[1])
    learned = prepared.with_factors(factors)
    assert learned.recipe == Recipe(scale, "learned", True)
    assert len(prepared.source) == prepared.n_columns == learned.n_columns
    assert_allclose(dense(learned.transform(X)), dense(prepared.transform(X)) * factors[prepared.source], rtol=1e-12)
    arrays, description = learned.state()
    loaded: Any = preprocessing_from_state(arrays, json.loads(json.dumps(description)))
    assert_array_equal(dense(loaded.transform(X)), dense(learned.transform(X)))
