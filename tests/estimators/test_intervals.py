"""Intervals of predicted numbers: how often they hold, what they follow, and that files keep them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMRegressor
from gcwsnet.estimators._intervals import Residuals


def noisy_rows(n: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows whose noise is skewed, and grows with the number."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, 10 * X[:, 0] + np.exp(X[:, 0]) * rng.exponential(size=n)


def fitted(kind: Any) -> Any:
    X, y = noisy_rows(900, 0)
    if kind is PGMMRegressor:
        return PGMMRegressor(random_state=0).fit(X, y)
    model = GCWSNetRegressor(n_hashes=64, random_state=0)
    return model.fit(X[:600], y[:600], eval_set=(X[600:], y[600:]))


@pytest.fixture(scope="module", params=[PGMMRegressor, GCWSNetRegressor])
def model(request: pytest.FixtureRequest) -> Any:
    return fitted(request.param)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_as_many_rows_as_asked_for_are_within_and_as_many_below_as_above(model: Any, coverage: float) -> None:
    """Within five standard errors of the shares among the rows that are tested and among those that calibrate."""
    X, y = noisy_rows(4000, 1)
    lower, upper = model.predict_interval(X, coverage)
    n = len(model.residuals_.errors)
    for share, expected in [
        (((lower <= y) & (y <= upper)).mean(), coverage),
        ((y < lower).mean(), (1 - coverage) / 2),
        ((y > upper).mean(), (1 - coverage) / 2),
    ]:
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) * (1 / n + 1 / len(y)))


def test_intervals_are_wider_where_errors_are_larger(model: Any) -> None:
    X, _ = noisy_rows(1000, 2)
    lower, upper = model.predict_interval(X)
    assert (upper - lower)[X[:, 0] > 0.5].mean() > 1.5 * (upper - lower)[X[:, 0] < -0.5].mean()


def test_a_file_keeps_them(model: Any, tmp_path: Path) -> None:
    X, _ = noisy_rows(50, 3)
    model.save(tmp_path / "model")
    expected = model.predict_interval(X, 0.8)
    for load in (gcwsnet.load, gcwsnet.Predictor.load):
        np.testing.assert_array_equal(load(tmp_path / "model").predict_interval(X, 0.8), expected)


def test_the_errors_of_a_kernel_machine_are_those_for_rows_that_were_left_out() -> None:
    X, y = noisy_rows(60, 4)
    settings: dict[str, Any] = {"p": 1.0, "scale": None, "relevance": 0.0, "alpha": 0.01, "random_state": 0}
    model: Any = PGMMRegressor(**settings).fit(X, y)
    errors = model.residuals_.errors[:, 0] * y.std()
    refitted = [
        y[i] - PGMMRegressor(**settings).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1]).item()
        for i in range(60)
    ]
    np.testing.assert_allclose(np.sort(errors), np.sort(refitted), atol=0.02)


def test_early_stopping_holds_rows_out_for_them() -> None:
    X, y = noisy_rows(600, 5)
    model: Any = GCWSNetRegressor(n_hashes=32, early_stopping=True, validation_fraction=0.25, random_state=0).fit(X, y)
    assert model.residuals_.errors.shape == (150, 1)
    lower, upper = model.predict_interval(X)
    assert 0.85 < ((lower <= y) & (y <= upper)).mean() < 1


def test_several_numbers_have_an_interval_each() -> None:
    X, y = noisy_rows(300, 6)
    Y = np.stack([y, -100 * y], axis=1)
    settings: dict[str, Any] = {"p": 1.0, "scale": "numeric", "relevance": 0.0, "alpha": 0.1, "random_state": 0}
    lower, upper = PGMMRegressor(**settings).fit(X, Y).predict_interval(X)
    assert lower.shape == upper.shape == Y.shape
    one, _ = PGMMRegressor(**settings).fit(X, y).predict_interval(X)
    np.testing.assert_allclose(lower[:, 0], one, rtol=1e-4)
    np.testing.assert_allclose(upper[:, 1], -100 * one, rtol=1e-4)


def test_rows_that_were_learned_tell_nothing() -> None:
    X, y = noisy_rows(300, 7)
    model = GCWSNetRegressor(n_hashes=16, random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"needs the errors for rows that .* not learned; fit with early_stopping=True"
    ):
        model.predict_interval(X)
    held_out = GCWSNetRegressor(n_hashes=16, random_state=0).fit(X, y, eval_set=(X, y))
    assert held_out.residuals_ is not None
    stream = GCWSNetRegressor(n_hashes=16, random_state=0).partial_fit(X, y)
    stream.residuals_ = held_out.residuals_
    assert stream.partial_fit(X, y).residuals_ is None


def test_too_few_rows_for_a_coverage_say_how_many_are_needed() -> None:
    residuals = Residuals.of(np.zeros((38, 1)), np.arange(38.0)[:, np.newaxis])
    with pytest.raises(
        ValueError, match=r"coverage=0\.95 needs the errors for at least 39 rows .* got 38; ask for less"
    ):
        residuals.interval(np.zeros((1, 1)), 0.95)
    Residuals.of(np.zeros((39, 1)), np.arange(39.0)[:, np.newaxis]).interval(np.zeros((1, 1)), 0.95)
    with pytest.raises(ValueError, match="coverage must be"):
        residuals.interval(np.zeros((1, 1)), 1.5)


def test_a_classifier_has_none(tmp_path: Path) -> None:
    X, y = noisy_rows(40, 8)
    GCWSNetClassifier(n_hashes=8, random_state=0).fit(X, y > 0).save(tmp_path / "model")
    with pytest.raises(AttributeError, match="intervals are for numbers; use predict_proba"):
        gcwsnet.Predictor.load(tmp_path / "model").predict_interval(X)
