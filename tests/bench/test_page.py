"""Sections of the documentation that a script makes."""

from pathlib import Path

import pytest

from gcwsnet.bench import _page
from gcwsnet.bench._page import write_section

PAGE = """# Title

<!-- made by benchmarks/one.py: begin -->
old
<!-- end -->

between

<!-- made by benchmarks/two.py: begin -->
<!-- end -->
after
"""


def test_only_the_part_of_the_script_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_page, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(PAGE)
    write_section("page.md", "one.py", "new\n")
    write_section("page.md", "two.py", "2")
    first = (tmp_path / "page.md").read_text()
    assert first == PAGE.replace("old\n", "\nnew\n\n").replace("two.py: begin -->\n", "two.py: begin -->\n\n2\n\n")
    write_section("page.md", "one.py", "new")
    assert (tmp_path / "page.md").read_text() == first
    with pytest.raises(ValueError, match=r"has no place for what benchmarks/three\.py makes"):
        write_section("page.md", "three.py", "text")


def test_every_script_that_writes_has_its_place() -> None:
    root = Path(__file__).parents[2]
    for script in (root / "benchmarks").glob("*.py"):
        for line in script.read_text().splitlines():
            if "write_section(" in line and "import" not in line:
                page = line.split('write_section("')[1].split('"')[0]
                text = (root / "docs" / page).read_text()
                assert f"<!-- made by benchmarks/{script.name}: begin -->" in text
