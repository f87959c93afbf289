"""The adapter to river: river's own checks, rows that change, and that river is not needed."""

import math
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from gcwsnet import FieldsClassifier, GCWSNetClassifier
from gcwsnet.river import Classifier


def small_net() -> GCWSNetClassifier:
    return GCWSNetClassifier(n_hashes=8, hidden=(4,), p=1.0, scale=None, search="off", random_state=0)


def learners() -> dict[str, Any]:
    return {"fields": FieldsClassifier(table_bits=12, random_state=0), "net": small_net()}


def of_river(model: Any) -> Any:
    return Classifier(model)


def checks() -> list[Any]:
    """Return each check of river with what it is done with; nothing where river is missing."""
    try:
        from river.checks import yield_checks  # noqa: PLC0415
    except ImportError:
        return []
    return [
        pytest.param(check, model, id=f"{check.__name__}-{name}-{number}")
        for name, model in learners().items()
        for number, check in enumerate(yield_checks(of_river(model)))
    ]


@pytest.mark.slow
@pytest.mark.skipif(not checks(), reason="river is not installed")
@pytest.mark.parametrize(("check", "model"), checks())
@pytest.mark.filterwarnings("ignore")
def test_checks_of_river(check: Any, model: Any) -> None:
    check(of_river(model).clone())


def test_the_seed_is_the_random_state_of_the_model() -> None:
    def learned(seed: int | None, random_state: int) -> dict[Any, float]:
        model = Classifier(small_net().set_params(random_state=random_state), seed=seed)
        for number in range(40):
            model.learn_one({"a": number % 3, "b": number % 7}, number % 2)
        return model.predict_proba_one({"a": 1, "b": 2})

    assert learned(5, 0) == learned(None, 5) != learned(None, 0)


@pytest.mark.parametrize("name", ["fields", "net"])
def test_a_model_learns_from_dicts(name: str) -> None:
    model = Classifier(learners()[name])
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


def test_weights_count() -> None:
    model = Classifier(FieldsClassifier(table_bits=10, random_state=0))
    model.learn_one({"a": 1}, 0)
    model.learn_one({"a": 1}, 1, w=10.0)
    assert model.predict_one({"a": 1}) == 1


def test_river_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['river'] = None; from gcwsnet.river import Classifier; "
        "from gcwsnet import FieldsClassifier; m = Classifier(FieldsClassifier(table_bits=4)); "
        "m.learn_one({'a': 1}, 0); "
        "print(m.predict_one({'a': 1}), hasattr(m, 'clone'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]
