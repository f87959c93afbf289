"""Weights averaged over a stream of unknown length."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._averaging import Averages
from gcwsnet.nn import GCWSNet
from tests.estimators.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {"p": 1.0, "n_hashes": 64, "hidden": (16,), "random_state": 0}
    return GCWSNetClassifier(**defaults | settings)


def test_the_older_mean_covers_the_last_half_to_three_quarters() -> None:
    net = GCWSNet(n_hashes=2, bits=1, n_outputs=1, hidden=())
    weight = next(net.parameters())
    averages = Averages(net, 0)
    moments = 0
    for rows in range(10, 20_000, 10):
        with torch.no_grad():
            weight.fill_(float(rows))
        last = averages.last
        averages.note(rows, net)
        moments += averages.last != last
        if rows > 500:
            start = averages.older.start
            assert 0.24 * rows <= start <= 0.51 * rows
            mean = next(averages.older.net.parameters()).detach()
            assert mean.max().item() == pytest.approx((start + rows) / 2, rel=0.05)
    assert moments < 300


def test_a_fit_counts_as_a_mean_over_its_second_half() -> None:
    net = GCWSNet(n_hashes=2, bits=1, n_outputs=1, hidden=())
    averages = Averages(net, 1000)
    before = next(net.parameters()).clone()
    with torch.no_grad():
        next(net.parameters()).add_(1.0)
    averages.note(1020, net)
    assert torch.equal(next(averages.older.net.parameters()), before)  # not yet
    averages.note(1040, net)
    moved = next(averages.older.net.parameters()) - before
    np.testing.assert_allclose(moved.detach().numpy(), 40 / 540, rtol=1e-4)


def test_averaged_weights_are_better_than_the_last_ones_and_as_good_as_a_falling_rate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = X[:, 0] * X[:, 1] + rng.normal(size=6000) > 0  # labels that nobody can be sure of
    scores: dict[str, list[float]] = {"averaged": [], "last": [], "falling": []}
    for seed in range(3):
        model = small(random_state=seed, hidden=(50,))
        stream = copy.deepcopy(model)
        for first in range(0, 4000, 100):
            rows = slice(first, first + 100)
            stream.partial_fit(X[rows], y[rows], classes=[False, True])
        scores["averaged"].append(stream.score(X[4000:], y[4000:]))
        scores["falling"].append(model.fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]))
        stream.averages_ = None
        scores["last"].append(stream.score(X[4000:], y[4000:]))
    averaged, last, falling = (np.mean(found) for found in scores.values())
    assert averaged > last + 0.01
    assert averaged > falling - 0.01


@pytest.mark.parametrize("optimizer", [True, False])
def test_a_loaded_stream_predicts_the_same_and_goes_on(optimizer: bool, three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    model = small(scale=None).partial_fit(X[:300], y[:300], classes=np.unique(y))
    model.save(tmp_path / "model", optimizer=optimizer)
    loaded = gcwsnet.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for one in (model, loaded):
        one.partial_fit(X[300:], y[300:])
    if optimizer:
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    else:
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=0.2)


def test_without_averaging_the_last_weights_predict(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(average=False).partial_fit(X, y, classes=np.unique(y))
    assert model.averages_ is None
    averaged = small().partial_fit(X, y, classes=np.unique(y))
    for last, other in zip(model.net_.parameters(), averaged.net_.parameters(), strict=True):
        assert torch.equal(last, other)
    assert (model.predict_proba(X) != averaged.predict_proba(X)).any()


def test_a_fit_has_no_averages_and_partial_fit_after_it_begins_with_its_weights(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(epochs=3).fit(X[:500], y[:500])
    assert model.averages_ is None
    score = model.score(X[:500], y[:500])
    model.partial_fit(X[500:], y[500:])
    assert model.averages_ is not None
    assert model.score(X[:500], y[:500]) > score - 0.02
    model.fit(X, y)
    assert model.averages_ is None


def test_a_regressor_averages_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = X[:, 0] * X[:, 1] + 2 * rng.normal(size=6000)
    model = GCWSNetRegressor(n_hashes=128, p=1.0, hidden=(50,), random_state=0)
    for first in range(0, 4000, 500):
        model.partial_fit(X[first : first + 500], y[first : first + 500])
    averaged = model.score(X[4000:], y[4000:])
    model.averages_ = None
    assert averaged > model.score(X[4000:], y[4000:]) + 0.01
