"""Bins of columns: quantiles, with frequent values and missing ones in bins of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet.tables._bins import MAX_BINS, MISSING_BIN, Bins

RNG = np.random.default_rng(0)


def column(values: object) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)[:, np.newaxis]


@given(
    st.lists(st.one_of(st.integers(-5, 5).map(float), st.floats(width=32)), min_size=1, max_size=400),
    st.integers(1, 4),
)
def test_a_bin_has_the_values_up_to_its_end(values: list[float], times: int) -> None:
    X = column([value for value in values if not np.isinf(value)] * times + [np.nan])
    bins, (ends,) = Bins.fit(X), Bins.fit(X).of_columns
    assert (np.diff(ends) > 0).all()
    assert len(ends) < MAX_BINS
    expected = [MISSING_BIN if np.isnan(value) else sum(value > end for end in ends) for value in X[:, 0]]
    assert bins.codes(X)[:, 0].tolist() == expected


def test_each_of_few_values_has_a_bin() -> None:
    values = RNG.choice([-3.0, 0.0, 0.5, 7.0], 1000)
    assert len(np.unique(Bins.fit(column(values)).codes(column([-3.0, 0.0, 0.5, 7.0])))) == 4


def test_bins_of_distinct_values_have_about_equally_many_rows() -> None:
    counts = np.bincount(Bins.fit(column(RNG.normal(size=6200))).codes(column(RNG.normal(size=100_000)))[:, 0])
    assert len(counts) >= MAX_BINS - 2
    assert counts.max() < 2 * counts.min()


@pytest.mark.parametrize("share", [0.5, 0.92, 0.99])
def test_frequent_values_leave_the_other_bins_to_the_rest(share: float) -> None:
    numbers = np.where(RNG.random(20_000) < share, 0.0, RNG.exponential(size=20_000))
    codes = Bins.fit(column(numbers)).codes(column(numbers))[:, 0]
    assert len(np.unique(codes)) >= MAX_BINS - 4
    of_zero = codes[numbers == 0.0]
    assert (of_zero == of_zero[0]).all()
    assert not (codes[numbers != 0.0] == of_zero[0]).any()
    assert np.bincount(codes[numbers != 0.0])[1:].max() < 3 * (numbers != 0.0).mean() * 20_000 / MAX_BINS


def test_values_that_were_never_seen_are_in_the_bins_of_their_neighbours() -> None:
    bins = Bins.fit(column([1.0, 2.0, 3.0]))
    assert bins.codes(column([-9.0, 1.5, 9.0, np.nan]))[:, 0].tolist() == [0, 1, 2, MISSING_BIN]
    assert Bins.fit(column([np.nan, np.nan])).codes(column([4.0]))[:, 0].tolist() == [0]
