"""Columns of sparse rows that move or wake up: they are followed by the size of their entries."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.tables._scaling import learn_scaling
from gcwsnet.tables._watch import BLOCK_ROWS, ENTRIES, TIMES_SMALLER, ColumnVersion, SparseWatch, size


def rows(n: int, seed: int = 0) -> Any:
    """Return rows of a numeric column, counts, 0 and 1, one that is always 5, and one without entries."""
    rng = np.random.default_rng(seed)
    columns = [rng.lognormal(size=n), rng.poisson(1, n), rng.random(n) < 0.5, np.full(n, 5.0), np.zeros(n)]
    return sparse.csr_array(np.stack(columns, axis=1))


def watched() -> tuple[SparseWatch, ColumnVersion]:
    X = rows(2000)
    return SparseWatch.of(X, learn_scaling(X, "numeric")), ColumnVersion.first(X.shape[1])


def add(watch: SparseWatch, version: ColumnVersion, X: Any, step: int) -> tuple[ColumnVersion, list[int]]:
    """Give rows in pieces; return the last version, and after how many rows there were new ones."""
    times = []
    for first in range(0, X.shape[0], step):
        made = watch.look(version) if watch.is_full_with(X[first : first + step]) else None
        if made is not None:
            version = made
            times.append(first + step)
    return version, times


def changed(X: Any, column: int, change: Any) -> Any:
    dense = X.toarray()
    dense[:, column] = change(dense[:, column])
    return sparse.csr_array(dense)


def test_the_size_of_numbers_is_near_their_logarithm() -> None:
    numbers = np.random.default_rng(0).lognormal(0, 5, 1000)
    assert np.abs(size(numbers) - np.log2(numbers)).max() < 0.0861  # log2(e) - 1 - log2(log2(e)), rounded up


@pytest.mark.parametrize("step", [1, 7, 100])
def test_columns_that_stay_as_they_are_have_one_version(step: int) -> None:
    watch, version = watched()
    made, times = add(watch, version, rows(5000, 1), step)
    assert times == []
    X = rows(5, 2)
    assert made.align(X) is X
    assert made.wake(X, X) is X


@pytest.mark.parametrize("step", [1, 32])
@pytest.mark.parametrize("column", [0, 1])
def test_a_larger_unit_is_brought_back_and_no_other_column_changes(column: int, step: int) -> None:
    watch, version = watched()
    later = changed(rows(500, 1), column, lambda x: 1000 * x)
    made, times = add(watch, version, later, step)
    assert len(times) == 1
    assert times[0] <= 2 * BLOCK_ROWS
    expected = changed(later, column, lambda x: x / 1024).toarray()
    np.testing.assert_allclose(made.align(later).toarray(), expected)


def test_a_smaller_unit_is_followed_and_rows_that_are_alike_for_a_while_are_not() -> None:
    watch, version = watched()
    small = changed(rows(BLOCK_ROWS * (TIMES_SMALLER + 1), 1), 0, lambda x: x / 1000)
    made, times = add(watch, version, small[: BLOCK_ROWS * (TIMES_SMALLER - 1)], 32)
    assert times == []
    made, times = add(watch, made, small[BLOCK_ROWS * (TIMES_SMALLER - 1) :], 32)
    assert made.factor[0] in (512, 1024, 2048)


def test_a_column_without_entries_gets_the_size_of_others_by_its_first_entries() -> None:
    watch, version = watched()
    rng = np.random.default_rng(1)
    made, times = add(watch, version, changed(rows(200, 1), 4, lambda x: 1e6 * rng.lognormal(size=len(x))), 32)
    assert times[0] == ENTRIES * 2
    scaling = learn_scaling(rows(2000), "numeric")
    typical = 1e6 * made.factor[4] / scaling.divisor[4]
    assert 0.2 < typical < 5


def test_a_column_with_the_same_entry_in_all_rows_wakes_up_when_it_varies() -> None:
    watch, version = watched()
    made, times = add(watch, version, rows(320, 1), 32)
    assert times == []
    later = changed(rows(64, 1), 3, lambda x: x * (np.arange(len(x)) % 2))
    made, times = add(watch, version, later, 32)
    assert times == [32]
    scaled = made.wake(later, learn_scaling(rows(2000), "numeric").transform(later)).toarray()
    np.testing.assert_array_equal(scaled[:, 3], np.arange(64) % 2)


@pytest.mark.parametrize("cut", [0, 40, 100])
def test_a_watch_that_is_saved_goes_on_as_if_nothing_had_been(cut: int) -> None:
    watch, version = watched()
    later = changed(rows(400, 1), 0, lambda x: 50 * x)
    version, _ = add(watch, version, later[:cut], 5)
    loaded = SparseWatch.from_state(watch.state()[0])
    one, times = add(watch, version, later[cut:], 5)
    other, same_times = add(loaded, version, later[cut:], 5)
    assert times == same_times
    np.testing.assert_array_equal(one.factor, other.factor)
    for name, array in watch.state()[0].items():
        np.testing.assert_array_equal(array, loaded.state()[0][name])
