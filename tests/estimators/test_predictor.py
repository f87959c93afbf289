"""Predictions without an estimator: the same bits as the estimator's, and nothing heavy imported."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, Predictor

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=(400, 3)), rng.integers(0, 2, (400, 2))])
LABELS = np.where(X[:, 0] > 0, "high", "low")


def classifier(**settings: Any) -> GCWSNetClassifier:
    return GCWSNetClassifier(
        **{"n_hashes": 16, "hidden": (8,), "p": 1.0, "missing": "error", "random_state": 0, **settings}
    )


@pytest.fixture
def saved(tmp_path: Path) -> tuple[GCWSNetClassifier, Path]:
    model = classifier().fit(X, LABELS)
    model.save(tmp_path / "model.safetensors")
    return model, tmp_path / "model.safetensors"


@pytest.mark.parametrize("scale", [None, "numeric", "standard", "minmax", "quantile", "idf", "unit", "tfidf"])
def test_a_predictor_predicts_what_the_estimator_does(scale: str | None, tmp_path: Path) -> None:
    rows = np.abs(X)
    model = classifier(scale=scale).fit(rows, LABELS)
    model.save(tmp_path / "model.safetensors")
    predictor = Predictor.load(tmp_path)
    np.testing.assert_array_equal(predictor.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(predictor.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(predictor.classes_, model.classes_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_alone_has_the_bits_that_it_has_in_a_batch(dtype: type, saved: tuple[GCWSNetClassifier, Path]) -> None:
    rows: Any = X.astype(dtype)
    for predictor in (saved[0], Predictor.load(saved[1])):
        alone = [predictor.predict_proba(rows[i : i + 1]) for i in range(len(rows))]
        np.testing.assert_array_equal(np.concatenate(alone), predictor.predict_proba(rows))


def test_a_predictor_of_a_regression_predicts_numbers_and_no_probabilities(tmp_path: Path) -> None:
    model = GCWSNetRegressor(16, hidden=(8,), p=1.0, random_state=0).fit(X, X[:, :2])
    model.save(tmp_path / "model.safetensors")
    predictor = Predictor.load(tmp_path, n_jobs=2)
    np.testing.assert_array_equal(predictor.predict(X), model.predict(X))
    with pytest.raises(AttributeError, match="a regression has no classes and no probabilities; use predict"):
        predictor.predict_proba(X)


def test_a_predictor_of_a_stream_has_the_averaged_weights(tmp_path: Path) -> None:
    stream = classifier(scale=None)
    for first in range(0, 400, 100):
        stream.partial_fit(X[first : first + 100], LABELS[first : first + 100], classes=["high", "low"])
    stream.save(tmp_path / "model.safetensors", training_state=True)
    np.testing.assert_array_equal(Predictor.load(tmp_path).predict_proba(X), stream.predict_proba(X))
    stream.save(tmp_path / "model.safetensors")
    predicted = Predictor.load(tmp_path).predict_proba(X)
    np.testing.assert_allclose(predicted, stream.predict_proba(X), atol=0.05)
    np.testing.assert_array_equal(predicted, stream.compress().predict_proba(X))


def test_a_predictor_takes_what_the_estimator_takes(saved: tuple[GCWSNetClassifier, Path]) -> None:
    pandas = pytest.importorskip("pandas")
    model, path = saved
    predictor = Predictor.load(path)
    expected = model.predict_proba(X)
    for rows in (X.tolist(), pandas.DataFrame(X), np.asfortranarray(X), X.astype(">f8")):
        np.testing.assert_array_equal(predictor.predict_proba(rows), expected)
    unscaled = classifier(scale=None).fit(X, LABELS)
    predictor = Predictor(unscaled.coder_, unscaled.trainer_.net)
    np.testing.assert_array_equal(predictor.predict_proba(sparse.csr_array(X)), unscaled.predict_proba(X))


def test_a_predictor_names_what_is_wrong_with_rows(saved: tuple[GCWSNetClassifier, Path]) -> None:
    predictor = Predictor.load(saved[1])
    with pytest.raises(ValueError, match="X has 2 features, but Predictor is expecting 5 features"):
        predictor.predict(X[:, :2])
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        rows = X.copy()
        rows[3, 1] = value
        with pytest.raises(ValueError, match=rf"every entry must be finite.*X\[3, 1\] is {name}"):
            predictor.predict(rows)


def test_a_file_without_a_net_is_refused(tmp_path: Path) -> None:
    from gcwsnet.estimators._tensor_file import write_file  # noqa: PLC0415

    arrays, coder = classifier().fit(X, LABELS).coder_.state()
    write_file(tmp_path / "model.safetensors", arrays, {"coder": coder})
    for load in (Predictor.load, gcwsnet.load):
        with pytest.raises(ValueError, match="holds no net"):
            load(tmp_path)


@pytest.mark.parametrize("model", [classifier(), PGMMClassifier(p=2.0, scale="numeric")], ids=["net", "machine"])
def test_predicting_imports_neither_scikit_learn_nor_scipy(model: Any, tmp_path: Path) -> None:
    model.fit(X, LABELS).save(tmp_path / "model.safetensors")
    program = (
        "import sys, numpy, gcwsnet\n"
        f"predictor = gcwsnet.Predictor.load({str(tmp_path)!r})\n"
        "predictor.predict_proba(numpy.zeros((1, 5))), predictor.predict(numpy.zeros((2, 5), dtype='f4'))\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'pandas', 'matplotlib', 'joblib', 'pyarrow'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
