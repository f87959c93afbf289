"""The selection of a preprocessing and of p on held-out rows."""

import logging
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.coding import Candidate
from gcwsnet.coding._selection import Pair, best_of, candidate_pairs, selection_rows
from tests.conftest import Rows


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
    coder = model.coder_
    assert len(model.selection_) == 11
    model.partial_fit(X[300:500], y[300:500])
    assert model.coder_ is coder
    model.partial_fit(X[500:], y[500:])  # twice as many rows: the selection is repeated
    assert len(model.selection_) == 11
    assert model.coder_ is not coder


def test_sparse_rows_have_no_quantiles_and_rows_without_coins_one_way_to_standardise(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(sparse.csr_array(X), y)
    assert "quantile" not in {one.scale for one in model.selection_}
    assert Pair("standard", 1.0) in candidate_pairs("auto", "auto", X)
    assert Pair("standard", 1.0) not in candidate_pairs("auto", "auto", X[:, :5])


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

    assert best_of([candidate(0.8), candidate(0.819)]) == 0
    assert best_of([candidate(0.8), candidate(0.821), candidate(0.83)]) == 2


def test_rows_are_drawn_without_repetition() -> None:
    for n in (200, 1000, 2600, 50_000):
        train, validation = selection_rows(n, seed=0)
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
    assert "compared on held-out rows" in shown
    assert "chosen" in shown
