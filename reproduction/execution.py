"""Doing runs: how long they will take, one run with one thread, and a grid in one or several processes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any

from joblib import Parallel, delayed

from benchmarks.timing import machine, one_thread, versions
from gcwsnet import HASH_VERSION
from reproduction.experiment import Experiment
from reproduction.experiment_data import availability, fetch, load_rows, sizes
from reproduction.experiments import EXPERIMENTS
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, describe, key, with_our_defaults, with_seeds
from reproduction.statements import tally

Say = Callable[[str], None]
METHODS = {
    "gcws": ("net_runs", "run_gcws"),
    "original": ("net_runs", "run_original"),
    "nrff": ("net_runs", "run_nrff"),
    "last-layer": ("net_runs", "run_last_layer"),
    "first-layer": ("net_runs", "run_first_layer"),
    "training-time": ("net_runs", "run_training_time"),
    "svm": ("kernel_runs", "run_svm"),
    "zero-bit": ("kernel_runs", "run_zero_bit"),
    "pattern": ("kernel_runs", "run_pattern"),
    "clusters": ("kernel_runs", "run_clusters"),
    "regression": ("kernel_runs", "run_regression"),
    "theorem": ("theorems", "run_theorem"),
}
"""The module and the function that do the runs of a method."""

CLASSES = 10


def expected_seconds(grid: Sequence[Settings], results: Results) -> list[float]:
    """Return the expected seconds of each run on one core: a rule of thumb, corrected by the runs that are done."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for outcome in results:
        ratio = outcome.seconds / rule_of_thumb(outcome.settings)
        for name in _similar(outcome.settings):
            ratios.setdefault(name, []).append(ratio)
    factors = {name: statistics.median(values) for name, values in ratios.items()}
    return [
        rule_of_thumb(settings) * next((factors[name] for name in _similar(settings) if name in factors), 1.0)
        for settings in grid
    ]


def _similar(settings: Settings) -> list[tuple[str, str]]:
    """Return the kinds of runs whose times tell the time of this one, the closest first."""
    method = settings["method"]
    return [(method, str(settings.get("dataset", settings.get("name")))), (method, "")]


def rule_of_thumb(settings: Settings) -> float:
    """Return the seconds of a run by rule of thumb: operations, with times measured on one core of a server."""
    method = settings["method"]
    if method in ("theorem", "first-layer", "pattern"):
        return 0.4 * float(settings.get("size", 1))
    n_train, n_test, D = sizes(settings["dataset"])
    if method == "svm":
        return _svm_seconds(settings, n_train, n_test, D)
    if method == "zero-bit":
        return 2e-9 * settings["pairs"] * settings["k"] * D + 1
    if method in ("clusters", "regression"):
        return 2e-8 * n_test * CLASSES * 100 * (settings.get("k", 0) or D) + 1
    if method == "last-layer":
        times = settings["epochs"] * n_train / (settings["batch"] * settings["every"]) + 2
        return times * n_train * (1e-4 + 2.5e-9 * settings["k"] * CLASSES)
    return _net_seconds(settings, n_train, n_test, D)


def _svm_seconds(settings: Settings, n_train: int, n_test: int, D: int) -> float:
    if settings["kernel"] == "linear":
        return 2e-7 * n_train * D * len(settings["C"]) * CLASSES + 1
    pairs = n_train * (n_train + n_test)
    return (4e-10 * D if settings["kernel"] == "pgmm" else 1e-10 * D) * pairs + 2e-8 * pairs * len(settings["C"]) + 1


def _net_seconds(settings: Settings, n_train: int, n_test: int, D: int) -> float:
    if settings["method"] == "training-time":
        lazy = {**settings, "method": "gcws", "b": 0, "t_bits": 0, "m": 1, "optimizer": "lazy"}
        nets = [_net_seconds({**lazy, "k": k}, n_train, n_test, D) for k in settings["k"]]
        return settings["turns"] * len(settings["b"]) * sum(nets)
    units = max(settings["H"], CLASSES)
    tested = min(n_test, 10_000) * settings["checkpoints"] * settings["epochs"]
    rows = n_train * settings["epochs"] + 0.3 * tested
    if settings["method"] == "gcws":
        table = (settings["k"] << settings["b"] + settings["t_bits"]) * units / settings["m"]
        steps = settings["epochs"] * n_train / settings["batch"] * (settings["optimizer"] == "adam")
        return (
            5e-10 * steps * table + rows * (2e-5 + 2.5e-9 * settings["k"] * units) + 1e-8 * (n_train + n_test) * D + 0.3
        )
    if settings["method"] == "nrff":
        projected = 5e-11 * (n_train + n_test) * D * settings["k"]
        return rows * (1e-5 + 1e-9 * settings["k"] * units) + projected + 0.3
    return rows * (1e-5 + 1e-9 * D * units) + 0.3


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it.

    Examples
    --------
    >>> from reproduction.execution import duration
    >>> duration(4), duration(200), duration(20_000)
    ('4 s', '3 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def compute(settings: Settings) -> Outcome:
    """Do one run with one thread, and return its outcome."""
    run = _method(settings["method"])
    data = load_rows(settings) if "dataset" in settings else None
    start = time.perf_counter()
    with one_thread():
        result = run(settings, data)
    seconds = time.perf_counter() - start
    found = versions("gcwsnet", "numpy", "scikit-learn", "torch") | {"hash": str(HASH_VERSION)}
    return Outcome(settings, None if data is None else data.origin, result, seconds, found, machine())


def _method(name: str) -> Callable[[Settings, Any], dict[str, Any]]:
    """Return the function that does runs of a method; the packages that it needs are imported only now."""
    if name not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got method={name!r}")
    module, function = METHODS[name]
    try:
        run: Callable[[Settings, Any], dict[str, Any]] = getattr(import_module(f"reproduction.{module}"), function)
    except ModuleNotFoundError as error:
        way_out = "python -m pip install --editable '.[paper]'"
        raise ImportError(f"runs of the method {name} need {error.name}; install it with: {way_out}") from error
    return run


class _Progress:
    """A reporter that says of each run what came out, and how long the rest will take."""

    def __init__(self, todo: Sequence[Settings], results: Results, say: Say) -> None:
        self._expected = dict(zip(map(key, todo), expected_seconds(todo, results), strict=True))
        self._say, self._start, self._left = say, time.perf_counter(), dict(self._expected)

    def report(self, outcome: Outcome) -> None:
        """Say what came out of a run."""
        self._left.pop(key(outcome.settings))
        total, left = sum(self._expected.values()), sum(self._left.values())
        seconds = (time.perf_counter() - self._start) * left / (total - left)
        accuracy = f"{outcome.accuracy:.1f}%" if "accuracy" in outcome.result else "done"
        what = f"{describe(outcome.settings)}: {accuracy} in {outcome.seconds:.1f} s"
        n = len(self._expected)
        self._say(f"[{n - len(self._left)}/{n}] {what}, {duration(seconds)} left")


def execute(todo: Sequence[Settings], results: Results, name: str, *, jobs: int, say: Say) -> None:
    """Do all runs in `jobs` processes of one thread each, and save each outcome with those of an experiment."""
    if not todo:
        return
    progress = _Progress(todo, results, say)
    processes = Parallel(min(jobs, len(todo)), batch_size=1, return_as="generator_unordered")
    try:
        for outcome in processes(delayed(compute)(settings) for settings in todo):
            results.save(outcome, name)
            progress.report(outcome)
    except BrokenProcessPool as error:
        kept = "finished runs are kept: start it again, with fewer --jobs if memory was short"
        raise OSError(f"one of {processes.n_jobs} processes was killed; {kept}") from error


def run_experiment(
    experiment: Experiment, results: Results, *, ours: bool = False, seeds: int = 1, jobs: int = 1, say: Say = print
) -> bool:
    """Do all runs of an experiment that are not among the results yet, and say which of its statements hold.

    Parameters
    ----------
    experiment : Experiment
    results : Results
        The results so far. Each new one is saved as soon as its run is done.
    ours : bool, default=False
        Whether nets have our defaults, and not those of PaddlePaddle, which the paper used.
    seeds : int, default=1
        How often nets are trained, each time with another seed. Results are means over the seeds that all nets have.
    jobs : int, default=1
        The number of processes, with one thread each.
    say : callable, default=print
        Called with each line about the progress.

    Returns
    -------
    complete : bool
        Whether all datasets were available. Without some of them, the runs on the others are done.
    """
    found = {name: fetch(name) for name in experiment.datasets}
    grid = with_seeds([with_our_defaults(one) if ours else one for one in experiment.runs], seeds)
    grid = [one for one in grid if "dataset" not in one or found[one["dataset"]].available]
    todo = [settings for settings in grid if settings not in results]
    for name, dataset in found.items():
        if dataset.state != "available":
            say(f"{name}: {dataset.state}")
        if not dataset.available:
            say(dataset.way_out)
    if todo:
        expected = sum(expected_seconds(todo, results)) / jobs
        say(f"{experiment.name}: {len(todo)} of {len(grid)} runs to do, about {duration(expected)}")
    execute(todo, results, experiment.name, jobs=jobs, say=say)
    comparable = experiment.comparable(results.with_our_defaults() if ours else results)
    for statement in experiment.statements:
        verdict = statement.verdict(comparable)
        say(f"{verdict.state} ({tally(verdict.cases)} cases): {statement.text}")
    return all(dataset.available for dataset in found.values())


def missing(experiment: Experiment, results: Results) -> str:
    """Return how many runs of an experiment are done, how long the others take, and the datasets that are missing."""
    todo = [settings for settings in experiment.runs if settings not in results]
    if not experiment.runs:
        return "a formula, nothing to run"
    done = f"{len(experiment.runs) - len(todo)} of {len(experiment.runs)} runs"
    if todo:
        done += f", about {duration(sum(expected_seconds(todo, results)))} left"
        lacking = {one["dataset"] for one in todo if "dataset" in one and not availability(one["dataset"]).available}
        done += f"; not available: {', '.join(sorted(lacking))}" if lacking else ""
    return done


def listing(results: Results) -> Iterator[str]:
    """Yield a line for each experiment: its runs that the results hold in both settings, and what others lack."""
    for experiment in EXPERIMENTS.values():
        done = missing(experiment, results)
        if experiment.has_two_settings:
            done += f"; with our defaults {missing(experiment, results.with_our_defaults())}"
        yield f"{experiment.name:<24} {experiment.place:<11} {experiment.title} ({done})"
