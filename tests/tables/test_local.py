"""Numeric columns as hat functions over their quantiles."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.tables._scaling import LocalScaling, fit_scaling

learn_local, KNOTS = LocalScaling.fit, LocalScaling.n_knots
RNG = np.random.default_rng(0)
NUMBERS = np.column_stack([np.exp(RNG.normal(size=500)), RNG.normal(size=500)])


def hats(X: NDArray[Any], of: NDArray[Any]) -> NDArray[Any]:
    """The hat functions of one numeric column, of shape (n, KNOTS)."""
    return learn_local(of).transform(X)[:, 1:]


def test_the_standardised_columns_come_first_and_each_numeric_one_has_its_hats() -> None:
    X = np.column_stack([NUMBERS[:, 0], RNG.integers(0, 2, 500), NUMBERS[:, 1], np.full(500, 3.0)])
    scaling = learn_local(X)
    out = scaling.transform(X)
    assert out.shape == (500, 4 + 2 * KNOTS)
    numeric: Any = fit_scaling(X, "numeric")
    assert_array_equal(out[:, :4], numeric.transform(X))
    assert_array_equal(scaling.source, [0, 1, 2, 3, *[0] * KNOTS, *[2] * KNOTS])
    assert_array_equal(out[:, 4 + KNOTS :], hats(X[:, 2:3], X[:, 2:3]))
    assert repr(scaling) == (
        "LocalScaling(2 numeric standardised, with 8 hat functions each, 1 constant dropped, 1 binary left as they are)"
    )


def test_hats_interpolate_between_the_quantiles() -> None:
    X = NUMBERS[:, :1]
    knots = np.sort(X[:, 0])[499 * np.arange(KNOTS) // (KNOTS - 1)]
    scaling = learn_local(X)
    assert_array_equal(scaling.knots, knots[None])
    assert_array_equal(hats(knots[:, None], X), np.eye(KNOTS))
    some = np.linspace(knots[0] - 1, knots[-1] + 1, 301)
    expected = np.column_stack([np.interp(some, knots, one) for one in np.eye(KNOTS)])
    assert_allclose(hats(some[:, None], X), expected, atol=1e-12)


def test_few_distinct_numbers_are_knots_themselves() -> None:
    X = RNG.choice([-1.0, 0.5, 7.0], (50, 1))
    found = hats(np.array([[-1.0], [0.5], [7.0], [3.75]]), X)
    assert_array_equal(found[:3, :3], np.eye(3))
    assert_allclose(found[3], [0, 0.5, 0.5, 0, 0, 0, 0, 0])


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(arrays(np.float64, st.tuples(st.integers(3, 40), st.just(1)), elements=finite), finite)
def test_hats_are_at_most_two_and_add_up_to_one(X: NDArray[np.float64], other: float) -> None:
    scaling = learn_local(X)
    if not len(scaling.knots):
        return
    found = scaling.transform(np.vstack([X, [[other]]]))[:, 1:]
    assert (found >= 0).all()
    assert (np.count_nonzero(found, axis=1) <= 2).all()
    assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_a_missing_number_has_no_hat_and_stays_missing() -> None:
    X = NUMBERS[:, :1].copy()
    X[::3] = np.nan
    out = learn_local(X).transform(X)
    assert np.isnan(out[::3, 0]).all()
    assert not out[::3, 1:].any()
    assert np.isfinite(np.delete(out, np.arange(0, 500, 3), axis=0)).all()
    only_later = np.full((20_000, 1), np.nan)
    only_later[1:8:2, 0] = [1.0, 2.0, 3.0, 4.0]  # rows that the knots are not learned from
    assert np.isfinite(learn_local(only_later).transform(np.array([[2.5]]))).all()


def test_numbers_beyond_the_knots_have_the_outermost_hat() -> None:
    X = NUMBERS[:, :1]
    found = hats(np.array([[-1e300], [1e300]]), X)
    assert_array_equal(found, np.eye(KNOTS)[[0, -1]])


def test_float32_rows_stay_float32_and_have_the_same_hats() -> None:
    X = NUMBERS.astype(np.float32)
    scaling = learn_local(X)
    out = scaling.transform(X)
    assert out.dtype == np.float32
    assert_allclose(out, scaling.transform(X.astype(np.float64)), rtol=1e-6, atol=1e-6)


def test_knots_of_many_rows_are_those_of_rows_at_equal_distances() -> None:
    X = np.random.default_rng(1).normal(size=(25_000, 1))
    assert_array_equal(learn_local(X).knots, learn_local(X[::3]).knots)


def test_sparse_rows_have_no_hats() -> None:
    with pytest.raises(ValueError, match="scale='local' is for dense rows"):
        fit_scaling(sparse.csr_array(NUMBERS), "local")
    with pytest.raises(ValueError, match="hat functions are for dense rows"):
        learn_local(NUMBERS).transform(sparse.csr_array(NUMBERS))
