"""Rows hashed per second, against peers: `gcwsnet bench`, which takes the same options.

`python benchmarks/hashing.py --write-docs` puts the result of a whole run and its picture into docs/hashing-speed.md.
"""

from __future__ import annotations

import sys

from gcwsnet.bench import CASES, draw, growing, measure
from gcwsnet.bench._page import DOCS, write_section
from gcwsnet.cli import main

PICTURE = DOCS / "images" / "hashing-speed.png"


def write_docs() -> None:
    report = measure(CASES, growing=growing(quick=False), say=lambda line: print(line, file=sys.stderr, flush=True))
    PICTURE.parent.mkdir(exist_ok=True)
    draw(report, PICTURE)
    write_section("hashing-speed.md", "hashing.py", report.as_markdown())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-docs"]:
        write_docs()
    else:
        main(["bench", *sys.argv[1:]])
