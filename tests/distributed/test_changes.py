"""Changes of a net by shards: what travels, and how they are combined."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.distributed._rounds import (
    MOMENTUM,
    OUTER_RATE,
    Arrays,
    ShardChange,
    combined,
    load_arrays,
    merged,
    n_bytes,
    net_arrays,
    put,
    put_round,
    row_sums,
    shard_change,
    values_now,
)
from gcwsnet.files import Batch
from gcwsnet.net._trainer import Trainer
from tests.net.learners import THREE_CLASSES, begin, coded_rows

TABLE = "layers.0.weight"
RATE = 0.01
ROWS = coded_rows(THREE_CLASSES, 640)


def arrays_of(trainer: Trainer) -> Arrays:
    return {name: value.copy() for name, value in net_arrays(trainer.net).items()}


def codes_of(trainer: Trainer, rows: Batch) -> Any:
    """Return the codes of rows, the same for each member of an ensemble."""
    return np.tile(rows.X, trainer.settings.members())


def learn(trainer: Trainer, rows: Batch) -> Arrays:
    """Take steps of 16 rows from where the net is, and return what it has then."""
    assert rows.y is not None
    rates = np.full(-(-rows.n_rows // 16), RATE)
    trainer.net.train(codes_of(trainer, rows), rows.y, None, rates, batch_size=16, n_jobs=1)
    return arrays_of(trainer)


def of_shards(
    n: int, rows_each: int = 64, *, same_rows: bool = False, **settings: Any
) -> tuple[Trainer, list[Arrays], list[ShardChange]]:
    """Return a trainer, what shards make of its arrays, and the shards' changes."""
    trainer = begin(**settings)
    before = learn(trainer, ROWS.rows(0, 64))
    after, changes = [], []
    for shard in range(n):
        first = 64 + (0 if same_rows else shard * rows_each)
        rows = ROWS.rows(first, first + rows_each)
        picked = trainer.net.picked_rows(codes_of(trainer, rows))
        values = values_now(trainer.net, picked)
        after.append(learn(trainer, rows))
        changes.append(shard_change(values, values_now(trainer.net, picked)))
        load_arrays(trainer.net, before)
    return trainer, after, changes


def combined_by(trainer: Trainer, changes: list[ShardChange]) -> Arrays:
    """Return what changes make of the net of a trainer; of weights their whole step, of which a round makes a share."""
    before = arrays_of(trainer)
    put(combined(net_arrays(trainer.net), {}, merged(changes), RATE), trainer.net)
    new = arrays_of(trainer)
    for name in (name for name in new if name.startswith("weights.")):
        new[name] = before[name] + (new[name] - before[name]) / OUTER_RATE
    return new


SETTINGS = [
    {},
    {"betas": (0.9, 0.999)},
    {"ensemble": 2, "hidden": (4,)},
    {"hidden": ()},
    {"reduction": 3},
    {"optimizer": "adam"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_steps_change_nothing_but_picked_rows_and_values_of_these_can_be_put_back(settings: dict[str, Any]) -> None:
    trainer = begin(**settings)
    rows = ROWS.rows(0, 8)
    for _ in range(2):  # before the first step, and then
        start = arrays_of(trainer)
        picked = trainer.net.picked_rows(codes_of(trainer, rows))
        before = values_now(trainer.net, picked)
        after = learn(trainer, rows)
        update = values_now(trainer.net, picked)
        put(before, trainer.net)
        assert_equal(arrays_of(trainer), start)
        put(update, trainer.net)
        assert_equal(arrays_of(trainer), after)


def assert_equal(found: Arrays, expected: Arrays) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_shards_that_change_the_same_in_the_same_way_give_what_one_of_them_gives(settings: dict[str, Any]) -> None:
    trainer, after, changes = of_shards(4, same_rows=True, **settings)
    new = combined_by(trainer, changes)
    for name, value in after[0].items():
        if name.endswith("second_moments.layers.0.weight"):  # of which only the mean of a row travels
            np.testing.assert_allclose(new[name].mean(axis=1), value.mean(axis=1), rtol=1e-5)
        else:
            np.testing.assert_allclose(new[name], value, rtol=1e-5, atol=1e-6)


def test_rows_of_the_table_that_one_shard_has_changed_get_all_of_its_change() -> None:
    trainer, after, changes = of_shards(2, rows_each=4)
    before = arrays_of(trainer)
    first, second = (change.parameters[TABLE].rows for change in changes)
    assert first is not None
    assert second is not None
    alone = np.setdiff1d(first, second)
    assert 0 < len(alone) < len(first)
    new = combined_by(trainer, changes)
    np.testing.assert_allclose(new["weights." + TABLE][alone], after[0]["weights." + TABLE][alone], atol=1e-6)
    unchanged = np.setdiff1d(np.arange(len(new["weights." + TABLE])), np.union1d(first, second))
    np.testing.assert_array_equal(new["weights." + TABLE][unchanged], before["weights." + TABLE][unchanged])


def test_the_sum_of_changes_is_shortened_by_as_much_as_they_agree() -> None:
    trainer, after, changes = of_shards(3)
    before = arrays_of(trainer)
    name = "weights." + TABLE
    rows = changes[0].parameters[TABLE].rows
    assert rows is not None
    differences = [one[name].astype(float) - before[name] for one in after]
    total = sum(differences[1:], differences[0])
    together = sum((one**2).sum(axis=1) for one in differences)
    factor = np.minimum(1, together / np.maximum((total**2).sum(axis=1), 1e-300))
    expected = before[name] + total * factor[:, None]
    new = combined_by(trainer, changes)
    np.testing.assert_allclose(new[name], expected, rtol=1e-5, atol=1e-6)
    assert (factor < 0.9).any()
    assert (factor > 0.9).any()


def test_what_the_last_round_made_of_a_row_is_made_again_in_part_at_the_rate_of_now() -> None:
    trainer, _, changes = of_shards(2, rows_each=8)
    name = "weights." + TABLE
    momentum: Arrays = {}
    start = arrays_of(trainer)[name]
    put_round(combined(net_arrays(trainer.net), momentum, merged(changes), RATE), trainer.net, momentum, RATE)
    last = arrays_of(trainer)[name] - start
    rows = changes[0].parameters[TABLE].rows
    assert rows is not None
    before = net_arrays(trainer.net)
    with_it, without = (combined(before, some, changes[0], RATE / 2)[name] for some in (momentum, {}))
    np.testing.assert_allclose(with_it.values - without.values, MOMENTUM * last[rows] / 2, atol=1e-6)
    kept = {one: value.copy() for one, value in momentum.items()}
    put_round(values_now(trainer.net, {TABLE: rows}), trainer.net, momentum, None)
    assert_equal(momentum, kept)


def test_second_moments_stay_positive_and_become_the_mean_of_the_shards() -> None:
    trainer, after, changes = of_shards(3)
    before = arrays_of(trainer)
    name = "second_moments." + TABLE
    new = combined_by(trainer, changes)
    assert (new[name] >= 0).all()
    touched_by_all = np.flatnonzero(np.all([(one[name] != before[name]).any(axis=1) for one in after], axis=0))
    mean = np.mean([one[name][touched_by_all].mean(axis=1) for one in after], axis=0)
    np.testing.assert_allclose(new[name][touched_by_all].mean(axis=1), mean, rtol=1e-5)


def test_only_rows_that_changed_travel() -> None:
    trainer, _, changes = of_shards(1, rows_each=2)
    before = net_arrays(trainer.net)
    rows = changes[0].parameters[TABLE].rows
    assert rows is not None
    n_changed = len(np.unique(ROWS.X[64:66] + 16 * np.arange(12)))
    assert len(rows) == n_changed
    assert n_bytes(changes[0]) < 0.5 * sum(array.nbytes for array in before.values())
    assert n_bytes(combined(before, {}, changes[0], RATE)) < 0.5 * sum(array.nbytes for array in before.values())


@given(st.integers(1, 9), st.integers(1, 40))
def test_row_sums_are_sums(n: int, width: int) -> None:
    numbers = np.random.default_rng(width).integers(-1000, 1000, (n, width)).astype(float)
    np.testing.assert_array_equal(row_sums(numbers), numbers.sum(axis=1, keepdims=True))
