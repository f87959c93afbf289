"""What scikit-learn expects of every estimator."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor

# A row of weight 2 takes one place in one batch and two rows take two, in two batches or in one: mini-batches differ.
# Rows of weight 0 are equal to no rows, which test_zero_weights.py shows; these checks repeat rows, too.
REASON = "batches of rows that are repeated are other batches than those of weighted rows"
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
    GCWSNetClassifier(**SETTINGS | {"n_hashes": 32}, missing="zero", scale="minmax", reduction=4),
    GCWSNetRegressor(**SETTINGS),
]


@pytest.mark.filterwarnings("ignore:all rows have the label")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: BY_NATURE)  # type: ignore[untyped-decorator]
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", ["GCWSNetClassifier", "GCWSNetRegressor"])
def test_estimators_need_torch_only_for_devices_other_than_the_cpu(name: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    lines = f"""
import gcwsnet
X, y = [[1.0, 2.0], [3.0, 1.0], [2.0, 5.0], [1.0, 1.0]], [0, 1, 1, 0]
model = gcwsnet.{name}(n_hashes=8, hidden=(4,)).fit(X, y).partial_fit(X, y)
model.save({str(tmp_path / "model")!r}, training_state=True)
assert (gcwsnet.load({str(tmp_path / "model")!r}).predict(X) == model.predict(X)).all()
try:
    gcwsnet.{name}(n_hashes=8, device="cuda").fit(X, y)
except ImportError as error:
    assert str(error).startswith("device='cuda' needs torch, which is not installed; pip install 'gcwsnet[torch]'")
else:
    raise AssertionError
"""
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", lines], check=True, env={**os.environ, "PYTHONPATH": path})
