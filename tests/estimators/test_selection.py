"""Scaling and p, chosen on some of the rows."""

import logging
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.preprocessing import QuantileTransformer

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators import learn_scaling
from gcwsnet.estimators._selection import Candidate, Pair, best_of, pairs_to_try, some_rows
from tests.estimators.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    return GCWSNetClassifier(n_hashes=64, hidden=(16,), random_state=0, **settings)


@pytest.fixture(scope="module")
def largest_decides() -> Rows:
    """1,500 rows of noise in [0, 1] in which the three largest entries show the class."""
    rng = np.random.default_rng(0)
    X, y = rng.random((1500, 40)), rng.integers(0, 4, 1500)
    for row, label in enumerate(y):
        X[row, label * 10 + rng.choice(10, 3, replace=False)] = 0.97 + 0.03 * rng.random(3)
    return Rows(X, y)


def test_a_large_p_is_found_where_the_largest_entries_decide(largest_decides: Rows) -> None:
    X, y = largest_decides
    model = small().fit(X[:1000], y[:1000])
    assert model.scaling_ is None
    assert model.p_ >= 20
    fixed = small(p=1.0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > fixed.score(X[1000:], y[1000:]) + 0.1


def test_columns_of_different_units_are_scaled() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = X[:, 0] * X[:, 1] > 0
    model = small().fit(X * [1, 1, 1e5, 1e5, 1e5, 1e5], y)
    assert model.scaling_ is not None
    by_scale = {(one.scale, one.p): one.score for one in model.selection_}
    assert by_scale["numeric", 1.0] > by_scale[None, 1.0] + 0.1


def test_the_selection_is_written_down_and_is_the_same_for_the_same_seed(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X, y)
    assert len(model.selection_) == 11
    assert [one.chosen for one in model.selection_].count(True) == 1
    chosen = next(one for one in model.selection_ if one.chosen)
    assert model.p_ == chosen.p
    assert getattr(model.scaling_, "scale", None) == chosen.scale
    for one in model.selection_:
        assert one.error == pytest.approx(np.sqrt(one.score * (1 - one.score) / (230 - 1)), rel=1e-2)
        assert one.seconds > 0
    again = small().fit(X, y)
    assert [(one.score, one.chosen) for one in again.selection_] == [
        (one.score, one.chosen) for one in model.selection_
    ]
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_is_given_is_not_chosen(three_classes: Rows) -> None:
    X, y = three_classes
    fixed = small(p=3.0).fit(X, y)
    assert (fixed.p_, fixed.scaling_.scale, fixed.selection_) == (3.0, "numeric", [])
    scaled = small(scale="minmax").fit(X, y)
    assert scaled.scaling_.scale == "minmax"
    assert {one.scale for one in scaled.selection_} == {"minmax"}
    unscaled = small(scale=None).fit(X, y)
    assert unscaled.scaling_ is None


def test_few_rows_are_not_enough_to_choose(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X[:199], y[:199])
    assert (model.p_, model.scaling_.scale, model.selection_) == (1.0, "numeric", [])


def test_a_stream_chooses_by_its_first_rows(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().partial_fit(X[:300], y[:300], classes=np.unique(y))
    chosen = model.selection_
    assert len(chosen) == 11
    model.partial_fit(X[300:500], y[300:500])
    assert model.selection_ is chosen
    model.partial_fit(X[500:], y[500:])  # twice as many: the choice is made again
    assert len(model.selection_) == 11
    assert model.selection_ is not chosen


def test_sparse_rows_have_no_quantiles_and_rows_without_coins_one_way_to_standardise(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(sparse.csr_array(X), y)
    assert "quantile" not in {one.scale for one in model.selection_}
    assert Pair("standard", 1.0) in pairs_to_try("auto", "auto", X)
    assert Pair("standard", 1.0) not in pairs_to_try("auto", "auto", X[:, :5])


def test_classes_that_are_rare_may_be_missing_among_the_rows_that_choose(three_classes: Rows) -> None:
    X, y = three_classes
    labels = y.astype(object)
    labels[0] = "yew"
    model = small().fit(X, labels)
    assert "yew" in model.classes_


def test_numbers_are_chosen_for_too() -> None:
    rng = np.random.default_rng(0)
    X = np.exp(2 * rng.normal(size=(1500, 4)))
    y = np.log(X[:, 0]) + np.log(X[:, 1])
    model = GCWSNetRegressor(n_hashes=64, hidden=(32,), epochs=3, random_state=0).fit(X[:1000], y[:1000])
    assert model.scaling_.scale == "quantile"
    assert model.score(X[1000:], y[1000:]) > 0.8


def test_the_first_stays_unless_another_is_clearly_better() -> None:
    def candidate(score: float) -> Candidate:
        return Candidate("numeric", 1.0, score, 0.02, 0.1)

    assert best_of([candidate(0.8), candidate(0.809)]) == 0
    assert best_of([candidate(0.8), candidate(0.811), candidate(0.82)]) == 2


def test_rows_are_drawn_without_repetition() -> None:
    for n in (200, 1000, 2600, 50_000):
        train, validation = some_rows(n, seed=0)
        assert len(set(train) | set(validation)) == len(train) + len(validation) == min(n, 2600)
        assert abs(len(train) / (len(train) + len(validation)) - 1600 / 2600) < 0.01


def test_verbose_shows_the_candidates(
    three_classes: Rows, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    X, y = three_classes
    with caplog.at_level(logging.INFO, logger="gcwsnet"):
        small(verbose=1).fit(X, y)
    assert any(line.startswith("scale numeric, p 1: 0.9") for line in caplog.messages)
    monkeypatch.setenv("FORCE_COLOR", "1")
    small(verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "Scalings and powers" in shown
    assert "chosen" in shown


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantiles_make_columns_normal(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(3 * rng.normal(size=3000)), rng.integers(0, 2, 3000), np.full(3000, 4.0)]).astype(dtype)
    scaling = learn_scaling(X, "quantile")
    scaled = scaling.transform(X)
    assert scaled.dtype == dtype
    normal = norm.ppf((np.argsort(np.argsort(X[:, 0])) + 0.5) / 3000)
    middle = np.abs(normal) < 2
    np.testing.assert_allclose(scaled[middle, 0], normal[middle], atol=0.05)
    assert np.abs(scaled[:, 0]).max() == pytest.approx(norm.ppf(511 / 512))
    np.testing.assert_array_equal(scaled[:, 1], X[:, 1])
    assert not scaled[:, 2].any()
    assert repr(scaling) == "QuantileScaling(1 numeric made normal, 1 binary left as they are, 1 constant dropped)"
    sklearns = QuantileTransformer(n_quantiles=256, output_distribution="normal").fit_transform(X[:, :1].astype(float))
    np.testing.assert_allclose(scaled[middle, 0], sklearns[middle, 0], atol=0.05)


def test_quantiles_of_ties_lie_in_their_middle_and_keep_nan() -> None:
    X = np.repeat([0.0, 1.0, 2.0], [500, 300, 200])[:, None]
    scaled = learn_scaling(X, "quantile").transform(np.array([[0.0], [1.0], [2.0], [np.nan], [-9.0], [9.0]]))[:, 0]
    np.testing.assert_allclose(scaled[1], norm.ppf([0.5, 0.8]).mean(), atol=0.05)
    assert scaled[0] < scaled[1] < scaled[2]
    assert np.isnan(scaled[3])
    np.testing.assert_allclose(scaled[4:], [norm.ppf(1 / 512), norm.ppf(511 / 512)])
    holes = X.copy()
    holes[::7] = np.nan
    scaling: Any = learn_scaling(holes, "quantile")
    assert np.isfinite(scaling.quantiles).all()


def test_quantiles_are_not_for_sparse_rows(three_classes: Rows) -> None:
    X = three_classes.X
    with pytest.raises(ValueError, match="scale='quantile' is for dense rows"):
        learn_scaling(sparse.csr_array(X), "quantile")
    with pytest.raises(ValueError, match="quantiles are for dense rows"):
        learn_scaling(X, "quantile").transform(sparse.csr_array(X))
