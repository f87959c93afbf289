"""Every block of the README runs on its own: Python without a warning, the shell without an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.markdown import Block, blocks

README = Path(__file__).parent.parent / "README.md"
BLOCKS = blocks(README)
PYTHON, SHELL = ([block for block in BLOCKS if block.language == language] for language in ("python", "sh"))


def name(block: Block) -> str:
    return f"{block.path.name}:{block.line}"


def test_the_readme_shows_python_and_the_command() -> None:
    assert PYTHON
    assert SHELL


@pytest.mark.parametrize("block", PYTHON, ids=name)
def test_block_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert block.run({"__name__": "__main__"}).strip()


@pytest.mark.parametrize("block", SHELL, ids=name)
def test_shell_block_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "accuracy" in block.run({})
    assert (tmp_path / "predictions.csv").stat().st_size > 0
