"""Rows hashed per second, against peers: `gcwsnet bench`, which takes the same options.

`python benchmarks/hashing.py --write-docs` puts the result of a whole run and its picture into docs/hashing-speed.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gcwsnet.bench import CASES, draw, growing, measure
from gcwsnet.cli import main

DOCS = Path(__file__).parent.parent / "docs"
PAGE, PICTURE = DOCS / "hashing-speed.md", DOCS / "images" / "hashing-speed.png"
BEGIN, END = "<!-- made by benchmarks/hashing.py: begin -->\n", "<!-- end -->"


def write_docs() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest[rest.index(END) :]
    report = measure(CASES, growing=growing(quick=False), say=lambda line: print(line, file=sys.stderr, flush=True))
    PICTURE.parent.mkdir(exist_ok=True)
    draw(report, PICTURE)
    PAGE.write_text(f"{before}{BEGIN}\n{report.as_markdown()}\n{after}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-docs"]:
        write_docs()
    else:
        main(["bench", *sys.argv[1:]])
