"""The command: help, version, and errors in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gcwsnet
from gcwsnet.cli._app import app

RUNNER = CliRunner()


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help_lists_the_commands(arguments: list[str]) -> None:
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 0
    assert "predict" in result.stdout


def test_version() -> None:
    result = RUNNER.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"gcwsnet {gcwsnet.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["--nothing"], ["info", "--nothing"], ["kernel", "a", "b", "nothing"]]
)
def test_a_wrong_call_is_one_line_and_exit_code_2(arguments: list[str]) -> None:
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("gcwsnet: ")
    assert "nothing" in result.stderr
    assert result.stderr.count("\n") == 1


def test_work_that_fails_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 1:1\n2 1:2\n")
    rows = str(tmp_path / "rows.svm")
    command = [sys.executable, "-m", "gcwsnet", "kernel", rows, rows, "--out", str(tmp_path / "kernel.csv")]
    environment = os.environ | {"GCWSNET_ISA": "mmx"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("gcwsnet: GCWSNET_ISA must name an instruction set")


def test_an_error_of_the_program_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gcwsnet.kernels._exact.pgmm_kernel", broken)
    (tmp_path / "rows.svm").write_text("1 1:1\n2 1:2\n")
    rows = str(tmp_path / "rows.svm")
    assert isinstance(RUNNER.invoke(app, ["kernel", rows, rows]).exception, ZeroDivisionError)


def test_python_m_runs_the_command_and_help_imports_nothing_heavy(tmp_path: Path) -> None:
    """Neither torch nor scikit-learn nor NumPy, though modules of these names are there to be found."""
    for name in ("torch", "sklearn", "numpy", "matplotlib"):
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('{name} was imported')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "gcwsnet", "--help"]
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert "Usage: gcwsnet " in result.stdout
