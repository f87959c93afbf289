"""The classifier of fields: what rows it takes, what it learns, forgets and filters, and its file."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import OneHotEncoder

import gcwsnet
from gcwsnet import FieldsClassifier


def clicks(n: int = 6000, seed: int = 0, shift: float = -1.0) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return rows of four fields whose label depends on values, and on a pair of them."""
    effects = np.random.default_rng(0).normal(size=(4, 20))
    pairs = np.random.default_rng(1).normal(0, 2, size=(20, 20))
    rng = np.random.default_rng([2, seed])
    X = np.minimum(rng.zipf(1.5, (n, 4)) - 1, 19)
    score = effects[np.arange(4), X].sum(axis=1) + pairs[X[:, 0], X[:, 1]] + shift
    return X, rng.random(n) < 1 / (1 + np.exp(-score))


def small(**more: Any) -> FieldsClassifier:
    return FieldsClassifier(**{"table_bits": 14, "random_state": 0} | more)


def test_all_kinds_of_rows_are_the_same_rows() -> None:
    X, y = clicks(300)
    expected = small().fit(X, y).predict_proba(X)
    dicts = [{str(column): int(value) for column, value in enumerate(row)} for row in X]
    for rows in (
        X.astype(str),
        X.astype(object),
        X.astype(float),
        pd.DataFrame(X).astype("category"),
        dicts,
        X.tolist(),
    ):
        assert np.array_equal(small().fit(rows, y).predict_proba(rows), expected)
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = small().fit(frame, y)
    assert np.array_equal(fitted.predict_proba(frame), fitted.predict_proba(frame[list("dcba")]))
    assert fitted.feature_names_in_.tolist() == list("abcd")


def test_entries_of_a_csr_matrix_are_values() -> None:
    X, y = clicks(2000)
    one_hot = OneHotEncoder().fit_transform(X)
    by_column = small().fit(one_hot, y)
    assert abs(by_column.progressive_log_loss_ - small().fit(X, y).progressive_log_loss_) < 0.01  # other collisions
    shape = (1, one_hot.shape[1])
    with_zero = sparse.csr_matrix(([1.0, 0.0], [0, 1], [0, 2]), shape=shape)
    alone = sparse.csr_matrix(([5.0], [0], [0, 1]), shape=shape)
    assert np.array_equal(by_column.predict_proba(with_zero), by_column.predict_proba(alone))


def test_missing_values_are_not_there_and_numbers_are_rounded() -> None:
    rows = [{"a": 1, "price": 1.21}, {"a": 2, "price": 9.0}]
    model = small().fit(rows * 20, [0, 1] * 20)
    same = [{"a": 1, "price": 1.24, "b": None}, {"a": 2, "price": 9, "c": float("nan")}]
    assert np.array_equal(model.predict_proba(rows), model.predict_proba(same))
    assert np.array_equal(
        model.predict_proba(pd.DataFrame(rows)), model.predict_proba(pd.DataFrame(same).drop(columns=["b", "c"]))
    )


def test_pairs_are_learned_and_predictions_are_better_than_those_of_a_linear_model() -> None:
    X, y = clicks()
    X_test, y_test = clicks(4000, seed=1)
    encoder = OneHotEncoder(handle_unknown="ignore").fit(X)
    linear = LogisticRegression().fit(encoder.transform(X), y).predict_proba(encoder.transform(X_test))
    ours = small().fit(X, y)
    without = small(pairs=False).fit(X, y)
    losses = [log_loss(y_test, p) for p in (ours.predict_proba(X_test), without.predict_proba(X_test), linear)]
    assert losses[0] < losses[2] - 0.02
    assert abs(losses[1] - losses[2]) < 0.02
    assert abs(ours.progressive_log_loss_ - losses[0]) < 0.05


def test_probabilities_are_calibrated_by_decile() -> None:
    X, y = clicks(8000)
    X_test, y_test = clicks(8000, seed=1)
    p = small().fit(X, y).predict_proba(X_test)[:, 1]
    for part in np.array_split(np.argsort(p), 10):
        error = 5 * np.sqrt(p[part].mean() * (1 - p[part].mean()) / len(part)) + 0.02  # five standard errors
        assert abs(p[part].mean() - y_test[part].mean()) < error


def test_probabilities_are_those_of_all_rows_where_negatives_were_dropped() -> None:
    X, y = clicks(20_000, shift=-4.0)
    kept = y | (np.random.default_rng(5).random(len(y)) < 0.25)
    X_test, y_test = clicks(8000, seed=1, shift=-4.0)
    corrected = small(negatives_kept=0.25).fit(X[kept], y[kept]).predict_proba(X_test)
    weighted = small().fit(X[kept], y[kept], sample_weight=np.where(y[kept], 1.0, 4.0)).predict_proba(X_test)
    plain = small().fit(X[kept], y[kept]).predict_proba(X_test)
    assert plain[:, 1].mean() > 1.5 * y_test.mean()
    for found in (corrected, weighted):
        assert abs(found[:, 1].mean() - y_test.mean()) < 0.02
        assert np.allclose(found.sum(axis=1), 1)
    p = plain[:, 1]
    assert np.allclose(corrected[:, 1], p / (p + (1 - p) / 0.25))


def test_a_rare_value_does_not_count() -> None:
    model = small(min_count=3)
    nothing = None
    for number in range(4):
        found = model.partial_fit([{"a": "x"}], ["yes"], classes=["no", "yes"]).decision_function([{"a": "x"}])
        nothing = model.decision_function([{}])
        assert (found > nothing) == (number >= 2)


def test_what_has_not_occurred_for_long_is_forgotten_and_begins_again() -> None:
    model = small(forget_after=10).partial_fit([{"a": "x"}] * 5, [1] * 5, classes=[0, 1])
    for number in range(12):
        counts = model.decision_function([{"a": "x"}]) > model.decision_function([{}])
        assert counts == (number < 10)
        model.partial_fit([{"a": "other"}], [number % 2])
    table = model.table_.table()
    before = np.abs(table[:, 1]).sum()
    model.learn_one({"a": "x"}, 1)
    assert np.abs(table[:, 1]).sum() < before  # the sum of squares of five rows went, that of one came


def test_memory_does_not_grow_with_values() -> None:
    model = small(table_bits=8, min_count=2, forget_after=100)
    before = model.fit([{"a": 0}], [0]).table_.table().nbytes
    model.partial_fit([{"a": number, "b": -number} for number in range(5000)], [number % 2 for number in range(5000)])
    assert model.table_.table().nbytes * 1 == before
    assert np.isfinite(model.predict_proba([{"a": 3}])).all()


@pytest.mark.parametrize("more", [{}, {"min_count": 2, "forget_after": 500}])
def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(tmp_path: Path, more: dict[str, Any]) -> None:
    X, y = clicks(2000)
    model = small(**more).fit(X[:1000], y[:1000])
    model.save(tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").stat().st_size < 8 * model.table_.table().size
    loaded, copied = gcwsnet.load(tmp_path), pickle.loads(pickle.dumps(model))
    for one in (model, loaded, copied):
        one.partial_fit(X[1000:], y[1000:])
    for one in (loaded, copied):
        assert np.array_equal(one.predict_proba(X), model.predict_proba(X))
        assert one.progressive_log_loss_ == model.progressive_log_loss_
        assert one.n_rows_seen_ == 2000
        assert one.n_features_in_ == 4
    with pytest.raises(ValueError, match=r"gcwsnet\.load"):
        gcwsnet.Predictor.load(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    model = small().fit([{"a": 1}], [0])
    path = tmp_path / "model.safetensors"
    model.save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="damaged"):
        gcwsnet.load(path)


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_a_second_label_may_come_late(first: str, second: str) -> None:
    rows = [{"x": number % 7} for number in range(50)]
    late = small().partial_fit(rows, [first] * 50).partial_fit(rows, [second] * 50)
    early = small().partial_fit(rows, [first] * 50, classes=["a", "b"]).partial_fit(rows, [second] * 50)
    np.testing.assert_allclose(late.predict_proba(rows), early.predict_proba(rows), rtol=1e-5)


def test_labels_may_grow_and_old_ones_keep_what_they_learned() -> None:
    rows = [{"x": "a"}, {"x": "b"}, {"x": "c"}]
    model = small()
    for number in range(40):
        model.learn_one(rows[number % 2], ["B", "D"][number % 2])
    before = model.predict_proba(rows[:2])
    model.partial_fit(rows[2:], ["C"])
    assert model.classes_.tolist() == ["B", "C", "D"]
    assert model.predict(rows[:2]).tolist() == ["B", "D"]
    for number in range(60):
        model.learn_one(rows[number % 3], ["B", "D", "C"][number % 3])
    assert model.predict(rows).tolist() == ["B", "D", "C"]
    model.partial_fit([{"x": "d"}] * 20, ["A"] * 20)
    assert model.predict([*rows, {"x": "d"}]).tolist() == ["B", "D", "C", "A"]
    assert before.shape == (2, 2)
    assert np.allclose(model.predict_proba(rows).sum(axis=1), 1)
    assert set(model.predict_proba_one(rows[0])) == {"A", "B", "C", "D"}


def test_parameters_of_a_fitted_model_change_nothing_and_clones_are_not_fitted() -> None:
    X, y = clicks(500)
    model = small().fit(X, y)
    expected = model.predict_proba(X)
    model.set_params(table_bits=3, negatives_kept=0.5)
    assert np.array_equal(model.predict_proba(X), expected)
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"table_bits": 31}, "table_bits must be from 1 to 30"),
        ({"min_count": 0}, "min_count must be"),
        ({"forget_after": 0}, "forget_after must be"),
        ({"negatives_kept": 0.0}, "negatives_kept must be"),
        ({"learning_rate": -1.0}, "learning_rate must be"),
    ],
)
def test_wrong_parameters_are_named(params: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        small(**params).fit([{"a": 1}], [0])


def test_wrong_rows_are_named() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        small().fit(np.arange(3), [0, 1, 0])
    model = small().fit(np.zeros((3, 2), dtype=int), [0, 1, 0])
    with pytest.raises(ValueError, match="must have 2 columns"):
        model.predict(np.zeros((3, 3), dtype=int))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(np.zeros((3, 2), dtype=int), [0, 1])
    with pytest.raises(ValueError, match="is for two classes"):
        small(negatives_kept=0.5).fit([{"a": 1}] * 3, [0, 1, 2]).predict_proba([{"a": 1}])
    with pytest.raises(TypeError, match="a category must be a text"):
        model.learn_one({"a": [1]}, 0)
    for weight in (1e39, 1e30, -1.0):  # gradients are squared in float32
        with pytest.raises(ValueError, match=r"must be from 0 to 1e\+15"):
            model.partial_fit([[0, 0]], [0], sample_weight=[weight])
        with pytest.raises(ValueError, match="w must be from 0"):
            model.learn_one({"a": 1}, 0, w=weight)
