"""Ensembles of the estimators: one model, whatever is done with it."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

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


def test_early_stopping_restores_all_nets(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(early_stopping=True, epochs=6, patience=2).fit(X, y)
    assert model.score(X, y) > 0.85
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
