"""Sections of the documentation that a script makes."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def write_section(page: str, script: str, text: str) -> None:
    """Put text into a page of the documentation, between the marks of a script in ``benchmarks/``.

    Parameters
    ----------
    page : str
        The file's name in ``docs/``. It has a line ``<!-- made by benchmarks/SCRIPT: begin -->`` and, after it, a line
        ``<!-- end -->``.
    script : str
    text : str
        Takes the place of what is between them.
    """
    path = DOCS / page
    begin, end = f"<!-- made by benchmarks/{script}: begin -->\n", "<!-- end -->"
    before, mark, rest = path.read_text(encoding="utf-8").partition(begin)
    if not mark or end not in rest:
        raise ValueError(f"{path} has no place for what benchmarks/{script} makes: {begin.strip()} and {end}")
    path.write_text(f"{before}{begin}\n{text.strip()}\n\n{rest[rest.index(end) :]}", encoding="utf-8")
