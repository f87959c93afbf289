"""`gcwsnet bench`: how fast rows are hashed here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def say(line: str) -> None:
    """A line about the progress."""
    print(line, file=sys.stderr, flush=True)


def bench(
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="How often each call is timed; the median counts.", show_default="5")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and 3 repetitions: half a minute.")] = False,
    rows: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only these rows; may be repeated.")] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also measure the growth with D and k, and draw it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of Markdown tables.")] = False,
) -> None:
    """Time the hasher next to its peers on one thread.

    Peers that are not installed are left out: pip install 'gcwsnet[bench]'. Real datasets are read from the folder that
    GCWSNET_DATA names, or from the cache folder (see gcwsnet.datasets.load), and left out where they are not there.

    For example:
      gcwsnet bench --quick
      gcwsnet bench --quick --rows uniform-784 --json
    """
    from gcwsnet import bench as benchmark

    known = {case.name: case for case in benchmark.CASES}
    for name in rows or ():
        if name not in known:
            raise typer.BadParameter(f"rows must be one of {', '.join(known)}, got {name!r}", param_hint="--rows")
        try:
            known[name].rows()
        except (FileNotFoundError, ValueError) as error:
            raise typer.BadParameter(f"{name}: {error}", param_hint="--rows") from error
    if plot is not None:
        try:
            benchmark.check_picture(plot)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--plot") from error
    report = benchmark.measure(
        [known[name] for name in rows] if rows else [case for case in known.values() if case.quick or not quick],
        repetitions=repetitions or (3 if quick else 5),
        growing=benchmark.growing(quick) if plot else None,
        say=say,
    )
    if plot is not None:
        benchmark.draw(report, plot)
    print(json.dumps(report.as_json(), indent=2) if as_json else report.as_markdown(), end="\n" if as_json else "")
