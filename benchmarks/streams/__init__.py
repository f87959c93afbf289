"""Prequential accuracy, kappa, log loss, processor time and memory on streams, next to other learners of streams.

Each row is predicted and then learned from, or each batch with ``--batch``. All learners have their defaults and one
thread; ARF-30, SRP-30 and bagging-30 are CapyMOA's adaptive random forest, streaming random patches and leveraging
bagging with 30 trees, SGBT and HAT its streaming gradient boosted trees and Hoeffding adaptive tree, and river's
logistic regression has a running standardisation before it. Times are those of predicting and learning, without the
time of making dicts, instances and lines of text: processor time, but for the median and the slowest call. That of
CapyMOA includes what Java does to compile itself, and its memory is what Java took. Runs are stored in a folder, a file
for each learner and a line for each run, and are not run twice. Electricity and Covtype are read from the folder that
GCWSNET_DATA names. Streams and learners that are missing are left out with a notice: ``pip install '.[suite]'`` has
river and Vowpal Wabbit. CapyMOA needs Java, and asks for an older pandas than it needs:
``pip install --no-deps capymoa deprecated jpype1 seaborn tqdm wrapt``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.accuracy.metrics import MIN_PROBABILITY
from benchmarks.accuracy.runs import Run, append_run, forget_runs, read_runs
from benchmarks.streams.learners import StreamLearner, all_learners
from benchmarks.streams.prequential import ROWS_AFTER_A_CHANGE, missing_runs, part_of
from benchmarks.streams.streams import Stream, all_streams
from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table

PACKAGES = ("river", "capymoa", "vowpalwabbit")
OURS, BASELINE = "GCWSNet", "no-change"
RATIO_TO = "VW"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    streams = all_streams()
    groups = dict.fromkeys(one.group for one in streams.values())
    add_count(parser, "--rows", 20_000, "the most rows of a stream")
    add_count(parser, "--batch", 1, "rows that are predicted before they are learned from")
    add_count(parser, "--seeds", 1, "seeds of each run")
    add_names(parser, "--streams", [*groups, *streams], "only these streams and groups of streams")
    add_names(parser, "--learners", [one.name for one in all_learners()], "only these learners")
    parser.add_argument("--again", action="store_true", help="forget the stored runs of what is selected first")
    parser.add_argument("--report", action="store_true", help="do no runs: only report the stored ones")
    parser.add_argument("--most-seconds", type=float, default=math.inf, help="stop runs that take longer than this")
    parser.add_argument("--results", type=Path, default=Path("build/streams"), help="the folder of the runs")


def measure(streams: Sequence[Stream], learners: Sequence[StreamLearner], options: argparse.Namespace) -> None:
    """Do the runs that are not stored yet, and store them."""
    for one in learners:
        if not one.installed:
            log(f"{one.name} is left out: it needs {one.needs}, which is not installed")
    installed = [one for one in learners if one.installed]
    part = part_of(options.rows, options.batch)
    if options.again:
        forget_runs(options.results, {(part, one.name, learner.name) for learner in installed for one in streams})
    done = {run.key: run for run in read_runs(options.results)}
    settings = (options.rows, options.batch, options.seeds)
    for run in missing_runs(streams, installed, settings, done, options.most_seconds, log):
        append_run(options.results, run)
        if run.scores:
            scores = ", ".join(f"{name} {value:.3f}" for name, value in run.scores.items())
            log(f"{run.dataset}, {run.learner}, seed {run.seed}: {scores}, {run.fit_seconds:.1f} s")
        else:
            log(f"{run.dataset}, {run.learner}: stopped after {run.stopped_after:g} s")


class Results:
    """The stored runs of one part, as means over seeds."""

    def __init__(self, runs: Sequence[Run], part: str, streams: Sequence[Stream], learners: Sequence[StreamLearner]):
        self._runs: dict[tuple[str, str], list[Run]] = {}
        for run in runs:
            if run.part == part and run.scores:
                self._runs.setdefault((run.dataset, run.learner), []).append(run)
        self.streams = [one.name for one in streams if any(name == one.name for name, _ in self._runs)]
        self.learners = [one.name for one in learners if any(name == one.name for _, name in self._runs)]

    def mean(self, stream: str, learner: str, value: Callable[[Run], float | None]) -> float | None:
        """Return the mean of a value over the seeds of a stream and a learner; None without a run that has it."""
        values = [value(run) for run in self._runs.get((stream, learner), [])]
        known = [one for one in values if one is not None]
        return float(np.mean(known)) if known else None

    def score_table(self, score: str, digits: int, *, largest_is_best: bool) -> str:
        """Return a table of a score, with a line for each stream and the best in bold.

        Below are the means over the streams that all learners have, and on how many streams GCWSNet is better.
        """
        rows, all_means = [], []
        for stream in self.streams:
            means = [self.mean(stream, name, lambda run: run.scores.get(score)) for name in self.learners]
            known = [mean for mean in means if mean is not None]
            if not known:
                continue
            all_means.append(means)
            best = f"{(max if largest_is_best else min)(known):.{digits}f}"
            texts = ["" if mean is None else f"{mean:.{digits}f}" for mean in means]
            n_rows = next(run.rows for (name, _), runs in self._runs.items() if name == stream for run in runs)
            rows.append([stream, f"{n_rows:,}", *(f"**{text}**" if text == best else text for text in texts)])
        scores = np.array(all_means, dtype=np.float64).reshape(-1, len(self.learners))  # NaN where there is no run
        whole = scores[~np.isnan(scores).any(axis=1)]
        if len(whole):
            rows.append([f"mean of {len(whole)}", "", *(f"{mean:.{digits}f}" for mean in whole.mean(axis=0))])
        if OURS in self.learners:
            ours = scores[:, [self.learners.index(OURS)]]
            better = (ours > scores if largest_is_best else ours < scores).sum(axis=0)
            counts = zip(self.learners, better, (~np.isnan(scores)).sum(axis=0), strict=True)
            rows.append([f"{OURS} is better", "", *("" if name == OURS else f"{n} of {m}" for name, n, m in counts)])
        return markdown_table(["stream", "rows", *self.learners], rows)

    def cost_table(self) -> str:
        """Return a table of the cost of each learner: medians over the streams."""
        rows = []
        for name in self.learners:
            ratios = [
                ours / theirs
                for stream in self.streams
                if (ours := self.mean(stream, name, lambda run: run.fit_seconds)) is not None
                and (theirs := self.mean(stream, RATIO_TO, lambda run: run.fit_seconds))
            ]
            cells = [name, f"{np.median(ratios):.2g}" if ratios else ""]
            for value, text in COSTS.values():
                found = [self.mean(stream, name, value) for stream in self.streams]
                known = [one for one in found if one is not None]
                cells.append(text.format(np.median(known)) if known else "")
            rows.append(cells)
        return markdown_table(["", f"time, of {RATIO_TO}'s", *COSTS], rows)


COSTS: dict[str, tuple[Callable[[Run], float | None], str]] = {
    "microseconds per row": (lambda run: 1e6 * run.fit_seconds / run.rows, "{:.3g}"),
    "median call, per row": (lambda run: run.scores["median_microseconds"], "{:.3g}"),
    "slowest call, ms": (lambda run: run.scores["slowest_milliseconds"], "{:.3g}"),
    "memory, MB": (lambda run: None if run.bytes is None else run.bytes / 1e6, "{:.0f}"),
}


def run(options: argparse.Namespace) -> Section:
    """Do the runs, and make tables of all that are stored."""
    known = all_streams().values()
    names = options.streams or dict.fromkeys(one.group for one in known if one.group != "development")
    streams = [one for one in known if one.name in names or one.group in names]
    learners = [one for one in all_learners() if not options.learners or one.name in options.learners]
    if not options.report:
        measure(streams, learners, options)
    part = part_of(options.rows, options.batch)
    results = Results(read_runs(options.results), part, streams, learners)
    lines = [*environment(*PACKAGES, note=", one thread"), ""]
    lines += [
        f"{part[0].upper()}{part[1:]}, means of {options.seeds} seeds for what has one.",
        f"Log loss takes probabilities of at least {MIN_PROBABILITY:g}.",
        f'"{BASELINE}" predicts the last label that was learned; where that is good, a stream tells little.',
    ]
    lines += ["", "Prequential accuracy, %:", "", results.score_table("accuracy", 1, largest_is_best=True)]
    lines += ["", "Kappa, %:", "", results.score_table("kappa", 1, largest_is_best=True)]
    lines += ["", f"Accuracy over the {ROWS_AFTER_A_CHANGE:,} rows after a change, %:", ""]
    lines += [results.score_table("after", 1, largest_is_best=True)]
    lines += ["", "Prequential log loss:", "", results.score_table("log_loss", 3, largest_is_best=False)]
    lines += ["", "Cost, medians over the streams:", "", results.cost_table()]
    return Section("\n".join(lines))
