"""Hashes chosen among more than are used."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._hash_choice import best_hashes, hash_scores
from tests.estimators.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {"p": 1.0, "n_hashes": 16, "hidden": (8,), "random_state": 0}
    return GCWSNetClassifier(**defaults | settings)


def test_the_score_is_the_mean_log_probability_of_a_table_by_hand() -> None:
    codes = np.array([[7], [7], [9], [9], [7], [7], [9], [3]], dtype=np.uint8)
    target = np.array([0, 1, 1, 1, 0, 0, 1, 1])
    prior = np.array([2 + 1, 3 + 1]) / (5 + 2)  # five rows are learned from
    probabilities = [(2 + 2 * prior[0]) / (3 + 2), (2 + 2 * prior[1]) / (2 + 2), 2 * prior[1] / 2]
    assert hash_scores(codes, target) == pytest.approx([np.log(probabilities).mean()])
    assert hash_scores(codes.astype(np.uint32) * 10**6, target) == pytest.approx([np.log(probabilities).mean()])


def test_the_score_of_numbers_is_minus_the_square_error_by_hand() -> None:
    codes = np.array([[1], [1], [2], [2], [1], [1], [2], [3]], dtype=np.uint16)
    target = np.array([[1.0], [3.0], [-1.0], [0.0], [2.0], [2.5], [-1.0], [4.0]])
    mean = 1.0
    table = [(6 + 2 * mean) / 5, (-1 + 2 * mean) / 4, mean]
    assert hash_scores(codes, target) == pytest.approx([-np.mean((target[5:, 0] - table) ** 2)])


def test_codes_that_say_nothing_are_left_out() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 3, 900)
    told = (target[:, None] + 3 * rng.integers(0, 20, (900, 4))).astype(np.uint8)
    codes = np.hstack([rng.integers(0, 256, (900, 5), dtype=np.uint8), told])
    assert_array_equal(best_hashes(codes, target, 4), [5, 6, 7, 8])
    assert_array_equal(best_hashes(codes, target[:, None].astype(np.float32) - 1, 4), [5, 6, 7, 8])


def test_the_kept_hashes_are_columns_of_all_and_part_of_the_model(three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    model = small(oversample=4).fit(X, y)
    numbers = model.hash_numbers_
    assert numbers is not None
    assert len(np.unique(numbers)) == 16
    assert numbers.max() > 16
    all_of_them = gcwsnet.GCWSHasher(64, random_state=0).fit(X)
    scaled = model.scaling_.transform(X)
    assert_array_equal(model.hasher_.transform(scaled), all_of_them.transform(scaled)[:, numbers])

    model.save(tmp_path / "model")
    again = gcwsnet.load(tmp_path / "model")
    assert_array_equal(again.hash_numbers_, numbers)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.partial_fit(X, y).predict_proba(X), model.partial_fit(X, y).predict_proba(X))


def test_the_choice_helps_where_most_columns_are_noise() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    X = rng.random((3000, 60))
    X[:, :4] = 3 * (y[:, None] == np.arange(4)) + rng.random((3000, 4))
    plain, chosen = (small(scale=None, oversample=times).fit(X[:2000], y[:2000]) for times in (1, 8))
    assert chosen.score(X[2000:], y[2000:]) > plain.score(X[2000:], y[2000:]) + 0.05


def test_numbers_and_streams_choose_too(three_classes: Rows) -> None:
    X, y = three_classes
    regressor = GCWSNetRegressor(n_hashes=16, hidden=(8,), p=1.0, oversample=2, random_state=0).fit(X, X[:, :2])
    assert regressor.hash_numbers_ is not None
    stream = small(oversample=2).partial_fit(X[:300], y[:300], classes=np.unique(y))
    assert stream.hash_numbers_ is not None


def test_too_few_rows_choose_nothing(three_classes: Rows) -> None:
    X, y = three_classes
    few = small(oversample=4).fit(X[:199], y[:199])
    assert few.hash_numbers_ is None
    assert_array_equal(few.predict_proba(X), small().fit(X[:199], y[:199]).predict_proba(X))


def test_oversample_must_be_a_count(three_classes: Rows) -> None:
    with pytest.raises(ValueError, match="oversample"):
        small(oversample=0).fit(*three_classes)
