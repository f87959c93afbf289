"""How a stream is followed: the choice of the weights that predict, and the history."""

import math
from typing import Any

import numpy as np
import pytest

from gcwsnet import _core
from gcwsnet.files import Batch
from gcwsnet.net._following import Following
from gcwsnet.net._history import MAX_STREAM_RECORDS, append, thin
from gcwsnet.net._net import RECENT_ROWS, Net, make_net
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels
from gcwsnet.net._trainer import Trainer


def test_the_loss_of_rows_is_that_of_the_targets() -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(20, 3)).astype(np.float32)
    target = rng.integers(0, 3, 20)
    found = _core.row_losses(outputs, target)[:, 0]
    np.testing.assert_allclose(found, Labels(np.arange(3)).losses(outputs, target), rtol=1e-6)
    with pytest.raises(ValueError, match="class numbers"):
        _core.row_losses(outputs, target + 3)


class SlowMean:
    """The mean over recent rows of one row of the table, which is brought up to date after 16 rows or more."""

    def __init__(self, row: Any) -> None:
        self.mean, self.taken = row, -1

    def at(self, row: Any, seen: int) -> Any:
        if self.taken < 0:
            return row
        return row + (1 - 1 / RECENT_ROWS) ** (seen - self.taken) * (self.mean - row)

    def take(self, row: Any, seen: int) -> None:
        if self.taken < 0 or seen - self.taken >= 16:
            self.mean, self.taken = self.at(row, seen), seen


def trained_net(
    hidden: tuple[int, ...] = (8,), reduction: int | None = None, steps: int = 60, mean: str = "recent"
) -> Any:
    settings = TrainingSettings(hidden=hidden, reduction=reduction)
    net = make_net(settings, Labels(np.arange(3)), n_hashes=6, code_bits=4, seed=0)
    net.start_averaging(0, mean)
    rng = np.random.default_rng(0)
    now = {name: value.astype(np.float64) for name, value in net.weights().items()}
    means, seen = now, 0
    table = [SlowMean(row) for row in now["layers.0.weight"]]
    for _ in range(steps):
        n = int(rng.integers(1, 9))
        codes = rng.integers(0, 4, (n, 6)).astype(np.uint8)  # many rows of the table are never picked
        for row in {16 * column + int(code) for one in codes for column, code in enumerate(one)}:
            if reduction is None:
                table[row].take(now["layers.0.weight"][row], seen)
        net.train(codes, rng.integers(0, 3, n), None, np.array([0.05]), batch_size=n, n_jobs=1)
        seen += n
        now = {name: value.astype(np.float64) for name, value in net.weights().items()}
        keep = (1 - 1 / RECENT_ROWS) ** n
        means = {name: now[name] + keep * (means[name] - now[name]) for name in now}
    rows = zip(table, now["layers.0.weight"], strict=True)
    return net, means | {"layers.0.weight": np.array([mean.at(row, seen) for mean, row in rows])}


@pytest.mark.parametrize("hidden", [(), (8,), (5, 4)])
@pytest.mark.parametrize("reduction", [None, 3])
@pytest.mark.parametrize("weights", ["recent", "average"])
def test_means_of_the_rows_that_are_picked_are_those_of_the_whole_table(
    hidden: tuple[int, ...], reduction: int | None, weights: str
) -> None:
    net, _ = trained_net(hidden, reduction, mean=weights)
    codes = np.random.default_rng(1).integers(0, 16, (40, 6)).astype(np.uint8)
    whole = net.cores[0].averaged(weights=weights).outputs(codes)
    np.testing.assert_array_equal(net.cores[0].outputs(codes, weights=weights), whole)


def test_the_mean_over_recent_rows_forgets_by_a_factor_for_each_row() -> None:
    net, means = trained_net(steps=200)
    for name, value in net.cores[0].averaged(weights="recent").weights().items():
        np.testing.assert_allclose(value, means[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_an_output_that_is_inserted_changes_no_other(hidden: tuple[int, ...]) -> None:
    net, _ = trained_net(hidden)
    codes = np.random.default_rng(1).integers(0, 4, (9, 6)).astype(np.uint8)
    before = {which: net.outputs(codes, n_jobs=1, weights=which) for which in ("last", "recent")}
    net.insert_output(1, Labels(np.arange(4)))
    for which, outputs in before.items():
        found = net.outputs(codes, n_jobs=1, weights=which)
        np.testing.assert_array_equal(found[:, [0, 2, 3]], outputs)
        np.testing.assert_array_equal(found[:, 1], 0)
    net.train(codes, np.full(9, 1), None, np.full(9, 0.05), batch_size=1, n_jobs=1)
    assert (net.outputs(codes, n_jobs=1, weights="last").argmax(axis=1) == 1).all()


def test_the_weights_with_the_lowest_recent_loss_predict() -> None:
    net, _ = trained_net()
    following = Following()
    following.begin(net, 100)
    codes, target = np.zeros((32, 6), dtype=np.uint8), np.zeros(32, dtype=np.int64)
    outputs = {which: net.outputs(codes, n_jobs=1, weights=which) for which in ("last", "recent")}
    losses = {which: sum(net._row_losses(found, target)) for which, found in outputs.items()}
    following.compare(net, codes, target, 1)
    assert net.predicts_with == min(losses, key=losses.__getitem__)


@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_outputs_and_losses_of_one_call_are_those_of_several(temperature: float) -> None:
    net, _ = trained_net()
    net.targets = Labels(np.arange(3), temperature)
    codes = np.random.default_rng(1).integers(0, 16, (7, 6)).astype(np.uint8)
    target = np.arange(7, dtype=np.int32) % 3
    weights = ["recent", "last"]
    outputs, losses = net.scored(codes, target, weights, n_jobs=1)
    expected_outputs, expected_losses = Net.scored(net, codes, target, weights, n_jobs=1)
    np.testing.assert_array_equal(outputs, expected_outputs)
    assert losses == expected_losses


def test_rows_that_come_one_by_one_are_compared_every_fourth_time() -> None:
    net, _ = trained_net()
    trainer = Trainer(net)
    rows = Batch(np.zeros((1, 6), dtype=np.uint8), np.zeros(1, dtype=np.int64))
    _, losses = net.scored(rows.X, np.zeros(1, dtype=np.int64), ["last", "recent"], n_jobs=1)
    for _ in range(4):
        trainer.follow(rows)
        assert trainer.following is not None
        scores = dict(trainer.following.scores)
        assert [*scores.values()] == [4 * of_row for (of_row,) in losses]
    trainer.follow(rows)
    assert trainer.following is not None
    assert all(trainer.following.scores[name] != scores[name] for name in scores)


def test_a_history_has_at_most_512_records_and_keeps_the_mean_of_all_rows() -> None:
    history: dict[str, list[float]] = {}
    rng = np.random.default_rng(0)
    losses = []
    for row in range(1, 20_001):
        losses.append(float(rng.random()))
        append(history, {"rows": float(row), "loss": losses[-1], "learning_rate": 0.1})
        thin(history, "accuracy")
        assert len(history["rows"]) <= MAX_STREAM_RECORDS
    n = np.diff(history["rows"], prepend=0.0)
    assert history["rows"][-1] == 20_000
    assert math.isclose(float(n @ history["loss"]) / 20_000, float(np.mean(losses)), rel_tol=1e-9)
    assert (n[-200:] == 1).all()
    assert n[0] > 100


def test_single_rows_of_a_stream_make_few_records() -> None:
    settings = TrainingSettings(hidden=(4,), ensemble=1)
    trainer = Trainer.begin(settings, Labels(np.arange(2)), n_hashes=4, code_bits=2, seed=0, device="cpu")
    rng = np.random.default_rng(0)
    for _ in range(5000):
        target = rng.integers(0, 2, 1)
        trainer.follow_quietly(Batch(np.full((1, 4), target[0], dtype=np.uint8), target))
    assert trainer.rows_seen == 5000
    assert trainer.history["rows"][-1] == 5000
    assert len(trainer.history["rows"]) < 400
    assert trainer.history["predicted_accuracy"][-1] == 1
