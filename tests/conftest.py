"""What the tests share."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from gcwsnet import _core

settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("sanitized", settings.get_profile("tests"), max_examples=15)  # each takes many times as long
settings.load_profile("tests")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell has started the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what some of them are about


def pytest_report_header() -> str:
    return f"native core: {_core.__file__}, instruction sets: {', '.join(_core.instruction_sets())}"


@contextmanager
def using_instruction_set(name: str) -> Iterator[None]:
    """Use an instruction set of this processor within a block."""
    before = _core.instruction_set()
    _core.use_instruction_set(name)
    try:
        yield
    finally:
        _core.use_instruction_set(before)


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give each instruction set of this processor in turn; the test may choose others too."""
    with using_instruction_set(request.param):
        yield request.param


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
