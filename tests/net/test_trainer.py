"""The one loop over batches."""

import copy
import itertools
import json
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcwsnet.files import Batch
from gcwsnet.net import _trainer as _run
from gcwsnet.net._history import Record
from gcwsnet.net._packed import PackedNet
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Observer, Plan, Trainer
from tests.net.learners import THREE_CLASSES, begin, coded_rows, content, in_blocks, numbers, run

ROWS = coded_rows(THREE_CLASSES, 500, weighted=True)
HELD_OUT = coded_rows(THREE_CLASSES, 100, seed=3)


class Calls(Observer):
    """An observer that calls a function at each checkpoint and at each record."""

    def __init__(
        self, checkpoint: Callable[[], None] = lambda: None, record: Callable[[Record], bool] = lambda _: False
    ) -> None:
        self._checkpoint, self._record = checkpoint, record
        self.rows = 0

    def advance(self, rows: int, loss: float) -> None:
        assert loss >= 0
        self.rows += rows

    def record(self, record: Record) -> bool:
        return self._record(record)

    def checkpoint(self) -> None:
        self._checkpoint()


@settings(max_examples=25)
@given(st.integers(1, 600), st.integers(1, 40), st.integers(1, 40))
def test_blocks_and_calls_of_any_size_give_the_same_bytes(size: int, steps: int, other: int) -> None:
    """How many steps one call of the native core takes follows from the clock, and nothing may follow from that."""

    def fixed_steps(self: Any) -> int:
        return min(taken(self), next(numbers_of_steps))

    taken = _run.Run._steps_to_next_event
    numbers_of_steps = itertools.cycle([steps, other])
    expected = run(begin(batch_size=7), ROWS, held_out=[HELD_OUT], fractions=(0.3, 1.0), averaged=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_run.Run, "_steps_to_next_event", fixed_steps)
        found = run(begin(batch_size=7), ROWS, size=size, held_out=[HELD_OUT], fractions=(0.3, 1.0), averaged=True)
    assert content(found) == content(expected)


@pytest.mark.parametrize("targets", [THREE_CLASSES, numbers(2, "huber")], ids=["labels", "numbers"])
def test_any_number_of_threads_gives_the_same_bytes(targets: Targets) -> None:
    rows = coded_rows(targets, 500)
    one, *others = (run(begin(targets, batch_size=64), rows, averaged=True, n_jobs=n) for n in (1, 2, 3))
    for other in others:
        assert content(other) == content(one)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("doubling", [False, True])
@pytest.mark.parametrize("options", [{}, {"betas": (0.9, 0.99)}, {"optimizer": "adam"}], ids=str)
def test_a_run_that_is_resumed_ends_with_the_bytes_of_one_that_was_not_stopped(
    options: dict[str, Any], doubling: bool, averaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_run, "FIRST_RECORD", 64)
    plan: dict[str, Any] = {"epochs": 3, "fractions": (0.4, 1.0), "doubling": doubling, "averaged": averaged}
    plan |= {"checkpoint_rows": 90, "held_out": [HELD_OUT]}
    whole = begin(**options)
    whole.start_run(with_auc=True)
    states: list[Any] = []

    def keep() -> None:
        arrays, description = whole.state(training_state=True, timings=False)
        states.append(({name: value.copy() for name, value in arrays.items()}, json.dumps(description)))

    run(whole, ROWS, observer=Calls(keep), **plan)
    assert [json.loads(text)["run"]["rows_of_epoch"] for _, text in states][:3] == [96, 192, 272]
    assert len(states) == 1500 // 90
    for arrays, text in states[::3] + states[-1:]:
        resumed = run(Trainer.from_state(arrays, json.loads(text)), ROWS, size=60, observer=Calls(), **plan)
        assert content(resumed) == content(whole)


def test_a_state_without_that_of_training_has_the_weights_that_predict_and_no_more() -> None:
    trainer = run(begin(), ROWS, averaged=True)
    arrays, description = trainer.state(weights="float32")
    assert {name.partition(".")[0] for name in arrays} == {"net"}
    assert "run" not in description
    other = Trainer.from_state(arrays, description)
    assert isinstance(other.net, PackedNet)
    np.testing.assert_array_equal(other.net.outputs(ROWS.X, n_jobs=1), trainer.net.outputs(ROWS.X, n_jobs=1))
    assert (other.rows_seen, other.epochs_seen, other.history) == (1000, 2, trainer.history)


@pytest.mark.parametrize("averaged", [False, True])
def test_copies_and_pickles_go_on_alike(averaged: bool) -> None:
    trainer = run(begin(betas=(0.5, 0.9)), ROWS, averaged=averaged)
    others = [copy.deepcopy(trainer), pickle.loads(pickle.dumps(trainer))]
    before = content(trainer)
    for other in others:
        assert content(other) == before
        other.start_run()
        run(other, ROWS, averaged=averaged)
    assert content(trainer) == before
    trainer.start_run()
    run(trainer, ROWS, averaged=averaged)
    assert all(content(other) == content(trainer) for other in others)


def test_weights_of_one_are_no_weights_and_of_zero_are_no_rows() -> None:
    plain = run(begin(), ROWS._replace(weight=None))
    assert content(run(begin(), ROWS._replace(weight=np.ones(500)))) == content(plain)
    nothing = run(begin(), ROWS._replace(weight=np.zeros(500)))
    for name, value in begin().net.weights().items():
        np.testing.assert_array_equal(nothing.net.weights()[name], value)


def test_records_are_made_where_they_are_due() -> None:
    trainer = run(begin(), ROWS, fractions=(0.1, 0.5, 1.0), held_out=[HELD_OUT, ROWS])
    ends = [64, 256, 500]
    assert trainer.history["rows"] == ends + [500 + end for end in ends]
    np.testing.assert_allclose(trainer.history["epoch"], np.array(trainer.history["rows"]) / 500)
    found = trainer.evaluate([HELD_OUT])
    assert found == {"loss": trainer.history["eval_loss"][-1], "accuracy": trainer.history["eval_accuracy"][-1]}
    assert trainer.evaluate([ROWS.rows(0, 77), ROWS.rows(77, 500)])["loss"] == trainer.history["eval_1_loss"][-1]


def test_a_loss_of_the_history_is_the_mean_since_the_record_before() -> None:
    batches: list[float] = []

    class Losses(Observer):
        def advance(self, rows: int, loss: float) -> None:
            batches.append(rows * loss)

    trainer = run(begin(), ROWS, fractions=(0.5, 1.0), epochs=1, observer=Losses())
    first, second = trainer.history["loss"]
    assert 256 * first + 244 * second == pytest.approx(sum(batches))


def test_a_stream_has_records_at_rows_that_double_and_one_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_run, "FIRST_RECORD", 100)
    trainer = begin()
    run(trainer, ROWS, epochs=1, n_rows=None, doubling=True, size=60, held_out=[HELD_OUT], averaged=True)
    assert trainer.history["rows"] == [112, 208, 400, 500]
    assert trainer.history["epoch"] == [0.0] * 4
    assert trainer.history["learning_rate"] == [0.01] * 4
    assert np.isfinite(trainer.history["eval_loss"]).all()
    means = np.average(trainer.history["loss"], weights=np.diff([0, *trainer.history["rows"]]))
    assert trainer.history["mean_loss"][-1] == pytest.approx(means)


@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_rates_follow_the_schedule_over_all_epochs(schedule: str) -> None:
    rates = run(begin(schedule=schedule), ROWS, fractions=(0.5, 1.0)).history["learning_rate"]
    done = np.array([240, 496, 740, 996]) / 1000  # the rows before the last step of each record
    factor = {"constant": done * 0 + 1, "linear": 1 - done}[schedule]
    np.testing.assert_allclose(rates, 0.01 * factor, rtol=1e-12)
    assert set(run(begin(schedule=schedule), ROWS, scheduled=False).history["learning_rate"]) == {0.01}


def test_early_stopping_restores_the_best_weights_and_ends_after_its_patience() -> None:
    labels = np.random.default_rng(0).integers(0, 3, 100).astype(np.int32)
    noise = HELD_OUT._replace(y=labels)
    losses: list[float] = []

    def after_an_epoch(record: dict[str, float]) -> bool:
        if record["epoch"] == int(record["epoch"]):
            outputs = trainer.net.outputs(noise.X, n_jobs=1)
            calibrated = trainer.targets.calibrated(outputs, labels, np.ones(100))
            losses.append(float(calibrated.losses(outputs, labels).mean()))
        return False

    trainer = begin()
    run(
        trainer,
        ROWS,
        epochs=50,
        fractions=(0.5, 1.0),
        held_out=[noise],
        patience=3,
        observer=Calls(record=after_an_epoch),
    )
    assert trainer.epochs_seen == len(losses) < 50
    assert len(losses) - 1 - int(np.argmin(losses)) == 3
    assert trainer.targets.temperature > 1  # noise should be predicted with little confidence
    assert trainer.evaluate([noise])["loss"] == min(losses)


def test_early_stopping_looks_at_whole_epochs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_run, "FIRST_RECORD", 64)
    trainer = run(begin(), ROWS, doubling=True, fractions=(0.1, 0.5, 1.0), held_out=[HELD_OUT], patience=1, epochs=2)
    assert np.isfinite(trainer.history["eval_loss"]).sum() == 6
    assert trainer.epochs_seen == 2  # more records than the patience, and none of them counts but the last ones


@pytest.mark.parametrize(("stop_at", "epochs"), [(0.5, 0), (1.0, 1), (1.5, 1), (2.0, 2)])
def test_an_observer_ends_the_run_and_whole_epochs_count(stop_at: float, epochs: int) -> None:
    observer = Calls(record=lambda record: record["epoch"] >= stop_at)
    trainer = run(begin(), ROWS, epochs=3, fractions=(0.5, 1.0), observer=observer)
    assert trainer.history["epoch"][-1] == pytest.approx(stop_at, abs=0.02)
    assert trainer.epochs_seen == epochs
    assert observer.rows == trainer.rows_seen == trainer.history["rows"][-1]


def test_a_second_run_goes_on_with_the_epochs_of_the_first() -> None:
    twice = run(begin(schedule="constant"), ROWS, epochs=1)
    twice.start_run()
    run(twice, ROWS, epochs=1)
    assert content(twice)[0] == content(run(begin(schedule="constant"), ROWS, epochs=2))[0]
    assert twice.history["epoch"] == [1.0, 2.0]


def test_a_run_without_averages_drops_those_of_an_earlier_one() -> None:
    trainer = run(begin(), ROWS, averaged=True)
    assert trainer.net.averaging == "average"
    trainer.start_run()
    run(trainer, ROWS)
    assert trainer.net.averaging is None


def test_ctrl_c_ends_a_run_between_two_steps_and_the_state_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_run, "BLOCK_ROWS", 96)
    trainer = begin()

    def epoch(number: int) -> Iterator[Batch]:
        for first, block in zip(range(0, 500, 100), in_blocks(ROWS, 100)(number), strict=True):
            if first == 300:
                os.kill(os.getpid(), signal.SIGINT)
            yield block

    with pytest.raises(KeyboardInterrupt):
        trainer.run(Plan(1, 500), epoch)
    assert 200 < trainer.rows_seen < 500
    assert trainer.rows_seen == trainer.rows_of_epoch == 16 * trainer.net.n_steps
    resumed = Trainer.from_state(*trainer.state(training_state=True))
    assert content(run(resumed, ROWS, epochs=1)) == content(run(begin(), ROWS, epochs=1))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("error", [KeyboardInterrupt, FloatingPointError])
def test_an_error_in_the_middle_of_a_call_counts_the_steps_that_were_taken(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = begin()
    train = type(trainer.net).train

    def failing(self: Any, codes: Any, target: Any, weight: Any, rates: Any, **more: Any) -> Any:
        """Take three steps of many, as the native core does until it sees a second Ctrl-C."""
        rows, batch_size = 3 * more["batch_size"], more["batch_size"]
        if len(rates) > 3:
            train(self, codes[:rows], target[:rows], weight[:rows], rates[:3], batch_size=batch_size, n_jobs=1)
            raise error
        return train(self, codes, target, weight, rates, **more)

    monkeypatch.setattr(_run, "SECONDS_OF_A_CALL", 1e9)
    monkeypatch.setattr(type(trainer.net), "train", failing)
    with pytest.raises(error):
        run(trainer, ROWS, averaged=True)
    assert trainer.net.n_steps == 1 + 2 + 3
    assert trainer.rows_seen == trainer.rows_of_epoch == 16 * 6
    monkeypatch.undo()
    expected = run(begin(), ROWS, averaged=True)
    resumed = run(Trainer.from_state(*trainer.state(training_state=True)), ROWS, averaged=True)
    assert content(resumed)[0].keys() == content(expected)[0].keys()
    for name, value in expected.net.predicting_weights().items():
        np.testing.assert_array_equal(resumed.net.predicting_weights()[name], value)


def test_codes_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="codes"):
        run(begin(), Batch(ROWS.X[:, :5], ROWS.y))
