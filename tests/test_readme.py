"""Every block of the README runs without a warning and prints what the README shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.markdown import Block, blocks, same_output

README = Path(__file__).parent.parent / "README.md"
BLOCKS = blocks(README)
MAX_WORDS = 450


def name(block: Block) -> str:
    return f"{block.path.name}:{block.line}"


@pytest.mark.parametrize("block", BLOCKS, ids=name)
def test_block_prints_what_the_readme_shows(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = block.run({"__name__": "__main__"})
    assert block.output is not None
    assert same_output(block.output, printed), printed


def test_the_readme_has_an_example_and_is_short() -> None:
    assert BLOCKS
    assert len(README.read_text(encoding="utf-8").partition("## Citation")[0].split()) <= MAX_WORDS
