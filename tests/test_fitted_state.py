"""Fitted state decides: a parameter that is changed after `fit` changes nothing until the next `fit`."""

import copy
import pickle
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import gcwsnet
from gcwsnet import CountSketch, GCWSHasher, GCWSNetClassifier, GCWSNetRegressor, RandomFourierFeatures
from tests.conftest import Rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 6)) * RNG.choice([0, 1], (20, 6))
CODES = RNG.integers(0, 256, (20, 6), dtype=np.uint8)

HASHER = GCWSHasher(16, random_state=1)
REJECTION = GCWSHasher(16, method="rejection", random_state=1)
SKETCH = CountSketch(4, bits=8, random_state=1)
BINS = CountSketch(n_bins=5, random_state=1)
FEATURES = RandomFourierFeatures(16, random_state=1)

CHANGES: list[tuple[Any, np.ndarray, dict[str, Any]]] = [
    (HASHER, X, {"n_hashes": 5}),
    (HASHER, X, {"p": 3.0}),
    (HASHER, X, {"bits": 4}),
    (HASHER, X, {"t_bits": 2}),
    (HASHER, X, {"encoding": "lowbits", "t_bits": 0}),
    (HASHER, X, {"output": "onehot"}),
    (HASHER, X, {"method": "rejection"}),
    (HASHER, X, {"missing": "zero"}),
    (HASHER, X, {"random_state": 2}),
    (HASHER, X, {"n_jobs": 2}),
    (HASHER, X, {"table_memory": 0}),
    (REJECTION, X, {"p": 2.0}),
    (SKETCH, CODES, {"reduction": 2}),
    (SKETCH, CODES, {"bits": 9}),
    (SKETCH, CODES, {"random_state": 2}),
    (BINS, X, {"n_bins": 4}),
    (FEATURES, X, {"n_components": 5}),
    (FEATURES, X, {"gamma": 3.0}),
    (FEATURES, X, {"normalize": False}),
    (FEATURES, X, {"random_state": 2}),
]
SAME_OUTPUT = {"missing", "n_jobs", "table_memory"}


def outputs(fitted: Any, rows: np.ndarray) -> Iterator[Any]:
    """All that a fitted transformer gives: its output, samples, feature names and the origin of its codes."""
    out = fitted.transform(rows)
    yield out.toarray() if sparse.issparse(out) else np.asarray(out)
    yield out.dtype
    yield getattr(out, "origin", None)
    yield fitted.get_feature_names_out().tolist()
    if hasattr(fitted, "samples"):
        yield from fitted.samples(rows)
        yield fitted.code_bits


def name_of(value: Any) -> str:
    return "" if isinstance(value, np.ndarray) else str(value)


def are_same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(outputs(*one), outputs(*other), strict=True))


@pytest.mark.filterwarnings("ignore:method='rejection' needs")
@pytest.mark.parametrize(("transformer", "rows", "change"), CHANGES, ids=name_of)
def test_a_parameter_changed_after_fit_changes_nothing_until_the_next_fit(
    transformer: Any, rows: np.ndarray, change: dict[str, Any]
) -> None:
    before = clone(transformer).fit(rows)
    changed = clone(transformer).fit(rows).set_params(**change)
    assert are_same((changed, rows), (before, rows))
    assert are_same((pickle.loads(pickle.dumps(changed)), rows), (before, rows))
    again, new = clone(changed).fit(rows), clone(transformer).set_params(**change).fit(rows)
    assert are_same((again, rows), (new, rows))
    assert are_same((changed.fit(rows), rows), (new, rows))
    assert are_same((new, rows), (before, rows)) == (set(change) <= SAME_OUTPUT)


def test_every_parameter_of_every_transformer_is_changed() -> None:
    for transformer in (HASHER, SKETCH, FEATURES):
        tried = {name for other, _, change in CHANGES if type(other) is type(transformer) for name in change}
        assert tried == set(signature(type(transformer)).parameters)


@pytest.mark.parametrize(
    ("transformer", "rows"), [(HASHER, X), (REJECTION, X), (SKETCH, CODES), (FEATURES, X)], ids=name_of
)
def test_parameters_out_of_range_are_an_error_of_the_next_fit_alone(transformer: Any, rows: np.ndarray) -> None:
    before, changed = clone(transformer).fit(rows), clone(transformer).fit(rows)
    for name in set(changed.get_params()) - {"n_jobs"}:
        changed.set_params(**{name: "wrong"})
    assert are_same((changed, rows), (before, rows))
    assert are_same((pickle.loads(pickle.dumps(changed)), rows), (before, rows))
    with pytest.raises((TypeError, ValueError), match="'wrong'"):
        changed.fit(rows)


def test_missing_values_mean_what_they_meant_in_fit() -> None:
    rows = np.where(X == 0, np.nan, X)
    zero = GCWSHasher(8, missing="zero", random_state=0).fit(rows)
    np.testing.assert_array_equal(zero.set_params(missing="error").transform(rows), zero.transform(X))
    strict = GCWSHasher(8, random_state=0).fit(X)
    with pytest.raises(ValueError, match="is NaN"):
        strict.set_params(missing="zero").transform(rows)


@pytest.mark.filterwarnings("ignore:method='rejection' needs")
def test_partial_fit_goes_on_with_the_parameters_of_the_first_call() -> None:
    hasher = GCWSHasher(16, p=2.0, method="rejection", random_state=1).partial_fit(X[:10])
    hasher.set_params(p=5.0, n_hashes=3, method="gcws").partial_fit(X[10:])
    whole = GCWSHasher(16, p=2.0, method="rejection", random_state=1).fit(X)
    assert are_same((hasher, X), (whole, X))


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
    "additive": 0.5,
    "encoding": "lowbits",
    "missing": "mean",
    "records": [0.5],
    "early_stopping": True,
    "patience": 1,
    "validation_fraction": 0.5,
    "callbacks": [lambda *_: None],
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
    changed.save(tmp_path / "model", training_state=True)
    loaded = gcwsnet.load(tmp_path / "model")
    expected = kind(**FITTED | {"hidden": (8,)}).get_params()
    assert loaded.get_params() == expected
    np.testing.assert_array_equal(loaded.predict(X), predicted)
    np.testing.assert_array_equal(loaded.partial_fit(X, y).predict(X), further)
    if name != "callbacks":
        unpickled = pickle.loads(pickle.dumps(changed))
        np.testing.assert_array_equal(unpickled.predict(X), predicted)
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
    with pytest.raises(ValueError, match="early_stopping=True has no effect, since nobody knows"):
        model.partial_fit(X, y, classes=np.unique(y))
    assert model.fit(X, y).partial_fit(X, y).n_rows_seen_ == 600 + 600
