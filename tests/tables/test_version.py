"""Versions of a preprocessing: columns that move are followed, some wake up, and all others keep their bits."""

from typing import Any

import numpy as np
import pytest

from gcwsnet.tables._watch import BLOCK_ROWS, ColumnVersion, ColumnWatch


def watched(X: Any) -> tuple[ColumnWatch, ColumnVersion]:
    constant = (X[0] == X).all(axis=0)
    return ColumnWatch.of(X, constant), ColumnVersion.first(X.shape[1])


def add(watch: ColumnWatch, version: ColumnVersion, X: Any, size: int) -> tuple[ColumnVersion, list[int]]:
    """Give rows in pieces; return the last version, and after how many rows there were new ones."""
    times = []
    for first in range(0, len(X), size):
        made = watch.look(version) if watch.is_full_with(X[first : first + size]) else None
        if made is not None:
            version = made
            times.append(first + size)
    return version, times


@pytest.mark.parametrize("size", [1, 7, 100])
def test_columns_that_stay_as_they_are_have_one_version(size: int) -> None:
    rng = np.random.default_rng(0)

    def make(n: int) -> Any:
        return np.stack([rng.normal(size=n), rng.exponential(size=n), rng.random(n) < 0.3, np.ones(n)], axis=1)

    watch, version = watched(make(2000))
    made, times = add(watch, version, make(20_000), size)
    assert times == []
    X = make(5)
    assert made.align(X) is X
    assert made.wake(X, X) is X


@pytest.mark.parametrize("size", [1, 32])
def test_changed_units_are_brought_back(size: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(3, 2, size=(2000, 3))
    watch, version = watched(X)
    later = rng.normal(3, 2, size=(1000, 3)) * [1000, 1, 1]
    made, times = add(watch, version, later, size)
    assert times[0] <= 2 * BLOCK_ROWS
    back = made.align(later)
    np.testing.assert_array_equal(back[:, 1:], later[:, 1:])
    for share in (25, 50, 75):
        assert np.percentile(back[:, 0], share) == pytest.approx(np.percentile(X[:, 0], share), abs=0.6)


def test_a_smaller_unit_is_followed_and_rows_that_are_alike_for_a_while_are_not() -> None:
    rng = np.random.default_rng(0)
    watch, version = watched(rng.normal(size=(2000, 1)))
    made, times = add(watch, version, rng.normal(size=(2000, 1)) / 1000, 32)
    assert times[0] <= 17 * BLOCK_ROWS
    assert made.factor[0] == pytest.approx(1000, rel=0.3)
    watch, version = watched(rng.normal(size=(2000, 1)))
    slow = np.repeat(rng.normal(size=50), 40)[:, None] + 0.01 * rng.normal(size=(2000, 1))
    assert add(watch, version, slow, 32)[1] == []


def test_a_column_that_was_constant_wakes_up() -> None:
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(size=500), np.full(500, 7.0), np.zeros(500)], axis=1)
    watch, version = watched(X)
    later = np.stack([rng.normal(size=500), rng.normal(7, 3, 500), rng.random(500) < 0.5], axis=1).astype(np.float64)
    made, _ = add(watch, version, later, 1)
    assert made.awake.tolist() == [False, True, True]
    out = made.wake(later, np.zeros((500, 5)))  # there may be columns behind those of the rows
    assert out[:, 1].std() == pytest.approx(1, rel=0.2)
    np.testing.assert_array_equal(out[:, 2], later[:, 2])
    assert not out[:, [0, 3, 4]].any()


@pytest.mark.parametrize("cut", [40, 64, 333, 700])
def test_a_watch_that_is_saved_goes_on_as_if_nothing_had_been(cut: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4)) * np.where(np.arange(900) < 300, 1, 500)[:, None]
    X[:600, 3] = 2.0
    watch, version = watched(np.concatenate([rng.normal(size=(600, 3)), np.full((600, 1), 2.0)], axis=1))
    one, _ = add(watch, version, X[:cut], 1)
    other = ColumnWatch.from_state(*watch.state())
    arrays, number = one.state()
    same = ColumnVersion.from_state(arrays, number)
    one, times = add(watch, one, X[cut:], 3)
    same, others = add(other, same, X[cut:], 3)
    assert times == others
    assert one.number == same.number
    for name, array in one.state()[0].items():
        np.testing.assert_array_equal(array, same.state()[0][name])
