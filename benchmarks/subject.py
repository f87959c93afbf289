"""What the subjects share: options of the command line, Markdown, and sections of the documentation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import machine, versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1] / "docs"
EXTRA = "pip install '.[bench]'"


@dataclass(frozen=True)
class Section:
    """The result of a benchmark.

    Attributes
    ----------
    text : str
        Markdown.
    pictures : mapping of str to functions of a path
        What draws each picture, by the picture's path in ``docs/``. They are drawn only for the documentation.
    """

    text: str
    pictures: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)


def add_count(parser: argparse.ArgumentParser, option: str, default: int, meaning: str) -> None:
    """Add an option that is a whole number from 1 on, such as ``--repetitions`` or ``--seeds``."""

    def count(text: str) -> int:
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, got {text!r}")
        return int(text)

    parser.add_argument(option, type=count, default=default, metavar="N", help=f"{meaning} (default {default})")


def add_names(parser: argparse.ArgumentParser, option: str, names: Iterable[str], meaning: str) -> None:
    """Add an option that selects some of the names."""
    known = list(names)
    parser.add_argument(
        option, nargs="+", default=[], choices=known, metavar="NAME", help=f"{meaning}: {', '.join(known)}"
    )


def log(*words: object) -> None:
    """Print a line about the progress to stderr."""
    print(*words, file=sys.stderr, flush=True)


def environment(*packages: str, note: str = "") -> list[str]:
    """Return two lines of text: the machine, with a note, and the versions of Python and of packages."""
    found = versions("gcwsnet", "numpy", *packages)
    return [f"{machine()}{note}.", f"{', '.join(f'{name} {number}' for name, number in found.items())}."]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """Return a table in Markdown.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequences of str
    align : str
        "l" or "r" for each of the first columns; without it the first is aligned left. The rest is aligned right.
    """
    sides = (align or "l").ljust(len(head), "r")
    marks = [":--" if side == "l" else "--:" for side in sides]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, marks, *rows])


def save_svg(figure: Figure, path: Path) -> None:
    """Write a picture as a small SVG file, whose bytes are the same for the same picture."""
    from matplotlib import rc_context

    fonts = ["Helvetica", "Arial", "DejaVu Sans", "sans-serif"]
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "gcwsnet", "font.sans-serif": fonts}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def marks(subject: str) -> tuple[str, str]:
    """Return the lines of a page between which the result of a subject stands."""
    return f"<!-- begin: python -m benchmarks {subject} -->", "<!-- end -->"


def write_section(page: str, subject: str, section: Section) -> None:
    """Put the result of a benchmark into a page of the documentation, in place of the last one.

    Parameters
    ----------
    page : str
        The file's name in ``docs/``. It has the lines of `marks`.
    subject : str
        The name of the benchmark on the command line.
    section : Section
    """
    path = DOCS / page
    begin, end = marks(subject)
    before, mark, rest = path.read_text(encoding="utf-8").partition(f"{begin}\n")
    if not mark or end not in rest:
        raise ValueError(f"{path} has no place for the result of {subject!r}: give it the lines {begin} and {end}")
    path.write_text(f"{before}{mark}\n{section.text.strip()}\n\n{rest[rest.index(end) :]}", encoding="utf-8")
    for name, draw in section.pictures.items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        draw(DOCS / name)
