"""Accuracy, calibration, time and size over many datasets, next to other learners.

All learners have their defaults and one thread, and times are processor time. Runs are stored in a folder, a file for
each learner and a line for each run, and are not run twice: a suite that was stopped can be resumed, and one learner
can be run again alone. Datasets are read from the folder that GCWSNET_DATA names and from installed packages, and left
out with a notice where they are missing; so are learners that are not installed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.accuracy.datasets import groups, select, suite_datasets
from benchmarks.accuracy.learners import Learner, all_learners
from benchmarks.accuracy.metrics import BINS, MIN_PROBABILITY
from benchmarks.accuracy.pairs import fixed_pairs
from benchmarks.accuracy.picture import draw_differences, draw_log_loss
from benchmarks.accuracy.report import SuiteResults, choice_summary, choice_table, comparison, stopped
from benchmarks.accuracy.runs import Run, append_run, forget_runs, read_runs
from benchmarks.accuracy.split import SuiteDataset, Task
from benchmarks.accuracy.worker import all_runs
from benchmarks.subject import Section, add_count, add_names, environment, log

PICTURES = "images/log-loss-and-time.svg", "images/differences.svg"
PACKAGES = ("scikit-learn", "lightgbm", "xgboost", "catboost", "pytabkit")
KINDS: dict[str, tuple[Task, bool]] = {
    "Classification, held-out benchmarks": ("classification", True),
    "Classification, development tables": ("classification", False),
    "Regression, held-out benchmarks": ("regression", True),
    "Regression, development tables": ("regression", False),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--seeds", 3, "seeds of each run")
    add_names(parser, "--datasets", [*groups(), *suite_datasets()], "only these datasets and groups of datasets")
    add_names(parser, "--learners", [one.name for one in all_learners()], "only these learners")
    parser.add_argument("--pairs", action="store_true", help="run GCWSNet with fixed pairs of scaling and p, too")
    parser.add_argument("--again", action="store_true", help="forget the stored runs of what is selected first")
    parser.add_argument("--report", action="store_true", help="do no runs: only report the stored ones")
    parser.add_argument("--most-seconds", type=float, default=math.inf, help="stop runs that take longer than this")
    parser.add_argument("--results", type=Path, default=Path("build/accuracy"), help="the folder of the runs")


def measure(
    datasets: Sequence[SuiteDataset], learners: Sequence[Learner], pairs: Sequence[Learner], options: argparse.Namespace
) -> None:
    """Do the runs that are not stored yet, and store them."""
    for one in learners:
        if not one.installed:
            log(f"{one.name} is left out: it needs {one.needs}, which is not there: pip install '.[suite]'")
    found = {("learners", one.name): one for one in learners if one.installed}
    found |= {("pairs", one.name): one for one in pairs}
    if options.again:
        forget_runs(options.results, {(part, one.name, name) for part, name in found for one in datasets})
    done = {run.key: run for run in read_runs(options.results)}
    for run in all_runs(datasets, found, options.seeds, done, options.most_seconds, log):
        append_run(options.results, run)
        log(_describe(run))


def _describe(run: Run) -> str:
    if run.stopped_after:
        return f"{run.dataset}, {run.learner}: stopped after {run.stopped_after:g} s"
    scores = ", ".join(f"{name} {value:.3f}" for name, value in run.scores.items())
    return f"{run.dataset}, {run.learner}, seed {run.seed}: {scores}, {run.fit_seconds:.2f} s {run.chosen}"


def run(options: argparse.Namespace) -> Section:
    """Do the runs, and make tables and pictures of all that are stored."""
    datasets = select(options.datasets)
    learners = [one for one in all_learners() if not options.learners or one.name in options.learners]
    if not options.report:
        measure(datasets, learners, fixed_pairs() if options.pairs else [], options)
    runs = read_runs(options.results)
    results = {
        title: SuiteResults(runs, [one for one in datasets if one.held_out == held_out], task)
        for title, (task, held_out) in KINDS.items()
    }
    lines = [*environment(*PACKAGES, note=", one thread"), ""]
    lines += [
        f"Scores are on the test rows; seeds: {options.seeds}, for bundled sets 10.",
        "A learner without a seed runs once where the split is fixed.",
        f"Log loss takes probabilities of at least {MIN_PROBABILITY:g}.",
        f"ECE has {BINS} bins of equal width of the largest probability.",
        "A tie is a difference of less than 0.1 points of accuracy, or of less than 0.001 of R2.",
        "The difference is the median over the sets, which one set on which LightGBM diverges does not move.",
        "Fit, predict and size are medians of processor time and bytes as multiples of LightGBM's.",
    ]
    for title, found in results.items():
        lines += ["", f"### {title}", "", *comparison(found, learners)]
    given_up = stopped(runs, datasets)
    if given_up:
        lines += ["", "Runs that took too long and were stopped:", "", *given_up]
    pairs = SuiteResults(runs, datasets, "classification", "pairs")
    if pairs.datasets:
        lines += ["", "### What GCWSNet chose", "", "Next to each fixed pair of scaling and p, on at most 20,000 rows."]
        lines += [choice_summary(pairs), "", choice_table(pairs)]
    held_out = [results[title] for title, (_, is_held_out) in KINDS.items() if is_held_out]
    drawn = partial(draw_log_loss, held_out[0], learners), partial(draw_differences, held_out)
    return Section("\n".join(lines), dict(zip(PICTURES, drawn, strict=True)))
