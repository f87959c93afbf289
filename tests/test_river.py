"""The adapter to river: river's own checks, and rows that change."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from river.checks import yield_checks

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.river import Classifier, Regressor

SMALL: dict[str, Any] = {"n_hashes": 8, "hidden": (4,), "p": 1.0, "scale": None, "search": "off", "random_state": 0}


def small_net() -> GCWSNetClassifier:
    return GCWSNetClassifier(**SMALL)


MODELS = [Classifier(small_net()), Regressor(GCWSNetRegressor(**SMALL))]


@pytest.mark.parametrize(("model", "check"), [(model, check) for model in MODELS for check in yield_checks(model)])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_river(model: Any, check: Any) -> None:
    check(model.clone())


def test_the_seed_is_the_random_state_of_the_model() -> None:
    def learned(seed: int | None, random_state: int) -> dict[Any, float]:
        model = Classifier(small_net().set_params(random_state=random_state), seed=seed)
        for number in range(40):
            model.learn_one({"a": number % 3, "b": number % 7}, number % 2)
        return model.predict_proba_one({"a": 1, "b": 2})

    assert learned(5, 0) == learned(None, 5) != learned(None, 0)


def test_a_model_learns_from_dicts() -> None:
    model = Classifier(small_net())
    assert model.predict_one({"a": 1}) is None
    rng = np.random.default_rng(0)
    right = 0
    for number in range(300):
        x = {"a": int(rng.integers(0, 2)), "city": "Rome" if rng.random() < 0.5 else "Oslo", "noise": number % 3}
        y = "yes" if (x["city"] == "Rome") else "no"
        right += number >= 200 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert right >= 90
    assert math.isclose(sum(model.predict_proba_one({"city": "Rome"}).values()), 1.0)
    assert pickle.loads(pickle.dumps(model)).predict_proba_one({"a": 1}) == model.predict_proba_one({"a": 1})


def test_new_names_have_columns_as_long_as_there_are_some() -> None:
    model = Classifier(small_net())
    model.learn_one({"a": 1.0}, 0)
    model.learn_one({"a": 2.0, "b": True, "c": "text"}, 1)
    assert model._columns == {"a": 0, "b": 1, ("c", "text"): 2}
    assert model._row({"c": "text", "b": 1, "unknown": 4.0}, learned=False).tolist() == [[0.0, 1.0, 1.0] + [0.0] * 13]
    model.learn_one({str(number): 1.0 for number in range(40)}, 1)
    assert len(model._columns) == 16
    assert model._row({str(number): 1.0 for number in range(40)}, learned=False).sum() == 40
    assert np.isnan(model._row({"a": None}, learned=False)[0, 0])
    with pytest.raises(TypeError, match="numbers, booleans or texts"):
        model.learn_one({"a": [1]}, 0)


def test_a_regression_learns_from_dicts_with_names_that_come_later() -> None:
    model = Regressor(GCWSNetRegressor(**SMALL | {"n_hashes": 64, "hidden": (16,), "scale": "numeric"}))
    assert model.predict_one({"a": 1}) == 0.0
    rng = np.random.default_rng(0)
    errors = []
    for number in range(4000):
        a, b = rng.normal(size=2).tolist()
        x = {"a": a} if number < 2000 else {"a": a, "b": b}
        y = 100 + 10 * a + (20 * b if number >= 2000 else 0)
        errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert np.mean(errors[1500:2000]) < 3
    assert np.mean(errors[3500:]) < 8


def test_weight_1_is_no_weight() -> None:
    found = []
    for weights in ({}, {"w": 1.0}, {"w": np.float64(1.0 + 1e-12)}):
        model = Classifier(small_net())
        for number in range(200):
            model.learn_one({"a": number % 7}, number % 2, **weights)
        found.append(model.predict_proba_one({"a": 3}))
    assert found[0] == found[1]
    np.testing.assert_allclose(found[0][1], found[2][1], rtol=1e-4)


def test_weights_count() -> None:
    model = Classifier(small_net())
    for number in range(400):
        model.learn_one({"a": 1}, number % 2, w=10.0 if number % 2 else 1.0)
    assert model.predict_proba_one({"a": 1})[1] > 0.6
