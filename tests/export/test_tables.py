"""Exported models of tables: one input for each column, with text, dates and missing values."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier
from tests.cli.command import fail, succeed
from tests.estimators.tables import mixed_table
from tests.export.graphs import assert_same, outputs_of, session_of

SMALL: dict[str, Any] = {"n_hashes": 24, "epochs": 1, "hidden": (8,), "random_state": 0}


@pytest.mark.filterwarnings("ignore:.*none of its categories")
@pytest.mark.parametrize("scale", ["auto", "numeric", "standard", "minmax", "quantile", "local", None])
def test_columns_of_all_kinds_give_the_same_codes(scale: str | None, tmp_path: Path) -> None:
    frame, y = mixed_table(500)
    later, _ = mixed_table(400, seed=1)
    later.loc[::9, "city"] = "Paris"  # not in training
    later.loc[::7, "when"] = pd.NaT
    later.loc[::11, "long"] = pd.NaT
    later["size"] = later["size"].astype(object).where(np.arange(400) % 5 > 0, None)
    model = GCWSNetClassifier(scale=scale, **SMALL).fit(frame, y)
    session = assert_same(model, later, tmp_path)
    assert all(one.shape[1] == 1 for one in session.get_inputs())
    types = {one.name: one.type.removeprefix("tensor(").rstrip(")") for one in session.get_inputs()}
    numbers, texts, times = ["height", "flag"], ["city", "size", "code"], ["when", "long"]
    expected = dict.fromkeys(numbers, "double") | dict.fromkeys(texts, "string") | dict.fromkeys(times, "int64")
    assert types == expected


@pytest.mark.parametrize("scale", ["numeric", "local", "tfidf"])
def test_many_categories_in_several_columns_give_the_same_codes(scale: str, tmp_path: Path) -> None:
    """More than 1,000 columns of categories are sparse in Python, and its numbers are treated like dense ones."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"c{j}": [f"x{i}" for i in rng.integers(0, 95, 3000)] for j in range(11)}
    columns["size"] = np.where(rng.random(3000) < 0.1, np.nan, rng.normal(size=3000))
    frame = pd.DataFrame(columns)
    model = GCWSNetClassifier(scale=scale, relevance=0.5, p=1.0, **SMALL).fit(frame, (frame["size"] > 0).astype(int))
    assert model.schema_ is not None
    assert model.schema_.is_sparse
    assert_same(model, frame[:300], tmp_path)


def test_columns_may_have_the_names_of_outputs(tmp_path: Path) -> None:
    frame = pd.DataFrame({"label": [1.0, 2.0, 3.0, 4.0], "gcwsnet/1": ["a", "b", "a", "b"]})
    model = GCWSNetClassifier(**SMALL).fit(frame, [0, 1, 0, 1])
    found = outputs_of(session_of(model, tmp_path), frame)
    assert list(found) == ["predicted_label", "probabilities"]
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(frame), rtol=0, atol=1e-12)


def test_a_regression_on_a_table_gives_the_same_numbers(tmp_path: Path) -> None:
    frame, _ = mixed_table(500)
    assert_same(GCWSNetRegressor(**SMALL).fit(frame, np.arange(500.0)), frame, tmp_path)


def test_a_rank_that_python_refuses_has_no_probabilities(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": pd.Categorical(list("smlsml"), categories=list("sml"), ordered=True)})
    model = GCWSNetClassifier(missing="error", **SMALL).fit(frame, [0, 1, 0, 1, 0, 1])
    later = pd.DataFrame({"size": ["s", "other", "l"]})
    found = outputs_of(session_of(model, tmp_path), later)["probabilities"]
    np.testing.assert_array_equal(np.isnan(found).any(axis=1), [False, True, False])


def test_hashed_text_is_an_error_that_names_the_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": np.arange(300.0), "street": [f"street {i}" for i in range(300)]})
    model = GCWSNetClassifier(**SMALL).fit(frame, np.arange(300) % 2)
    with pytest.raises(ValueError, match=r"the column 'street' has more than 100 .* or leave the column out"):
        gcwsnet.export_onnx(model, tmp_path / "model.onnx")


def test_a_type_of_rows_has_no_meaning_for_a_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0]})
    model = GCWSNetClassifier(**SMALL).fit(frame, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="got dtype='float32' and a model of a table; leave it out"):
        gcwsnet.export_onnx(model, tmp_path / "model.onnx", dtype="float32")


def test_the_command_writes_the_same_graph(tmp_path: Path) -> None:
    frame, y = mixed_table(200)
    model = GCWSNetClassifier(**SMALL).fit(frame, y)
    model.save(tmp_path / "model.safetensors")
    succeed("export", tmp_path / "model.safetensors", "--onnx", tmp_path / "one.onnx", "--codes")
    gcwsnet.export_onnx(model, tmp_path / "other.onnx", codes=True)
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "other.onnx").read_bytes()
    PGMMClassifier().fit(frame, y).save(tmp_path / "machine.safetensors")
    message = fail("export", tmp_path / "machine.safetensors", "--onnx", tmp_path / "machine.onnx")
    assert "a PGMMClassifier cannot be exported" in message
