"""Rows to learn from."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray


class Rows(NamedTuple):
    X: NDArray[np.float64]
    y: NDArray[Any]


@pytest.fixture(scope="session")
def three_classes() -> Rows:
    """600 rows of 6 columns: five numbers around the mean of their class, and a coin."""
    rng = np.random.default_rng(0)
    y = np.repeat(["ash", "beech", "oak"], 200)
    means = rng.normal(0, 2, (3, 5))
    numbers = np.repeat(means, 200, axis=0) + rng.normal(0, 1, (600, 5))
    X = np.hstack([numbers, rng.integers(0, 2, (600, 1))])
    order = rng.permutation(600)
    return Rows(X[order], y[order])
