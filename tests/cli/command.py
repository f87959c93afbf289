"""The command, run in the process of the tests, or in one of its own where that is what is tested."""

import shlex
import subprocess
import sys
from glob import glob
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from gcwsnet.cli._app import app


def run(*arguments: Any, **more: Any) -> Any:
    """Run the command in this process; the result has `exit_code`, `stdout` and `stderr`."""
    return CliRunner().invoke(app, [str(one) for one in arguments], **more)


def succeed(*arguments: Any, **more: Any) -> Any:
    """Run the command in this process, where it must succeed."""
    result = run(*arguments, **more)
    assert result.exit_code == 0, result.stderr or result.exception
    return result


def fail(*arguments: Any, code: int = 1, **more: Any) -> str:
    """Run the command in this process, where it must fail; return its error, which Dask's own log may follow."""
    result = run(*arguments, **more)
    assert result.exit_code == code, result.stderr or result.exception
    errors: list[str] = [line for line in result.stderr.splitlines() if line.startswith("gcwsnet: ")]
    assert errors, result.stderr
    return errors[-1]


def run_line(line: str) -> Any:
    """Run a line of a shell in this process: `cat FILE | gcwsnet ARGUMENTS > FILE`, with patterns of files."""
    source, _, line = line.rpartition(" | ")
    line, _, target = line.partition(" > ")
    program, *arguments = shlex.split(line)
    assert program == "gcwsnet"
    given = [one for word in arguments for one in (sorted(glob(word)) if "*" in word else [word])]
    result = run(*given, input=Path(source.removeprefix("cat ")).read_bytes() if source else None)
    if target:
        Path(target).write_text(result.stdout)
    return result


def start(*arguments: Any) -> subprocess.Popen[str]:
    """Start the command in a process of its own."""
    command = [sys.executable, "-m", "gcwsnet", *(str(one) for one in arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
