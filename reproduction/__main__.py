"""The command ``python -m reproduction``: list the experiments of the paper, run them, and report on them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from joblib import effective_n_jobs

from benchmarks.subject import add_count
from reproduction import EXPERIMENTS, Results, listing, run_experiment, write_report

FAILURES = (ImportError, OSError, ValueError)  # their messages name what is wrong and the way out
RESULTS = Path("reproduction/results")
PAGE = Path("docs/reproduction.md")


def say(line: str) -> None:
    """Print a line about the progress to standard error."""
    print(line, file=sys.stderr, flush=True)


def list_experiments(options: argparse.Namespace) -> None:
    """Print which experiments there are, how much of them is done, and which datasets are missing."""
    try:
        for line in listing(Results(options.results)):
            print(line, flush=True)
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more is written at the end


def run(options: argparse.Namespace) -> None:
    """Run what is missing of experiments."""
    results = Results(options.results)
    names = EXPERIMENTS if "all" in options.names else options.names
    incomplete = [
        name
        for name in names
        if not run_experiment(
            EXPERIMENTS[name], results, ours=options.ours, seeds=options.seeds, jobs=options.jobs, say=say
        )
    ]
    if incomplete:
        say(f"not all datasets were available for: {', '.join(incomplete)}")


def report(options: argparse.Namespace) -> None:
    """Write the page and its figures."""
    write_report(Results(options.results), options.out)
    say(f"{options.out} is written")


def n_processes(text: str) -> int:
    """Return the number of processes that a value of ``--jobs`` asks for."""
    jobs = int(text)
    if jobs == 0:
        raise argparse.ArgumentTypeError("must not be 0: 1 is one process, -1 is one for each core")
    return int(effective_n_jobs(jobs))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="FOLDER",
        help="the folder of the results (default: %(default)s)",
    )
    main_parser = argparse.ArgumentParser(
        "python -m reproduction", description="Reproduce the experiments of the paper."
    )
    commands = main_parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[shared])

    add("list", "List the experiments, how much of them is done, and which datasets are missing.").set_defaults(
        command=list_experiments
    )
    one = add("run", "Run experiments. A run that is done is not repeated, so a stopped command can be started again.")
    one.add_argument("names", nargs="+", choices=[*EXPERIMENTS, "all"], metavar="NAME", help="experiments, or all")
    one.add_argument("--ours", action="store_true", help="run nets with our defaults, not with the paper's")
    add_count(one, "--seeds", 1, "how often nets are trained, with the seeds 0 to N - 1")
    one.add_argument(
        "--jobs",
        type=n_processes,
        default=1,
        metavar="N",
        help="processes of one thread each; -1 is one for each core",
    )
    one.set_defaults(command=run)
    page = add("report", "Write the page and its figures: which statements of the paper hold.")
    page.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="the page (default: %(default)s)")
    page.set_defaults(command=report)
    return main_parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 1 after an error, which is one line."""
    options = parser().parse_args(arguments)
    try:
        options.command(options)
    except FAILURES as error:
        say(f"reproduction: {' '.join(str(error).split())}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
