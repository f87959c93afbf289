"""The classifier, and what it shares with the regressor."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gcwsnet
from gcwsnet.estimators import _gcwsnet
from gcwsnet.tables import _coder
from gcwsnet.tables._coder import Coder
from tests.conftest import Rows
from tests.estimators.models import assert_same_model, small, weights


def test_one_pass_is_enough_for_rows_that_are_easy(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.9
    assert model.classes_.tolist() == ["ash", "beech", "oak"]
    assert set(model.predict(X)) <= {"ash", "beech", "oak"}


def test_probabilities_sum_to_one_and_agree_with_decisions_and_labels(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(1)], model.predict(X))
    np.testing.assert_array_equal(model.decision_function(X).argmax(1), probabilities.argmax(1))
    two = small().fit(X, y == "oak")
    assert two.decision_function(X).shape == (600,)
    np.testing.assert_array_equal(two.decision_function(X) > 0, two.predict(X))


@pytest.mark.parametrize(
    "rename",
    [
        lambda y: np.where(y == "oak", -7, 12),
        lambda y: (y == "oak").astype(float),
        lambda y: y == "oak",
        lambda y: y.astype(object),
        lambda y: pd.Series(y, dtype="category"),
        list,
    ],
)
def test_labels_of_any_type_come_back_as_they_were(rename: Any, three_classes: Rows) -> None:
    X, y = three_classes
    labels = rename(y)
    model = small(epochs=3).fit(X, labels)
    assert set(model.predict(X)) == set(labels)
    assert model.score(X, labels) > 0.9


def test_same_seed_same_model_for_any_number_of_threads_and_rows_at_once(
    three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    one = small(epochs=2).fit(X, y)
    assert_same_model(one, small(epochs=2).fit(X, y))
    assert_same_model(one, clone(one).fit(pd.DataFrame(X), y))
    monkeypatch.setattr(_coder, "ROWS_AT_ONCE", 96)
    assert_same_model(one, small(epochs=2).fit(X, y))
    monkeypatch.setattr(_gcwsnet, "available_bytes", lambda: 1000)
    assert_same_model(one, small(epochs=2).fit(X, y))
    for n_jobs in (2, 3):
        assert_same_model(one, small(epochs=2, n_jobs=n_jobs).fit(X, y))
    assert weights(one) != weights(small(epochs=2, random_state=1).fit(X, y))


@pytest.mark.parametrize(("epochs", "free", "most"), [(1, 10**9, 100), (2, 10**9, 600), (2, 1000, 100)])
def test_a_fit_keeps_all_codes_if_it_needs_them_twice_and_they_fit_in_memory(
    epochs: int, free: int, most: int, three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    held: list[int] = []
    make = Coder.codes

    def counted(self: Coder, X: Any, *, n_jobs: int | None = None) -> Any:
        codes = make(self, X, n_jobs=n_jobs)
        held.append(len(codes))
        return codes

    monkeypatch.setattr(Coder, "codes", counted)
    monkeypatch.setattr(_coder, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(_gcwsnet, "available_bytes", lambda: free)
    small(epochs=epochs).fit(X, y)
    of_temperature = 2 if epochs > 1 else 0  # rows to learn and held-out rows of a net that finds it
    assert max(held[of_temperature:]) == most


def test_a_fit_leaves_the_generator_of_numpy_alone(three_classes: Rows) -> None:
    X, y = three_classes
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    small(n_jobs=2, early_stopping=True).fit(X, y).predict(X)
    assert str(np.random.get_state(legacy=False)) == str(before)  # noqa: NPY002


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, pd.DataFrame, pl.DataFrame])
def test_rows_in_many_forms(form: Any, three_classes: Rows) -> None:
    X, y = three_classes
    names = [f"x{i}" for i in range(6)]
    rows = (
        pd.DataFrame(X, columns=names)
        if form is pd.DataFrame
        else pl.DataFrame(X, names)
        if form is pl.DataFrame
        else form(X)
    )
    model = small().fit(rows, y)
    assert model.score(rows, y) > 0.9
    if form in (pd.DataFrame, pl.DataFrame):
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(model.predict_proba(rows), small().fit(X, y).predict_proba(X))


def test_sparse_rows_are_not_shifted(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(sparse.csr_array(X), y)
    assert not model.scaling_.shift.any()


def test_weights_of_rows_and_of_classes(three_classes: Rows) -> None:
    X, y = three_classes
    rng = np.random.default_rng(0)
    noise = rng.permutation(y)
    both_X, both_y = np.vstack([X, X]), np.concatenate([y, noise])
    weighted = small(epochs=3).fit(both_X, both_y, sample_weight=np.repeat([1.0, 0.0], 600))
    misled = small(epochs=3).fit(both_X, both_y)
    assert weighted.predict_proba(X).max(axis=1).mean() > 0.95
    assert misled.predict_proba(X).max(axis=1).mean() < 0.9
    oaks = small(class_weight={"oak": 50.0}).fit(X, noise)
    assert (oaks.predict(X) == "oak").mean() > 0.9
    doubled = small().fit(X, y, sample_weight=np.where(y == "oak", 2.0, 1.0))
    assert_same_model(doubled, small(class_weight={"oak": 2.0}).fit(X, y))
    rare = np.where(y == "oak", y, "other")
    counts = {label: 600 / (2 * (rare == label).sum()) for label in ("oak", "other")}
    assert_same_model(small(class_weight="balanced").fit(X, rare), small(class_weight=counts).fit(X, rare))


def test_class_weights_that_make_no_sense(three_classes: Rows) -> None:
    X, y = three_classes
    with pytest.raises(ValueError, match=r"class_weight must be for classes of y, got \{'elm'\}"):
        small(class_weight={"elm": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight must be a dict, 'balanced' or None"):
        small(class_weight="heavy").fit(X, y)
    with pytest.raises(ValueError, match="'balanced' needs all rows"):
        small(class_weight="balanced").partial_fit(X, y, classes=np.unique(y))


def test_one_number_of_hidden_units_is_one_layer(three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    one, several = small(hidden=12).fit(X, y), small(hidden=(12,)).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), several.predict_proba(X))
    assert one.get_params()["hidden"] == 12
    one.save(tmp_path / "model")
    np.testing.assert_array_equal(gcwsnet.load(tmp_path / "model").predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize("scale", ["robust", 3])
def test_a_scale_that_does_not_exist_is_an_error(scale: Any, three_classes: Rows) -> None:
    with pytest.raises(ValueError, match=f"scale must be one of 'auto', .* got scale={scale!r}"):
        small(scale=scale).fit(*three_classes)


@pytest.mark.parametrize("transformer", [StandardScaler(), StandardScaler().fit(np.eye(6))])
def test_a_transformer_as_scale_is_sent_to_a_pipeline(transformer: Any, three_classes: Rows) -> None:
    way_out = r"put it before the model: make_pipeline\(StandardScaler\(...\), GCWSNetClassifier\(scale=None\)\)"
    with pytest.raises(TypeError, match=way_out):
        small(scale=transformer).fit(*three_classes)


def test_the_papers_settings_with_dense_adam_learn_too(three_classes: Rows) -> None:
    X, y = three_classes
    paper = small(
        t_bits=0,
        encoding="lowbits",
        optimizer="adam",
        learning_rate=1e-3,
        schedule="constant",
        betas=(0.9, 0.999),
        epochs=5,
    )
    assert paper.fit(X, y).score(X, y) > 0.9
    assert "first_moments.layers.0.weight" in paper.trainer_.net.optimizer_state()


@pytest.mark.parametrize("hidden", [(), (16,), (16, 8), [24]])
@pytest.mark.parametrize("reduction", [None, 4])
def test_layers_and_reduction(hidden: Any, reduction: int | None, three_classes: Rows) -> None:
    X, y = three_classes
    model = small(bits=8, hidden=hidden, reduction=reduction, epochs=3).fit(X, y)
    assert model.score(X, y) > 0.9
    assert len(model.trainer_.net.weights()["layers.0.weight"]) == 64 * 256 // (reduction or 1)


def test_it_works_in_a_pipeline_and_in_a_search(three_classes: Rows) -> None:
    X, y = three_classes
    search = GridSearchCV(
        make_pipeline(StandardScaler(), small(scale=None)), {"gcwsnetclassifier__n_hashes": [4, 64]}, cv=2
    )
    assert search.fit(X, y).best_params_ == {"gcwsnetclassifier__n_hashes": 64}


def test_nets_on_codes_learn_what_a_linear_model_cannot() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] * X[:, 1] > 0
    linear = LogisticRegression().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    net = small().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    assert linear < 0.65
    assert net > 0.9


def test_nan_is_an_error_that_names_it_and_the_ways_out(three_classes: Rows) -> None:
    X, y = three_classes
    holes = pd.DataFrame(X, columns=list("abcdef"))
    holes.loc[5, "c"] = np.nan
    with pytest.raises(ValueError, match=r"X\[5, 'c'\] is NaN; .* give missing='auto', 'zero' or 'mean'"):
        small(missing="error").fit(holes, y)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_missing_zero_is_the_number_0_before_scaling(form: Any, three_classes: Rows) -> None:
    X, y = three_classes
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X + 3)
    given = form(holes)
    model = small(missing="zero").fit(given, y)
    filled = small().fit(form(np.nan_to_num(holes)), y)
    assert_same_model(model, filled)
    np.testing.assert_array_equal(model.predict_proba(given), filled.predict_proba(form(np.nan_to_num(holes))))
    assert np.isnan(given.sum())


def test_missing_mean_is_the_mean_of_the_known_values_where_the_scaling_centres(three_classes: Rows) -> None:
    X, y = three_classes
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X + 3)
    model = small(missing="mean", scale="standard").fit(holes, y)
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    np.testing.assert_allclose(model.predict_proba(holes), model.predict_proba(filled), rtol=1e-6)
    assert not np.allclose(model.predict_proba(holes), model.predict_proba(np.nan_to_num(holes)))


def test_numbers_far_beyond_those_of_fit_are_hashed_as_the_largest(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X.astype(np.float32), y)
    far = np.full((1, 6), np.finfo(np.float32).max, dtype=np.float32)
    assert model.predict(far).shape == (1,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be from 1"),
        ({"batch_size": 0}, "batch_size must be from 1"),
        ({"learning_rate": 0.0}, "learning_rate must be from"),
        ({"learning_rate": np.nan}, "learning_rate must be from"),
        ({"schedule": "step"}, "schedule must be one of"),
        ({"optimizer": "sgd"}, "optimizer must be one of"),
        ({"records": 0}, "records must be an integer from 1 to 65536 or fractions"),
        ({"records": [0.5, 2.0]}, "records must be an integer from 1 to 65536 or fractions"),
        ({"patience": 0}, "patience must be from 1"),
        ({"validation_fraction": 2.0}, "validation_fraction must be from 0 to 1"),
        ({"n_hashes": 0}, "n_hashes must be from 1"),
        ({"bits": 40}, "bits must be from 1 to 32"),
        ({"hidden": (0,)}, "hidden must be from 1"),
        ({"hidden": 200.0}, "hidden must be an integer, a sequence of integers or 'auto', got hidden=200.0"),
        ({"betas": 0.9}, "betas must be two numbers, got betas=0.9"),
        ({"p": -1.0}, "p must be from"),
        ({"weight_decay": -1.0}, "weight_decay must be from 0"),
        ({"ensemble": 0}, "ensemble must be from 1"),
        ({"relevance": -1.0}, "relevance must be from 0"),
        ({"search": "long"}, "search must be one of 'off', 'fast', 'thorough'"),
        ({"missing": "drop"}, "missing must be one of 'auto', 'error', 'zero', 'mean'"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str, three_classes: Rows) -> None:
    X, y = three_classes
    model = small(**settings)
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "trainer_")
