"""Measures in memory that does not grow."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from gcwsnet.estimators._targets import Labels, Numbers
from gcwsnet.streaming._progressive import BinnedAUC, Progressive


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


def test_means_are_means_over_rows_and_the_state_holds_all() -> None:
    targets = Labels(np.array([0, 1]))
    seen = Progressive(targets)
    rng = np.random.default_rng(0)
    outputs, target = torch.from_numpy(rng.normal(size=(100, 2))), torch.from_numpy(rng.integers(0, 2, 100))
    for part in torch.arange(100).split(7):
        loss, success = targets.loss(outputs[part], target[part]), targets.success(outputs[part], target[part])
        seen.add(outputs[part], target[part], float(loss.sum()), float(success.sum()))
    means = seen.means()
    assert means["loss"] == pytest.approx(float(targets.loss(outputs, target).mean()))
    assert means["accuracy"] == pytest.approx(float((outputs.argmax(1) == target).double().mean()))
    assert means["auc"] == pytest.approx(roc_auc_score(target, outputs[:, 1] - outputs[:, 0]), abs=1e-3)
    assert Progressive.restored(targets, *seen.state()).means() == means
    assert "auc" not in Progressive(Numbers(np.zeros(1), np.ones(1), True, "squared_error")).means()
