"""After `fit`, what was fitted decides: changing a parameter changes nothing until the next `fit`."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from tests.conftest import Rows

FITTED: dict[str, Any] = {"p": 1.0, "n_hashes": 16, "hidden": [8], "epochs": 1, "random_state": 0}
OTHER: dict[str, Any] = {
    "n_hashes": 32,
    "bits": 4,
    "t_bits": 2,
    "p": 3.0,
    "scale": "minmax",
    "relevance": 1.0,
    "search": "off",
    "ensemble": 2,
    "hidden": (4, 4),
    "reduction": 4,
    "epochs": 7,
    "batch_size": 5,
    "learning_rate": 0.5,
    "schedule": "constant",
    "optimizer": "adam",
    "betas": (0.9, 0.9),
    "weight_decay": 0.5,
    "average": False,
    "encoding": "lowbits",
    "missing": "mean",
    "shuffle": False,
    "records": [0.5],
    "early_stopping": True,
    "patience": 1,
    "validation_fraction": 0.5,
    "callbacks": [lambda *_: None],
    "warm_start": True,
    "verbose": 1,
    "random_state": 1,
    "n_jobs": 2,
    "device": "meta",
}
CASES: list[Any] = [
    *((GCWSNetClassifier, name, value) for name, value in (OTHER | {"class_weight": {"oak": 9.0}}).items()),
    *((GCWSNetRegressor, name, value) for name, value in (OTHER | {"loss": "absolute_error"}).items()),
]


def rows_for(kind: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return (rows.X[:200], rows.y[:200]) if kind is GCWSNetClassifier else (rows.X[:200], rows.X[:200, 0])


def test_the_cases_are_all_parameters_and_other_values_than_those_of_the_fit() -> None:
    for kind in (GCWSNetClassifier, GCWSNetRegressor):
        given = {name: value for of, name, value in CASES if of is kind}
        fitted = kind(**FITTED).get_params()
        assert given.keys() == fitted.keys()
        assert all(fitted[name] != value for name, value in given.items())


@pytest.fixture(scope="module")
def fitted(request: pytest.FixtureRequest, three_classes: Rows) -> tuple[Any, np.ndarray, np.ndarray]:
    """A fitted model of a class, its predictions, and those after another pass over the rows."""
    X, y = rows_for(request.param, three_classes)
    model = request.param(**FITTED).fit(X, y)
    return model, model.predict(X), copy.deepcopy(model).partial_fit(X, y).predict(X)


@pytest.mark.parametrize(("fitted", "name", "value"), CASES, indirect=["fitted"])
def test_a_parameter_that_is_changed_after_fit_changes_nothing(
    fitted: tuple[Any, np.ndarray, np.ndarray], name: str, value: Any, three_classes: Rows, tmp_path: Path
) -> None:
    changed, predicted, further = copy.deepcopy(fitted)
    kind = type(changed)
    X, y = rows_for(kind, three_classes)
    changed.set_params(**{name: value})
    np.testing.assert_array_equal(changed.predict(X), predicted)
    changed.save(tmp_path / "model")
    loaded = gcwsnet.load(tmp_path / "model")
    expected = kind(**FITTED | {"hidden": (8,)}).get_params()
    assert loaded.get_params() == expected
    np.testing.assert_array_equal(loaded.predict(X), predicted)
    np.testing.assert_array_equal(loaded.partial_fit(X, y).predict(X), further)
    if name != "callbacks":
        unpickled = pickle.loads(pickle.dumps(changed))
        np.testing.assert_array_equal(unpickled.predict(X), predicted)
        np.testing.assert_array_equal(unpickled.partial_fit(X, y).predict(X), further)
    np.testing.assert_array_equal(changed.partial_fit(X, y).predict(X), further)


def test_a_list_that_is_changed_after_fit_changes_nothing(three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    hidden, class_weight = [8], {"oak": 2.0}
    model = GCWSNetClassifier(**FITTED | {"hidden": hidden}, class_weight=class_weight).fit(X, y)
    hidden[0] = 5
    class_weight.clear()
    model.save(tmp_path / "model")
    parameters = gcwsnet.load(tmp_path / "model").get_params()
    assert (parameters["hidden"], parameters["class_weight"]) == ((8,), {"oak": 2.0})


def test_the_next_fit_reads_parameters_again(three_classes: Rows) -> None:
    X, y = three_classes
    model = GCWSNetClassifier(**FITTED).fit(X, y).set_params(n_hashes=32).fit(X, y)
    expected = GCWSNetClassifier(**FITTED | {"n_hashes": 32}).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_warm_start_takes_other_epochs_and_refuses_another_net(three_classes: Rows) -> None:
    X, y = three_classes
    model = GCWSNetClassifier(**FITTED, warm_start=True).fit(X, y)
    model.set_params(epochs=2, learning_rate=0.01).fit(X, y)
    assert model.n_epochs_seen_ == 3
    assert model.history_["learning_rate"][10] == pytest.approx(0.01, rel=0.05)
    for name in ("n_hashes", "hidden", "scale", "random_state"):
        before = getattr(model, name)
        with pytest.raises(ValueError, match=rf"{name} must stay .* while warm_start=True continues the fitted model"):
            model.set_params(**{name: OTHER[name]}).fit(X, y)
        model.set_params(**{name: before})
    model.fit(X, y)


def test_parameters_after_n_hashes_are_keywords() -> None:
    kinds: list[Any] = [GCWSNetClassifier, GCWSNetRegressor]
    for kind in kinds:
        assert kind(64).n_hashes == 64
        with pytest.raises(TypeError, match="positional argument"):
            kind(64, 4)


@pytest.mark.parametrize(
    ("given", "name"),
    [({"patience": 3}, "patience"), ({"validation_fraction": 0.2}, "validation_fraction")],
)
def test_a_parameter_of_early_stopping_without_it_is_an_error(
    given: dict[str, Any], name: str, three_classes: Rows
) -> None:
    with pytest.raises(ValueError, match=rf"{name}=.* has no effect, since early_stopping is False"):
        GCWSNetClassifier(**FITTED, **given).fit(*three_classes)
    GCWSNetClassifier(**FITTED, **given, early_stopping=True).fit(*three_classes)


def test_rows_are_not_held_out_beside_an_eval_set_or_of_a_stream(three_classes: Rows) -> None:
    X, y = three_classes
    model = GCWSNetClassifier(**FITTED, early_stopping=True, validation_fraction=0.2)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.2 has no effect, since an eval_set is given"):
        model.fit(X, y, eval_set=(X, y))
    with pytest.raises(ValueError, match="early_stopping=True has no effect, since partial_fit"):
        model.partial_fit(X, y, classes=np.unique(y))
    assert model.fit(X, y).partial_fit(X, y).n_rows_seen_ == 600 + 600
