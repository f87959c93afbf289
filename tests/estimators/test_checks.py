"""What scikit-learn expects of every estimator."""

import os
import subprocess
import sys
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor

# A row of weight 2 takes one place in one batch and two rows take two, in two batches or in one: mini-batches differ.
REASON = "batches of rows that are repeated or left out are other batches than those of weighted rows"
BY_NATURE = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}
SETTINGS: dict[str, Any] = {
    "n_hashes": 64,
    "hidden": (32,),
    "epochs": 10,
    "learning_rate": 5e-3,
    "random_state": 0,
}
ESTIMATORS = [
    GCWSNetClassifier(**SETTINGS),
    GCWSNetClassifier(**SETTINGS | {"n_hashes": 32}, missing="zero", scale="minmax", reduction=4, average=False),
    GCWSNetRegressor(**SETTINGS),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: BY_NATURE)  # type: ignore[untyped-decorator]
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", ["GCWSNetClassifier", "GCWSNetRegressor"])
def test_names_do_without_torch_until_they_are_used(name: str) -> None:
    lines = f"""
import sys
sys.modules["torch"] = None
import gcwsnet
assert "{name}" in dir(gcwsnet)
try:
    gcwsnet.{name}
except ImportError as error:
    assert "pip install 'gcwsnet[torch]'" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", lines], check=True, env=os.environ.copy())
