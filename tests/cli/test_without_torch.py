"""Estimators, model files and all commands work where torch is not installed; what needs it says what to install."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import write_digits

COMMANDS = """
import sys
from gcwsnet.cli import main

for line in sys.argv[1:]:
    try:
        main(line.split())
    except SystemExit as end:
        if end.code:
            raise
assert "torch" not in sys.modules
"""
ESTIMATORS = """
import pickle
import sys
import numpy as np
import gcwsnet

X = np.random.default_rng(0).normal(size=(300, 4))
for name, y in (("GCWSNetClassifier", X[:, 0] > 0), ("GCWSNetRegressor", X[:, 0])):
    model = getattr(gcwsnet, name)(16, hidden=(4,), epochs=2, early_stopping=True, random_state=0).fit(X, y)
    assert model.selection_  # preprocessing and p are selected by nets
    model.partial_fit(X, y)
    model.save("some.safetensors", training_state=True)
    loaded, copied = gcwsnet.load("some.safetensors"), pickle.loads(pickle.dumps(model.compress()))
    assert (loaded.partial_fit(X, y).compress().predict(X) == model.partial_fit(X, y).compress().predict(X)).all()
    assert len(copied.predict(X)) == 300
assert "torch" not in sys.modules
"""
PREDICTION = """
import sys
import gcwsnet

assert len(gcwsnet.load("some.safetensors").predict([[1.0, 2.0, 3.0, 4.0]])) == 1
heavy = {"torch", "matplotlib", "typer"} & set(sys.modules)  # scikit-learn imports pandas if it is there
assert not heavy, heavy
"""


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run a program in a folder with files, where importing torch fails as if it were not there."""
    write_digits(tmp_path)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    path = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")])

    def program(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", source, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return program


@pytest.mark.slow
def test_all_commands_work(run: Any) -> None:
    small = "--n-hashes 16 --hidden 4"
    result = run(
        COMMANDS,
        f"train train.svm --test test.svm {small} --out model",
        "predict model test.svm --probabilities",
        "evaluate model test.svm",
        "hash train.svm --n-hashes 16 --out codes",
        "train codes --hidden 4 --out model-of-codes",
        "kernel test.svm test.svm",
        *(f"info {path}" for path in ("model", "codes", "train.svm")),
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_estimators_and_model_files_work_and_a_prediction_loads_nothing_heavy(run: Any) -> None:
    for program in (ESTIMATORS, PREDICTION):
        result = run(program)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("program", "needed_by"),
    [
        ("import gcwsnet.nn", "gcwsnet.nn"),
        (
            "import gcwsnet; gcwsnet.GCWSNetClassifier(p=1.0, device='cuda').fit([[1.0], [2.0]], [0, 1])",
            "device='cuda'",
        ),
    ],
)
def test_what_needs_torch_says_what_to_install(program: str, needed_by: str, run: Any) -> None:
    message = f"ImportError: {needed_by} needs torch, which is not installed; pip install 'gcwsnet[torch]'"
    assert run(program).stderr.splitlines()[-1].startswith(message)
