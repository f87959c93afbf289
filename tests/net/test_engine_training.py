"""What else the native engine promises: errors before anything changes, interrupts, averages, a state to go on from."""

import math
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from gcwsnet import _core
from tests.net.engine import Rows, assert_equal, make_net, make_rows, state, train

ROWS = make_rows(100)


def given(rows: Rows = ROWS, **changed: Any) -> dict[str, Any]:
    """Arguments of `train` for batches of 32 rows."""
    n_steps = -(-len(rows.codes) // 32)
    arguments = {
        "codes": rows.codes,
        "targets": rows.targets,
        "batch_size": 32,
        "rates": np.full(n_steps, 0.01),
        "losses": np.empty(n_steps),
        "successes": np.empty(n_steps),
    }
    return arguments | changed


def changed(array: Any, place: Any, value: Any) -> Any:
    array = array.copy()
    array[place] = value
    return array


NUMBERS = make_rows(100, loss="squared_error")
OF_NUMBERS: dict[str, Any] = {"loss": "squared_error", "targets": NUMBERS.targets, "successes": np.empty((4, 3))}
BAD = [
    (
        {"codes": changed(ROWS.codes, (70, 5), 16)},
        r"codes must be from 0 to 15 with bits=4, codes\[70, 5\] is 16; give",
    ),
    ({"codes": ROWS.codes[:, :-1].copy()}, "one column for each of the 12 hashes, got 11 columns"),
    ({"codes": ROWS.codes[::2]}, "codes must be contiguous"),
    ({"targets": changed(ROWS.targets, 99, 3)}, r"class numbers from 0 to 2, targets\[99\] is 3"),
    ({"targets": changed(ROWS.targets, 0, -1)}, r"class numbers from 0 to 2, targets\[0\] is -1"),
    ({"targets": ROWS.targets[1:]}, "must be int64, one for each row of codes"),
    ({"targets": ROWS.targets.astype(np.int32)}, "must be int64, one for each row of codes"),
    ({"weights": np.ones(99, np.float32)}, "weights must be float32, one for each row of codes"),
    ({"weights": np.ones(100)}, "weights must be float32, one for each row of codes"),
    ({"weights": changed(np.ones(100, np.float32), 3, np.nan)}, r"must be finite, weights\[3\] is -?nan"),
    ({"order": np.array([0, 100, 2])}, r"numbers of the 100 rows of codes, order\[1\] is 100"),
    ({"order": np.array([0, 1, -1])}, r"numbers of the 100 rows of codes, order\[2\] is -1"),
    ({"order": np.zeros((2, 2), np.int64)}, "order must be a vector of row numbers"),
    ({"order": np.zeros(3, np.int32)}, "order must be int64"),
    ({"batch_size": 0}, "batch_size must be at least 1"),
    ({"batch_size": 100}, "rates must be float64, one for each batch"),
    ({"rates": np.array([1.0, np.inf, 1.0, 1.0])}, r"rates must be finite and at least 0, rates\[1\] is inf"),
    ({"rates": np.array([1.0, 0.0, -1.0, 1.0])}, r"rates must be finite and at least 0, rates\[2\] is -1"),
    ({"losses": np.empty(3)}, "losses must be float64, one for each batch"),
    ({"successes": np.empty((4, 3))}, "successes must be float64, one for each batch"),
    ({"outputs": np.empty((100, 2), np.float32)}, "outputs must be float32, rows of `order` x outputs"),
    ({"loss": "hinge"}, "loss must be 'cross_entropy', .* got loss='hinge'"),
    ({"betas": (0.9, 1.0)}, "betas must be two numbers from 0 to below 1"),
    ({"eps": 0.0}, "eps must be a finite number of at least 1e-30"),
    ({"weight_decay": -0.1}, "weight_decay must be a finite number of at least 0"),
    (OF_NUMBERS | {"targets": changed(NUMBERS.targets, (5, 1), np.nan)}, r"must be finite, targets\[5, 1\] is -?nan"),
    (OF_NUMBERS | {"targets": NUMBERS.targets[:, :2].copy()}, "must be float32, rows of codes x outputs"),
    (OF_NUMBERS | {"targets": ROWS.targets}, "must be float32, rows of codes x outputs"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused_before_anything_changes(wrong: dict[str, Any], message: str) -> None:
    rows = ROWS
    net = make_net(rows)
    arguments = given(rows, **wrong)
    if "order" in wrong and wrong["order"].ndim == 1:
        arguments |= {"rates": np.ones(1), "losses": np.empty(1), "successes": np.empty(1)}
    before = state(net)
    with pytest.raises(ValueError, match=message):
        net.train(**arguments)
    assert_equal(state(net), before)


def test_codes_of_other_types_are_refused() -> None:
    net = make_net(ROWS)
    for dtype in (np.int64, np.uint64, np.float32):
        with pytest.raises(TypeError, match="codes must be uint8, uint16 or uint32"):
            net.outputs(ROWS.codes.astype(dtype))
    with pytest.raises(ValueError, match=r"codes\[1, 2\] is 255"):
        net.outputs(changed(ROWS.codes, (1, 2), 255))
    with pytest.raises(ValueError, match=r"targets\[0\] is 7"):
        net.evaluate(ROWS.codes, changed(ROWS.targets, 0, 7))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_hashes": 0}, "n_hashes must be from 1"),
        ({"bits": 33}, "bits must be from 1 to 32"),
        ({"hidden": (5, 0)}, "hidden must be from 1 to 2.*, got 0"),
        ({"n_outputs": 0}, "n_outputs must be from 1"),
        ({"bits": 32}, "at most 2.*31 rows, got 4 hashes of 32 bits with reduction=1; use a larger reduction"),
        ({"reduction": 0}, "reduction must be at least 1"),
        ({"scale": math.nan}, "scale must be a finite number"),
    ],
)
def test_nets_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    fine: dict[str, Any] = {"n_hashes": 4, "bits": 4, "hidden": (5,), "n_outputs": 2}
    with pytest.raises(ValueError, match=message):
        _core.Net(**fine | settings)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_loss_that_is_not_finite_leaves_the_net_as_it_was_before_the_step(n_threads: int) -> None:
    rows = make_rows(320, loss="squared_error", n_outputs=1)
    rows.targets[165] = 3e38
    rows = rows._replace(weights=np.full(320, 100, np.float32))
    net, judge = make_net(rows, n_outputs=1), make_net(rows, n_outputs=1)
    with pytest.raises(
        FloatingPointError, match="the loss of step 6 of 10, of the rows from place 160 on, is infinite"
    ):
        train(net, rows, n_threads=n_threads)
    assert net.n_steps == 5
    first = Rows(rows.codes[:160], rows.targets[:160], rows.weights[:160], None, rows.loss)
    judge.train(
        first.codes,
        first.targets,
        weights=first.weights,
        batch_size=32,
        rates=0.01 * (1 - np.arange(5) / 10),
        losses=np.empty(5),
        successes=np.empty((5, 1)),
        loss=first.loss,
    )
    assert_equal(state(net), state(judge))


def test_a_net_whose_weights_are_not_finite_is_noticed() -> None:
    net = make_net(ROWS)
    net.weights()["layers.0.weight"][:] = np.nan
    with pytest.raises(FloatingPointError, match="step 1 of 4"):
        train(net, ROWS)


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from tests.net.engine import assert_equal, make_net, make_rows, state

rows = make_rows(2000, 64, 6)
order = np.random.default_rng(0).integers(0, 2000, 3_200_000)

def learn(net, losses):
    arguments = {"rates": np.full(len(losses), 0.01), "losses": losses, "successes": np.empty(len(losses))}
    net.train(rows.codes, rows.targets, order=order[: 16 * len(losses)], batch_size=16, n_threads=2, **arguments)

def interrupt():
    while net.n_steps < 20:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
net, other = make_net(rows, 6, (64,)), make_net(rows, 6, (64,))
threading.Thread(target=interrupt).start()
losses = np.full(200_000, np.nan)
try:
    learn(net, losses)
except KeyboardInterrupt:
    print("interrupted")
assert 20 <= net.n_steps == np.isfinite(losses).sum() < 200_000
learn(other, np.empty(net.n_steps))
assert_equal(state(net), state(other))
print("the same")
"""


def test_an_interrupt_ends_training_between_two_steps() -> None:
    """In a process of its own: a signal that comes too late would end the tests."""
    made = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300, check=False)
    assert made.stdout.split("\n")[:2] == ["interrupted", "the same"], made.stderr


def test_two_threads_of_python_use_a_net_one_after_the_other() -> None:
    net = make_net(ROWS)
    threads = [threading.Thread(target=train, args=(net, ROWS)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert net.n_steps == 16
    assert net.outputs(ROWS.codes).shape == (100, 3)


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error", "absolute_error", "huber"])
def test_evaluation_is_what_training_records_before_a_step(loss: str) -> None:
    rows = make_rows(300, 20, 5, loss=loss)
    net, judge = make_net(rows, 5), make_net(rows, 5)
    record = train(net, rows, batch_size=300)
    for n_threads in (1, 3):
        total, successes = judge.evaluate(rows.codes, rows.targets, loss=loss, n_threads=n_threads)
        assert total == record.losses[0]
        assert successes == record.successes[0].reshape(-1).tolist()
    assert record.outputs.tobytes() == judge.outputs(rows.codes).tobytes()
    assert net.evaluate(rows.codes, rows.targets, loss=loss)[0] < total


@pytest.mark.parametrize("n_outputs", [1, 2, 7, 100])
def test_losses_are_those_of_float64(n_outputs: int) -> None:
    rows = make_rows(200, 20, 5, n_outputs)
    net = make_net(rows, 5, (), n_outputs)
    net.weights()["layers.0.weight"][...] *= 100
    outputs = net.outputs(rows.codes).astype(np.float64)
    shifted = outputs - outputs.max(1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(200), rows.targets]
    total, successes = net.evaluate(rows.codes, rows.targets)
    assert total == pytest.approx(losses.sum(), rel=1e-13, abs=1e-13)
    assert successes == [float((outputs.argmax(1) == rows.targets).sum())]

    numbers = make_rows(200, 20, 5, n_outputs, loss="squared_error").targets
    errors = outputs - numbers
    size = np.abs(errors)
    expected = {
        "squared_error": errors**2,
        "absolute_error": size,
        "huber": np.where(size < 1, errors**2 / 2, size - 0.5),
    }
    for loss, of_outputs in expected.items():
        total, successes = net.evaluate(rows.codes, numbers, loss=loss)
        assert total == pytest.approx(of_outputs.mean(1).sum(), rel=1e-13)
        np.testing.assert_allclose(successes, (errors**2).sum(0), rtol=1e-13)


def test_no_momentum_takes_no_memory_and_moments_are_made_when_they_are_needed() -> None:
    net = make_net(ROWS)
    assert (net.has_first_moments, net.has_second_moments) == (False, False)
    train(net, ROWS)
    assert (net.has_first_moments, net.has_second_moments) == (False, True)
    train(net, ROWS, betas=(0.9, 0.999))
    assert (net.has_first_moments, net.has_second_moments) == (True, True)
    assert net.first_moments()["layers.0.weight"].any()


def test_rows_of_the_table_that_do_not_occur_stay_as_they_are() -> None:
    net = make_net(ROWS)
    before = state(net)
    net.train(**given(order=np.arange(5), rates=np.ones(1), losses=np.empty(1), successes=np.empty(1)))
    occurred = np.unique(ROWS.codes[:5] + 16 * np.arange(12))
    others = np.setdiff1d(np.arange(192), occurred)
    table, second = net.weights()["layers.0.weight"], net.second_moments()["layers.0.weight"]
    np.testing.assert_array_equal(table[others], before["weights.layers.0.weight"][others])
    assert not second[others].any()
    assert (second[occurred] != 0).any(1).all()


def test_no_rows_are_no_steps() -> None:
    net = make_net(ROWS)
    nothing = np.empty(0)
    net.train(**given(order=np.empty(0, np.int64), rates=nothing, losses=nothing, successes=nothing))
    assert net.n_steps == 0


def load(net: Any, saved: dict[str, Any]) -> None:
    """Put what `state` has copied into a net."""
    if "averaging_rows" in saved:
        net.rows_seen = int(saved["rows_seen"])
        net.start_averaging()
        for name, array in net.averages().items():
            array[...] = saved[name]
        net.averaging_rows = (*saved["averaging_rows"].tolist(), 0)
    for name, array in net.weights().items():
        array[...] = saved[f"weights.{name}"]
    for which in ("first", "second"):
        if f"{which}.layers.0.bias" in saved:
            for name, array in getattr(net, f"{which}_moments")().items():
                array[...] = saved[f"{which}.{name}"]
    net.n_steps, net.rows_seen = int(saved["n_steps"]), int(saved["rows_seen"])


def test_views_outlive_the_net_and_what_they_show() -> None:
    net = make_net(ROWS)
    net.start_averaging()
    table, sums = net.weights()["layers.0.weight"], net.averages()["newer.layers.0.weight"]
    net.stop_averaging()
    del net
    assert np.isfinite(table).all()
    assert not sums.any()


class Means:
    """The averages in float64, by their definition: two means over the end of a stream."""

    def __init__(self, weights: dict[str, Any], rows_seen: int) -> None:
        self.start, self.rows = rows_seen, [rows_seen - rows_seen // 2, 0]
        self.means = [{name: array.astype(np.float64) for name, array in weights.items()} for _ in range(2)]

    def note(self, weights: dict[str, Any], rows_seen: int) -> None:
        last = self.start + self.rows[1]
        if rows_seen < (1 + 1 / 32) * last:
            return
        for part in range(2):
            self.rows[part] += rows_seen - last
            share, mean = (rows_seen - last) / self.rows[part], self.means[part]
            self.means[part] = {name: mean[name] + (weights[name] - mean[name]) * share for name in mean}
        if rows_seen >= 2 * self.start:
            self.means = [self.means[1], {name: array.astype(np.float64) for name, array in weights.items()}]
            self.rows, self.start = [self.rows[1], 0], rows_seen
