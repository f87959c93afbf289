"""Training in rounds in one process: the rule by which changes are combined, and the loop over rounds."""

from functools import partial, reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.distributed._rounds import (
    WHOLE,
    Sharding,
    Values,
    add_changes,
    apply_update,
    change_of,
    combine,
    learn_here,
    n_bytes,
    picked_rows,
    read_values,
    round_sizes,
    train_in_rounds,
)
from gcwsnet.files import Batch
from gcwsnet.net._targets import Labels
from gcwsnet.net._trainer import Plan, Trainer
from tests.net.learners import THREE_CLASSES, begin, coded_rows, content, numbers, run
from tests.net.test_trainer import Calls

RATE = 0.01
ROWS = coded_rows(THREE_CLASSES, 1000, weighted=True)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"betas": (0.9, 0.999)},
    {"ensemble": 2, "hidden": (4,)},
    {"hidden": ()},
    {"reduction": 3},
    {"optimizer": "adam"},
]


def drawn(seed: int) -> list[Any]:
    """Return random weights, second moments and first moments of ten rows of four numbers."""
    weights, second, first = np.random.default_rng(seed).normal(size=(3, 10, 4)).astype(np.float32)
    return [weights, second**2, first]


@pytest.mark.parametrize("has_momentum", [False, True])
@pytest.mark.parametrize("is_table", [False, True])
def test_changes_are_combined_by_the_formula(is_table: bool, has_momentum: bool) -> None:
    """Rows are changed by all three shards, by some, by one, and by none; a layer is one row, changed by all."""
    old, last = Values(WHOLE, *drawn(0)), drawn(1)[0]
    touched: list[Any] = [[0, 1, 2, 5], [0, 1, 3, 5], [0, 4, 5]] if is_table else [WHOLE] * 3
    after = [drawn(2 + shard) for shard in range(3)]
    changes = []
    for new, rows in zip(after, touched, strict=True):
        new[0][[1, 5]] = 1.0  # the shards agree
        before = Values(rows, *(array[rows] for array in drawn(0)))
        changes.append(change_of(before, Values(rows, *(array[rows] for array in new))))
    found = combine(old, last if has_momentum else None, reduce(add_changes, changes), RATE)
    if is_table:
        np.testing.assert_array_equal(found.rows, [0, 1, 2, 3, 4, 5])
    for row in range(6) if is_table else [WHOLE]:
        by = [new for new, rows in zip(after, touched, strict=True) if rows is WHOLE or row in rows]
        d = np.array([new[0][row].astype(float) - old.weights[row] for new in by])
        D = d.sum(axis=0)
        factor = min(1.0, (d**2).sum() / (D**2).sum())
        expected = old.weights[row] + 0.7 * factor * D + (0.7 * RATE * last[row] if has_momentum else 0)
        np.testing.assert_allclose(found.weights[row], expected, rtol=1e-5, atol=1e-6)
        second, first = (np.mean([new[place][row] for new in by], axis=0) for place in (1, 2))
        if is_table:  # only the means of rows travel
            second = old.second[row] * second.mean() / old.second[row].mean()
        np.testing.assert_allclose(found.second[row], second, rtol=1e-5)
        assert found.first is not None
        np.testing.assert_allclose(found.first[row], first, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_steps_change_nothing_but_picked_rows_and_values_of_these_can_be_put_back(settings: dict[str, Any]) -> None:
    trainer = begin(**settings)
    codes, y = np.tile(ROWS.X[:8], trainer.settings.members()), ROWS.y[:8]  # type: ignore[index]

    def state() -> Any:
        read_values(trainer.net)  # makes the moments
        return content(trainer)[0]

    for _ in range(2):  # before the first step, and then
        start, picked = state(), picked_rows(trainer.net, codes)
        before = read_values(trainer.net, picked)
        trainer.net.train(codes, y, None, np.full(1, RATE), batch_size=8, n_jobs=1)
        after, update = state(), read_values(trainer.net, picked)
        assert after != start
        for values, expected in ((before, start), (update, after)):
            apply_update(values, trainer.net, {})
            assert state() == expected
    if settings.get("optimizer") != "adam":
        assert n_bytes(update) < 0.8 * n_bytes(read_values(trainer.net))


def learned_in_rounds(trainer: Trainer, rows: Batch, shards: int, sync_rows: int, **more: Any) -> Trainer:
    """Run a trainer over rows in the order of `run`, in rounds."""
    order = [np.random.default_rng(number).permutation(rows.n_rows) for number in range(2)]
    plan = Plan(2, rows.n_rows, checkpoint_rows=more.pop("checkpoint_rows", 0))
    learn = partial(learn_here, trainer, rows)
    train_in_rounds(
        trainer, plan, lambda number: np.array_split(order[number], 7), learn, Sharding(shards, sync_rows), **more
    )
    return trainer


def weights(trainer: Trainer) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in trainer.net.weights().items()}


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(1, 100), st.integers(1, 5000), st.integers(1, 200))
def test_the_pieces_of_a_round_are_whole_steps_and_as_many_as_the_rows_before_allow(
    done: int, left: int, shards: int, sync_rows: int, batch_size: int
) -> None:
    sizes = round_sizes(done, left, shards, sync_rows, batch_size)
    assert 1 <= len(sizes) <= shards
    assert sum(sizes) <= left
    assert len(sizes) == 1 or sum(sizes) <= done / 10
    assert sizes[0] < sync_rows + batch_size
    assert all(size == sizes[0] for size in sizes[:-1])
    assert sum(sizes) == left or all(size % batch_size == 0 for size in sizes)


@pytest.mark.parametrize("settings", [{}, {"betas": (0.9, 0.99)}, {"optimizer": "adam"}, {"batch_size": 7}], ids=str)
@pytest.mark.parametrize("targets", [THREE_CLASSES, numbers(2, "huber")], ids=["labels", "numbers"])
def test_one_shard_gives_the_weights_of_a_run_without_rounds(targets: Any, settings: dict[str, Any]) -> None:
    rows = coded_rows(targets, 500, weighted=True)
    expected = run(begin(targets, **settings), rows)
    found = learned_in_rounds(begin(targets, **settings), rows, 1, 100)
    assert weights(found) == weights(expected)
    assert found.history["loss"] == pytest.approx(expected.history["loss"])
    assert found.rows_seen == expected.rows_seen


def test_several_shards_learn_nearly_as_well_as_one() -> None:
    held_out = coded_rows(THREE_CLASSES, 2000, seed=9)
    rows = coded_rows(THREE_CLASSES, 4000)
    of_one = learned_in_rounds(begin(), rows, 1, 64).evaluate([held_out])["accuracy"]
    of_many = learned_in_rounds(begin(), rows, 8, 64).evaluate([held_out])["accuracy"]
    assert of_one > 0.8
    assert of_many > of_one - 0.03
    assert of_many != of_one


def test_records_tell_the_bytes_that_were_sent_and_those_of_all_weights() -> None:
    trainer = learned_in_rounds(begin(), ROWS, 4, 16)
    sent, dense, rounds = (trainer.history[name] for name in ("sent_bytes", "dense_bytes", "rounds"))
    assert 0 < sent[0] < sent[1]
    assert sent[1] < 1.1 * dense[1]
    assert 0 < rounds[0] < rounds[1]


def test_a_run_in_rounds_that_is_resumed_ends_with_the_same_bytes() -> None:
    states: list[Any] = []
    trainer = begin()

    def keep() -> None:
        arrays, description = trainer.state(training_state=True)
        states.append(({name: value.copy() for name, value in arrays.items()}, description))

    learned_in_rounds(trainer, ROWS, 3, 16, checkpoint_rows=1, observer=Calls(checkpoint=keep))
    assert len(states) == trainer.history["rounds"][-1]
    for state in (states[0], states[len(states) // 2], states[-2]):
        again = Trainer.from_state(*state)
        learned_in_rounds(again, ROWS, 3, 16)
        assert content(again) == content(trainer)


def test_the_auc_of_two_classes_is_counted() -> None:
    two = Labels(np.array(["no", "yes"]))
    rows = coded_rows(two, 600)
    here, rounds = begin(two), begin(two)
    here.start_run(with_auc=True)
    rounds.start_run(with_auc=True)
    run(here, rows)
    learned_in_rounds(rounds, rows, 1, 64)
    assert rounds.history["auc"] == here.history["auc"]
