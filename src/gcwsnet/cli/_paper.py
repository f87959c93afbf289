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
    """List the experiments: what of the paper they are, how much of them is done, and whether the data are there.

    For example:
      gcwsnet paper list
    """
    from gcwsnet.paper import Results, listing

    for line in listing(Results(results)):
        print(line)


@paper.command("run")
def run(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Experiments, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="A reduced grid on the same data.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes, with one thread each; -1 is one for each core.")] = 1,
    results: Folder = RESULTS,
) -> None:
    """Do experiments. What has been done already is not computed again, so a run that was stopped goes on.

    For example:
      gcwsnet paper run theorem2 gmm-limit
      gcwsnet paper run count-sketch-ratio --quick --jobs -1
    """
    from gcwsnet._threads import n_threads
    from gcwsnet.paper import EXPERIMENTS, Results, run_experiment

    _check_names(names, EXPERIMENTS)
    if jobs == 0:
        raise typer.BadParameter("must not be 0: 1 is one process, -1 is one for each core", param_hint="--jobs")
    how: dict[str, Any] = {"quick": quick, "jobs": n_threads(jobs), "say": say}
    kept, chosen = Results(results), list(EXPERIMENTS) if names == ["all"] else names
    missing = [name for name in chosen if not run_experiment(EXPERIMENTS[name], kept, **how)]
    if missing:
        say(f"not all data were there for: {', '.join(missing)}")


@paper.command("report")
def report(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("paper.html"),
    results: Folder = RESULTS,
) -> None:
    """Write one HTML page on all that has been done: figures, tables, and which statements of the paper hold.

    For example:
      gcwsnet paper report --out docs/paper.html
    """
    from gcwsnet.paper import Results, write_report

    write_report(Results(results), out)
    say(f"{out} is written")


def _check_names(names: list[str], known: dict[str, Any]) -> None:
    for name in names:
        if name not in known and names != ["all"]:
            rule = f"NAME must be all, or one of {', '.join(known)}"
            raise typer.BadParameter(f"{rule}, got {name!r}", param_hint="NAME")
