"""Training in rounds of pieces that are learned apart."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.distributed._rounds import RoundsHere, round_sizes, run_in_rounds
from gcwsnet.files import Batch
from gcwsnet.net._targets import Labels
from gcwsnet.net._trainer import Plan, Trainer
from tests.net.learners import THREE_CLASSES, begin, coded_rows, content, numbers, run
from tests.net.test_trainer import Calls

ROWS = coded_rows(THREE_CLASSES, 1000, weighted=True)


def learned_in_rounds(trainer: Trainer, rows: Batch, shards: int, sync_rows: int, **more: Any) -> Trainer:
    """Run a trainer over rows in the order of `run`, in rounds."""
    order = [np.random.default_rng(number).permutation(rows.n_rows) for number in range(2)]
    rounds = RoundsHere(trainer, rows, shards=shards, sync_rows=sync_rows)
    plan = Plan(2, rows.n_rows, checkpoint_rows=more.pop("checkpoint_rows", 0))
    run_in_rounds(trainer, plan, lambda number: np.array_split(order[number], 7), rounds, **more)
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


def test_rounds_go_over_all_rows() -> None:
    done, left, pieces = 0, 300_000, []
    while left:
        sizes = round_sizes(done, left, 16, 1000, 32)
        pieces.append(len(sizes))
        done, left = done + sum(sizes), left - sum(sizes)
    assert pieces[:10] == [1] * 10
    assert pieces[:-1] == sorted(pieces[:-1])
    assert pieces[-2] == 16


@pytest.mark.parametrize("settings", [{}, {"betas": (0.9, 0.99)}, {"optimizer": "adam"}, {"batch_size": 7}], ids=str)
@pytest.mark.parametrize("targets", [THREE_CLASSES, numbers(2, "huber")], ids=["labels", "numbers"])
def test_one_shard_gives_the_weights_of_a_run_without_rounds(targets: Any, settings: dict[str, Any]) -> None:
    rows = coded_rows(targets, 500, weighted=True)
    expected = run(begin(targets, **settings), rows)
    found = learned_in_rounds(begin(targets, **settings), rows, 1, 100)
    assert weights(found) == weights(expected)
    assert found.history["loss"] == pytest.approx(expected.history["loss"])
    assert found.rows_seen == expected.rows_seen


def test_a_net_of_torch_says_that_it_cannot_learn_in_rounds() -> None:
    pytest.importorskip("torch")
    with pytest.raises(NotImplementedError, match="TorchNet cannot learn in rounds"):
        learned_in_rounds(begin(device="cpu:0"), ROWS, 1, 100)


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
    observer = Calls(checkpoint=lambda: states.append(_copied(trainer.state())))
    learned_in_rounds(trainer, ROWS, 3, 16, checkpoint_rows=1, observer=observer)
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


def _copied(state: tuple[dict[str, Any], dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays, description = state
    return {name: value.copy() for name, value in arrays.items()}, description
