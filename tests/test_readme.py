"""Every block of the README runs on its own: Python without a warning, the shell without an error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("README.md",)


def blocks(language: str) -> list[tuple[str, int, str]]:
    """Page, line number in it and source of each block in a language."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        matches = re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
        found += [(page, text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in matches]
    return found


PYTHON, SHELL = blocks("python"), blocks("sh")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_python_and_the_command(page: str) -> None:
    assert {page} <= {one[0] for one in PYTHON} & {one[0] for one in SHELL}


@pytest.mark.parametrize(("page", "line", "source"), PYTHON, ids=[f"{page}:{line}" for page, line, _ in PYTHON])
def test_block_runs(
    page: str,
    line: int,
    source: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile("\n" * (line - 1) + source, str(ROOT / page), "exec")  # a traceback shows the line of the page
    exec(code, {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()


@pytest.mark.slow
@pytest.mark.parametrize(("page", "line", "source"), SHELL, ids=[f"{page}:{line}" for page, line, _ in SHELL])
def test_shell_block_runs(page: str, line: int, source: str, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = ["bash", "-c", f"set -e\n{source}"]
    environment = {**os.environ, "PATH": path}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, (page, line, result.stderr)
    assert "accuracy" in result.stdout
    assert (tmp_path / "predictions.csv").stat().st_size > 0
