"""What the subjects share: sections of the documentation, tables and options."""

import argparse
from pathlib import Path

import pytest

from benchmarks import subject
from benchmarks.subject import Section, add_count, add_names, markdown_table, write_section

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


def test_pictures_are_drawn_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "DOCS", tmp_path)
    (tmp_path / "page.md").write_text(PAGE)
    write_section("page.md", "one", Section("text", {"images/a.png": Path.touch}))
    assert (tmp_path / "images" / "a.png").is_file()


def test_the_first_column_of_a_table_is_aligned_left_unless_said() -> None:
    assert markdown_table(["a", "b"], [["1", "2"]]) == "| a | b |\n| :-- | --: |\n| 1 | 2 |"
    assert markdown_table(["a", "b", "c"], [], align="rl").splitlines()[1] == "| --: | :-- | --: |"


@pytest.mark.parametrize("given", [["--seeds", "0"], ["--seeds", "x"], ["--only", "c"], ["--only"]])
def test_a_wrong_option_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_count(parser, "--seeds", 3, "seeds")
    add_names(parser, "--only", ["a", "b"], "only these")
    assert vars(parser.parse_args(["--only", "b", "a"])) == {"seeds": 3, "only": ["b", "a"]}
    with pytest.raises(SystemExit):
        parser.parse_args(given)
    assert f"argument {given[0]}" in capsys.readouterr().err
