"""The file of a fitted model has the same bytes for any number of threads and on any instruction set."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gcwsnet import _core

PROGRAM = """
import hashlib, sys
from pathlib import Path
import numpy as np
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor

n_jobs, path = int(sys.argv[1]), Path(sys.argv[2])
rng = np.random.default_rng(0)
X = np.hstack([rng.normal(size=(700, 5)), rng.integers(0, 2, (700, 2))])
labels, numbers = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3]), np.column_stack([X[:, 0] * X[:, 1], X[:, 2]])
small = {"n_hashes": 32, "hidden": (24,), "relevance": 0, "random_state": 0, "n_jobs": n_jobs}
for scale in ("numeric", "minmax", None):
    for model, y in (
        (GCWSNetClassifier(scale=scale, **small), labels),
        (GCWSNetRegressor(scale=scale, p=1.0, reduction=4, loss="huber", **small), numbers),
    ):
        model.fit(X, y, eval_set=(X[:99], y[:99])).save(path, timings=False)
        print(scale, type(model).__name__, hashlib.sha256(path.read_bytes()).hexdigest())
        model.partial_fit(X, y).save(path, timings=False)
        print(scale, type(model).__name__, "stream", hashlib.sha256(path.read_bytes()).hexdigest())
        print(hashlib.sha256(model.predict(X[::7]).tobytes()).hexdigest())
"""

DEFAULTS = """
import hashlib, sys
from pathlib import Path
import numpy as np
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor

n_jobs, path = int(sys.argv[1]), Path(sys.argv[2])
rng = np.random.default_rng(0)
X = np.hstack([rng.normal(size=(500, 6)), rng.integers(0, 2, (500, 2))])
for model, y in ((GCWSNetClassifier, np.floor(2 * X[:, 0]) % 2), (GCWSNetRegressor, X[:, 0] + X[:, 6])):
    model = model(n_hashes=16, random_state=0, n_jobs=n_jobs).fit(X, y)
    weights = b"".join(value.tobytes() for _, value in sorted(model.trainer_.net.weights().items()))
    recipe = model.coder_.preprocessing.recipe
    print(recipe.scale, recipe.relevance, model.p_, model.n_epochs_seen_, hashlib.sha256(weights).hexdigest()[:16])
    model.save(path, timings=False)
    print(hashlib.sha256(path.read_bytes()).hexdigest(), hashlib.sha256(model.predict(X).tobytes()).hexdigest())
"""
GOLDEN = ["numeric 1.0 5.0 5 72f07e6d3cb14cbd", "numeric 1.0 1.0 5 614b99d6a7328d20"]
"""What was chosen, and the digests of the weights of all nets."""


def digests(tmp_path: Path, n_jobs: int, instruction_set: str | None, program: str = PROGRAM) -> str:
    """Return the digests of the files of some models that were fitted in a process of their own."""
    environment = {name: value for name, value in os.environ.items() if name != "GCWSNET_ISA"}
    environment |= {} if instruction_set is None else {"GCWSNET_ISA": instruction_set}
    command = [sys.executable, "-c", program, str(n_jobs), str(tmp_path / "model")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digests with one thread and the instruction set that this processor uses."""
    return digests(tmp_path_factory.mktemp("model"), 1, None)


EVERYWHERE = pytest.mark.parametrize(
    ("n_jobs", "instruction_set"), [(3 - i % 3, name) for i, name in enumerate(_core.instruction_sets())]
)
"""Each instruction set of this processor, each with another number of threads."""


@EVERYWHERE
def test_files_are_the_same(n_jobs: int, instruction_set: str, expected: str, tmp_path: Path) -> None:
    assert len(expected.splitlines()) == 18
    assert digests(tmp_path, n_jobs, instruction_set) == expected


@pytest.fixture(scope="module")
def expected_of_defaults(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digests of models with the default search and ensemble."""
    return digests(tmp_path_factory.mktemp("model"), 1, None, DEFAULTS)


@EVERYWHERE
def test_a_search_and_an_ensemble_give_the_same_files(
    n_jobs: int, instruction_set: str, expected_of_defaults: str, tmp_path: Path
) -> None:
    found = digests(tmp_path, n_jobs, instruction_set, DEFAULTS)
    assert found == expected_of_defaults
    assert found.splitlines()[::2] == GOLDEN
