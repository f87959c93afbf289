"""The temperature of labels."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gcwsnet.net._targets import PRIOR_ROWS, TEMPERATURES, Labels, Numbers, Targets

CLASSES = np.array(["ash", "beech", "oak"])


def overconfident(n: int, factor: float, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Outputs that are some factor times the logarithms of the probabilities, and classes drawn by these."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, 3))
    target = (logits + rng.gumbel(size=(n, 3))).argmax(axis=1)
    return (factor * logits).astype(np.float32), target


@pytest.mark.parametrize("factor", [0.2, 0.7, 1.0, 2.5, 5.0, 30.0])
@pytest.mark.parametrize("n", [1, 5, 40, 2000])
def test_it_is_where_the_loss_of_all_temperatures_is_least(factor: float, n: int) -> None:
    outputs, target = overconfident(n, factor)
    weight = np.random.default_rng(1).random(n)

    def loss(temperature: float) -> float:
        losses = Labels(CLASSES, temperature).losses(outputs, target)
        return float((losses * weight).sum()) + PRIOR_ROWS * np.log(temperature) ** 2

    found = Labels(CLASSES).calibrated(outputs, target, weight).temperature
    assert found == min(TEMPERATURES.tolist(), key=loss)
    if n == 2000:
        assert found == pytest.approx(np.clip(factor, 0.5, 8), rel=0.15)


def test_no_rows_leave_it_at_one() -> None:
    nothing = np.empty((0, 3), dtype=np.float32)
    assert Labels(CLASSES).calibrated(nothing, np.empty(0, dtype=np.int64), np.empty(0)).temperature == 1


def test_outputs_are_divided_by_it() -> None:
    outputs, target = overconfident(50, 3.0)
    hot, plain = Labels(CLASSES, 3.0), Labels(CLASSES)
    np.testing.assert_allclose(hot.probabilities(outputs), plain.probabilities(outputs / np.float32(3)), rtol=1e-6)
    np.testing.assert_allclose(
        hot.losses(outputs, target), -np.log(hot.probabilities(outputs)[range(50), target]), rtol=1e-5
    )
    np.testing.assert_array_equal(hot.predictions(outputs), plain.predictions(outputs))
    assert hot.losses(outputs, target).mean() < plain.losses(outputs, target).mean()


def test_a_state_keeps_it() -> None:
    arrays, description = Labels(CLASSES, 2.5).state()
    assert Targets.from_state(arrays, description).temperature == 2.5
    for odd in (0, -1.0, float("nan"), "hot"):
        with pytest.raises((TypeError, ValueError), match="temperature must be"):
            Targets.from_state(arrays, description | {"temperature": odd})


def test_numbers_have_none() -> None:
    numbers: Any = Numbers(np.zeros(1), np.ones(1), True, "squared_error")
    assert numbers.with_temperature(1.0) is numbers
    outputs = np.zeros((3, 1), dtype=np.float32)
    assert numbers.calibrated(outputs, np.ones((3, 1)), np.ones(3)).temperature == 1
    with pytest.raises(ValueError, match=r"the temperature of numbers is 1, got 2\.0"):
        numbers.with_temperature(2.0)
