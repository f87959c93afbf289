"""How often 90% intervals of predicted numbers hold, and how wide they are, next to LightGBM's quantile regression.

Tables are the regressions of the accuracy suite, with its splits. `GCWSNetRegressor` has a fifth of the training rows
as its `eval_set`. LightGBM predicts the 5% and the 95% quantile by two models with defaults. All have one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.columns import with_categories
from benchmarks.accuracy.datasets import select, suite_datasets
from benchmarks.accuracy.split import Split
from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table
from gcwsnet import GCWSNetRegressor, PGMMRegressor

COVERAGE = 0.9


class Found(NamedTuple):
    """The share of test rows within their intervals, the mean width over the deviation of y, and processor seconds."""

    coverage: float
    width: float
    seconds: float


def _kernel(split: Split) -> tuple[Any, Any]:
    return PGMMRegressor(random_state=0).fit(split.X_train, split.y_train).predict_interval(split.X_test, COVERAGE)


def _net(split: Split) -> tuple[Any, Any]:
    held_out = _held_out(split)
    model = GCWSNetRegressor(random_state=0).fit(
        held_out.X_train, held_out.y_train, eval_set=(held_out.X_test, held_out.y_test)
    )
    return model.predict_interval(split.X_test, COVERAGE)


def _held_out(split: Split) -> Split:
    """Return a split of the training rows, of which a fifth is held out."""
    n = len(split.y_train)
    order = np.random.default_rng(0).permutation(n)
    rows, y = split.X_train, split.y_train
    take: Callable[[Any], Any] = (lambda some: rows.iloc[some]) if hasattr(rows, "iloc") else (lambda some: rows[some])
    learned, held = order[n // 5 :], order[: n // 5]
    return Split(take(learned), y[learned], take(held), y[held])


def _lightgbm(split: Split) -> tuple[Any, Any]:
    import lightgbm

    ends = []
    for quantile in ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2):
        model = lightgbm.LGBMRegressor(objective="quantile", alpha=quantile, n_jobs=1, random_state=0, verbose=-1)
        ends.append(with_categories(model, split.X_train).fit(split.X_train, split.y_train).predict(split.X_test))
    return ends[0], ends[1]


LEARNERS = {"PGMM": _kernel, "GCWSNet": _net, "LightGBM": _lightgbm}


def measured(split: Split, intervals: Callable[[Split], tuple[Any, Any]]) -> Found:
    """Return how often the intervals of a learner hold, and how wide they are.

    Examples
    --------
    >>> numbers = np.array([1.0, 3.0])
    >>> found = measured(Split(None, numbers, None, numbers), lambda split: (split.y_test - 1, split.y_test + 1))
    >>> found.coverage, found.width
    (1.0, 2.0)
    """
    start = time.process_time()
    lower, upper = intervals(split)
    seconds = time.process_time() - start
    inside = (lower <= split.y_test) & (split.y_test <= upper)
    return Found(float(inside.mean()), float((upper - lower).mean() / split.y_train.std()), seconds)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    known = [one.name for one in suite_datasets().values() if one.task == "regression"]
    add_names(parser, "--datasets", known, "only these tables")
    add_count(parser, "--most-rows", 10_000, "the most training rows of a table")


def run(options: argparse.Namespace) -> Section:
    """Measure all tables, held-out benchmarks first."""
    lines = environment("lightgbm", note=", one thread")
    names = options.datasets or ["tables", "held-out"]
    found = {True: list[list[str]](), False: list[list[str]]()}
    numbers: dict[bool, list[list[Found]]] = {True: [], False: []}
    for one in select(names):
        if one.task != "regression":
            continue
        try:
            split = one.load(0)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            log(f"{one.name} is left out: {error}")
            continue
        if len(split.y_train) > options.most_rows:
            continue
        all_ = [measured(split, intervals) for intervals in LEARNERS.values()]
        numbers[one.held_out].append(all_)
        cells = [f"{100 * each.coverage:.1f}" for each in all_] + [f"{each.width:.2f}" for each in all_]
        found[one.held_out].append([one.name, f"{len(split.y_train):,}", *cells])
        log(*found[one.held_out][-1])
    head = ["rows", "train", *(f"{name}, %" for name in LEARNERS), *(f"{name}, width" for name in LEARNERS)]
    for held_out, title in ((True, "Held-out benchmarks"), (False, "Development tables")):
        if found[held_out]:
            values = np.array(numbers[held_out])
            means = [f"{100 * one:.1f}" for one in values[:, :, 0].mean(axis=0)]
            means += [f"{one:.2f}" for one in values[:, :, 1].mean(axis=0)]
            lines += ["", f"{title}:", "", markdown_table(head, [*found[held_out], ["mean", "", *means]])]
    return Section("\n".join(lines))
