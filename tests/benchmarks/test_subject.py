"""What the subjects share: sections of the documentation, tables and options."""

from pathlib import Path

import pytest

from benchmarks import subject
from benchmarks.subject import Section, write_section

PAGE = """# Title

<!-- begin: python -m benchmarks one -->
old
<!-- end -->

between

<!-- begin: python -m benchmarks two -->
<!-- end -->
after
"""


def test_only_the_section_of_the_subject_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(PAGE)
    write_section("page.md", "one", Section("new\n"))
    write_section("page.md", "two", Section("2"))
    first = (tmp_path / "page.md").read_text()
    assert first == PAGE.replace("old\n", "\nnew\n\n").replace("two -->\n", "two -->\n\n2\n\n")
    write_section("page.md", "one", Section("new"))
    assert (tmp_path / "page.md").read_text() == first


def test_a_page_without_a_place_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(PAGE)
    with pytest.raises(ValueError, match="has no place for the result of 'three'"):
        write_section("page.md", "three", Section("text"))
