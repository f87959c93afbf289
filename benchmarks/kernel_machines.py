"""Fit times of the kernel machines, and their accuracy on tables, next to LightGBM.

Times are of whole fits with default settings, on generated rows of 20 columns and 3 classes, on one thread and on two.
LightGBM has its defaults and the same rows and threads, and they take turns. Accuracy, log loss and R2 are those of one
split of each table of PMLB that is in the folder that GCWSNET_DATA names; without the folder that part is left out.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from sklearn.datasets import make_classification

from benchmarks.accuracy.datasets import select
from benchmarks.accuracy.metrics import classification_scores, regression_scores
from benchmarks.accuracy.split import Split, SuiteDataset
from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import HighestLoad
from gcwsnet import PGMMClassifier, PGMMRegressor

THREADS = (1, 2)


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


def compared(task: str, split: Split) -> list[list[float]]:
    """Return for the kernel machine and for LightGBM accuracy, log loss and calibration error, or R2."""
    found = []
    classes = task == "classification"
    kernel, trees = (PGMMClassifier, lightgbm.LGBMClassifier) if classes else (PGMMRegressor, lightgbm.LGBMRegressor)
    models: list[Any] = [kernel(random_state=0), trees(random_state=0, n_jobs=1, verbose=-1)]
    for model in models:
        model.fit(split.X_train, split.y_train)
        if classes:
            known = np.searchsorted(model.classes_, split.y_test)
            scores = classification_scores(known, model.predict_proba(split.X_test))
        else:
            scores = regression_scores(split.y_test, model.predict(split.X_test))
        found.append(list(scores.values()))
    return found


def load_or_none(dataset: SuiteDataset) -> Split | None:
    """Return the rows of a dataset, or None where its file is missing."""
    try:
        return dataset.load(0)
    except FileNotFoundError:
        return None


def accuracy_tables(most_rows: int) -> list[str]:
    """Return the tables of classes and of numbers, as far as there are files with no more training rows than that."""
    rows: dict[str, list[list[float]]] = {"classification": [], "regression": []}
    names: dict[str, list[str]] = {"classification": [], "regression": []}
    for dataset in select(["tables"]):
        split = load_or_none(dataset)
        if split is None or len(split.y_train) > most_rows:
            continue
        log(dataset.name)
        kernel, trees = compared(dataset.task, split)
        rows[dataset.task].append([len(split.y_train), *(x for pair in zip(kernel, trees, strict=True) for x in pair)])
        names[dataset.task].append(dataset.name)
    lines = []
    heads = {
        "classification": ["accuracy", "LightGBM", "log loss", "LightGBM", "ECE", "LightGBM"],
        "regression": ["R2", "LightGBM"],
    }
    digits = {"classification": [0, 1, 1, 3, 3, 3, 3], "regression": [0, 3, 3]}
    for task, numbers in rows.items():
        if not numbers:
            continue
        table = [
            [name, *(f"{x:,.{d}f}" for x, d in zip(row, digits[task], strict=True))]
            for name, row in zip(names[task], numbers, strict=True)
        ]
        means = np.mean(numbers, axis=0)[1:]
        table.append(["mean", "", *(f"{x:.{d}f}" for x, d in zip(means, digits[task][1:], strict=True))])
        lines += ["", markdown_table(["table", "training rows", *heads[task]], table)]
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


def run(options: argparse.Namespace) -> Section:
    """Time the fits, and compare the tables."""
    load = HighestLoad()
    table = times_table(options.sizes, options.repetitions)
    load.update()
    lines = environment("lightgbm", note=f", load up to {load.value:.1f}")
    lines += ["", f"Whole fits, the least of {options.repetitions}:", "", table]
    tables = accuracy_tables(options.most_rows)
    if tables:
        lines += ["", "One split of each table, all settings at their defaults:", *tables]
    return Section("\n".join(lines))
