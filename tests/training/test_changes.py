"""Changes of a net by shards: what travels, and how they are combined."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.data import Batch
from gcwsnet.training import Trainer
from gcwsnet.training._changes import (
    Arrays,
    ShardChange,
    apply,
    combined,
    load_arrays,
    merged,
    n_bytes,
    net_arrays,
    row_sums,
    shard_change,
    whole_update,
)
from tests.training.learners import THREE_CLASSES, begin, coded_rows

TABLE = "layers.0.weight"
ROWS = coded_rows(THREE_CLASSES, 640)


def arrays_of(trainer: Trainer) -> Arrays:
    return {name: value.copy() for name, value in net_arrays(trainer.net).items()}


def learn(trainer: Trainer, rows: Batch) -> Arrays:
    """Take steps of 16 rows from where the net is, and return what it has then."""
    assert rows.y is not None
    rates = np.full(-(-rows.n_rows // 16), 0.01)
    codes = np.tile(rows.X, trainer.settings.members())
    trainer.net.train(codes, rows.y, None, rates, batch_size=16, n_jobs=1)
    return arrays_of(trainer)


def of_shards(
    n: int, rows_each: int = 64, *, same_rows: bool = False, **settings: Any
) -> tuple[Arrays, list[Arrays], list[ShardChange]]:
    """Return a net's arrays, what shards make of them, and the shards' changes."""
    trainer = begin(**settings)
    before = learn(trainer, ROWS.rows(0, 64))
    after = []
    for shard in range(n):
        load_arrays(trainer.net, before)
        first = 64 + (0 if same_rows else shard * rows_each)
        after.append(learn(trainer, ROWS.rows(first, first + rows_each)))
    return before, after, [shard_change(before, one) for one in after]


SETTINGS = [{}, {"betas": (0.9, 0.999)}, {"ensemble": 2, "hidden": (4,)}, {"hidden": ()}, {"reduction": 3}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_update_of_one_shard_is_its_net_bit_for_bit(settings: dict[str, Any]) -> None:
    trainer = begin(**settings)
    before = arrays_of(trainer)
    after = learn(trainer, ROWS.rows(0, 64))
    update = whole_update(before, after)
    apply(update, before)
    assert before.keys() == after.keys()
    for name, value in after.items():
        np.testing.assert_array_equal(before[name], value)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_shards_that_change_the_same_in_the_same_way_give_what_one_of_them_gives(settings: dict[str, Any]) -> None:
    before, after, changes = of_shards(4, same_rows=True, **settings)
    apply(combined(before, merged(changes)), before)
    for name, value in after[0].items():
        if name.endswith("second_moments.layers.0.weight"):  # of which only the mean of a row travels
            np.testing.assert_allclose(before[name].mean(axis=1), value.mean(axis=1), rtol=1e-5)
        else:
            np.testing.assert_allclose(before[name], value, rtol=1e-5, atol=1e-7)


def test_rows_of_the_table_that_one_shard_has_changed_get_all_of_its_change() -> None:
    before, after, changes = of_shards(2, rows_each=4)
    first, second = (change.parameters[TABLE].rows for change in changes)
    assert first is not None
    assert second is not None
    alone = np.setdiff1d(first, second)
    assert 0 < len(alone) < len(first)
    new = {name: value.copy() for name, value in before.items()}
    apply(combined(before, merged(changes)), new)
    np.testing.assert_allclose(new["weights." + TABLE][alone], after[0]["weights." + TABLE][alone], atol=1e-7)
    unchanged = np.setdiff1d(np.arange(len(new["weights." + TABLE])), np.union1d(first, second))
    np.testing.assert_array_equal(new["weights." + TABLE][unchanged], before["weights." + TABLE][unchanged])


def test_the_sum_of_changes_is_shortened_by_as_much_as_they_agree() -> None:
    before, after, changes = of_shards(3)
    name = "weights." + TABLE
    rows = changes[0].parameters[TABLE].rows
    assert rows is not None
    differences = [one[name].astype(float) - before[name] for one in after]
    total = sum(differences[1:], differences[0])
    together = sum((one**2).sum(axis=1) for one in differences)
    factor = np.minimum(1, together / np.maximum((total**2).sum(axis=1), 1e-300))
    expected = before[name] + total * factor[:, None]
    new = {key: value.copy() for key, value in before.items()}
    apply(combined(before, merged(changes)), new)
    np.testing.assert_allclose(new[name], expected, rtol=1e-5, atol=1e-7)
    assert (factor < 0.9).any()
    assert (factor > 0.9).any()


def test_second_moments_stay_positive_and_become_the_mean_of_the_shards() -> None:
    before, after, changes = of_shards(3)
    name = "second_moments." + TABLE
    new = {key: value.copy() for key, value in before.items()}
    apply(combined(before, merged(changes)), new)
    assert (new[name] >= 0).all()
    touched_by_all = np.flatnonzero(np.all([(one[name] != before[name]).any(axis=1) for one in after], axis=0))
    mean = np.mean([one[name][touched_by_all].mean(axis=1) for one in after], axis=0)
    np.testing.assert_allclose(new[name][touched_by_all].mean(axis=1), mean, rtol=1e-5)


def test_only_rows_that_changed_travel() -> None:
    before, _, changes = of_shards(1, rows_each=2)
    rows = changes[0].parameters[TABLE].rows
    assert rows is not None
    n_changed = len(np.unique(ROWS.X[64:66] + 16 * np.arange(12)))
    assert len(rows) == n_changed
    assert n_bytes(changes[0]) < 0.5 * sum(array.nbytes for array in before.values())
    assert n_bytes(combined(before, changes[0])) < 0.5 * sum(array.nbytes for array in before.values())


@given(st.integers(1, 9), st.integers(1, 40))
def test_row_sums_are_sums(n: int, width: int) -> None:
    numbers = np.random.default_rng(width).integers(-1000, 1000, (n, width)).astype(float)
    np.testing.assert_array_equal(row_sums(numbers), numbers.sum(axis=1, keepdims=True))
