"""Streams that change: `partial_fit` follows labels, columns and classes; models that are saved meanwhile."""

import copy
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.tables._preprocessing import TablePreprocessing


def clusters(n: int, seed: int = 0, columns: int = 10, classes: int = 5) -> tuple[Any, Any]:
    """Rows in three clusters of each class."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).normal(size=(3 * classes, columns))
    cluster = rng.integers(0, 3 * classes, n)
    return centers[cluster] + 0.5 * rng.normal(size=(n, columns)), cluster % classes


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {"n_hashes": 64, "hidden": (32,), "p": 1.0, "relevance": 0, "random_state": 0}
    return GCWSNetClassifier(**defaults | {"scale": "numeric"} | settings)


def hits(model: Any, X: Any, y: Any, size: int = 32, **first: Any) -> Any:
    """Return whether each row was predicted before it was learned."""
    found = np.zeros(len(y), dtype=bool)
    for begin in range(0, len(y), size):
        rows = slice(begin, begin + size)
        if hasattr(model, "trainer_"):
            found[rows] = model.predict(X[rows]) == y[rows]
        model.partial_fit(X[rows], y[rows], **first if begin == 0 else {})
    return found


def test_labels_that_are_exchanged_are_learned_again() -> None:
    X, y = clusters(6000)
    y[4000:] = (y[4000:] + 1) % 5
    model = small()
    found = hits(model, X, y, classes=range(5))
    assert found[3000:4000].mean() > 0.9
    assert found[4500:6000].mean() > 0.85


def test_a_stream_that_stays_as_it_is_is_averaged() -> None:
    X, y = clusters(6000)
    noisy = np.where(np.random.default_rng(0).random(6000) < 0.2, (y + 1) % 5, y)
    model = small()
    hits(model, X, noisy, classes=range(5))
    assert model.trainer_.net.predicts_with == "recent"


@pytest.mark.parametrize(
    ("scale", "form"),
    [
        ("numeric", np.asarray),
        ("minmax", np.asarray),
        ("quantile", np.asarray),
        ("local", np.asarray),
        ("numeric", sparse.csr_array),
    ],
)
def test_columns_that_are_constant_at_first_count_when_they_vary(scale: str, form: Any) -> None:
    X, y = clusters(5500)
    X[:2700, 3:] = 1.0
    found = hits(small(scale=scale), form(X), y, classes=range(5))
    assert found[2000:2700].mean() < 0.7
    assert found[-1000:].mean() > 0.85


def test_columns_that_begin_to_vary_by_the_noise_of_floats_do_not_drown_the_others() -> None:
    X, y = clusters(4000)
    X = np.column_stack([X, np.full((4000, 2), 0.500526)])
    X[2700:, -2:] += 1e-15 * np.random.default_rng(0).normal(size=(1300, 2))
    X[2800:, -1] += np.where(np.arange(1200) % 9 == 0, 0.1, 0.0)
    found = hits(small(), X, y, 1, classes=range(5))
    assert found[-1000:].mean() > found[1700:2700].mean() - 0.03


def test_a_label_that_is_new_becomes_a_class_unless_all_classes_were_given() -> None:
    X, y = clusters(3000)
    names = np.array(["ash", "beech", "elm", "lime", "oak"])[y]
    late = np.argsort((names == "elm") & (np.arange(3000) < 1500), kind="stable")  # from half of the stream on
    X, names = X[late], names[late]
    model = small()
    found = hits(model, X, names)
    assert model.classes_.tolist() == ["ash", "beech", "elm", "lime", "oak"]
    assert model.predict_proba(X[:3]).shape == (3, 5)
    assert found[-300:].mean() > 0.85
    assert [event["label"] for event in model.stream_events_ if event["event"] == "label"] == ["elm"]
    with pytest.raises(ValueError, match="is 7"):
        model.partial_fit(X[:1], np.array([7]))
    given = small().partial_fit(X[:100], names[:100], classes=["ash", "beech", "lime", "oak"])
    with pytest.raises(ValueError, match="one of the 4 classes"):
        given.partial_fit(X[:1], np.array(["elm"]))


def test_a_fitted_model_takes_new_labels_too() -> None:
    X, y = clusters(600)
    model = small(epochs=2).fit(X[y < 4], y[y < 4])
    hits(model, X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("cut", [2900, 3500])
@pytest.mark.parametrize("size", [1, 50])
def test_a_stream_that_is_saved_and_loaded_gets_the_same_bytes(cut: int, size: int, tmp_path: Path) -> None:
    X, y = clusters(3700)
    X[:2800, 3] = 5.0
    model = small(n_hashes=16, hidden=(8,), search="off")
    hits(model, X[:2600], y[:2600], 100, classes=range(5))
    hits(model, X[2600:cut], y[2600:cut], size)
    model.save(tmp_path / "model", training_state=True)
    loaded = gcwsnet.load(tmp_path / "model")
    for one, name in ((model, "a"), (loaded, "b")):
        for first in range(cut, len(X), size):
            one.partial_fit(X[first : first + size], y[first : first + size])
        one.save(tmp_path / name, training_state=True, timings=False)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert np.isfinite(loaded.scaling_.divisor).all()


def test_an_array_may_be_filled_again_for_each_call() -> None:
    X, y = clusters(2800)
    found = []
    for reused in (False, True):
        model = small(n_hashes=16, hidden=(8,), search="off")
        rows, labels = np.empty((20, 10)), np.empty(20, dtype=y.dtype)
        for first in range(0, len(y), 20):
            rows[:], labels[:] = X[first : first + 20], y[first : first + 20]
            given = (rows, labels) if reused else (rows.copy(), labels.copy())
            model.partial_fit(*given, classes=range(5))
        found.append(model.trainer_.net.weights()["layers.0.weight"].copy())
    np.testing.assert_array_equal(found[0], found[1])


def test_a_row_that_was_predicted_is_learned_as_any_other() -> None:
    X, y = clusters(2700)
    row = np.empty((1, 10))  # which is filled again for each call
    found = []
    for predicted in (False, True):
        model = small(n_hashes=16, hidden=(8,), search="off").partial_fit(X[:2500], y[:2500])
        for number in range(2500, 2700):
            row[:] = X[number]
            if predicted:
                before = model.predict_proba(row)
                assert (before == model.predict_proba(np.repeat(row, 2, axis=0))[:1]).all()
            model.partial_fit(row, y[number : number + 1])
        found.append(model.trainer_.net.weights()["layers.0.weight"].copy())
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("cut", [2900, 3500])
def test_constant_numbers_of_a_table_count_when_they_vary_and_are_saved(cut: int, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = clusters(4000)
    X[:2800, 3] = 5.0
    table = pandas.DataFrame(X, columns=[f"x{i}" for i in range(10)])
    table.insert(4, "place", [f"place {i % 300}" for i in range(4000)])  # enough columns for rows to be sparse
    model = small(n_hashes=32, hidden=(16,), search="off")
    model.partial_fit(table[:500], y[:500], classes=range(5))
    assert isinstance(model.coder_.preprocessing, TablePreprocessing)
    for first in range(500, cut, 100):
        model.partial_fit(table[first : first + 100], y[first : first + 100])
    model.save(tmp_path / "model", training_state=True)
    loaded = gcwsnet.load(tmp_path / "model")
    found = []
    for first in range(cut, 4000, 50):
        rows = slice(first, first + 50)
        found += (loaded.predict(table[rows]) == y[rows]).tolist()
        for one in (model, loaded):
            one.partial_fit(table[rows], y[rows])
    np.testing.assert_array_equal(model.predict_proba(table), loaded.predict_proba(table))
    assert np.isfinite(loaded.scaling_.divisor).all()
    assert np.mean(found[-500:]) > 0.85


def test_a_stream_that_is_copied_during_its_warm_up_ends_where_the_other_does() -> None:
    X, y = clusters(2700)
    model = small(p="auto", relevance="auto", scale="auto", n_hashes=16, hidden=(8,))
    hits(model, X[:2500], y[:2500], 100, classes=range(5))
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for one in (model, *copies):
        hits(one, X[2500:], y[2500:], 10)
        np.testing.assert_array_equal(one.predict_proba(X), model.predict_proba(X))
        assert len(one.selection_) > 5


def test_a_regression_follows_a_stream() -> None:
    X, _ = clusters(5000)
    y = np.where(np.arange(5000) < 3500, 1, -1) * X[:, 0] + 10
    model = GCWSNetRegressor(n_hashes=64, hidden=(32,), p=1.0, relevance=0, scale="numeric", random_state=0)
    for first in range(0, 5000, 20):
        model.partial_fit(X[first : first + 20], y[first : first + 20])
    assert model.score(X[4500:], y[4500:]) > 0.7


def test_events_are_written_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    X, y = clusters(200)
    with caplog.at_level(logging.DEBUG, logger="gcwsnet"):
        hits(small(), X, np.where(np.arange(200) < 100, 0, y))
    assert any(record.message.startswith("label at row ") for record in caplog.records)


def test_few_rows_at_once_are_learned_as_with_a_callback() -> None:
    """The path without an observer gives the bytes of the one with it."""
    X, y = clusters(900)
    records: list[Any] = []
    quiet, watched = small(), small(callbacks=[lambda _, record: records.append(record)])
    for model in (quiet, watched):
        hits(model, X, y, 7, classes=range(5))
    for name, value in quiet.trainer_.net.weights().items():
        np.testing.assert_array_equal(value, watched.trainer_.net.weights()[name])
    np.testing.assert_array_equal(quiet.predict_proba(X), watched.predict_proba(X))
    assert records[-1]["rows"] == 900


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_extreme_numbers_of_a_constant_column_can_be_saved_and_loaded(form: Any, tmp_path: Path) -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(3300, 4))) + 0.01
    X[:, 2] = 5e307 * np.where(np.arange(3300) % 2 == 0, 1, -3)
    X[:2650, 2] = 1.7e308
    X[:, 3] = 3.0
    X[2599, 3] = np.nan
    given, y = form(X), np.arange(3300) % 4
    model = GCWSNetClassifier(n_hashes=8, bits=2, hidden=(4,), random_state=0, search="off", missing="zero")
    for first, end in ((0, 2600), (2600, 2700), (2700, 3300)):
        model.partial_fit(given[first:end], y[first:end])
    model.save(tmp_path / "model", training_state=True)
    loaded = gcwsnet.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(given), model.predict_proba(given))
    prepared = loaded.coder_.preprocess(given)
    found = prepared.toarray() if sparse.issparse(prepared) else prepared
    assert np.isfinite(found).all()
    assert 0.01 < np.abs(found[2700:, 2]).mean() < 10
