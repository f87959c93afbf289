"""Model files of strangers that hold the state of a stream: its watch over columns, and its version of them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSNetClassifier, Predictor
from tests.estimators.hostile import change, content
from tests.estimators.test_hostile_files import SMALL, of_shape

N, D = 2790, 4
"""The warm-up buffer has 2600 rows; then columns change at row 2624, and 30 rows are of an unfinished block."""


def rows(n: int = N) -> tuple[Any, Any]:
    """Return positive columns: one that changes its unit, one that is 5 for a while, and one that is always 3."""
    X = np.abs(np.random.default_rng(0).normal(size=(n, D))) + 0.01
    X[2624:, 0] *= 1000
    X[:2650, 2] = 5.0
    X[:, 3] = 3.0
    return X, np.array(list("abcd"))[np.arange(n) % 4]


def streams() -> dict[str, Any]:
    """Return models with a watch, of dense rows and of sparse ones."""
    X, y = rows()
    made = {}
    for name, form in (("stream", np.asarray), ("sparse stream", sparse.csr_array)):
        model, given = GCWSNetClassifier(**SMALL), form(X)
        for first, end in ((0, 2600), (2600, 2700), (2700, N)):
            model.partial_fit(given[first:end], y[first:end], classes=list("abcd"))
        made[name] = model
    return made


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    for name, model in streams().items():
        model.save(folder / name)
    GCWSNetClassifier(**SMALL, scale=None).partial_fit(*rows()).save(folder / "not scaled")
    return folder


def numbers(*shape: int, value: float = 1.0) -> Any:
    return of_shape(*shape, dtype=np.float64, value=value)


def integers(*shape: int, value: int = 1) -> Any:
    return of_shape(*shape, dtype=np.int64, value=value)


def flags(*shape: int, value: int = 0) -> Any:
    return of_shape(*shape, dtype=np.uint8, value=value)


def entries(indptr: list[int], indices: list[int]) -> dict[str, Any]:
    made = {"indptr": np.array(indptr), "indices": np.array(indices), "data": np.ones(len(indices))}
    return {f"watch.{name}": array for name, array in made.items()}


def test_the_models_have_all_that_a_watch_can_have(saved: Path) -> None:
    arrays, description = content(saved / "stream")
    names = {name.removeprefix("watch.") for name in arrays if name.startswith("watch.")}
    assert names == {"constant", "value", "learned", "now", "unsettled", "parts", "settling", "latest"}
    assert description["stream"] == {"grows": False, "watch": 4}
    arrays, description = content(saved / "sparse stream")
    assert {"watch.run", "watch.data", "watch.indices", "watch.indptr"} <= arrays.keys()
    for one in (arrays, content(saved / "stream")[0]):
        assert one["version.factor"][0] < 0.01
        assert one["version.awake"].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("name", "entries", "arrays", "message"),
    [
        ("stream", {"stream": []}, {}, "model.stream must be an object with named entries"),
        ("stream", {"stream": {}}, {}, "model.stream.grows is missing"),
        ("stream", {"stream.colour": 1}, {}, "model.stream has an entry 'colour'"),
        ("stream", {"stream.grows": 1}, {}, "model.stream.grows must be one of True, False, got 1"),
        ("stream", {"stream": {"grows": True}}, {}, "'watch.constant' does not belong to a model"),
        ("stream", {"stream.watch": 9}, {}, "model.stream.watch must be a whole number from 0 to 8, got 9"),
        ("stream", {"stream.watch": -1}, {}, "model.stream.watch must be a whole number from 0 to 8, got -1"),
        ("stream", {"stream.watch": True}, {}, "model.stream.watch must be a whole number"),
        ("stream", {"stream.watch": 5}, {}, "watch.settling must have the shape (96, 4), got (128, 4)"),
        ("stream", {"stream.watch": 0}, {}, "'watch.settling' does not belong to a model"),
        ("not scaled", {"stream": {"grows": True, "watch": 0}}, {}, "model.stream.watch must be missing where columns"),
        ("stream", {}, {"watch.colour": flags(4)}, "'watch.colour' does not belong to a model"),
        ("stream", {}, {"watch.constant": None}, "the array watch.constant is missing"),
        ("stream", {}, {"watch.constant": flags(5)}, "watch.constant must have the shape (4), got (5,)"),
        ("stream", {}, {"watch.constant": numbers(4)}, "watch.constant must be of the type uint8, got float64"),
        ("stream", {}, {"watch.constant": flags(4, value=2)}, "watch.constant must hold 0 and 1"),
        ("stream", {}, {"watch.constant": flags(4)}, "watch.constant must mark the constant columns of preproc"),
        ("stream", {}, {"watch.unsettled": flags(4, value=7)}, "watch.unsettled must hold 0 and 1"),
        ("stream", {}, {"watch.value": numbers(4, value=np.nan)}, "watch.value must hold finite numbers"),
        ("stream", {}, {"watch.value": of_shape(4)}, "watch.value must be of the type float64, got float32"),
        ("stream", {}, {"watch.learned": numbers(3, 4)}, "watch.learned must have the shape (2, 4), got (3, 4)"),
        ("stream", {}, {"watch.learned": numbers(2, 4, value=-1)}, "watch.learned must hold no range below 0"),
        ("stream", {}, {"watch.learned": numbers(2, 4, value=np.inf)}, "watch.learned must hold finite numbers, or"),
        ("stream", {}, {"watch.now": numbers(2, 4, value=np.nan)}, "watch.now must have ranges above 0 where"),
        ("stream", {}, {"watch.now": numbers(2, 3)}, "watch.now must have the shape (2, 4)"),
        ("stream", {}, {"watch.latest": numbers(3, 4)}, "watch.latest must have two rows for each of 1 to 16"),
        ("stream", {}, {"watch.latest": numbers(34, 4)}, "watch.latest must have two rows for each of 1 to 16"),
        ("stream", {}, {"watch.latest": numbers(2, 5)}, "watch.latest must have the shape (any, 4)"),
        ("stream", {}, {"watch.latest": numbers(2, 4, value=-1)}, "watch.latest must hold no range below 0"),
        (
            "stream",
            {},
            {"watch.latest": np.array([[0.0] * 4, [np.nan] * 4])},
            "watch.latest must hold a median for each range",
        ),
        ("stream", {}, {"watch.parts": numbers(32, 4)}, "watch.parts must have from 1 to 31 rows"),
        ("stream", {}, {"watch.parts": numbers(3, 9)}, "watch.parts must have the shape (any, 4)"),
        ("stream", {}, {"watch.parts": numbers(3, 4, value=np.inf)}, "watch.parts must hold finite numbers, or NaN"),
        (
            "stream",
            {},
            {"watch.settling": numbers(128, 4, value=-np.inf)},
            "watch.settling must hold finite numbers, or",
        ),
        ("stream", {}, {"watch.settling": None}, "the array watch.settling is missing"),
        ("stream", {}, {"watch.run": integers(4)}, "model.stream.watch must be one of 0, got 4"),
        ("stream", {"coder.version": -1}, {}, "coder.version must be a whole number"),
        ("stream", {}, {"version.awake": flags(4, value=3)}, "version.awake must hold 0 and 1"),
        ("stream", {}, {"version.factor": numbers(4, value=0)}, "version.factor must hold numbers above 0"),
        ("stream", {}, {"version.factor": numbers(4, value=np.inf)}, "version.factor must hold finite numbers"),
        ("stream", {}, {"version.deviation": numbers(4, value=-1)}, "version.deviation must hold numbers above 0"),
        ("stream", {}, {"version.shift": numbers(4, value=np.nan)}, "version.shift must hold finite numbers"),
        ("stream", {}, {"version.mean": numbers(2)}, "version.mean must have the shape (4), got (2,)"),
        ("stream", {"trainer.following": []}, {}, "trainer.following must be an object"),
        ("stream", {"trainer.following.colour": 1}, {}, "trainer.following has an entry 'colour'"),
        ("stream", {"trainer.following.scores": {"best": 1}}, {}, "scores.best must not be there beside last, recent"),
        ("stream", {"trainer.following.scores.last": "low"}, {}, "following.scores.last must be a number from 0"),
        ("stream", {"trainer.following.test.rows": -1}, {}, "following.test.rows must be a whole number"),
        ("stream", {"trainer.following.test.mean": None}, {}, "following.test.mean must be a number from 0"),
        ("stream", {"trainer.following.test": {}}, {}, "trainer.following.test"),
        ("stream", {"trainer.following.changed_at": "now"}, {}, "changed_at must be a whole number from 0 to 2790"),
        ("stream", {"trainer.following.changed_at": 2**40}, {}, "changed_at must be a whole number from 0 to 2790"),
        ("stream", {"trainer.following.events": {}}, {}, "trainer.following.events must be a list"),
        ("stream", {"trainer.following.events": [1]}, {}, "trainer.following.events[0] must be an object"),
        ("stream", {"trainer.following.events": [{"rows": 1}]}, {}, "trainer.following.events[0].event is missing"),
        ("stream", {"trainer.following.events.0.rows": -1}, {}, "events[0].rows must be a whole number from 0 to 2790"),
        ("stream", {"trainer.following.events.0.more": [[]]}, {}, "events[0].more must be a text, a number, a flag or"),
        ("stream", {"trainer.predicts_with": "best"}, {}, "predicts_with must be one of 'last', 'recent', 'average'"),
        ("stream", {}, {"averages.recent.layers.0.bias": None}, "averages.recent.layers.0.bias is missing"),
        ("sparse stream", {"stream.watch": 3}, {}, "model.stream.watch must be one of 0, got 3"),
        ("sparse stream", {}, {"watch.run": None}, "the array watch.unsettled is missing"),
        ("sparse stream", {}, {"watch.run": integers(4, value=2)}, "watch.run must hold numbers from -15 to 1"),
        ("sparse stream", {}, {"watch.run": integers(4, value=-16)}, "watch.run must hold numbers from -15 to 1"),
        ("sparse stream", {}, {"watch.run": numbers(4)}, "watch.run must be of the type int64, got float64"),
        ("sparse stream", {}, {"watch.count": integers(4, value=-1)}, "watch.count must hold numbers from 0 to 15"),
        ("sparse stream", {}, {"watch.count": integers(4, value=16)}, "watch.count must hold numbers from 0 to 15"),
        ("sparse stream", {}, {"watch.count": integers(9)}, "watch.count must have the shape (4)"),
        ("sparse stream", {}, {"watch.total": numbers(4, value=np.nan)}, "watch.total must hold finite numbers"),
        ("sparse stream", {}, {"watch.total": numbers(4, value=1e9)}, "watch.total must hold numbers up to 4096 times"),
        ("sparse stream", {}, {"watch.before": None}, "the array watch.before is missing"),
        ("sparse stream", {}, {"watch.before": numbers(4, value=np.nan)}, "watch.before must hold finite numbers"),
        ("sparse stream", {}, {"watch.learned": numbers(4, value=1e300)}, "watch.learned must hold numbers up to 4096"),
        ("sparse stream", {}, {"watch.now": numbers(4, value=-5000)}, "watch.now must hold numbers up to 4096"),
        ("sparse stream", {}, {"watch.value": numbers(4, value=np.inf)}, "watch.value must hold finite numbers"),
        ("sparse stream", {}, {"watch.unseen": flags(4, value=9)}, "watch.unseen must hold 0 and 1"),
        ("sparse stream", {}, {"watch.data": None}, "the array watch.data is missing"),
        ("sparse stream", {}, {"watch.indptr": None}, "'watch.data' does not belong to a model"),
        ("sparse stream", {}, entries([0], []), "watch.indptr must be of 1 to 31 rows"),
        ("sparse stream", {}, entries([0] * 33, []), "watch.indptr must be of 1 to 31 rows"),
        ("sparse stream", {}, entries([0, 5], [0, 1]), "watch.indptr must rise from 0 to 2"),
        ("sparse stream", {}, entries([0, 2, 1, 2], [0, 1]), "watch.indptr must rise from 0 to 2"),
        (
            "sparse stream",
            {},
            entries([0, 2], [1, 0]),
            "watch.indices must hold the columns below 4 of each row in asc",
        ),
        (
            "sparse stream",
            {},
            entries([0, 2], [1, 1]),
            "watch.indices must hold the columns below 4 of each row in asc",
        ),
        ("sparse stream", {}, entries([0, 2], [1, 4]), "watch.indices must hold the columns below 4"),
        ("sparse stream", {}, entries([0, 2], [-1, 2]), "watch.indices must hold the columns below 4"),
        (
            "sparse stream",
            {},
            entries([0, 1], [0]) | {"watch.data": numbers(1, value=np.inf)},
            "watch.data must hold finite numbers, or NaN",
        ),
        (
            "sparse stream",
            {},
            {"watch.indices": np.zeros(3, dtype=np.int16)},
            "watch.indices must be of the type int32 or int64",
        ),
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
def test_extreme_numbers_give_a_version_that_can_be_saved_and_loaded(form: Any, tmp_path: Path) -> None:
    """Columns that change by more than the largest number, one of large numbers that wakes, and a missing value."""
    X, y = rows(3300)
    X[2624:, 0] *= 1e300
    X[:, 1] *= np.where(np.arange(3300) < 2624, 1e300, 1e-300)
    X[:, 2] *= np.where(np.arange(3300) % 2 == 0, 1e307, 3e307)
    X[:2650, 2] = 5e307
    X[2599, 3] = np.nan
    model, given = GCWSNetClassifier(**SMALL, missing="zero"), form(X)
    for first, end in ((0, 2600), (2600, 2700), (2700, 3300)):
        model.partial_fit(given[first:end], y[first:end], classes=list("abcd"))
    model.save(tmp_path / "model")
    loaded = gcwsnet.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(given), model.predict_proba(given))
    version = loaded.coder_.version
    assert version.awake.tolist() == [False, False, True, False]
    assert version.factor[0] < 1e-250
    assert version.factor[1] > 1e300
    prepared = version.wake(given, version.align(given))
    found = prepared.toarray() if sparse.issparse(prepared) else prepared
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X))
    assert not np.isinf(found).any()
    assert 0.01 < np.abs(found[2700:, 2]).mean() < 10
