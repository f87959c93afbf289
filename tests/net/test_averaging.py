"""Weights averaged over a stream of unknown length."""

import copy
from typing import Any

import numpy as np
import pytest

from gcwsnet import GCWSNetClassifier
from gcwsnet.net._net import make_net
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels
from tests.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {"p": 1.0, "search": "off", "n_hashes": 64, "hidden": (16,), "random_state": 0}
    defaults |= {"bits": 8, "learning_rate": 0.003, "weight_decay": 0.0}
    return GCWSNetClassifier(**defaults | settings)


def tiny_net() -> Any:
    settings = TrainingSettings(hidden=())
    return make_net(settings, Labels(np.array([0, 1])), n_hashes=2, code_bits=1, seed=0)


def learn(net: Any, n_rows: int) -> None:
    codes, target = np.zeros((n_rows, 2), dtype=np.uint8), np.zeros(n_rows, dtype=np.int64)
    net.train(codes, target, None, np.array([0.01]), batch_size=n_rows, n_jobs=1)


def test_the_mean_covers_the_last_half_to_three_quarters() -> None:
    net = tiny_net()
    net.start_averaging(0)
    path = [0.0]
    moments = 0
    for rows in range(10, 6_000, 10):
        last = net.averages_state()[1]
        learn(net, 10)
        path.append(float(net.weights()["layers.0.bias"][0]))
        start, older, newer = net.averages_state()[1][:3]
        moments += [start, older, newer] != last[:3]
        if rows > 500 and rows % 500 == 0:
            begin, end = start - older, start + newer
            assert 0.24 * rows <= begin <= 0.51 * rows
            assert 0.96 * rows <= end <= rows
            expected = np.mean(path[begin // 10 + 1 : end // 10 + 1])
            assert net.predicting_weights()["layers.0.bias"][0] == pytest.approx(expected, rel=0.05)
    assert moments < 250


def test_earlier_rows_count_as_a_mean_over_their_second_half() -> None:
    net = tiny_net()
    learn(net, 1000)
    net.start_averaging(1000)
    before = {name: value.copy() for name, value in net.weights().items()}
    learn(net, 20)
    for name, value in net.predicting_weights().items():  # the first rows are not averaged yet
        np.testing.assert_allclose(value, before[name], rtol=1e-6, atol=1e-9)
    learn(net, 20)
    for name, value in net.predicting_weights().items():
        expected = (500 * before[name] + 40 * net.weights()[name]) / 540
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-8)


def test_averaged_weights_are_better_than_the_last_ones_and_as_good_as_a_falling_rate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = X[:, 0] * X[:, 1] + rng.normal(size=6000) > 0  # labels that nobody can be sure of
    scores: dict[str, list[float]] = {"averaged": [], "last": [], "falling": []}
    for seed in range(3):
        model = small(random_state=seed, hidden=(50,), batch_size=32)
        stream = copy.deepcopy(model)
        for first in range(0, 4000, 100):
            rows = slice(first, first + 100)
            stream.partial_fit(X[rows], y[rows], classes=[False, True])
        stream.trainer_.net.predicts_with = "recent"
        scores["averaged"].append(stream.score(X[4000:], y[4000:]))
        scores["falling"].append(model.fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]))
        stream.trainer_.net.stop_averaging()
        scores["last"].append(stream.score(X[4000:], y[4000:]))
    averaged, last, falling = (np.mean(found) for found in scores.values())
    assert averaged > last + 0.01
    assert averaged > falling - 0.01


def test_a_fit_has_no_averages_and_partial_fit_after_it_begins_with_its_weights(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(epochs=3).fit(X[:500], y[:500])
    assert model.trainer_.net.averaging is None
    score = model.score(X[:500], y[:500])
    model.partial_fit(X[500:], y[500:])
    assert model.trainer_.net.averaging == "recent"
    assert model.score(X[:500], y[:500]) > score - 0.02
    model.fit(X, y)
    assert model.trainer_.net.averaging is None
