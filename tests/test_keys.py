"""The counter-based keys that every random choice comes from."""

import numpy as np
import pytest

from gcwsnet._keys import EPOCH_ORDER, keys, random_order


@pytest.mark.parametrize(("n", "first"), [(0, 0), (1, 5), (17, 0), (5000, 0), (5000, 2**33)])
def test_a_random_order_is_that_of_the_keys(n: int, first: int) -> None:
    low, high = keys(7, EPOCH_ORDER, np.arange(first, first + n))
    assert np.array_equal(random_order(7, EPOCH_ORDER, n, first), np.lexsort((low, high)))
    assert len(np.unique(high.astype(np.uint64) << np.uint64(32) | low)) == n
