"""Runs of a grid, one after the other or in several processes; what there is already is not computed again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from gcwsnet.bench._measure import machine, one_thread, versions
from gcwsnet.hashing.parameters import HASH_VERSION
from reproduction._expected import expected_seconds, in_words
from reproduction.datasets import rows_of
from reproduction.results import Outcome, Results, save_single
from reproduction.settings import Settings, key, shown

Say = Callable[[str], None]


def compute(settings: Settings) -> Outcome:
    """The outcome of one run, with one thread."""
    run = _method(settings["method"])
    data = rows_of(settings) if "dataset" in settings else None
    start = time.perf_counter()
    with one_thread():
        result = run(settings, data)
    seconds = time.perf_counter() - start
    return Outcome(settings, None if data is None else data.origin, result, seconds, _versions(), machine())


def _simulated(settings: Settings, data: Any) -> dict[str, Any]:  # noqa: ARG001
    from reproduction.theorems import simulate  # noqa: PLC0415

    found = simulate(settings["name"], size=settings["size"], random_state=settings["seed"])
    content: dict[str, Any] = json.loads(found.as_json())
    return content


def _method(name: str) -> Callable[[Settings, Any], dict[str, Any]]:
    """How a method is run; what it needs is imported only now."""
    if name == "theorem":
        run = _simulated
    elif name == "gcws":
        from reproduction._gcws_runs import run_gcws as run  # noqa: PLC0415
    elif name == "original":
        from reproduction.net_runs import run_original as run  # noqa: PLC0415
    elif name == "nrff":
        from reproduction.net_runs import run_nrff as run  # noqa: PLC0415
    elif name == "last-layer":
        from reproduction._last_layer_runs import run_last_layer as run  # noqa: PLC0415
    elif name == "svm":
        from reproduction.kernel_runs import run_svm as run  # noqa: PLC0415
    elif name == "zero-bit":
        from reproduction._zero_bit_runs import run_zero_bit as run  # noqa: PLC0415
    else:
        known = "gcws, original, nrff, last-layer, svm, zero-bit or theorem"
        raise ValueError(f"method must be {known}, got method={name!r}")
    return run


def _versions() -> dict[str, str]:
    """What the numbers of a run may depend on."""
    return {**versions("gcwsnet", "numpy", "scikit-learn", "torch"), "hash": str(HASH_VERSION)}


def compute_and_write(settings: Settings, folder: Path) -> Settings:
    """One run of a grid, maybe in another process; its settings."""
    save_single(compute(settings), folder)
    return settings


class _Told:
    """Says of each run that is done what came out, and how long the rest will take."""

    def __init__(self, todo: Sequence[Settings], results: Results, say: Say) -> None:
        self._expected = dict(zip(map(key, todo), expected_seconds(todo, results), strict=True))
        self._say, self._start, self._n, self._left = say, time.perf_counter(), len(todo), dict(self._expected)

    def __call__(self, outcome: Outcome) -> None:
        self._left.pop(key(outcome.settings))
        total, left = sum(self._expected.values()), sum(self._left.values())
        seconds = (time.perf_counter() - self._start) * left / (total - left)
        accuracy = f"{outcome.accuracy:.1f}%" if "accuracy" in outcome.result else "done"
        what = f"{shown(outcome.settings)}: {accuracy} in {outcome.seconds:.1f} s"
        self._say(f"[{self._n - len(self._left)}/{self._n}] {what}, {in_words(seconds)} left")


def execute(grid: Sequence[Settings], results: Results, *, jobs: int, say: Say) -> None:
    """Do all runs of a grid that are not among the results yet."""
    todo = [settings for settings in grid if settings not in results]
    if not todo:
        return
    told = _Told(todo, results, say)
    processes = Parallel(min(jobs, len(todo)), batch_size=1, return_as="generator_unordered")
    try:
        for settings in processes(delayed(compute_and_write)(settings, results.folder) for settings in todo):
            told(results.reload(settings))
    except BrokenProcessPool as error:
        kept = "what is done is kept: start it again, with fewer --jobs if memory was short"
        raise OSError(f"one of {processes.n_jobs} processes was killed; {kept}") from error
