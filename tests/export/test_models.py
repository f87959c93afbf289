"""Exported models of arrays: codes bit for bit, probabilities within 1e-12, and what cannot be exported."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, Predictor
from tests.export.graphs import as_type, assert_same, odd_rows, onnx, outputs_of, session_of

SMALL: dict[str, Any] = {"n_hashes": 24, "epochs": 1, "random_state": 0}
X, Y = load_digits(return_X_y=True)
X = X[:, 10:30] + np.random.default_rng(0).normal(size=(len(X), 20)) * (np.arange(20) % 3 == 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("relevance", [0.0, 1.0])
@pytest.mark.parametrize("scale", [None, "numeric", "standard", "minmax", "quantile", "local", "idf", "unit", "tfidf"])
def test_every_scaling_gives_the_same_codes(scale: str | None, relevance: float, dtype: str, tmp_path: Path) -> None:
    train = X[:300].copy()
    train[:, 4] = train[:, 4] > 8  # a binary column
    train[:, 5] = 3.0  # a constant one
    train[:, 6] = np.floor(train[:, 6] / 4)  # one with few different numbers
    model = GCWSNetClassifier(scale=scale, relevance=relevance, p=1.0, hidden=(8,), **SMALL)
    model.fit(as_type(train, dtype), Y[:300])
    rows = as_type(np.concatenate([train, X[300:500], odd_rows(20)]), dtype)
    assert_same(model, rows, tmp_path, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("relevance", [0.0, 0.5])
def test_codes_of_a_table_give_the_same_codes(relevance: float, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 40, 600)
    train = as_type(np.column_stack([rng.normal(size=600), shop]), dtype)
    model = GCWSNetClassifier(scale="levels", relevance=relevance, p=1.0, hidden=(8,), **SMALL)
    model.fit(train, rng.integers(0, 3, 40)[shop])
    assert len(model.scaling_.values) == 40
    odd = [[0.5, 3.5], [0.5, 41.0], [0.5, -1.0], [np.nan, 7.0], [0.5, np.nan], [np.nan, np.nan]]
    assert_same(model, as_type(np.concatenate([train, odd]), dtype), tmp_path, dtype)


@pytest.mark.parametrize("scale", ["quantile", "local"])
def test_numbers_at_the_boundaries_of_quantiles_give_the_same_codes(scale: str, tmp_path: Path) -> None:
    train = np.random.default_rng(0).normal(size=(60, 2)) * [1e-290, 1e307]
    train[:20, 0] = train[0, 0]
    model = GCWSNetClassifier(scale=scale, relevance=0.0, p=1.0, hidden=(4,), **SMALL).fit(train, Y[:60] % 2)
    table = model.scaling_.quantiles if scale == "quantile" else model.scaling_.knots
    places = np.unique(table)
    near = np.concatenate([places, np.nextafter(places, np.inf), np.nextafter(places, -np.inf)])
    assert_same(model, np.column_stack([near, near[::-1]]), tmp_path)


@pytest.mark.parametrize("missing", ["auto", "zero", "mean"])
@pytest.mark.parametrize("scale", ["numeric", "quantile", "local", "unit", None])
def test_missing_numbers_give_the_same_codes(missing: str, scale: str | None, tmp_path: Path) -> None:
    rows = X[:400].copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    rows[7] = np.nan
    settings: dict[str, Any] = {"relevance": 0.5, "p": 2.0, "hidden": (8,), "missing": missing, "additive": 0.5}
    model = GCWSNetClassifier(scale=scale, **settings, **SMALL)
    assert_same(model.fit(rows[:300], Y[:300]), rows, tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden": ()},
        {"hidden": (20,), "ensemble": 3},
        {"hidden": (33, 17)},
        {"hidden": (16,), "bits": 12, "reduction": "8bit"},
        {"hidden": (), "bits": 10, "reduction": 7, "ensemble": 2},
        {"hidden": (16,), "t_bits": 2, "bits": 5},
        {"hidden": (16,), "t_bits": 0, "encoding": "lowbits"},
        {"hidden": (16,), "additive": 0.3, "ensemble": 2},
        {"hidden": (16,), "additive": 0.3, "bits": 12, "reduction": 2},
    ],
    ids=str,
)
def test_every_net_gives_the_same_outputs(settings: dict[str, Any], tmp_path: Path) -> None:
    model = GCWSNetClassifier(p=1.0, scale="numeric", **SMALL | settings).fit(X[:600], Y[:600])
    assert_same(model, X, tmp_path)


LABELS = {
    "int": Y,
    "str": np.array(list("abcdefghij"))[Y],
    "bool": Y > 4,
    "float": Y.astype(float),
    "several": np.column_stack([Y > 4, Y % 2, Y == 3]).astype(int),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_keep_their_type(labels: Any, tmp_path: Path) -> None:
    model = GCWSNetClassifier(hidden=(8,), **SMALL).fit(X[:500], labels[:500])
    assert_same(model, X[500:700], tmp_path)


def test_the_temperature_is_part_of_the_probabilities(tmp_path: Path) -> None:
    model = GCWSNetClassifier(n_hashes=32, random_state=0).fit(X[:400], Y[:400])
    assert model.trainer_.targets.temperature != 1
    assert_same(model, X, tmp_path)


@pytest.mark.parametrize("ensemble", [1, 3])
@pytest.mark.parametrize("n_targets", [None, 2])
def test_regressions_give_the_same_numbers(n_targets: int | None, ensemble: int, tmp_path: Path) -> None:
    y = X[:, 0] if n_targets is None else X[:, :n_targets]
    model = GCWSNetRegressor(hidden=(8,), ensemble=ensemble, **SMALL).fit(X[:500], y[:500] * 1e5)
    assert_same(model, X, tmp_path)


def test_a_model_of_a_stream_predicts_with_its_averages(tmp_path: Path) -> None:
    model = GCWSNetClassifier(hidden=(8,), **{**SMALL, "epochs": "auto"})
    for first in range(0, 1500, 300):
        model.partial_fit(X[first : first + 300], Y[first : first + 300], classes=np.arange(10))
    assert model.trainer_.net.averaging == "recent"
    model.trainer_.net.predicts_with = "recent"
    assert_same(model, X, tmp_path)


@pytest.mark.parametrize("scale", ["numeric", "tfidf", "minmax", "idf", None])
def test_a_model_of_sparse_rows_takes_the_same_rows_dense(scale: str | None, tmp_path: Path) -> None:
    rows = np.abs(X) * (np.random.default_rng(0).random(X.shape) < 0.4)
    model = GCWSNetClassifier(scale=scale, hidden=(8,), relevance=0.0, **SMALL).fit(
        sparse.csr_array(rows[:500]), Y[:500]
    )
    found = outputs_of(session_of(model, tmp_path, codes=True), rows)
    np.testing.assert_array_equal(found["codes"], model.coder_.codes(sparse.csr_array(rows)))
    np.testing.assert_array_equal(found["label"], model.predict(sparse.csr_array(rows)))


def test_rows_that_python_refuses_have_no_probabilities(tmp_path: Path) -> None:
    model = GCWSNetClassifier(hidden=(8,), missing="error", **SMALL).fit(X[:500], Y[:500])
    rows = X[:4].copy()
    rows[1, 3], rows[2, 5] = np.inf, np.nan
    found = outputs_of(session_of(model, tmp_path), rows)["probabilities"]
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False, True, True, False])
    np.testing.assert_allclose(found[[0, 3]], model.predict_proba(rows[[0, 3]]), rtol=0, atol=1e-12)


def test_a_predictor_and_a_saved_model_give_the_same_file(tmp_path: Path) -> None:
    model = GCWSNetClassifier(hidden=(8,), **SMALL).fit(X[:300], Y[:300])
    model.save(tmp_path / "model.safetensors")
    contents = []
    for one in (model, gcwsnet.load(tmp_path / "model.safetensors"), Predictor.load(tmp_path / "model.safetensors")):
        gcwsnet.export_onnx(one, tmp_path / "model.onnx")
        graph = onnx.load(tmp_path / "model.onnx")
        contents.append(graph.graph.SerializeToString(deterministic=True))
    assert contents[0] == contents[1] == contents[2]


def test_the_file_is_one_that_onnx_writes_too(tmp_path: Path) -> None:
    """Large constants are written without protobuf: it reads each of them once, and has nothing to add."""
    model = GCWSNetClassifier(hidden=(8,), **SMALL).fit(X[:300], Y[:300])
    gcwsnet.export_onnx(model, tmp_path / "model.onnx")
    read = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(read, full_check=True)
    assert len(read.SerializeToString()) == (tmp_path / "model.onnx").stat().st_size
    names = [one.name for one in read.graph.initializer]
    assert len(names) == len(set(names))
    tables = [onnx.numpy_helper.to_array(one) for one in read.graph.initializer if one.dims[1:] == [8]]
    rows = model.trainer_.net.pack("float32").arrays["layers.0.weight"]
    assert not any(table.size > rows.size for table in tables)
    gcwsnet.export_onnx(model.compress("float32"), tmp_path / "model.onnx")
    tables = [onnx.numpy_helper.to_array(one) for one in onnx.load(tmp_path / "model.onnx").graph.initializer]
    assert any(table.shape == (len(rows) + 1, 8) and (table[:-1] == rows).all() for table in tables)


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    model = GCWSNetClassifier(hidden=(8,), p=2.0, **SMALL).fit(X[:300], np.where(Y[:300] > 4, "high", "low"))
    session = session_of(model, tmp_path)
    about = {name: json.loads(value) for name, value in session.get_modelmeta().custom_metadata_map.items()}
    expected = {"estimator": "GCWSNetClassifier", "classes": ["high", "low"], "p": 2.0, "n_hashes": 24, "seed": 0}
    assert about.items() >= (expected | {"gcwsnet_version": gcwsnet.__version__, "hash_version": 1}).items()
    assert [one.name for one in session.get_inputs()] == ["X"]
    assert [one.name for one in session.get_outputs()] == ["label", "probabilities"]
    assert {one.version for one in onnx.load(tmp_path / "model.onnx").opset_import} == {18, 3}


def test_a_graph_that_is_too_large_names_its_size_and_the_way_out(tmp_path: Path) -> None:
    wide = GCWSNetClassifier(
        hidden=(2,), n_hashes=1024, bits=1, scale=None, p=1.0, ensemble=2, epochs=1, random_state=0
    )
    wide.fit(sparse.csr_array((np.ones(2), ([0, 1], [0, 49_999])), shape=(2, 50_000)), [0, 1])
    rule = r"less than 2 GiB, and this one would have 2\.3 GiB: 2\.3 GiB for the parameters of 2048 hashes of 100000 "
    with pytest.raises(ValueError, match=rule + r"features, .* fit with fewer columns or fewer hashes"):
        gcwsnet.export_onnx(wide, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_exported_is_an_error(tmp_path: Path) -> None:
    machine = PGMMClassifier().fit(X[:30], Y[:30])
    models: list[tuple[Any, type[Exception], str]] = [
        (machine, ValueError, r"a PGMMClassifier cannot be exported: .* or use gcwsnet.load"),
        (Predictor(machine.coder_, machine.machine_), ValueError, "a Predictor of a kernel machine cannot be exported"),
        ("model", TypeError, r"model must be a GCWSNetClassifier, .* got a str"),
        (GCWSNetClassifier(), ValueError, "not fitted yet"),
    ]
    for model, error, message in models:
        with pytest.raises(error, match=message):
            gcwsnet.export_onnx(model, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="dtype must be one of 'float64', 'float32', got dtype='float16'"):
        gcwsnet.export_onnx(GCWSNetClassifier(), tmp_path / "model.onnx", dtype="float16")
