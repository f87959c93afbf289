"""A process that does runs, so that one that takes too long can be ended."""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any, Literal

from benchmarks.accuracy.generated import generated_datasets
from benchmarks.accuracy.learners import Learner
from benchmarks.accuracy.runs import Key, Run, run_learner
from benchmarks.accuracy.split import SuiteDataset, Task

Outcome = tuple[Literal["run", "missing", "failed"], Any]
WARM_UP: dict[Task, str] = {"classification": "iris", "regression": "diabetes"}


class Worker:
    """A process that does one run after another, and is started again after a run that took too long.

    Parameters
    ----------
    datasets : mapping of str to SuiteDataset
    learners : mapping of (part, name) to Learner
    most_seconds : float
        The processor time of a run, after which the system ends the process.
    """

    def __init__(
        self, datasets: Mapping[str, SuiteDataset], learners: Mapping[tuple[str, str], Learner], most_seconds: float
    ) -> None:
        self.datasets, self.learners, self.most_seconds = datasets, learners, most_seconds
        self._process: Any = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def run(self, key: Key) -> Outcome:
        """Return what became of a run.

        Returns
        -------
        "run" and a Run (None if the learner does not learn from such rows), "missing" and what is not installed or not
        there for the dataset, or "failed" and the error of the learner.
        """
        if self._process is None:
            context = multiprocessing.get_context("fork")  # datasets and learners have functions, which are not pickled
            self._connection, child = context.Pipe()
            self._process = context.Process(target=self._serve, args=(child,), daemon=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries wait, and hold no lock
                self._process.start()
            child.close()
        self._connection.send(key)
        try:
            return self._connection.recv()
        except EOFError:
            exit_code = self._end()
        if exit_code == -signal.SIGXCPU:
            return "run", Run(*key, stopped_after=self.most_seconds)
        return "failed", f"the process ended with {exit_code}"

    def _end(self) -> int | None:
        if self._process is None:
            return None
        self._connection.close()
        self._process.join()
        exit_code: int = self._process.exitcode
        self._process = None
        return exit_code

    def _serve(self, connection: Connection) -> None:
        self._connection.close()  # the other end, which would keep this process waiting after the first one has ended
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        bundled = {one.name: one for one in generated_datasets()}
        warm: set[tuple[str, Task]] = set()
        while True:
            _limit_processor_time(math.inf)
            try:
                key: Key = connection.recv()
            except EOFError:
                return
            one, learner = self.datasets[key.dataset], self.learners[key.part, key.learner]
            try:
                one.load(key.seed)
            except (FileNotFoundError, ModuleNotFoundError) as error:
                connection.send(("missing", str(error)))
                continue
            try:
                _limit_processor_time(self.most_seconds)
                if (learner.name, one.task) not in warm and one.task in learner.tasks:  # imports are not measured
                    run_learner("learners", bundled[WARM_UP[one.task]], learner, 0)
                    warm.add((learner.name, one.task))
                _limit_processor_time(self.most_seconds)
                connection.send(("run", run_learner(key.part, one, learner, key.seed)))
            except Exception as error:
                connection.send(("failed", f"{type(error).__name__}: {error}"))


def _limit_processor_time(seconds: float) -> None:
    """Let the system end this process after that many more seconds of processor time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time() + seconds) if math.isfinite(seconds) else most
    resource.setrlimit(resource.RLIMIT_CPU, (limit, most))


def all_runs(
    datasets: Collection[SuiteDataset],
    learners: Mapping[tuple[str, str], Learner],
    seeds: int,
    done: Mapping[Key, Run],
    most_seconds: float,
    report: Callable[[str], None],
) -> Iterator[Run]:
    """Yield the runs that are not done yet, and report what is left out.

    A run that was stopped is repeated only with more seconds. What was stopped or has failed with one seed is not
    run with the next.
    """
    by_name = {one.name: one for one in datasets}
    with Worker(by_name, learners, most_seconds) as worker:
        for one in datasets:
            has_pairs = one.task == "classification" and not one.judge
            parts = [key for key in learners if key[0] == "learners" or has_pairs]
            left_out = {key for key in parts if _stopped(one, key, done, most_seconds)}
            for seed in range(max(seeds, one.least_seeds)):  # a slow hour of the machine meets all learners
                for part, name in parts:
                    key = Key(part, one.name, name, seed)
                    if (part, name) in left_out or (key in done and done[key].scores):
                        continue
                    kind, found = worker.run(key)
                    if kind == "missing":
                        report(f"{one.name} is left out: {found}")
                        left_out.update(parts)
                    elif kind == "failed":
                        report(f"{name} does not learn from {one.name}: {found}")
                        left_out.add((part, name))
                    elif found is None:
                        continue
                    else:
                        yield found
                        if found.stopped_after:
                            left_out.add((part, name))


def _stopped(one: SuiteDataset, key: tuple[str, str], done: Mapping[Key, Run], most_seconds: float) -> bool:
    """Return whether a run with any seed was stopped after at least so much time as a run may take now."""
    part, name = key
    runs = (run for known, run in done.items() if known[:3] == (part, one.name, name))
    return any(run.stopped_after >= most_seconds for run in runs)
