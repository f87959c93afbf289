"""What nets and kernel machines say about themselves: `explain` and the importances of columns."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, PGMMRegressor
from gcwsnet._keys import SELECTION_ROWS, random_order
from gcwsnet.files import Schema
from tests.estimators.tables import mixed_table

rng = np.random.default_rng(0)
X = rng.normal(size=(700, 4))
NUMBERS = 2 * X[:, 1] + X[:, 2]
LABELS = np.where(NUMBERS > 0, "high", "low")
SMALL: dict[str, Any] = {"n_hashes": 64, "hidden": (16,), "random_state": 0}


def fitted(kind: Any, **settings: Any) -> Any:
    small = SMALL if kind in (GCWSNetClassifier, GCWSNetRegressor) else {"random_state": 0}
    y = LABELS if kind in (GCWSNetClassifier, PGMMClassifier) else NUMBERS
    return kind(**small | settings).fit(X[:500], y[:500])


KINDS = [GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, PGMMRegressor]


@pytest.mark.parametrize("kind", KINDS)
def test_explain_says_what_was_chosen_and_what_it_was_compared_with(kind: Any) -> None:
    model = fitted(kind)
    said = dict(line.split(": ", 1) for line in model.explain().splitlines()[:-1])
    assert float(said["power p"]) == model.p_
    if kind in (PGMMClassifier, PGMMRegressor):
        assert float(said["regularisation alpha"]) == pytest.approx(model.alpha_, rel=1e-5)
        assert said["training rows"] == "500"
    else:
        assert int(said["epochs"]) == model.n_epochs_seen_
    chosen = next(one for one in model.selection_ if one.chosen)
    expected = f"{len(model.selection_)} candidates were compared on held-out rows; the chosen one had a loss of"
    assert model.explain().splitlines()[-1] == f"{expected} {chosen.loss:.4f}"


def test_explain_names_the_most_relevant_columns() -> None:
    model = fitted(PGMMRegressor, relevance=1.0, scale="numeric")
    assert "the most: x1 (" in model.explain()


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (GCWSNetClassifier, {"search": "off"}),
        (PGMMClassifier, {"p": 1.0, "scale": "numeric", "relevance": 0.0, "alpha": 0.1}),
    ],
)
def test_explain_says_where_nothing_was_compared(kind: Any, settings: dict[str, Any]) -> None:
    assert fitted(kind, **settings).explain().splitlines()[-1].startswith("nothing was compared")


@pytest.mark.parametrize("kind", KINDS)
def test_permutation_importance_finds_the_columns_that_tell(kind: Any) -> None:
    model = fitted(kind)
    y = LABELS if kind in (GCWSNetClassifier, PGMMClassifier) else NUMBERS
    found = model.permutation_importance(X[500:], y[500:], n_repeats=3)
    assert found.importances.shape == (4, 3)
    assert np.argsort(-found.importances_mean).tolist()[:2] == [1, 2]


def test_permutation_importance_is_that_of_scikit_learn_with_the_log_loss() -> None:
    model = fitted(PGMMClassifier)

    def score(model: Any, X: Any, y: Any) -> float:
        return -float(log_loss(y, model.predict_proba(X)))

    expected = permutation_importance(model, X[500:], LABELS[500:], scoring=score, n_repeats=20, random_state=0)
    found = model.permutation_importance(X[500:], LABELS[500:], n_repeats=20)
    error = np.hypot(expected.importances_std, found.importances_std) / np.sqrt(20)
    assert (np.abs(found.importances_mean - expected.importances_mean) < 5 * error + 1e-9).all()


def test_permutation_importance_of_a_table_has_its_columns() -> None:
    frame, y = mixed_table(500)
    model = PGMMClassifier(p=1.0, random_state=0).fit(frame[:300], y[:300])
    found = model.permutation_importance(frame[300:], y[300:], n_repeats=2)
    assert found.importances_mean.shape == (frame.shape[1],)
    assert found.importances_mean[frame.columns.get_loc("city")] > 0


def test_permutation_importance_of_sparse_rows_is_that_of_dense_ones() -> None:
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    settings: dict[str, Any] = {"search": "off", "scale": None, "relevance": 0, "epochs": 1, "random_state": 0}
    model = GCWSNetClassifier(16, hidden=(4,), **settings).fit(rows[:500], LABELS[:500])
    expected = model.permutation_importance(rows[500:], LABELS[500:], n_repeats=2)
    found = model.permutation_importance(sparse.csr_array(rows[500:]), LABELS[500:], n_repeats=2)
    assert np.array_equal(found.importances, expected.importances)


@pytest.mark.parametrize("kind", KINDS)
def test_importances_are_shares_of_the_columns_that_tell(kind: Any) -> None:
    model = fitted(kind)
    found = model.feature_importances_
    assert found.shape == (4,)
    assert found.sum() == pytest.approx(1.0)
    assert np.argsort(-found).tolist()[:2] == [1, 2]
    assert (found >= 0).all()
    found[:] = 0
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_importances_of_a_machine_are_those_of_rows_that_it_was_fitted_without() -> None:
    """Noise that is learned by heart would be shuffled away; for other rows no column tells anything."""
    y = rng.normal(size=300)
    noise = PGMMRegressor(p=20.0, alpha=0.001, scale="numeric", relevance=0.0, random_state=0).fit(X[:300], y)
    kept: Any = noise._kept
    by_heart, without = (
        one.targets.losses(one.outputs_of_checked(kept.X), kept.y).mean()
        for one in (noise._predictor(), noise._predictor_of_kept())
    )
    assert without > 10 * by_heart

    weight = rng.integers(1, 3, 300)
    settings: dict[str, Any] = {"p": 1.0, "alpha": 0.3, "scale": None, "relevance": 0.0, "random_state": 0}
    model: Any = PGMMClassifier(**settings).fit(X[:300], y > 0, sample_weight=weight)
    order = random_order(0, SELECTION_ROWS, 300)[:200]
    others: Any = PGMMClassifier(**settings).fit(X[order], y[order] > 0, sample_weight=weight[order])
    found, expected = (
        gcwsnet.pgmm_kernel(X[:50], one.rows) @ one.coefficients + one.bias
        for one in (model._predictor_of_kept().model, others.machine_)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_importances_of_a_table_have_its_columns_and_files_have_none(tmp_path: Path) -> None:
    frame, y = mixed_table(300)
    model = GCWSNetClassifier(**SMALL).fit(frame, y)
    shares = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert shares["city"] > 0
    model.save(tmp_path / "model")
    for other in (
        gcwsnet.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(GCWSNetClassifier(**SMALL).fit(frame, y))),
    ):
        with pytest.raises(AttributeError, match="keep none; use permutation_importance"):
            _ = other.feature_importances_
        assert not hasattr(other, "feature_importances_")


def test_importances_of_a_net_are_of_held_out_rows_where_there_are_some() -> None:
    model = GCWSNetRegressor(**SMALL).fit(X[:400], NUMBERS[:400], eval_set=(X[400:], NUMBERS[400:]))
    assert model._kept is not None
    assert {tuple(row) for row in model._kept.X} == {tuple(row) for row in X[400:]}


def test_importances_are_drawn_with_their_names() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    frame, y = mixed_table(300)
    model = PGMMClassifier(p=1.0, random_state=0).fit(frame, y)
    axes = model.plot_importances(n_columns=2)
    best = np.argsort(-model.feature_importances_, kind="stable")[:2]
    assert [one.get_text() for one in axes.get_yticklabels()] == [model.feature_names_in_[one] for one in best[::-1]]
    assert model.plot_importances(ax=axes) is axes
    pyplot.close("all")


@pytest.fixture(scope="module")
def wide() -> tuple[Any, GCWSNetClassifier]:
    """Rows of 2**31 columns, of which few have an entry, and a model of them."""
    columns = np.array([0, 7, 2**20, 2**31 - 2])
    entries = np.abs(X.ravel()), np.tile(columns, len(X)), np.arange(0, X.size + 1, 4, dtype=np.int64)
    rows = sparse.csr_array(entries, shape=(len(X), 2**31 - 1))
    settings: dict[str, Any] = {"search": "off", "scale": None, "relevance": 0, "p": 1.0, "random_state": 0}
    return rows, GCWSNetClassifier(8, hidden=(4,), epochs=1, **settings).fit(rows, LABELS)


def test_what_there_is_of_each_column_asks_for_its_memory(
    wide: tuple[Any, GCWSNetClassifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcwsnet._validation.available_bytes", lambda: 1 << 34)
    rows, model = wide
    with pytest.raises(MemoryError, match=r"the names of 2147483647 columns would take 144\.0 GiB of memory and 16\.0"):
        model.get_feature_names_out()
    with pytest.raises(MemoryError, match=r"importances of 2147483647 columns would take 48\.0 GiB"):
        model.permutation_importance(rows[:20], LABELS[:20], n_repeats=1)
    schema = Schema(n_features=2**31 - 1)
    with pytest.raises(MemoryError, match="the names of 2147483647 columns"):
        schema.feature_names()


def test_columns_without_an_entry_are_not_shuffled() -> None:
    """Two million shuffles would take hours; that of a column without an entry changes nothing."""
    rows = sparse.csr_array((np.abs(X[:, :2]).ravel(), (np.arange(2 * len(X)) // 2, [5, 900_000] * len(X))))
    settings: dict[str, Any] = {"search": "off", "scale": None, "relevance": 0, "epochs": 1, "random_state": 0}
    model = GCWSNetClassifier(8, hidden=(4,), **settings).fit(rows, LABELS)
    found = model.permutation_importance(rows[:50], LABELS[:50], n_repeats=2)
    assert np.flatnonzero(found.importances_mean).tolist() == [5, 900_000]
