"""Fitted state decides: a parameter that is changed after `fit` changes nothing until the next `fit`."""

import pickle
from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from gcwsnet import CountSketch, GCWSHasher, RandomFourierFeatures

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
