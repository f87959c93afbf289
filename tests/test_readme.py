"""Every Python block of the README runs on its own, without a warning, and prints something."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file

README = Path(__file__).parent.parent / "README.md"


def python_blocks() -> list[tuple[int, str]]:
    """Line number in the README and source of each Python block."""
    text = README.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, block.start(1)) + 1, block.group(1)) for block in found]


BLOCKS = python_blocks()
SHELL_BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def test_the_readme_has_an_example_for_each_kind_of_user() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize(("line", "source"), BLOCKS, ids=[f"line {line}" for line, _ in BLOCKS])
def test_block_runs(line: int, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "import torch" in source:
        pytest.importorskip("torch")
    code = compile("\n" * (line - 1) + source, str(README), "exec")  # a traceback shows the line of the README
    exec(code, {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
@pytest.mark.parametrize("block", SHELL_BLOCKS)
def test_shell_block_runs(block: str, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = ["bash", "-c", f"set -e\n{block}"]
    environment = {**os.environ, "PATH": path}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "accuracy" in result.stdout
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("model", "same-model"))
    assert one.keys() == other.keys()
    assert all((one[name] == other[name]).all() for name in one)
