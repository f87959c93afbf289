"""The course of a fit: its records, learning rates, early stopping, callbacks and display."""

import logging
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.conftest import Rows
from tests.estimators.models import small


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


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_schedules_end_where_they_say(schedule: str, three_classes: Rows) -> None:
    X, y = three_classes
    rates = small(schedule=schedule, epochs=2).fit(X, y).history_["learning_rate"]
    assert rates[-1] == 5e-3 if schedule == "constant" else rates[-1] < 5e-4
    assert sorted(rates, reverse=True) == rates


@pytest.mark.parametrize(
    ("settings", "rate"),
    [({}, 7e-3), ({"batch_size": 1, "epochs": 6}, 3e-3), ({"hidden": ()}, 1e-2), ({"learning_rate": 2e-3}, 2e-3)],
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
    outputs = model.trainer_.net.outputs(model.coder_.codes(X[200:]), n_jobs=1, weights="last")  # before rounding
    targets: Any = model.trainer_.targets
    of_label = targets.probabilities(outputs)[np.arange(200), y[200:]]
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


def test_eval_sets_that_are_none(three_classes: Rows) -> None:
    X, y = three_classes
    with pytest.raises(ValueError, match=r"eval_set must be a pair \(X, y\)"):
        small().fit(X, y, eval_set=[X, y])
    with pytest.raises(ValueError, match="X has 2 features, but GCWSNetClassifier is expecting 6"):
        small().fit(X, y, eval_set=(X[:, :2], y))
