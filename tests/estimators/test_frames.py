"""Frames as they are: learned, saved, loaded and predicted by Python, with columns found by their names."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, pgmm_kernel
from gcwsnet.search import fit_coder
from gcwsnet.tables._coder import CoderSettings
from gcwsnet.tables._frames import encode_frame, learn_schema, open_frame
from tests.estimators.tables import mixed_table, shuffled

SETTINGS: dict[str, Any] = {"n_hashes": 64, "hidden": 16, "p": 1.0, "scale": "numeric", "random_state": 0}


@pytest.fixture(scope="module")
def fitted() -> GCWSNetClassifier:
    return GCWSNetClassifier(**SETTINGS, epochs=5).fit(*mixed_table())


def test_a_frame_of_all_kinds_is_learned(fitted: GCWSNetClassifier) -> None:
    X, y = mixed_table(400, seed=1)
    assert fitted.score(X, y) > 0.8
    assert fitted.n_features_in_ == 7
    assert fitted.feature_names_in_.tolist() == list(X.columns)


def test_defaults_learn_a_frame() -> None:
    X, y = mixed_table(300)
    assert GCWSNetClassifier(random_state=0).fit(X, y).score(X, y) > 0.8


def test_the_names_of_the_columns_that_are_hashed(fitted: GCWSNetClassifier) -> None:
    cities, codes = ["city=Lima", "city=Oslo", "city=Rome"], [f"code={i}" for i in range(5)]
    expected = ["height", *cities, "size", "flag", "when", "long", *codes]
    assert fitted.get_feature_names_out().tolist() == expected
    assert fitted.schema_ is fitted.coder_.schema
    plain = GCWSNetClassifier(**SETTINGS).fit(np.eye(4), [0, 1, 0, 1])
    assert plain.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert plain.schema_ is None


def test_a_fitted_model_shows_its_table(fitted: GCWSNetClassifier) -> None:
    text = repr(fitted)
    assert text.startswith("GCWSNetClassifier(")
    assert "fitted on a table with height: number, city: 3 categories, size: 3 ordered categories, flag: bool" in text
    assert "\n" not in repr(clone(fitted))


@pytest.mark.parametrize("convert", [shuffled, pl.from_pandas, pa.Table.from_pandas], ids=["order", "polars", "Arrow"])
def test_other_frames_with_the_same_columns_get_the_same_predictions(convert: Any, fitted: GCWSNetClassifier) -> None:
    X, _ = mixed_table(50, seed=2)
    assert_array_equal(fitted.predict_proba(convert(X)), fitted.predict_proba(X))


def test_a_model_is_saved_with_its_schema(fitted: GCWSNetClassifier, tmp_path: Path) -> None:
    X, y = mixed_table(50, seed=2)
    fitted.save(tmp_path / "model")
    loaded = gcwsnet.load(tmp_path / "model")
    assert loaded.schema_ == fitted.schema_
    assert loaded.n_features_in_ == 7
    assert_array_equal(loaded.predict_proba(shuffled(X)), fitted.predict_proba(X))
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), fitted.predict_proba(X))
    fitted.save(tmp_path / "model", training_state=True)
    gcwsnet.load(tmp_path / "model").partial_fit(X, y)


@pytest.mark.filterwarnings("ignore:.*none of its categories")
def test_unknown_categories_are_not_there(fitted: GCWSNetClassifier) -> None:
    X, _ = mixed_table(20, seed=2)
    unknown, missing = X.assign(city="Paris"), X.assign(city=pd.Series([None] * 20, dtype="str"))
    assert_array_equal(fitted.predict_proba(unknown), fitted.predict_proba(missing))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X.drop(columns="city"), "'city' is missing"),
        (lambda X: X.assign(more=1), "'more' is additional"),
        (
            lambda X: X.assign(height="tall"),
            r"X\[0, 'height'\]: a value must be a number, .*'tall'",
        ),
        (lambda X: X.to_numpy(), r"X must be a frame, .* \('city', 'size', 'when', 'long', 'code'\), got an array"),
        (lambda X: X.assign(height=np.inf), r"X\[0, 'height'\] is infinity"),
    ],
)
def test_rows_that_do_not_fit_are_errors_that_name_the_column(
    change: Any, words: str, fitted: GCWSNetClassifier
) -> None:
    with pytest.raises(ValueError, match=words):
        fitted.predict(change(mixed_table(20)[0]))


def test_numbers_are_treated_alike_whatever_stands_beside_them() -> None:
    """A column of text beside numbers changes nothing about how these are scaled."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(100, 5, size=(300, 3)), columns=list("abc"))
    y = (numbers["a"] > 100).to_numpy()
    alone = GCWSNetClassifier(**SETTINGS).fit(numbers, y)
    beside = GCWSNetClassifier(**SETTINGS).fit(numbers.assign(city=rng.choice(["Rome", "Oslo"], 300)), y)
    assert_array_equal(beside.scaling_.shift[:3], alone.scaling_.shift)
    assert_array_equal(beside.scaling_.divisor[:3], alone.scaling_.divisor)
    assert (beside.scaling_.shift[:3] > 99).all()
    of_array = GCWSNetClassifier(**SETTINGS).fit(np.ascontiguousarray(numbers), y)
    assert_array_equal(of_array.scaling_.shift, alone.scaling_.shift)


@pytest.mark.parametrize("scale", ["numeric", "minmax", "quantile", "local", None])
@pytest.mark.parametrize("missing", ["auto", "zero", "mean"])
def test_numbers_of_csr_rows_have_the_kernel_of_dense_ones(scale: str | None, missing: str) -> None:
    """Whether a table is dense or CSR. Only "standard" also shifts the columns of categories of dense rows."""
    X, _ = mixed_table(150)
    frame = open_frame(X)
    schema = learn_schema(frame, "nan")
    dense = encode_frame(frame, schema)
    numeric = np.array(["=" not in name for name in schema.feature_names()])
    settings = CoderSettings(n_hashes=16, p=1.0, scale=scale, missing=missing, relevance=0.0)
    kernels = []
    for rows, marked in ((dense, None), (sparse.csr_array(dense), numeric)):
        prepared = fit_coder(rows, settings, 0, numeric=marked)[0].preprocess(rows)
        kernels.append(pgmm_kernel(np.nan_to_num(prepared.toarray() if sparse.issparse(prepared) else prepared)))
    np.testing.assert_allclose(kernels[1], kernels[0], rtol=1e-12)


def test_a_frame_of_numbers_equals_an_array() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    of_array = GCWSNetClassifier(**SETTINGS).fit(X, y)
    of_frame = GCWSNetClassifier(**SETTINGS).fit(pd.DataFrame(X), y)
    assert_array_equal(of_frame.predict_proba(pd.DataFrame(X)), of_array.predict_proba(X))
    assert_array_equal(of_frame.predict_proba(X), of_array.predict_proba(X))
    assert not hasattr(of_frame, "feature_names_in_")
    assert_array_equal(of_array.predict_proba(pd.DataFrame(X)), of_array.predict_proba(X))
    named = GCWSNetClassifier(**SETTINGS).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_array_equal(named.predict_proba(X), of_array.predict_proba(X))


def test_a_model_of_an_array_names_the_text_in_a_frame() -> None:
    model = GCWSNetClassifier(**SETTINGS).fit(np.eye(4)[:, :2], [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"X must hold numbers, X\[0, 1\] is 'x'"):
        model.predict(pd.DataFrame([[1.0, "x"]]))
    with pytest.raises(ValueError, match=r"X\[1, 0\] is 'x'; .* take text in a frame"):
        model.fit(np.array([[1, 2], ["x", 3]], dtype=object), [0, 1])
    objects = np.array([[1, 2.5], [3, 4]], dtype=object)
    assert_array_equal(model.predict(objects), model.predict(objects.astype(float)))


def test_fitting_again_forgets_the_frame() -> None:
    model = GCWSNetClassifier(**SETTINGS).fit(*mixed_table())
    model.fit(np.eye(4), [0, 1, 0, 1])
    assert (model.schema_, model.n_features_in_) == (None, 4)
    assert not hasattr(model, "feature_names_in_")


def test_held_out_rows_are_frames_too() -> None:
    X, y = mixed_table()
    test, y_test = mixed_table(100, seed=1)
    model = GCWSNetClassifier(**SETTINGS).fit(X, y, eval_set=(shuffled(test), y_test))
    assert model.history_["eval_accuracy"][-1] == model.score(test, y_test)
    stopped = GCWSNetClassifier(**SETTINGS, early_stopping=True).fit(X, y)
    assert stopped.schema_ is not None


@pytest.mark.filterwarnings("ignore:.*none of its categories")
def test_a_stream_of_frames_has_the_schema_of_its_first_rows() -> None:
    X, y = mixed_table(900)
    first = X[X["city"] != "Lima"][:200]
    model = GCWSNetClassifier(**SETTINGS).partial_fit(first, y[first.index], classes=["no", "yes"])
    schema = model.schema_
    assert "city=Lima" not in model.get_feature_names_out()
    for begin in range(0, 900, 150):
        model.partial_fit(shuffled(X[begin : begin + 150]), y[begin : begin + 150])
    assert model.schema_ is schema
    assert model.score(X, y) > 0.7
    assert np.isfinite(model.predict_proba(X)).all()


def test_pipelines_and_cross_validation_take_frames() -> None:
    X, y = mixed_table(300)
    pipeline = make_pipeline(FunctionTransformer(), GCWSNetClassifier(**SETTINGS, epochs=5))
    assert cross_val_score(pipeline, X, y, cv=2).min() > 0.6


def test_a_regression_on_a_frame(tmp_path: Path) -> None:
    X, _ = mixed_table()
    target = X["flag"] * 2.0 + (X["city"] == "Rome") + X["size"].cat.codes
    model = GCWSNetRegressor(**SETTINGS, epochs=20).fit(X, target)
    assert model.score(X, target) > 0.7
    model.save(tmp_path / "model")
    assert_array_equal(gcwsnet.load(tmp_path / "model").predict(shuffled(X)), model.predict(X))


@pytest.mark.parametrize("missing", ["auto", "zero", "mean"])
def test_missing_values_of_a_frame_are_those_of_an_array(missing: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(3, 1, size=(300, 3)), rng.integers(0, 2, 300)
    X[rng.random(X.shape) < 0.2] = np.nan
    settings = SETTINGS | {"missing": missing}
    of_array = GCWSNetClassifier(**settings).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abc")).convert_dtypes()
    of_frame = GCWSNetClassifier(**settings).fit(frame, y)
    assert_array_equal(of_frame.predict_proba(frame), of_array.predict_proba(X))


def test_missing_values_are_allowed_by_the_tags_unless_they_are_errors() -> None:
    assert GCWSNetClassifier().__sklearn_tags__().input_tags.allow_nan
    assert not GCWSNetClassifier(missing="error").__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="missing must be one of 'auto', 'error', 'zero', 'mean', got missing='drop'"):
        GCWSNetClassifier(missing="drop").fit(np.eye(2), [0, 1])


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (pd.Series(["a", "b"] * 20), ["a", "b"]),
        (pd.Series(["a", "b"] * 20, dtype="string"), ["a", "b"]),
        (pd.Series(["a", "b"] * 20, dtype="category"), ["a", "b"]),
        (pd.Series([True, False] * 20), [False, True]),
        (pd.Series([True, False] * 20, dtype="boolean"), [False, True]),
        (pd.Series([3, 5] * 20, dtype="Int64"), [3, 5]),
        (pd.Series([3, 5] * 20, dtype="category"), [3, 5]),
        (pl.Series(["a", "b"] * 20), ["a", "b"]),
        (pa.chunked_array([["a", "b"] * 20]), ["a", "b"]),
    ],
    ids=["str", "string", "category", "bool", "boolean", "Int64", "numbers", "polars", "Arrow"],
)
def test_labels_of_frames(y: Any, classes: list[Any], tmp_path: Path) -> None:
    X = pd.DataFrame({"a": [0.0, 1.0] * 20, "b": ["x", "y"] * 20})
    model = GCWSNetClassifier(**SETTINGS, epochs=5).fit(X, y)
    assert model.classes_.tolist() == classes
    assert model.predict(X).tolist() == list(y) if not isinstance(y, pa.ChunkedArray) else y.to_pylist()
    model.save(tmp_path / "model")
    assert gcwsnet.load(tmp_path / "model").predict(X).tolist() == model.predict(X).tolist()


def test_labels_are_no_numbers() -> None:
    for y in (["a", "b", "a", "b"], pd.Series(["a", "b"] * 2), pd.Series(["a", "b"] * 2, dtype="category")):
        with pytest.raises(ValueError, match=r"y must be numbers for a regression, y\[0\] is 'a'; .*Classifier"):
            GCWSNetRegressor(**SETTINGS).fit(np.eye(4), y)


def test_a_table_of_texts_alone_is_searched_without_scalings_of_numbers() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"field {n}": rng.integers(0, 400, 400).astype(str) for n in range(4)})
    y = frame["field 0"].astype(int) % 2
    model = GCWSNetClassifier(16, hidden=(8,), epochs=1, random_state=0).fit(frame, y)
    assert {candidate.scale for candidate in model.selection_}.isdisjoint({"quantile", "local"})
