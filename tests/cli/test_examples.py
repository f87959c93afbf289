"""Every example of `--help` runs as it stands there; those with pipes also run in a shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gcwsnet.cli._app import COMMANDS
from tests.cli.command import run_line
from tests.cli.files import write_clicks, write_digits, write_texts


def examples() -> list[tuple[str, str]]:
    found = []
    for name, command in COMMANDS.items():
        _, _, after = (command.__doc__ or "").partition("For example:\n")
        found += [(name, line.strip()) for line in after.splitlines() if line.strip()]
    return found


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    binaries = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": binaries, "PYTHONWARNINGS": "error::DeprecationWarning:gcwsnet"}
    command = ["bash", "-c", f"set -o pipefail; {line}"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    write_digits(folder, 150, 50)  # so few that nothing is chosen by small nets, which takes its time
    write_clicks(folder, 150)
    write_texts(folder)
    (folder / "houses.csv").write_text("size,price\n" + "".join(f"{i},{i * i % 97}.5\n" for i in range(60)))
    return folder


def test_each_command_teaches_by_examples() -> None:
    taught = {name for name, _ in examples()}
    assert taught == set(COMMANDS)


def test_the_examples_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an order in which each finds what it needs: codes, indexes and models before they are used."""
    monkeypatch.chdir(folder)
    order = {"hash": 0, "index": 0, "train": 1}
    for _, line in sorted(examples(), key=lambda one: order.get(one[0], 2)):
        result = run_line(line)
        assert result.exit_code == 0, (line, result.stderr, result.exception)


@pytest.mark.slow
def test_an_example_with_a_pipe_runs_in_a_shell(folder: Path) -> None:
    """The installed program reads standard input and writes standard output."""
    lines = [line for name, line in examples() if name == "train" and " | " in line]
    result = shell(f"{lines[0]} && gcwsnet predict model test.svm > labels.csv", folder)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert len((folder / "labels.csv").read_text().splitlines()) == 51
