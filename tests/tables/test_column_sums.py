"""Sums over columns, in the order of the rows."""

from typing import Any

import numpy as np
import pytest

from gcwsnet import _core
from gcwsnet.tables._scaling import ColumnScaling

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_summed_in_the_order_of_the_rows_however_they_lie_in_memory(dtype: type) -> None:
    rows: Any = RNG.normal(size=(3000, 5)) * np.array([1e-30, 1, 1, 1e30, 1])
    rows = rows.astype(dtype)
    rows[RNG.random(rows.shape) < 0.1] = np.nan
    exponent = np.array([-100, 0, 3, 100, 0], dtype=np.int32)
    scaled = np.ldexp(rows.astype(np.float64), -exponent)
    there = ~np.isnan(scaled)
    expected = np.cumsum(np.where(there, scaled, 0.0), axis=0)[-1]  # one after the other
    center = expected / there.sum(axis=0)
    squares = np.cumsum(np.where(there, scaled - center, 0.0) ** 2, axis=0)[-1]
    wide: Any = np.full((3000, 10), np.nan, dtype=dtype)
    wide[:, ::2] = rows
    for layout in (rows, np.asfortranarray(rows), wide[:, ::2], rows[::-1].copy()[::-1]):
        found, count, square = np.empty(5), np.empty(5, dtype=np.int64), np.empty(5)
        _core.column_sums(layout, exponent, found, count)
        _core.column_squares(layout, exponent, center, square)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(count, there.sum(axis=0))
        np.testing.assert_array_equal(square, squares)


def test_numbers_below_the_normal_ones_are_standardised() -> None:
    tiny = np.arange(-50.0, 50.0)[:, None] * 5e-324
    scaled = ColumnScaling.fit(tiny).transform(tiny)
    np.testing.assert_allclose(scaled.std(), 1.0, rtol=0.05)  # the deviation is itself some 29 units
