"""The history of a training and its metrics, in memory that does not grow."""

import json
import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from gcwsnet.net._history import (
    BinnedAUC,
    History,
    RunningMetrics,
    append,
    history_from_state,
    history_state,
    record_fractions,
)
from gcwsnet.net._targets import Labels, Numbers, Targets

TWO_CLASSES = Labels(np.array([0, 1]))
NUMBERS = Numbers(np.zeros(2), np.array([1.0, 3.0]), False, "huber")


def outputs_and_target(targets: Targets) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(100, 2)).astype(np.float32)
    return outputs, rng.integers(0, 2, 100) if targets is TWO_CLASSES else rng.normal(size=(100, 2)).astype(np.float32)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e6])
def test_the_binned_auc_is_that_of_scikit_learn(spread: float) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(5000) < 0.2
    score = (spread * (rng.normal(size=5000) + truth)).astype(np.float32)
    auc = BinnedAUC()
    for part in np.array_split(np.arange(5000), 50):
        auc.add(score[part], truth[part])
    assert auc.value() == pytest.approx(roc_auc_score(truth, score), abs=1e-4)


def test_ties_count_half_and_one_class_has_no_auc() -> None:
    auc = BinnedAUC()
    auc.add(np.array([0.0, -0.5, -0.5, 3.0], dtype=np.float32), np.array([False, False, True, True]))
    assert auc.value() == pytest.approx((0 + 0.5 + 1 + 1) / 4)
    one = BinnedAUC()
    one.add(np.zeros(3, dtype=np.float32), np.array([True, True, True]))
    assert np.isnan(one.value())


@pytest.mark.parametrize("targets", [TWO_CLASSES, NUMBERS])
def test_metrics_are_means_over_rows_for_any_batches_to_the_last_bit(targets: Targets) -> None:
    outputs, target = outputs_and_target(targets)
    losses = targets.losses(outputs, target)
    found = []
    for size in (1, 7, 32, 100):
        metrics = RunningMetrics(targets, with_auc=True)
        for first in range(0, 100, size):
            rows = slice(first, first + size)
            metrics.add(outputs[rows], target[rows], losses[rows])
        found.append(metrics.values())
    assert all(one == found[0] for one in found)
    assert found[0]["loss"] == pytest.approx(losses.mean())
    if targets is TWO_CLASSES:
        assert found[0]["accuracy"] == (outputs.argmax(1) == target).mean()
        assert found[0]["auc"] == pytest.approx(roc_auc_score(target, outputs[:, 1] - outputs[:, 0]), abs=1e-3)
    else:
        assert found[0]["rmse"] == pytest.approx(np.sqrt((((outputs - target) * [1, 3]) ** 2).mean()))
        assert "auc" not in found[0]


@pytest.mark.parametrize("with_auc", [False, True])
def test_the_state_of_metrics_holds_all_of_them(with_auc: bool) -> None:
    outputs, target = outputs_and_target(TWO_CLASSES)
    metrics, restored = (RunningMetrics(TWO_CLASSES, with_auc=with_auc) for _ in range(2))
    metrics.add(outputs, target, TWO_CLASSES.losses(outputs, target))
    arrays, description = metrics.state("some.")
    restored.restore("some.", arrays, json.loads(json.dumps(description)))
    assert restored.values() == metrics.values()
    restored.add(outputs, target, TWO_CLASSES.losses(outputs, target))
    assert metrics.rows == 100
    metrics.clear()
    assert (metrics.rows, metrics.values()["loss"]) == (0, 0.0)
    assert restored.rows == 200


def test_a_record_that_lacks_a_name_has_nan_there_and_the_state_has_none() -> None:
    history: History = {}
    append(history, {"rows": 1.0, "seconds": 0.5})
    append(history, {"rows": 2.0, "seconds": 0.7, "eval_loss": 0.1})
    append(history, {"rows": 3.0, "seconds": 0.9})
    assert {name: len(values) for name, values in history.items()} == {"rows": 3, "seconds": 3, "eval_loss": 3}
    state = json.loads(json.dumps(history_state(history, timings=False), allow_nan=False))
    assert state == {"rows": [1.0, 2.0, 3.0], "seconds": [0.0] * 3, "eval_loss": [None, 0.1, None]}
    found = history_from_state(history_state(history, timings=True))
    assert found["seconds"] == [0.5, 0.7, 0.9]
    assert [math.isnan(value) for value in found["eval_loss"]] == [True, False, True]


def test_records_are_a_number_or_fractions_of_an_epoch() -> None:
    assert record_fractions(4) == [0.25, 0.5, 0.75, 1.0]
    assert record_fractions([0.5, 0.1, 0.5]) == [0.1, 0.5, 1.0]
    for wrong in (0, 2**40, True, "4", [0.0], [1.5]):
        with pytest.raises(ValueError, match="records must be an integer from 1 to 65536 or fractions of an epoch"):
            record_fractions(wrong)
