"""What needs no nets runs where torch is not installed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import write_digits

SCRIPT = """
import sys
from gcwsnet.cli import main

for line in sys.argv[1:]:
    try:
        main(line.split())
    except SystemExit as end:
        if end.code:
            raise
"""


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run commands in one process, in a folder with files, where importing torch fails as if it were not there."""
    write_digits(tmp_path)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    path = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")])

    def commands(*lines: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT, *lines],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return commands


def test_hash_kernel_and_info_work(run: Any) -> None:
    hashing = "hash train.svm --n-hashes 16 --out codes"
    result = run(hashing, "kernel test.svm test.svm", "info codes", "info train.svm")
    assert result.returncode == 0, result.stderr
    assert "scaling and p were not chosen, since torch is not installed" in result.stderr


def test_train_says_what_to_install(run: Any) -> None:
    result = run("train train.svm --out m")
    assert result.returncode == 1
    assert "pip install 'gcwsnet[torch]'" in result.stderr
    assert result.stderr.count("\n") == 1
