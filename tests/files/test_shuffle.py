"""The shuffle buffer: all rows, in an order that the seed gives and the batches do not change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from gcwsnet.files import Batches, read, shuffle
from tests.files.conftest import same, whole


def numbered(n: int, batch_rows: int = 100, *, csr: bool = False) -> Batches:
    X = np.arange(n, dtype=float).reshape(n, 1)
    return read((sparse.csr_array(X) if csr else X, np.arange(n), np.arange(n) + 0.5), batch_rows=batch_rows)


def order(batches: Batches) -> list[int]:
    return [int(x) for batch in batches for x in (batch.X.toarray() if sparse.issparse(batch.X) else batch.X)[:, 0]]


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 2**64 - 1))
def test_every_row_comes_once_and_not_too_early(n: int, buffer_rows: int, seed: int) -> None:
    rows = whole(shuffle(numbered(n), buffer_rows, seed))
    found = rows.X[:, 0].astype(int).tolist()
    assert sorted(found) == list(range(n))
    assert same(rows.y, np.array(found))
    assert same(rows.weight, np.array(found) + 0.5)
    for place, row in enumerate(found):
        assert row < place + buffer_rows


@pytest.mark.parametrize("buffer_rows", [1, 2, 7, 100, 5000])
def test_the_order_does_not_depend_on_batches_or_form(buffer_rows: int) -> None:
    expected = order(shuffle(numbered(300), buffer_rows, 3))
    for batch_rows in (1, 13, 299, 4000):
        assert order(shuffle(numbered(300, batch_rows), buffer_rows, 3)) == expected
        assert order(shuffle(numbered(300, batch_rows, csr=True), buffer_rows, 3, batch_rows=17)) == expected


def test_batches_have_the_size_that_is_asked_for() -> None:
    batches = shuffle(numbered(1000), 64, 0, batch_rows=300)
    assert [batch.n_rows for batch in batches] == [300, 300, 300, 100]
    assert [batch.n_rows for batch in shuffle(numbered(1000), 64)] == [100] * 10


def test_a_loop_comes_again_in_the_same_order_and_another_seed_gives_another() -> None:
    batches = shuffle(numbered(1000), 100, 5)
    assert order(batches) == order(batches)
    assert order(batches) != order(shuffle(numbered(1000), 100, 6))


def test_a_buffer_for_all_rows_makes_every_place_as_likely() -> None:
    """Row 0 of 8, over 4,000 seeds: each place 500 times, within five standard errors of 21."""
    places = [order(shuffle(numbered(8), 8, seed)).index(0) for seed in range(4000)]
    counts = np.bincount(places, minlength=8)
    assert np.all(np.abs(counts - 500) < 5 * np.sqrt(4000 * 7 / 64))


def test_a_sorted_file_is_mixed() -> None:
    """Ten labels in blocks of 1,000 and a buffer of 4,000: batches in the middle have at least four of them."""
    batches = read((np.zeros((10_000, 1)), np.repeat(np.arange(10), 1000)), batch_rows=500)
    seen = [len(np.unique(np.asarray(batch.y))) for batch in shuffle(batches, 4000)]
    assert min(seen[4:-4]) >= 4


def test_the_order_stays_as_it_is() -> None:
    assert order(shuffle(numbered(12), 6, 0)) == GOLDEN


GOLDEN = [4, 1, 5, 2, 8, 7, 10, 11, 0, 9, 6, 3]


def test_parameters_out_of_range() -> None:
    with pytest.raises(ValueError, match="buffer_rows must be from 1"):
        shuffle(numbered(3), 0)
    with pytest.raises(ValueError, match="seed must be from 0"):
        shuffle(numbered(3), 3, -1)
