"""The classifier, and what it shares with the regressor."""

import copy
import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import gcwsnet
from gcwsnet import GCWSNetClassifier
from gcwsnet.coding import _coder
from gcwsnet.estimators import _base
from tests.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {
        "p": 1.0,
        "n_hashes": 64,
        "hidden": (16,),
        "epochs": 1,
        "learning_rate": 5e-3,
        "search": "off",
    }
    return GCWSNetClassifier(**defaults | {"random_state": 0} | settings)


def weights(model: Any) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in model.trainer_.net.weights().items()}


def assert_same_model(a: Any, b: Any) -> None:
    assert weights(a) == weights(b)


def no_memory(*_: Any) -> None:
    raise MemoryError("none left")


def test_one_pass_is_enough_for_rows_that_are_easy(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.9
    assert model.classes_.tolist() == ["ash", "beech", "oak"]
    assert set(model.predict(X)) <= {"ash", "beech", "oak"}


def test_probabilities_sum_to_one_and_agree_with_decisions_and_labels(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(1)], model.predict(X))
    np.testing.assert_array_equal(model.decision_function(X).argmax(1), probabilities.argmax(1))
    two = small().fit(X, y == "oak")
    assert two.decision_function(X).shape == (600,)
    np.testing.assert_array_equal(two.decision_function(X) > 0, two.predict(X))


@pytest.mark.parametrize(
    "rename",
    [
        lambda y: np.where(y == "oak", -7, 12),
        lambda y: (y == "oak").astype(float),
        lambda y: y == "oak",
        lambda y: y.astype(object),
        lambda y: pd.Series(y, dtype="category"),
        list,
    ],
)
def test_labels_of_any_type_come_back_as_they_were(rename: Any, three_classes: Rows) -> None:
    X, y = three_classes
    labels = rename(y)
    model = small(epochs=3).fit(X, labels)
    assert set(model.predict(X)) == set(labels)
    assert model.score(X, labels) > 0.9


def test_same_seed_same_model_for_any_number_of_threads_and_rows_at_once(
    three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    one = small(epochs=2).fit(X, y)
    assert_same_model(one, small(epochs=2).fit(X, y))
    assert_same_model(one, clone(one).fit(pd.DataFrame(X), y))
    monkeypatch.setattr(_coder, "ROWS_AT_ONCE", 96)
    assert_same_model(one, small(epochs=2).fit(X, y))
    monkeypatch.setattr(_base, "available_bytes", lambda: 1000)
    assert_same_model(one, small(epochs=2).fit(X, y))
    for n_jobs in (2, 3):
        assert_same_model(one, small(epochs=2, n_jobs=n_jobs).fit(X, y))
    assert weights(one) != weights(small(epochs=2, random_state=1).fit(X, y))


@pytest.mark.parametrize(("epochs", "free", "most"), [(1, 10**9, 100), (2, 10**9, 600), (2, 1000, 100)])
def test_a_fit_keeps_all_codes_if_it_needs_them_twice_and_they_fit_in_memory(
    epochs: int, free: int, most: int, three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    held: list[int] = []
    make = GCWSNetClassifier._codes

    def counted(self: GCWSNetClassifier, X: Any) -> Any:
        codes = make(self, X)
        held.append(len(codes))
        return codes

    monkeypatch.setattr(GCWSNetClassifier, "_codes", counted)
    monkeypatch.setattr(_coder, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(_base, "available_bytes", lambda: free)
    small(epochs=epochs).fit(X, y)
    assert max(held) == most


def test_a_fit_leaves_the_generator_of_numpy_alone(three_classes: Rows) -> None:
    X, y = three_classes
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    small(n_jobs=2, early_stopping=True).fit(X, y).predict(X)
    assert str(np.random.get_state(legacy=False)) == str(before)  # noqa: NPY002


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, pd.DataFrame, pl.DataFrame])
def test_rows_in_many_forms(form: Any, three_classes: Rows) -> None:
    X, y = three_classes
    names = [f"x{i}" for i in range(6)]
    rows = (
        pd.DataFrame(X, columns=names)
        if form is pd.DataFrame
        else pl.DataFrame(X, names)
        if form is pl.DataFrame
        else form(X)
    )
    model = small().fit(rows, y)
    assert model.score(rows, y) > 0.9
    if form in (pd.DataFrame, pl.DataFrame):
        assert model.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(model.predict_proba(rows), small().fit(X, y).predict_proba(X))


def test_sparse_rows_are_not_shifted(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(sparse.csr_array(X), y)
    assert not model.scaling_.shift.any()


def test_a_stream_gives_the_model_of_a_fit_in_the_same_order(three_classes: Rows) -> None:
    X, y = three_classes
    whole = small(shuffle=False, scale=None, relevance=0, schedule="constant").fit(X, y)
    stream = small(scale=None, relevance=0, batch_size=32)
    for first in range(0, 600, 160):  # a multiple of the batch
        stream.partial_fit(X[first : first + 160], y[first : first + 160], classes=["oak", "ash", "beech"])
    assert_same_model(whole, stream)
    assert stream.n_rows_seen_ == 600
    assert stream.history_["rows"][-1] == 600


def test_a_stream_keeps_the_scaling_of_its_first_rows(three_classes: Rows) -> None:
    X, y = (np.tile(array, (6, 1)[: array.ndim]) for array in three_classes)
    model = small().partial_fit(X[:2600], y[:2600], classes=np.unique(y))
    scaling = model.scaling_
    np.testing.assert_allclose(scaling.shift[:5], X[:2600, :5].mean(axis=0))
    model.partial_fit(X[200:] * 100, y[200:])
    assert model.scaling_ is scaling


@pytest.mark.parametrize("scale", ["numeric", None])
def test_pieces_of_a_stream_may_change_their_type_and_have_weights_or_not(scale: Any, three_classes: Rows) -> None:
    X, y = three_classes
    X = X.round(3)
    model, plain = small(scale=scale), small(scale=scale)
    for first in range(0, 600, 150):
        rows = slice(first, first + 150)
        form: Any = (np.float32, np.float64)[first % 300 > 0]
        weight = np.ones(150) if first % 300 else None
        model.partial_fit(X[rows].astype(form), y[rows].astype(object), np.unique(y), weight)
        plain.partial_fit(X[rows], y[rows], classes=np.unique(y))
    assert model.n_rows_seen_ == 600
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.1)
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("first", [np.array, sparse.csr_array])
def test_a_stream_without_shifts_takes_dense_and_sparse_pieces(first: Any, three_classes: Rows) -> None:
    X, y = three_classes
    other = sparse.csr_array if first is np.array else np.array
    model = small(scale=None, relevance=0).partial_fit(first(X[:300]), y[:300], classes=np.unique(y))
    model.partial_fit(other(X[300:]), y[300:])
    expected = (
        small(scale=None, relevance=0).partial_fit(X[:300], y[:300], classes=np.unique(y)).partial_fit(X[300:], y[300:])
    )
    assert_same_model(model, expected)
    with pytest.raises(ValueError, match="learned from dense rows and shifts columns"):
        small().partial_fit(X[:300], y[:300], classes=np.unique(y)).partial_fit(sparse.csr_array(X[:9]), y[:9])


def test_partial_fit_after_fit_goes_on(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(schedule="linear").fit(X[:300], y[:300])
    before = weights(model)
    model.partial_fit(X[300:], y[300:])
    assert model.n_rows_seen_ == 600
    assert model.history_["learning_rate"][-1] == 5e-3
    assert weights(model) != before


def test_classes_that_are_given_at_the_first_call_are_all_there_are(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().partial_fit(X[:10], y[:10], classes=["ash", "beech", "oak"])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, y, classes=["ash", "oak"])
    elm = y.copy().astype(object)
    elm[17] = "elm"
    with pytest.raises(ValueError, match=r"y\[17\] is 'elm'; give all classes"):
        model.partial_fit(X, elm)


def test_history_has_fractions_of_an_epoch_and_falls(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(epochs=2, records=4).fit(X, y, eval_set=[(X[:50], y[:50]), (X[50:], y[50:])])
    history = model.history_
    assert len({len(values) for values in history.values()}) == 1
    np.testing.assert_allclose(history["epoch"], [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2], atol=32 / 600)
    assert history["rows"][-1] == 1200
    assert history["loss"][0] > history["loss"][-1]
    assert history["accuracy"][-1] > 0.9
    right = model.predict(X[:50]) == y[:50]
    assert history["eval_accuracy"][-1] == pytest.approx(right.mean())
    of_label = model.predict_proba(X[50:])[np.arange(550), np.searchsorted(model.classes_, y[50:])]
    assert history["eval_1_loss"][-1] == pytest.approx(-np.log(of_label).mean(), rel=1e-9)
    assert sorted(history["seconds"]) == history["seconds"]
    some = small(records=[0.1, 0.5]).fit(X, y)
    assert some.history_["epoch"] == [64 / 600, 320 / 600, 1.0]


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_schedules_end_where_they_say(schedule: str, three_classes: Rows) -> None:
    X, y = three_classes
    rates = small(schedule=schedule, epochs=2).fit(X, y).history_["learning_rate"]
    assert rates[-1] == 5e-3 if schedule == "constant" else rates[-1] < 5e-4
    assert sorted(rates, reverse=True) == rates


@pytest.mark.parametrize(
    ("settings", "rate"),
    [({}, 5e-3), ({"batch_size": 1, "epochs": 6}, 3e-3), ({"hidden": ()}, 1e-2), ({"learning_rate": 2e-3}, 2e-3)],
)
def test_the_rate_to_begin_with_suits_the_number_of_steps(
    settings: dict[str, Any], rate: float, three_classes: Rows
) -> None:
    X, y = three_classes
    model = small(**{"learning_rate": "auto", "schedule": "constant"} | settings).fit(X, y)
    assert set(model.history_["learning_rate"]) == {rate}


def test_early_stopping_keeps_the_best_weights() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)  # nothing to learn
    losses = []

    def note(model: Any, _: Any) -> None:
        """Take down the loss after an epoch at the best temperature."""
        outputs, targets = model._outputs(X[200:]), model.trainer_.targets
        best = targets.calibrated(outputs, targets.encode(y[200:]), np.ones(200))
        losses.append(best.losses(outputs, targets.encode(y[200:])).mean())

    model = small(epochs=50, early_stopping=True, patience=3, learning_rate=0.02, records=1, callbacks=[note])
    model.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    assert 4 <= len(losses) == model.n_epochs_seen_ < 50
    assert len(losses) - 1 - int(np.argmin(losses)) == 3
    of_label = model.predict_proba(X[200:])[np.arange(200), y[200:]]
    assert -np.log(of_label).mean() == pytest.approx(min(losses), rel=1e-6)
    assert min(losses) <= min(model.history_["eval_loss"])


def test_early_stopping_without_an_eval_set_finds_the_epochs_on_held_out_rows_and_learns_from_all(
    three_classes: Rows,
) -> None:
    X, y = three_classes
    model = small(early_stopping=True, validation_fraction=0.25, epochs=8, patience=2, records=1).fit(X, y)
    epochs = model.n_epochs_seen_
    assert 1 <= epochs <= 8
    assert model.n_rows_seen_ == 600 * epochs
    assert model.history_["rows"][0] == 450
    assert len(model.history_["eval_loss"]) == min(epochs + 2, 8)


def test_weights_of_rows_and_of_classes(three_classes: Rows) -> None:
    X, y = three_classes
    rng = np.random.default_rng(0)
    noise = rng.permutation(y)
    both_X, both_y = np.vstack([X, X]), np.concatenate([y, noise])
    weighted = small(epochs=3).fit(both_X, both_y, sample_weight=np.repeat([1.0, 0.0], 600))
    misled = small(epochs=3).fit(both_X, both_y)
    assert weighted.predict_proba(X).max(axis=1).mean() > 0.95
    assert misled.predict_proba(X).max(axis=1).mean() < 0.9
    oaks = small(class_weight={"oak": 50.0}).fit(X, noise)
    assert (oaks.predict(X) == "oak").mean() > 0.9
    doubled = small().fit(X, y, sample_weight=np.where(y == "oak", 2.0, 1.0))
    assert_same_model(doubled, small(class_weight={"oak": 2.0}).fit(X, y))
    rare = np.where(y == "oak", y, "other")
    counts = {label: 600 / (2 * (rare == label).sum()) for label in ("oak", "other")}
    assert_same_model(small(class_weight="balanced").fit(X, rare), small(class_weight=counts).fit(X, rare))


def test_class_weights_that_make_no_sense(three_classes: Rows) -> None:
    X, y = three_classes
    with pytest.raises(ValueError, match=r"class_weight must be for classes of y, got \{'elm'\}"):
        small(class_weight={"elm": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight must be a dict, 'balanced' or None"):
        small(class_weight="heavy").fit(X, y)
    with pytest.raises(ValueError, match="'balanced' needs all rows"):
        small(class_weight="balanced").partial_fit(X, y, classes=np.unique(y))


def test_warm_start_continues_and_otherwise_fit_starts_again(three_classes: Rows) -> None:
    X, y = three_classes
    warm = small(warm_start=True, schedule="constant").fit(X, y).fit(X, y)
    assert_same_model(warm, small(epochs=2, schedule="constant").fit(X, y))
    assert warm.history_["epoch"][-1] == 2
    cold = small().fit(X, y).fit(X, y)
    assert_same_model(cold, small().fit(X, y))


@pytest.mark.parametrize(
    ("settings", "eval_labels", "message"),
    [({"weight_decay": -1.0}, "ash", "weight_decay must be"), ({"n_hashes": 7}, "never seen", "every label")],
)
def test_a_fit_that_fails_before_it_learns_leaves_the_model_as_it_was(
    settings: dict[str, Any], eval_labels: str, message: str, three_classes: Rows
) -> None:
    X, y = three_classes
    model = small().fit(X, y)
    before = copy.deepcopy(model)
    wider = np.hstack([X, X])
    with pytest.raises(ValueError, match=message):
        model.set_params(**settings).fit(wider, y, eval_set=(wider[:3], [eval_labels] * 3))
    assert_same_model(model, before)
    assert model.score(X, y) == before.score(X, y)
    unfitted = small(**settings)
    with pytest.raises(ValueError, match=message):
        unfitted.fit(X, y, eval_set=(X[:3], [eval_labels] * 3))
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


def test_codes_that_find_no_memory_leave_the_model_as_it_was(
    three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    fitted, stream, unfitted = small().fit(X, y), small().partial_fit(X[:9], y[:9], classes=np.unique(y)), small()
    before, stream_before = copy.deepcopy(fitted), copy.deepcopy(stream)

    with monkeypatch.context() as patched:
        patched.setattr(_coder, "require_memory", no_memory)
        for learn in (fitted.fit, stream.partial_fit, unfitted.fit):
            with pytest.raises(MemoryError):
                learn(X, y)
    assert_same_model(fitted, before)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)
    assert_same_model(stream.partial_fit(X, y), stream_before.partial_fit(X, y))


def test_learning_that_fails_leaves_settings_and_averages_as_they_were(
    three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    stream = small(scale=None, warm_start=True).partial_fit(X, y, classes=np.unique(y))
    fitted = small(scale=None).fit(X, y)
    expected = [model.predict_proba(X) for model in (stream, fitted)]
    with pytest.raises(ValueError, match="'elm'"):
        stream.set_params(batch_size=7).fit(X, ["elm"] * 600)
    with monkeypatch.context() as patched:
        patched.setattr(_coder, "require_memory", no_memory)
        for learn in (stream.fit, fitted.partial_fit):
            with pytest.raises(MemoryError):
                learn(X, y)
    for model, before in zip((stream, fitted), expected, strict=True):
        np.testing.assert_array_equal(model.predict_proba(X), before)
        assert model.trainer_.settings.batch_size == "auto"
    assert (stream.trainer_.net.is_averaging, fitted.trainer_.net.is_averaging) == (True, False)


def test_callbacks_see_records_and_can_stop(three_classes: Rows) -> None:
    X, y = three_classes
    seen: list[dict[str, float]] = []

    def look(model: Any, record: dict[str, float]) -> bool:
        assert model.history_["loss"][-1] == record["loss"]
        seen.append(record)
        return len(seen) == 3

    model = small(callbacks=[look]).fit(X, y)
    assert len(seen) == len(model.history_["loss"]) == 3
    assert model.n_rows_seen_ < 600


def test_an_interrupted_fit_leaves_a_model_that_works(three_classes: Rows) -> None:
    X, y = three_classes

    def interrupt(_: Any, record: dict[str, float]) -> None:
        if record["epoch"] > 0.5:
            raise KeyboardInterrupt

    model = small(callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 300 < model.n_rows_seen_ < 600
    assert model.predict(X).shape == (600,)


def test_verbose_writes_to_the_log_where_there_is_no_terminal(
    three_classes: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    X, y = three_classes
    with caplog.at_level(logging.INFO, logger="gcwsnet"):
        small(verbose=1, records=2).fit(X, y)
    assert len(caplog.messages) == 2
    assert "accuracy" in caplog.messages[0]
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="gcwsnet"):
        small().fit(X, y)
    assert not caplog.messages


def test_verbose_shows_lines_in_a_script_that_knows_nothing_of_logging() -> None:
    program = "import gcwsnet; gcwsnet.GCWSNetClassifier(8, p=1.0, verbose=1).fit([[1.0], [2.0]] * 9, [0, 1] * 9)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "accuracy" in result.stderr
    assert result.stdout == ""


def test_verbose_leaves_the_log_as_it_was(three_classes: Rows, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("gcwsnet")
    before = (logger.level, list(logger.handlers))
    small(verbose=1).fit(*three_classes)
    assert caplog.messages
    assert (logger.level, logger.handlers) == before


def test_one_number_of_hidden_units_is_one_layer(three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    one, several = small(hidden=12).fit(X, y), small(hidden=(12,)).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), several.predict_proba(X))
    assert one.get_params()["hidden"] == 12
    one.save(tmp_path / "model")
    np.testing.assert_array_equal(gcwsnet.load(tmp_path / "model").predict_proba(X), one.predict_proba(X))


def test_verbose_shows_a_bar_on_a_terminal(
    three_classes: Rows, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    X, y = three_classes
    small(verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "600/600" in shown
    assert "rows/s" in shown
    assert "loss" in shown


@pytest.mark.parametrize("scale", ["robust", 3])
def test_a_scale_that_does_not_exist_is_an_error(scale: Any, three_classes: Rows) -> None:
    with pytest.raises(ValueError, match=f"scale must be one of 'auto', .* got scale={scale!r}"):
        small(scale=scale).fit(*three_classes)


@pytest.mark.parametrize("transformer", [StandardScaler(), StandardScaler().fit(np.eye(6))])
def test_a_transformer_as_scale_is_sent_to_a_pipeline(transformer: Any, three_classes: Rows) -> None:
    way_out = r"put it before the model: make_pipeline\(StandardScaler\(...\), GCWSNetClassifier\(scale=None\)\)"
    with pytest.raises(TypeError, match=way_out):
        small(scale=transformer).fit(*three_classes)


def test_a_transformer_in_a_pipeline_can_be_cloned_and_cross_validated(three_classes: Rows) -> None:
    X, y = three_classes
    pipeline = make_pipeline(FunctionTransformer(lambda X: np.hstack([X, X**2])), StandardScaler(), small(scale=None))
    assert clone(pipeline).fit(X, y)[-1].n_features_in_ == 12
    assert cross_val_score(pipeline, X, y, cv=2).min() > 0.9


def test_the_papers_settings_with_dense_adam_learn_too(three_classes: Rows) -> None:
    X, y = three_classes
    paper = small(
        t_bits=0,
        encoding="lowbits",
        optimizer="adam",
        learning_rate=1e-3,
        schedule="constant",
        betas=(0.9, 0.999),
        epochs=5,
    )
    assert paper.fit(X, y).score(X, y) > 0.9
    assert "first_moments.layers.0.weight" in paper.trainer_.net.optimizer_state()


@pytest.mark.parametrize("hidden", [(), (16,), (16, 8), [24]])
@pytest.mark.parametrize("reduction", [None, 4])
def test_layers_and_reduction(hidden: Any, reduction: int | None, three_classes: Rows) -> None:
    X, y = three_classes
    model = small(hidden=hidden, reduction=reduction, epochs=3).fit(X, y)
    assert model.score(X, y) > 0.9
    assert len(model.trainer_.net.weights()["layers.0.weight"]) == 64 * 256 // (reduction or 1)


def test_copies_and_pickles_predict_the_same_and_go_on_alike(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X[:300], y[:300])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        further = copy.deepcopy(model).partial_fit(X[300:], y[300:])
        assert_same_model(other.partial_fit(X[300:], y[300:]), further)


def test_it_works_in_a_pipeline_and_in_a_search(three_classes: Rows) -> None:
    X, y = three_classes
    search = GridSearchCV(
        make_pipeline(StandardScaler(), small(scale=None)), {"gcwsnetclassifier__n_hashes": [4, 64]}, cv=2
    )
    assert search.fit(X, y).best_params_ == {"gcwsnetclassifier__n_hashes": 64}


def test_nets_on_codes_learn_what_a_linear_model_cannot() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] * X[:, 1] > 0
    linear = LogisticRegression().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    net = small().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    assert linear < 0.65
    assert net > 0.9


def test_nan_is_an_error_that_names_it_and_the_ways_out(three_classes: Rows) -> None:
    X, y = three_classes
    holes = pd.DataFrame(X, columns=list("abcdef"))
    holes.loc[5, "c"] = np.nan
    with pytest.raises(ValueError, match=r"X\[5, 'c'\] is NaN; .* give missing='auto', 'zero' or 'mean'"):
        small(missing="error").fit(holes, y)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_missing_zero_is_the_number_0_before_scaling(form: Any, three_classes: Rows) -> None:
    X, y = three_classes
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X + 3)
    given = form(holes)
    model = small(missing="zero").fit(given, y)
    filled = small().fit(form(np.nan_to_num(holes)), y)
    assert_same_model(model, filled)
    np.testing.assert_array_equal(model.predict_proba(given), filled.predict_proba(form(np.nan_to_num(holes))))
    assert np.isnan(given.sum())


def test_missing_mean_is_the_mean_of_the_known_values_where_the_scaling_centres(three_classes: Rows) -> None:
    X, y = three_classes
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X + 3)
    model = small(missing="mean", scale="standard").fit(holes, y)
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    np.testing.assert_allclose(model.predict_proba(holes), model.predict_proba(filled), rtol=1e-6)
    assert not np.allclose(model.predict_proba(holes), model.predict_proba(np.nan_to_num(holes)))


def test_numbers_far_beyond_those_of_fit_are_hashed_as_the_largest(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X.astype(np.float32), y)
    far = np.full((1, 6), np.finfo(np.float32).max, dtype=np.float32)
    assert model.predict(far).shape == (1,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be from 1"),
        ({"batch_size": 0}, "batch_size must be from 1"),
        ({"learning_rate": 0.0}, "learning_rate must be from"),
        ({"learning_rate": np.nan}, "learning_rate must be from"),
        ({"schedule": "step"}, "schedule must be one of"),
        ({"optimizer": "sgd"}, "optimizer must be one of"),
        ({"records": 0}, "records must be a positive integer or fractions"),
        ({"records": [0.5, 2.0]}, "records must be a positive integer or fractions"),
        ({"patience": 0}, "patience must be from 1"),
        ({"validation_fraction": 2.0}, "validation_fraction must be from 0 to 1"),
        ({"n_hashes": 0}, "n_hashes must be from 1"),
        ({"bits": 40}, "bits must be from 1 to 32"),
        ({"hidden": (0,)}, "hidden must be from 1"),
        ({"hidden": 200.0}, "hidden must be an integer, a sequence of integers or 'auto', got hidden=200.0"),
        ({"betas": 0.9}, "betas must be two numbers, got betas=0.9"),
        ({"p": -1.0}, "p must be from"),
        ({"weight_decay": -1.0}, "weight_decay must be from 0"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str, three_classes: Rows) -> None:
    X, y = three_classes
    model = small(**settings)
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "trainer_")


def test_training_that_diverges_is_an_error(three_classes: Rows) -> None:
    X, y = three_classes
    with pytest.raises(ValueError, match="the training diverges; use a smaller learning_rate"):
        small(learning_rate=1e3, epochs=200, hidden=(64, 64, 64, 64, 64, 64)).fit(X, y)


def test_eval_sets_that_are_none(three_classes: Rows) -> None:
    X, y = three_classes
    with pytest.raises(ValueError, match=r"eval_set must be a pair \(X, y\)"):
        small().fit(X, y, eval_set=[X, y])
    with pytest.raises(ValueError, match="X has 2 features, but GCWSNetClassifier is expecting 6"):
        small().fit(X, y, eval_set=(X[:, :2], y))
