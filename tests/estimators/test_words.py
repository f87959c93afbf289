"""Columns of free text become their words, which are hashed, in frames and in files alike."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from gcwsnet import GCWSNetClassifier, export_onnx, load
from gcwsnet.estimators._input import as_frame, schema_of
from gcwsnet.files import read
from gcwsnet.tables._coder import CoderSettings
from gcwsnet.tables._encode import hash_to_columns
from gcwsnet.tables._frames import encode_frame

WORDS = [f"word{i}" for i in range(60)]


def reviews(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Rows with a price and a text, which tell a label together."""
    rng = np.random.default_rng(seed)
    good, price = rng.random(n) < 0.5, rng.normal(size=n).round(3)
    texts = [" ".join([*rng.choice(WORDS, 6), "Great!" if one else "Boring,", "film"]) for one in good]
    return pd.DataFrame({"price": price, "review": texts}), np.where(good, "up", "down")


def test_a_text_is_a_one_for_each_word() -> None:
    X, _ = reviews(30)
    X.loc[0, "review"], X.loc[1, "review"] = "Was it a great, GREAT film? It wasn't.", None
    schema = schema_of(as_frame(X), CoderSettings())
    assert schema is not None
    assert str(schema) == "price: number, review: text, words hashed"
    encoded = encode_frame(as_frame(X), schema).toarray()
    expected = hash_to_columns("review", ["was", "it", "a", "great", "film", "wasn't"], schema.hash_columns)
    assert sorted(np.flatnonzero(encoded[0, 1:]).tolist()) == sorted(set(expected.tolist()))
    assert set(encoded[0, 1:].tolist()) == {0.0, 1.0}
    assert not encoded[1, 1:].any()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_and_frames_give_the_same_rows(form: str, tmp_path: Path) -> None:
    X, y = reviews()
    path = tmp_path / f"rows.{form}"
    table = X.assign(label=y)
    table.to_csv(path, index=False) if form == "csv" else table.to_parquet(path)
    rows = read(path, label="label", missing="nan")
    schema = schema_of(as_frame(X), CoderSettings())
    assert schema is not None
    assert [column.words for column in rows.schema.columns] == [False, True]
    assert rows.schema.hash_columns == schema.hash_columns
    assert_array_equal(next(iter(rows)).X.toarray(), encode_frame(as_frame(X), schema).toarray())


def test_words_are_learned_from_and_stay_in_the_model_file(tmp_path: Path) -> None:
    X, y = reviews()
    model = GCWSNetClassifier(random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    model.save(tmp_path / "model.safetensors")
    assert_array_equal(load(tmp_path / "model.safetensors").predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="the column 'review' has words, which are hashed"):
        export_onnx(model, tmp_path / "model.onnx")


@pytest.mark.parametrize("kind", ["category", "few words", "few rows", "often the same"])
def test_other_texts_are_categories(kind: str) -> None:
    X, _ = reviews()
    if kind == "category":
        X = X.astype({"review": "category"})
    elif kind == "few words":
        X["review"] = [f"New York {i}" for i in range(400)]
    elif kind == "few rows":
        X = X[:15]
    else:
        X["review"] = X["review"].to_numpy()[np.arange(400) % math.floor(0.8 * 400)]
    schema = schema_of(as_frame(X), CoderSettings())
    assert schema is not None
    assert not any(column.words for column in schema.columns)
