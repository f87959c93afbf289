"""Accuracy, time and size over many datasets, next to other learners.

GCWSNet and the other learners have their defaults and one thread. Runs are stored in a file, a line each, and are not
run twice: a suite that was stopped can be resumed. Datasets are read from the folder that GCWSNET_DATA names, and left
out with a notice where they are missing.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import chain
from pathlib import Path

from benchmarks.accuracy.datasets import SuiteDataset, suite_datasets
from benchmarks.accuracy.learners import all_learners
from benchmarks.accuracy.regression import regression_table
from benchmarks.accuracy.report import SuiteResults, accuracy_table, choice_table, cost_table, draw
from benchmarks.accuracy.runs import append_run, read_runs, run_learners, run_pairs
from benchmarks.subject import Section, add_count, add_names, environment, log
from benchmarks.timing import one_thread

PICTURE = "images/accuracy-and-time.png"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--seeds", 3, "seeds of each run")
    add_names(parser, "--only", suite_datasets(), "only these datasets")
    parser.add_argument("--results", type=Path, default=Path("build/accuracy.jsonl"), help="the file of the runs")


def measure(datasets: list[SuiteDataset], seeds: int, path: Path) -> None:
    """Do the runs that are not stored yet, and store them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {run.key for run in read_runs(path)}
    for one in datasets:
        try:
            one.load(0)
        except FileNotFoundError as error:
            log(f"{one.name} is left out: {error}")
            continue
        for run in chain(run_learners(one, all_learners(), seeds, done), run_pairs(one, seeds, done)):
            append_run(path, run)
            log(
                f"{run.dataset}, {run.learner}, seed {run.seed}: {run.accuracy:.1f}, {run.fit_seconds:.1f} s",
                run.chosen,
            )


def run(options: argparse.Namespace) -> Section:
    """Do the runs, and make tables and a picture of all that are stored."""
    datasets = [one for name, one in suite_datasets().items() if not options.only or name in options.only]
    learners = all_learners()
    with one_thread():
        measure(datasets, options.seeds, options.results)
        regressions = regression_table(options.seeds)
    runs = read_runs(options.results)
    by_learner, by_pair = SuiteResults(runs, datasets, "learners"), SuiteResults(runs, datasets, "pairs")
    lines = [*environment("scikit-learn", "lightgbm", note=", one thread"), ""]
    seeds = f"means of {options.seeds} seeds, for bundled sets of 10 seeds and splits"
    lines += [
        f"Accuracy in percent on the test rows, {seeds}.",
        "Trees hardly have a seed and run once; so does k=1024 on sets of more than 50,000 rows.",
    ]
    lines += ["", accuracy_table(by_learner, learners), ""]
    lines += ["Times and sizes as multiples of those of GCWSNet beside it, medians over the sets:", ""]
    lines += [cost_table(by_learner, learners), "", f"![accuracy against the seconds of a fit]({PICTURE})", ""]
    lines += ["What GCWSNet chose, next to each fixed pair of scaling and p, on at most 20,000 rows; means as above:"]
    lines += ["", choice_table(by_pair), ""]
    lines += [f"R2 on a third of the rows, means of {options.seeds} splits and seeds:", "", regressions]
    return Section("\n".join(lines), {PICTURE: partial(draw, by_learner, learners)})
