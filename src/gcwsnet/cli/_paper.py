"""`gcwsnet paper`: the experiments of the paper, done again, and a report on them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

paper = typer.Typer(help="Do the experiments of the paper again, and report on them.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the results of all runs are kept.")]
RESULTS = Path("paper-results")


def say(line: str) -> None:
    """A line about the progress."""
    print(line, file=sys.stderr, flush=True)


@paper.command("list")
def show(results: Folder = RESULTS) -> None:
    """List the experiments: what of the paper they are, how much of them is done, and whether the data are there."""
    from gcwsnet.paper import Results, listing

    for line in listing(Results(results)):
        print(line)


@paper.command("run")
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Experiments, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="A reduced grid on the same data.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes, with one thread each.")] = 1,
    results: Folder = RESULTS,
) -> None:
    """Do experiments. What has been done already is not computed again, so a run that was stopped goes on."""
    from gcwsnet.paper import EXPERIMENTS, Results, run_experiment

    _check_names(names, EXPERIMENTS)
    kept = Results(results)
    chosen = list(EXPERIMENTS) if names == ["all"] else names
    missing = [name for name in chosen if not run_experiment(EXPERIMENTS[name], kept, quick=quick, jobs=jobs, say=say)]
    if missing:
        say(f"not all data were there for: {', '.join(missing)}")


@paper.command("report")
def report(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("paper.html"),
    results: Folder = RESULTS,
) -> None:
    """Write one HTML page on all that has been done: figures, tables, and which statements of the paper hold."""
    from gcwsnet.paper import Results, write_report

    write_report(Results(results), out)
    say(f"{out} is written")


def _check_names(names: list[str], known: dict[str, Any]) -> None:
    for name in names:
        if name not in known and names != ["all"]:
            rule = f"NAME must be all, or one of {', '.join(known)}"
            raise typer.BadParameter(f"{rule}, got {name!r}", param_hint="NAME")
