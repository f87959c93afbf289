"""The native table of hashed fields: judged by a slow reference, and by torch."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq

from gcwsnet import _core
from gcwsnet._keys import FIELDS, GOLDEN, _mix64_one, keys

RATE, PAIR_RATE = 0.2, 0.1
WORD = (1 << 64) - 1


def random_rows(n: int, seed: int = 0, most: int = 6) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, most, n)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return starts, rng.integers(0, 40, starts[-1]).astype(np.uint64) * np.uint64(0x123456789)


def row_keys(rows: Any, number: int) -> list[int]:
    starts, values = rows
    return sorted(set(values[starts[number] : starts[number + 1]].tolist()))


class Reference:
    """The description of the header, as it stands there."""

    def __init__(
        self, bits: int, n_outputs: int, *, pairs: bool, seed: int, min_count: int = 1, forget_after: int = 0
    ) -> None:
        self.bits, self.pairs, self.seed = bits, pairs, seed
        self.min_count, self.forget_after = min_count, forget_after
        self.weights, self.squares = np.zeros((2, 1 << bits, n_outputs))
        self.bias, self.bias_squares = np.zeros((2, n_outputs))
        self.counts, self.last = np.zeros((2, 1 << bits), dtype=np.int64)
        self.factor, self.information, self.rows_seen = 1.0, 100.0, 0

    def slot(self, key: int) -> int:
        low, high = keys(self.seed, FIELDS, [np.uint64(key)])
        return (int(high[0]) << 32 | int(low[0])) >> (64 - self.bits)

    def slots(self, found: list[int]) -> list[tuple[int, float]]:
        slots = [(self.slot(key), RATE) for key in found]
        if self.pairs:
            for i, first in enumerate(found):
                slots += [(self.slot(_mix64_one(first + GOLDEN) ^ key), PAIR_RATE) for key in found[i + 1 :]]
        return slots

    def learn(self, found: list[int], label: int, weight: float) -> NDArray[np.float64]:
        self.rows_seen += 1
        slots = []
        for slot, rate in self.slots(found):
            if self.forget_after and self.rows_seen - self.last[slot] > self.forget_after:
                self.weights[slot] = self.squares[slot] = self.counts[slot] = 0
            self.last[slot] = self.rows_seen
            self.counts[slot] += 1
            if self.counts[slot] >= self.min_count:
                slots.append((slot, rate))
        outputs = []
        for q in range(len(self.bias)):
            target = float(label == (1 if len(self.bias) == 1 else q))
            z = self.bias[q] + sum(self.weights[slot, q] for slot, _ in slots)
            outputs.append(self.factor * z)
            p = sigmoid(self.factor * z)
            self.information = 0.9999 * self.information + weight * p * (1 - p) * z * z
            self.factor = np.clip(self.factor - weight * (p - target) * z / max(100.0, self.information), 0.1, 2.0)
            square = (weight * (sigmoid(z) - target)) ** 2
            self.bias_squares[q] += square
            rates = [RATE / math.sqrt(0.25 + self.bias_squares[q])]
            for slot, rate in slots:
                self.squares[slot, q] += square
                rates.append(rate / math.sqrt(0.25 + self.squares[slot, q]))
            total = weight * sum(rates)
            moved = brentq(
                lambda x, z=z, t=target, c=total: x - z + c * (sigmoid(x) - t), z - total, z + total, xtol=1e-13
            )
            step = weight * (sigmoid(moved) - target)
            self.bias[q] -= rates[0] * step
            for (slot, _), rate in zip(slots, rates[1:], strict=True):
                self.weights[slot, q] -= rate * step
        return np.array(outputs)


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def table(bits: int = 12, n_outputs: int = 1, **more: Any) -> _core.FieldTable:
    return _core.FieldTable(bits, n_outputs, rate=RATE, pair_rate=PAIR_RATE, **more)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(
    "more", [{"pairs": True}, {"pairs": False}, {"pairs": True, "min_count": 3, "forget_after": 40}]
)
def test_a_table_learns_what_its_description_says(n_outputs: int, more: dict[str, Any]) -> None:
    rows = random_rows(300)
    rng = np.random.default_rng(1)
    classes = rng.integers(0, max(2, n_outputs), 300)
    weights = rng.random(300).astype(np.float32) + np.float32(0.5)
    found, reference = table(n_outputs=n_outputs, seed=7, **more), Reference(12, n_outputs, seed=7, **more)
    outputs = found.train(*rows, classes, weights)
    expected = [reference.learn(row_keys(rows, i), int(classes[i]), float(weights[i])) for i in range(300)]
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)  # weights are float32
    np.testing.assert_allclose(found.table()[:, :n_outputs], reference.weights, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.calibration()[0], [reference.factor, reference.information], rtol=1e-4)


def test_a_small_step_goes_along_the_gradient_of_torch() -> None:
    starts, values = np.array([0, 3]), np.array([5, 6, 7], dtype=np.uint64)
    found = _core.FieldTable(16, 1, rate=1e-4, pair_rate=5e-5)
    found.train(starts, values, np.array([1]))
    weight = torch.zeros(7, dtype=torch.float64, requires_grad=True)  # the bias, three values and three pairs
    torch.nn.functional.binary_cross_entropy_with_logits(
        weight.sum(), torch.tensor(1.0, dtype=torch.float64)
    ).backward()
    assert weight.grad is not None
    gradient = float(weight.grad[0])
    rate = 1e-4 / math.sqrt(0.25 + gradient**2)
    learned = found.table()[found.table()[:, 0] != 0, 0]
    np.testing.assert_allclose(
        np.sort(learned), np.sort([-rate * gradient] * 3 + [-rate * gradient / 2] * 3), rtol=1e-3
    )
    np.testing.assert_allclose(found.bias()[0, 0], -rate * gradient, rtol=1e-3)


def test_an_output_never_moves_beyond_its_label() -> None:
    starts, values = np.array([0, 60]), np.arange(60, dtype=np.uint64)
    found = _core.FieldTable(16, 1, rate=1000.0, pair_rate=1000.0)
    before = found.train(starts, values, np.array([1]))
    after = found.outputs(starts, values)
    assert before[0, 0] == 0.0
    assert 0 < after[0, 0] < 40


def test_pieces_of_any_size_and_any_order_of_the_values_give_the_same_bytes() -> None:
    starts, values = random_rows(200)
    classes = np.random.default_rng(2).integers(0, 2, 200)
    whole, parts = table(), table()
    expected = whole.train(starts, values, classes)
    outputs = []
    for i in range(200):
        of_row = values[starts[i] : starts[i + 1]][::-1].copy()
        outputs.append(parts.train(np.array([0, len(of_row)]), of_row, classes[i : i + 1])[0])
    assert np.array(outputs).tobytes() == expected.tobytes()
    assert whole.table().tobytes() == parts.table().tobytes()
    assert whole.rows_seen == parts.rows_seen == 200


def test_the_first_step_of_a_row_is_that_of_its_outputs() -> None:
    rows = random_rows(50)
    found = table()
    found.train(*rows, np.ones(50, dtype=np.int64))
    one = np.array([0, 2]), np.array([5, 6], dtype=np.uint64)
    assert found.outputs(*one).tobytes() == found.train(*one, np.array([1])).tobytes()


@pytest.mark.parametrize(
    ("starts", "values", "classes", "rule"),
    [
        ([0, 2], [1], [0], "end with the number of keys"),
        ([0, 2, 1, 3], [1, 2, 3], [0, 0, 0], "must not fall"),
        ([0, 1], [1], [2], "classes must be from 0"),
        ([0, 1], [1], [0, 1], "one for each row"),
    ],
)
def test_wrong_rows_are_refused(starts: list[int], values: list[int], classes: list[int], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        table().train(np.array(starts), np.array(values, dtype=np.uint64), np.array(classes))
