"""Untrusted model files that hold the state of a stream."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSNetClassifier, Predictor
from tests.estimators.hostile import change
from tests.estimators.test_hostile_files import SMALL

N, D = 2790, 4


def rows(n: int = N) -> tuple[Any, Any]:
    """Return positive columns, of which one is 5 until the warm-up is over, and one is always 3."""
    X = np.abs(np.random.default_rng(0).normal(size=(n, D))) + 0.01
    X[:2650, 2] = 5.0
    X[:, 3] = 3.0
    return X, np.array(list("abcd"))[np.arange(n) % 4]


def streams() -> dict[str, Any]:
    """Return the model of a stream."""
    X, y = rows()
    model = GCWSNetClassifier(**SMALL)
    for first, end in ((0, 2600), (2600, 2700), (2700, N)):
        model.partial_fit(X[first:end], y[first:end], classes=list("abcd"))
    return {"stream": model}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    for name, model in streams().items():
        model.save(folder / name, training_state=True)
    return folder


@pytest.mark.parametrize(
    ("name", "entries", "arrays", "message"),
    [
        ("stream", {"stream": []}, {}, "model.stream must be an object with named entries"),
        ("stream", {"stream": {}}, {}, "model.stream.grows is missing"),
        ("stream", {"stream.colour": 1}, {}, "model.stream has an entry 'colour'"),
        ("stream", {"stream.grows": 1}, {}, "model.stream.grows must be one of True, False, got 1"),
        ("stream", {"trainer.following": []}, {}, "trainer.following must be an object"),
        ("stream", {"trainer.following.colour": 1}, {}, "trainer.following has an entry 'colour'"),
        ("stream", {"trainer.following.scores": {"best": 1}}, {}, "following.scores has an entry 'best'"),
        ("stream", {"trainer.following.scores.last": "low"}, {}, "following.scores.last must be a number from 0"),
        ("stream", {"trainer.following.events": {}}, {}, "trainer.following.events must be a list"),
        ("stream", {"trainer.following.events": [1]}, {}, "trainer.following.events[0] must be an object"),
        ("stream", {"trainer.following.events": [{"rows": 1}]}, {}, "trainer.following.events[0].event is missing"),
        ("stream", {"trainer.following.events.0.rows": -1}, {}, "events[0].rows must be a whole number from 0 to"),
        ("stream", {"trainer.following.events.0.more": [[]]}, {}, "events[0].more must be a text, a number, a flag or"),
        ("stream", {"trainer.predicts_with": "best"}, {}, "predicts_with must be one of 'last', 'recent', 'average'"),
        ("stream", {}, {"averages.recent.layers.0.bias": None}, "averages.recent.layers.0.bias is missing"),
        ("stream", {"trainer.following.test": {}}, {}, "trainer.following has an entry 'test'"),
        ("stream", {"stream.watch": 4}, {}, "model.stream has an entry 'watch'"),
        ("stream", {}, {"version.factor": np.ones(4)}, "'version.factor' does not belong to a model"),
    ],
)
def test_what_does_not_fit_is_named(
    name: str, entries: dict[str, Any], arrays: dict[str, Any], message: str, copies: Path
) -> None:
    change(copies / name, entries, arrays)
    for load in (gcwsnet.load, Predictor.load):
        with pytest.raises(ValueError, match=re.escape(message)) as raised:
            load(copies / name)
        assert "take another copy" in str(raised.value)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_extreme_numbers_of_a_constant_column_can_be_saved_and_loaded(form: Any, tmp_path: Path) -> None:
    X, y = rows(3300)
    X[:, 2] *= np.where(np.arange(3300) % 2 == 0, 1e307, -3e307)
    X[:2650, 2] = 1.7e308
    X[2599, 3] = np.nan
    model, given = GCWSNetClassifier(**SMALL, missing="zero"), form(X)
    for first, end in ((0, 2600), (2600, 2700), (2700, 3300)):
        model.partial_fit(given[first:end], y[first:end], classes=list("abcd"))
    model.save(tmp_path / "model", training_state=True)
    loaded = gcwsnet.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(given), model.predict_proba(given))
    prepared = loaded.coder_.preprocess(given)
    found = prepared.toarray() if sparse.issparse(prepared) else prepared
    assert np.isfinite(found).all()
    assert 0.01 < np.abs(found[2700:, 2]).mean() < 10
