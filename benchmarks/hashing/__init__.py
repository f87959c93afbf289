"""Rows hashed per second, next to other libraries.

Whole calls are timed on one thread. All that hash the same rows take turns within one run, after a call that is not
timed, and the median counts. Peers that are not installed are left out: pip install '.[bench]'. Real datasets are read
from the folder that GCWSNET_DATA names, or from the cache folder (see reproduction.datasets.load), and left out where
they are missing.

With --against COMMIT this package is compared with one of its own commits instead: see old_core.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from benchmarks.hashing.cases import CASES, QUICK, growing_cases
from benchmarks.hashing.old_core import compare
from benchmarks.hashing.report import check_picture, draw
from benchmarks.hashing.speed import measure
from benchmarks.subject import Section, add_count, add_names, log

PICTURE = "images/hashing-speed.png"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--repetitions", 5, "timed calls of each kind")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, and less growth: half a minute")
    add_names(parser, "--rows", CASES, "only these")
    parser.add_argument(
        "--plot", type=_picture, help="also measure the growth with D and k, and draw it", metavar="FILE"
    )
    parser.add_argument("--against", help="compare with a commit only, built in build/", metavar="COMMIT")
    parser.add_argument("--json", action="store_true", help="JSON instead of Markdown")


def _picture(name: str) -> Path:
    try:
        check_picture(Path(name))
    except (ImportError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return Path(name)


def run(options: argparse.Namespace) -> Section:
    """Measure the hasher and its peers."""
    if options.json and options.write_docs:
        sys.exit("--write-docs writes Markdown: leave out --json")
    cases = [CASES[name] for name in options.rows or (QUICK if options.quick else CASES)]
    if options.against:
        if options.plot or options.write_docs:
            sys.exit("--against compares with a commit only: leave out --plot and --write-docs")
        try:
            against = compare(options.against, cases, repetitions=options.repetitions, say=log)
        except RuntimeError as error:
            sys.exit(str(error))
        return Section(json.dumps(against.as_json(), indent=2) if options.json else against.as_markdown())
    report = measure(
        cases,
        repetitions=options.repetitions,
        growth=growing_cases(options.quick) if options.plot or options.write_docs else {},
        say=log,
    )
    if options.plot:
        draw(report, options.plot)
    text = json.dumps(report.as_json(), indent=2) if options.json else report.as_markdown()
    return Section(text, {PICTURE: partial(draw, report)})
