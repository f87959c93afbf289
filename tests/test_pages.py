"""The Python and shell blocks of the pages in docs/ run, in their order within a page, and print what the page says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.markdown import Block, blocks, same_output

DOCS = Path(__file__).parent.parent / "docs"
SLOW = {"command-line.md", "files.md", "from-lightgbm.md", "from-vowpal-wabbit.md", "sparse.md", "start.md"}
ON_A_CLUSTER = {"dask.md"}  # tests/distributed runs what they show
PAGES = {page.name: found for page in sorted(DOCS.glob("*.md")) if (found := blocks(page))}
PAGES = {name: found for name, found in PAGES.items() if name not in ON_A_CLUSTER}


def parameters() -> list[Any]:
    return [
        pytest.param(found, id=name, marks=[pytest.mark.slow] if name in SLOW else []) for name, found in PAGES.items()
    ]


@pytest.mark.parametrize("page", parameters())
def test_blocks_of_a_page_run(page: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in page:
        missing = block.missing_packages()
        if missing:
            pytest.skip(f"{' and '.join(missing)} not installed: not run from line {block.line} on")
        printed = block.run(namespace)
        if block.output is not None:
            assert same_output(block.output, printed), f"{block.path.name}:{block.line} printed\n{printed}"


@pytest.mark.parametrize(
    ("printed", "same"),
    [
        ("accuracy 0.91 of 1,797 rows\n", True),
        ("accuracy 0.90   of 1,800 rows", True),
        ("accuracy 0.95 of 1,797 rows", False),
        ("accuracy 0.91 of 1,900 rows", False),
        ("accuracy 0.91 of rows", False),
        ("precision 0.91 of 1,797 rows", False),
    ],
)
def test_output_is_compared_by_words_and_near_numbers(printed: str, same: bool) -> None:
    assert same_output("accuracy 0.91 of 1,797 rows", printed) == same


def test_a_block_has_its_line_its_language_and_its_output(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```sh\nls\n```\n")
    first, second = blocks(page)
    assert (first.line, first.source, first.output) == (4, "print(1)\n", "1\n")
    assert (second.line, second.language, second.output) == (12, "sh", None)
    assert first.run({}) == "1\n"
