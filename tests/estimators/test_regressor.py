"""The regressor, where it differs from the classifier."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from gcwsnet import GCWSNetRegressor


def small(**settings: Any) -> GCWSNetRegressor:
    defaults: dict[str, Any] = {
        "p": 1.0,
        "n_hashes": 128,
        "hidden": (64,),
        "epochs": 5,
        "learning_rate": 2e-3,
        "random_state": 0,
    }
    return GCWSNetRegressor(**defaults | settings)


X, Y = make_friedman1(2500, 10, noise=0.0, random_state=0)  # of 10 variables, 5 that matter


def test_a_function_of_ten_variables_after_a_few_epochs() -> None:
    linear = LinearRegression().fit(X[:2000], Y[:2000]).score(X[2000:], Y[2000:])
    net = small(n_hashes=256, epochs=8).fit(X[:2000], Y[:2000]).score(X[2000:], Y[2000:])
    assert net > 0.8
    assert net > linear


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (1e6, 1.0), (0.0, 1e-9), (-5.0, 1e12)])
def test_units_of_the_targets_do_not_matter(shift: float, factor: float) -> None:
    plain = small(epochs=1).fit(X, Y).predict(X)
    moved = small(epochs=1).fit(X, Y * factor + shift).predict(X)
    np.testing.assert_allclose((moved - shift) / factor, plain, atol=1e-3 * np.ptp(plain))


def test_several_targets_at_once() -> None:
    both = np.column_stack([Y, -3 * X[:, 3]])
    model = small().fit(X[:2000], both[:2000])
    predicted = model.predict(X[2000:])
    assert predicted.shape == (500, 2)
    assert r2_score(both[2000:], predicted) > 0.5
    one = small(epochs=1).fit(X, Y[:, None])
    assert one.predict(X).shape == (2500, 1)
    with pytest.raises(ValueError, match="y must have 2 columns as before, got 1"):
        model.partial_fit(X, Y)


def test_history_is_in_the_units_of_y() -> None:
    model = small(epochs=2).fit(X[:2000], 100 * Y[:2000], eval_set=(X[2000:], 100 * Y[2000:]))
    error = model.predict(X[2000:]) - 100 * Y[2000:]
    assert model.history_["eval_rmse"][-1] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-6)
    assert model.history_["rmse"][-1] < model.history_["rmse"][0]
    expected = np.mean(error**2) / model.target_deviation_[0] ** 2
    assert model.history_["eval_loss"][-1] == pytest.approx(expected, rel=1e-5)


def test_losses_take_outliers_as_they_say() -> None:
    rng = np.random.default_rng(0)
    y = Y.copy()
    y[rng.random(2500) < 0.1] += 300.0
    error = {
        loss: np.abs(small(loss=loss).fit(X, y).predict(X) - Y).mean()
        for loss in ("squared_error", "absolute_error", "huber")
    }
    assert error["absolute_error"] < 0.5 * error["squared_error"]
    assert error["huber"] < error["squared_error"]
    with pytest.raises(ValueError, match="loss must be one of 'squared_error'"):
        small(loss="log").fit(X, y)


def test_a_stream() -> None:
    whole = small(epochs=1, scale=None).fit(X, Y)
    stream = small(scale=None)
    stream.partial_fit(X[:320], Y[:320])
    np.testing.assert_array_equal(stream.target_mean_, Y[:320].mean())
    for first in range(320, 2500, 320):
        stream.partial_fit(X[first : first + 320], Y[first : first + 320])
    assert stream.score(X, Y) == pytest.approx(whole.score(X, Y), abs=0.1)


def test_a_constant_target_is_predicted() -> None:
    np.testing.assert_allclose(small(epochs=1).fit(X, np.full(2500, 7.0)).predict(X), 7.0, atol=0.5)
