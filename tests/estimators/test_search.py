"""The search of the estimators: what it finds on rows, and what it must not change."""

import logging
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.search import selected_training
from tests.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    return GCWSNetClassifier(n_hashes=32, hidden=(16,), random_state=0, **settings)


def found_out(model: Any) -> list[tuple[Any, ...]]:
    """All that a search has found but its seconds."""
    return [tuple(value for name, value in vars(one).items() if name != "seconds") for one in model.selection_]


def test_irrelevant_columns_are_found_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1800, 64))
    y = X[:, :4].sum(axis=1) + 0.5 * rng.normal(size=1800) > 0
    model = small(scale="numeric", p=1.0).fit(X[:1200], y[:1200])
    preprocessing: Any = model.coder_.preprocessing
    assert preprocessing.recipe.relevance > 0
    weight = preprocessing.weight
    assert weight[:4].min() > 3 * weight[4:].max()
    plain = small(scale="numeric", p=1.0, relevance=0).fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > plain.score(X[1200:], y[1200:]) + 0.05


@pytest.mark.slow
def test_a_large_p_is_found_where_the_largest_entries_decide() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((1500, 40)), rng.integers(0, 4, 1500)
    for row, label in enumerate(y):
        X[row, label * 10 + rng.choice(10, 3, replace=False)] = 0.97 + 0.03 * rng.random(3)
    model = small(scale=None).fit(X[:1000], y[:1000])
    assert model.p_ >= 20
    fixed = small(scale=None, p=1.0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > fixed.score(X[1000:], y[1000:]) + 0.1


def test_columns_of_different_units_are_scaled() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = X[:, 0] * X[:, 1] > 0
    model = small(p=1.0).fit(X * [1, 1, 1e5, 1e5, 1e5, 1e5], y)
    assert model.scaling_ is not None
    by_scale = {one.scale: one.loss for one in model.selection_ if one.stage == "first" and one.relevance == 0}
    assert by_scale["numeric"] < by_scale[None] - 0.02


@pytest.mark.slow
def test_skewed_columns_are_made_normal_or_local_for_numbers_too() -> None:
    rng = np.random.default_rng(0)
    X = np.exp(2 * rng.normal(size=(1500, 4)))
    y = np.log(X[:, 0]) + np.log(X[:, 1])
    model = GCWSNetRegressor(n_hashes=64, hidden=(32,), random_state=0).fit(X[:1000], y[:1000])
    assert model.scaling_.scale in ("quantile", "local")
    assert model.score(X[1000:], y[1000:]) > 0.8


def test_a_search_is_the_same_for_the_same_seed_and_any_number_of_threads(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(scale="numeric").fit(X, y)
    assert {one.stage for one in model.selection_} == {"first", "second", "last"}
    for n_jobs in (1, 2, 3):
        again = small(scale="numeric", n_jobs=n_jobs).fit(X, y)
        assert found_out(again) == found_out(model)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_was_chosen_is_in_use(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X, y)
    (chosen,) = [one for one in model.selection_ if one.chosen]
    recipe = model.coder_.preprocessing.recipe
    assert (recipe.scale, recipe.relevance, recipe.indicators) == (chosen.scale, chosen.relevance, chosen.indicators)
    assert (model.p_, model.n_epochs_seen_) == (chosen.p, chosen.epochs)
    assert model.trainer_.targets.temperature == chosen.temperature
    assert model.scaling_ is model.coder_.preprocessing.scaling


def test_what_is_given_is_not_chosen(three_classes: Rows) -> None:
    X, y = three_classes
    fixed = small(p=3.0, scale="minmax", relevance=0.5, epochs=2).fit(X, y)
    assert [(one.stage, one.epochs) for one in fixed.selection_] == [("last", 2)]
    assert (fixed.p_, fixed.scaling_.scale, fixed.n_epochs_seen_) == (3.0, "minmax", 2)
    off = small(search="off").fit(X, y)
    assert (off.p_, off.scaling_.scale, off.n_epochs_seen_) == (1.0, "numeric", 5)
    assert [one.stage for one in off.selection_] == ["last"]


def test_one_pass_is_one_argument_away(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(epochs=1).fit(X, y)
    assert model.n_rows_seen_ == 600
    assert {one.epochs for one in model.selection_ if one.stage == "last"} == {1}
    assert model.score(X, y) > 0.85


@pytest.mark.slow
def test_a_thorough_search_compares_more(three_classes: Rows) -> None:
    X, y = three_classes
    fast, thorough = (small(search=search).fit(X, y) for search in ("fast", "thorough"))
    assert len(thorough.selection_) > len(fast.selection_)
    assert {one.epochs for one in thorough.selection_ if one.stage == "last"} == {20, 8, 3, 1}
    assert thorough.score(X, y) > 0.9


def test_a_stream_searches_once_in_its_first_2600_rows_and_has_no_temperature(three_classes: Rows) -> None:
    X, y = np.tile(three_classes.X, (5, 1)), np.tile(three_classes.y, 5)
    model = small(scale="numeric").partial_fit(X[:2000], y[:2000], classes=np.unique(y))
    assert model.selection_ == []
    model.partial_fit(X[2000:2600], y[2000:2600])
    coder = model.coder_
    assert [one.chosen for one in model.selection_].count(True) == 1
    assert {one.stage for one in model.selection_} == {"first", "second"}
    assert (selected_training(model.selection_), model.trainer_.targets.temperature) == ((None, 1.0, 0.0), 1.0)
    assert model.partial_fit(X[2600:], y[2600:]).coder_ is coder


@pytest.mark.filterwarnings("ignore:all rows have the label")
@pytest.mark.parametrize("n", [1, 2, 29, 30])
def test_very_few_rows_can_be_learned(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    y = np.arange(n) % 2
    model = GCWSNetClassifier(n_hashes=8, random_state=0).fit(X, y)
    assert {one.stage for one in model.selection_} == (set() if n < 30 else {"last"})
    assert n >= 30 or model.trainer_.targets.temperature == 1
    assert model.predict(X).shape == (n,)


@pytest.mark.filterwarnings("ignore:the label 'yew' has one row")
def test_classes_that_are_rare_may_be_missing_among_the_rows_that_choose(three_classes: Rows) -> None:
    X, y = three_classes
    labels = y.astype(object)
    labels[0] = "yew"
    model = small(scale="numeric", p=1.0).fit(X, labels)
    assert "yew" in model.classes_


def test_sparse_rows_are_searched_for_too(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(p=1.0).fit(sparse.csr_array(np.maximum(X, 0)), y)
    assert "tfidf" in {one.scale for one in model.selection_}
    assert not {"quantile", "local"} & {one.scale for one in model.selection_}
    assert model.score(sparse.csr_array(np.maximum(X, 0)), y) > 0.7


@pytest.mark.parametrize("search", ["fast", "off"])
def test_a_net_of_many_epochs_is_less_sure_of_itself(search: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X[:, 0] * X[:, 1] + rng.normal(size=3000) > 0  # labels that nobody can be sure of
    settings: dict[str, Any] = {"p": 1.0, "scale": "numeric", "relevance": 0, "epochs": 20}
    model = small(**settings, search=search).fit(X[:1200], y[:1200])
    temperature = model.trainer_.targets.temperature
    probability = model.predict_proba(X[1200:])
    assert temperature > 1.5
    sharper = probability.astype(np.float64) ** temperature
    sharper /= sharper.sum(axis=1, keepdims=True)
    assert log_loss(y[1200:], probability) < log_loss(y[1200:], sharper) - 0.1
    model.save(tmp_path / "model")
    loaded = gcwsnet.load(tmp_path / "model")
    assert loaded.trainer_.targets.temperature == temperature
    np.testing.assert_array_equal(loaded.predict_proba(X[1200:]), probability)


def test_missingness_that_is_the_signal_is_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 5))
    y = rng.integers(0, 2, 800)
    X[:, 2] = rng.integers(-1, 2, 800)  # so that 0 in place of a missing number is not told from others
    X[(y == 1) & (rng.random(800) < 0.9), 2] = np.nan
    X[(y == 0) & (rng.random(800) < 0.05), 2] = np.nan
    settings: dict[str, Any] = {"scale": "numeric", "p": 1.0, "epochs": 3}
    model = small(**settings).fit(X[:500], y[:500])
    blind = small(missing="zero", **settings).fit(X[:500], y[:500])
    prepared: list[Any] = [one.coder_.preprocessing for one in (model, blind)]
    assert [one.incomplete.tolist() for one in prepared] == [[2], []]
    assert model.score(X[500:], y[500:]) > 0.85
    assert model.score(X[500:], y[500:]) > blind.score(X[500:], y[500:]) + 0.05


def test_verbose_shows_the_candidates(three_classes: Rows, caplog: pytest.LogCaptureFixture) -> None:
    X, y = three_classes
    with caplog.at_level(logging.INFO, logger="gcwsnet"):
        small(p=1.0, scale="numeric", verbose=1).fit(X, y)
    assert any(
        line.startswith("first stage: scale numeric, relevance 0, p 1, alpha 0.3: loss ") for line in caplog.messages
    )
    assert sum(line.endswith(", chosen") for line in caplog.messages) == 1
