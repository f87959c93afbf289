"""Ensembles of the estimators: one model, whatever is done with it."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from tests.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {"n_hashes": 16, "hidden": (8,), "ensemble": 3, "epochs": 2, "random_state": 0}
    return GCWSNetClassifier(**defaults | {"p": 1.0, "scale": "numeric", "relevance": 0} | settings)


def members(model: Any) -> list[Any]:
    return model.trainer_.net.cores


def weights(model: Any) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in model.trainer_.net.weights().items()}


def test_each_net_has_hashes_of_its_own(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X, y).compress("float32")
    codes = model.coder_.codes(X)
    assert codes.shape == (600, 48)
    parts = [codes[:, first : first + 16] for first in (0, 16, 32)]
    assert (parts[0] != parts[1]).any()
    assert (parts[1] != parts[2]).any()
    single = small(ensemble=1).fit(X, y).compress("float32")
    assert_array_equal(single.coder_.codes(X), parts[0])
    outputs = [
        one.outputs(np.ascontiguousarray(part), n_threads=1) for one, part in zip(members(model), parts, strict=True)
    ]
    expected = np.mean(np.array(outputs, dtype=np.float64), axis=0)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-7)
    assert_array_equal(single._outputs(X), outputs[0])


def test_few_rows_get_four_small_nets_and_more_one_large_one(three_classes: Rows) -> None:
    X, y = three_classes
    settings: dict[str, Any] = {"hidden": "auto", "ensemble": "auto", "epochs": 1, "search": "off"}
    few = small(**settings).fit(X, y)
    assert (len(members(few)), few.trainer_.settings.hidden) == (4, (48,))
    more = small(**settings).fit(np.tile(X, (17, 1)), np.tile(y, 17))
    assert more.trainer_.settings.hidden == (200,)
    assert len(members(more)) == 1
    given = small(**settings | {"hidden": 12}).fit(X, y)
    assert (given.trainer_.settings.hidden, given.trainer_.settings.ensemble) == ((12,), 1)
    stream = small(**settings).partial_fit(X, y, classes=np.unique(y))
    assert (stream.trainer_.settings.hidden, stream.trainer_.settings.ensemble) == ((200,), 1)


@pytest.mark.parametrize("kind", [GCWSNetClassifier, GCWSNetRegressor])
def test_several_nets_are_better_than_each(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    number = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1500)
    y = number if kind is GCWSNetRegressor else number > 0
    settings: dict[str, Any] = {"n_hashes": 16, "hidden": (16,), "p": 1.0, "search": "off", "epochs": 8}
    scores = {
        n: np.mean([kind(**settings, ensemble=n, random_state=seed).fit(X[:700], y[:700]).score(X[700:], y[700:])
                    for seed in range(3)])
        for n in (1, 6)
    }  # fmt: skip
    assert scores[6] > scores[1] + 0.015


@pytest.mark.parametrize("settings", [{}, {"hidden": ()}, {"reduction": 4}, {"hidden": (8, 4), "reduction": "8bit"}])
def test_the_bytes_are_the_same_for_any_number_of_threads(settings: Any, three_classes: Rows) -> None:
    X, y = three_classes
    expected = small(**settings).fit(X, y)
    for n_jobs in (2, 3):
        model = small(**settings, n_jobs=n_jobs).fit(X, y)
        assert weights(model) == weights(expected)
        assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert expected.score(X, y) > 0.85


def test_a_stream_of_an_ensemble_goes_on_after_it_was_saved_loaded_or_pickled(
    three_classes: Rows, tmp_path: Path
) -> None:
    X, y = three_classes
    model = small(scale=None).partial_fit(X[:200], y[:200], classes=np.unique(y))
    model.partial_fit(X[200:400], y[200:400])
    model.save(tmp_path / "model", training_state=True)
    others = [gcwsnet.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for other in others:
        assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    model.partial_fit(X[400:], y[400:])
    for other in others:
        other.partial_fit(X[400:], y[400:])
        assert weights(other) == weights(model)
        assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert model.n_rows_seen_ == 600
    assert model.score(X, y) > 0.8


def test_early_stopping_restores_all_nets(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(early_stopping=True, epochs=6, patience=2).fit(X, y)
    assert model.score(X, y) > 0.85
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
