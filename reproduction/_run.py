"""An experiment, done: what is missing of its grid is run, and what comes of it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reproduction._expected import expected_seconds, in_words
from reproduction.datasets import availability, fetch
from reproduction.execution import execute
from reproduction.experiment import Experiment
from reproduction.experiments import EXPERIMENTS
from reproduction.results import Results


def run_experiment(
    experiment: Experiment, results: Results, *, quick: bool = False, jobs: int = 1, say: Callable[[str], None] = print
) -> bool:
    """Do all runs of an experiment that are not among the results yet.

    Parameters
    ----------
    experiment : Experiment
    results : Results
        Those that there are; new ones are written into its folder, one file for each run as soon as it is done.
    quick : bool, default=False
        Whether the reduced grid is run.
    jobs : int, default=1
        Processes, with one thread each.
    say : callable
        Told of the progress in lines.

    Returns
    -------
    whole : bool
        Whether all data were there. Runs on other data are done all the same.
    """
    there = {name: fetch(name) for name in experiment.datasets}
    grid = [one for one in experiment.grid(quick) if "dataset" not in one or there[one["dataset"]].there]
    todo = [settings for settings in grid if settings not in results]
    for name, found in there.items():
        if found.told != "available":
            say(f"{name}: {found.told}")
        if not found.there:
            say(found.way_out)
    if todo:
        expected = sum(expected_seconds(todo, results)) / jobs
        say(f"{experiment.name}: {len(todo)} of {len(grid)} runs to do, about {in_words(expected)}")
    execute(todo, results, jobs=jobs, say=say)
    for claim in experiment.claims:
        verdict = claim.verdict(results)
        say(f"{verdict.state}: {claim.text} ({verdict.numbers})")
    return all(found.there for found in there.values())


def listing(results: Results) -> Iterator[str]:
    """A line for each experiment, one for each of its datasets that is not simply there, and last what is missing."""
    missing: dict[str, str] = {}
    for experiment in EXPERIMENTS.values():
        counts = []
        for kind, quick in (("quick", True), ("full", False)):
            grid = experiment.grid(quick)
            if grid:
                todo = [settings for settings in grid if settings not in results]
                left = f", about {in_words(sum(expected_seconds(todo, results)))} left" if todo else ""
                counts.append(f"{kind} {len(grid) - len(todo)} of {len(grid)} runs{left}")
        done = "; ".join(counts) or "a formula, nothing to run"
        yield f"{experiment.name:<24} {experiment.place:<10} {experiment.title} ({done})"
        for name in experiment.datasets:
            found = availability(name)
            if found.told != "available":
                yield f"{'':<24} {name}: {found.told}"
            if not found.there:
                missing[name] = found.way_out
    yield from missing.values()
