"""The runs of the suite, one after another in a process of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from benchmarks.accuracy.generated import generated_datasets
from benchmarks.accuracy.learners import Learner
from benchmarks.accuracy.runs import Key, Run, run_learner
from benchmarks.accuracy.split import SuiteDataset, Task
from benchmarks.worker import Outcome, Work, Worker

WARM_UP: dict[Task, str] = {"classification": "iris", "regression": "diabetes"}


def suite_work(datasets: Mapping[str, SuiteDataset], learners: Mapping[tuple[str, str], Learner]) -> Work:
    """Return what a `Worker` does for the key of a run."""
    bundled = {one.name: one for one in generated_datasets()}
    warm: set[tuple[str, Task]] = set()

    def work(key: Key, restart_limit: Callable[[], None]) -> Outcome:
        one, learner = datasets[key.dataset], learners[key.part, key.learner]
        try:
            one.load(key.seed)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            return "missing", str(error)
        restart_limit()
        if (learner.name, one.task) not in warm and one.task in learner.tasks:  # imports are not measured
            run_learner("learners", bundled[WARM_UP[one.task]], learner, 0)
            warm.add((learner.name, one.task))
        restart_limit()
        return "run", run_learner(key.part, one, learner, key.seed)

    return work


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
    with Worker(suite_work(by_name, learners), most_seconds) as worker:
        for one in datasets:
            has_pairs = one.task == "classification" and not one.held_out
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
                    elif kind == "stopped":
                        yield Run(*key, stopped_after=found)
                        left_out.add((part, name))
                    elif found is not None:
                        yield found


def _stopped(one: SuiteDataset, key: tuple[str, str], done: Mapping[Key, Run], most_seconds: float) -> bool:
    """Return whether a run with any seed was stopped after at least so much time as a run may take now."""
    part, name = key
    runs = (run for known, run in done.items() if known[:3] == (part, one.name, name))
    return any(run.stopped_after >= most_seconds for run in runs)
