"""Fit times of the kernel machines, next to LightGBM, and their accuracy on small tables, next to others.

Times are of whole fits with default settings, on generated rows of 20 columns and 3 classes, on one thread and on two.
LightGBM has its defaults and the same rows and threads, and they take turns. Accuracy, log loss and R2 are those of the
stored runs of ``python -m benchmarks accuracy``; without them that part is left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.accuracy import KINDS
from benchmarks.accuracy.datasets import select
from benchmarks.accuracy.learners import all_learners
from benchmarks.accuracy.report import OTHER_SCORES, SuiteResults, score_table, summary_table
from benchmarks.accuracy.runs import Run, read_runs
from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import HighestLoad
from gcwsnet import PGMMClassifier

THREADS = (1, 2)
LEARNERS = ("PGMM", "GCWSNet", "LightGBM", "CatBoost")


def generated(n: int) -> tuple[Any, Any]:
    """Return rows of 20 columns and labels of 3 classes."""
    return make_classification(n, 20, n_informative=8, n_classes=3, flip_y=0.05, random_state=0)


class Cost(NamedTuple):
    """Seconds of a fit, and processor seconds of all its threads."""

    seconds: float
    processor: float


def least_costs(models: dict[str, Any], X: Any, y: Any, repetitions: int) -> dict[str, Cost]:
    """Return the least seconds and processor seconds of fits that take turns, which others disturbed least."""
    found: dict[str, list[Cost]] = {name: [] for name in models}
    for _ in range(repetitions):
        for name, model in models.items():
            start = Cost(time.perf_counter(), time.process_time())
            model.fit(X, y)
            found[name].append(Cost(time.perf_counter() - start.seconds, time.process_time() - start.processor))
    return {name: Cost(*np.min(costs, axis=0)) for name, costs in found.items()}


def times_table(sizes: list[int], repetitions: int) -> str:
    """Return the seconds of fits, and their ratios to LightGBM's."""
    import lightgbm

    rows = []
    for n in sizes:
        X, y = generated(n)
        for threads in THREADS:
            log(f"{n} rows, {threads} threads")
            kernel = PGMMClassifier(random_state=0, n_jobs=threads)
            trees = lightgbm.LGBMClassifier(random_state=0, n_jobs=threads, verbose=-1)
            costs = least_costs({"kernel": kernel, "trees": trees}, X, y, repetitions)
            ratio = costs["kernel"].seconds / costs["trees"].seconds
            cells = [*costs["kernel"], *costs["trees"], ratio]
            rows.append([f"{n:,}", str(threads), *(f"{cell:.1f}" for cell in cells)])
    head = ["rows", "threads", "PGMMClassifier, s", "processor, s", "LightGBM, s", "processor, s", "ratio of seconds"]
    return markdown_table(head, rows, "rr")


def common_runs(runs: Sequence[Run], most_rows: int) -> list[Run]:
    """Return the runs of the learners that are compared, on small tables, with the seeds that all of them have run.

    Examples
    --------
    >>> runs = [Run("learners", "iris", name, seed, 100, 4, {"accuracy": 95.0}) for name in LEARNERS for seed in (0, 1)]
    >>> len(common_runs(runs[:-1], 1000)), len(common_runs(runs[:-1], 50))
    (4, 0)
    """
    seeds: dict[str, dict[str, set[int]]] = {}
    kept = [run for run in runs if run.learner in LEARNERS and run.scores and run.rows <= most_rows]
    for run in kept:
        seeds.setdefault(run.dataset, {name: set() for name in LEARNERS})[run.learner].add(run.seed)
    return [run for run in kept if run.seed in set.intersection(*seeds[run.dataset].values())]


def better_table(results: SuiteResults) -> str:
    """Return on how many tables the kernel machine is better than each of the others, by each score."""
    ours, rivals = LEARNERS[0], LEARNERS[1:]
    rows = []
    for score in (results.main_score, *OTHER_SCORES[results.task]):
        cells = []
        for rival in rivals:
            pairs = [
                (results.mean(one.name, ours, score), results.mean(one.name, rival, score)) for one in results.datasets
            ]
            known = [(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
            better = [(mine > theirs) == (score == results.main_score) for mine, theirs in known if mine != theirs]
            cells.append(f"{sum(better)} of {len(known)}")
        rows.append([{"r2": "R2"}.get(score, score.replace("_", " ")), *cells])
    return markdown_table([f"{ours} is better than", *rivals], rows)


def accuracy_tables(folder: Path, most_rows: int) -> list[str]:
    """Return the tables of the stored runs of the suite, held-out benchmarks first; nothing where there are none."""
    runs = common_runs(read_runs(folder), most_rows)
    learners = [one for name in LEARNERS for one in all_learners() if one.name == name]
    lines: list[str] = []
    for title, (task, held_out) in KINDS.items():
        datasets = [one for one in select(["tables", "held-out"]) if one.held_out == held_out]
        results = SuiteResults(runs, datasets, task)
        if results.datasets:
            lines += ["", f"### {title}", "", summary_table(results, learners), "", better_table(results)]
            lines += ["", score_table(results, learners)]
    return lines


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[1000, 3000, 10_000],
        metavar="N",
        help="rows of the fits that are timed",
    )
    add_count(parser, "--repetitions", 3, "timed fits of each kind")
    add_count(parser, "--most-rows", 10_000, "the most training rows of a table")
    parser.add_argument("--results", type=Path, default=Path("build/accuracy"), help="the folder of the suite's runs")


def run(options: argparse.Namespace) -> Section:
    """Time the fits, and compare the tables."""
    load = HighestLoad()
    table = times_table(options.sizes, options.repetitions)
    load.update()
    lines = environment("lightgbm", note=f", load up to {load.value:.1f}")
    lines += ["", f"Whole fits, the least of {options.repetitions}:", "", table]
    tables = accuracy_tables(options.results, options.most_rows)
    if tables:
        lines += ["", "Tables of the accuracy suite, with the seeds that all four have run:", *tables]
    return Section("\n".join(lines))
