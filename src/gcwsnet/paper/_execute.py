"""Runs of a grid, one after the other or in several processes; what there is already is not computed again."""

from __future__ import annotations

import json
import logging
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gcwsnet.bench._measure import one_thread
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.paper._data import rows_of
from gcwsnet.paper._expected import in_words, total_seconds
from gcwsnet.paper._results import Outcome, Results, write
from gcwsnet.paper._settings import Settings, shown

Say = Callable[[str], None]


def compute(settings: Settings) -> Outcome:
    """The outcome of one run, with one thread."""
    method = settings["method"]
    start = time.perf_counter()
    if method == "theorem":
        return Outcome(settings, None, _theorem(settings), time.perf_counter() - start, versions())
    run = _method(method)
    with one_thread():
        data = rows_of(settings)
        result = run(settings, data)
    return Outcome(settings, data.origin, result, time.perf_counter() - start, versions())


def _theorem(settings: Settings) -> dict[str, Any]:
    from gcwsnet.paper._theorems import simulate  # noqa: PLC0415

    found = simulate(settings["name"], size=settings["size"], random_state=settings["seed"])
    content: dict[str, Any] = json.loads(found.as_json())
    return content


def _method(name: str) -> Callable[[Settings, Any], dict[str, Any]]:
    """How a method is run; what it needs is imported only now."""
    if name == "gcws":
        from gcwsnet.paper._gcws_runs import run_gcws as run  # noqa: PLC0415
    elif name == "original":
        from gcwsnet.paper._plain_runs import run_original as run  # noqa: PLC0415
    elif name == "nrff":
        from gcwsnet.paper._plain_runs import run_nrff as run  # noqa: PLC0415
    elif name == "last-layer":
        from gcwsnet.paper._last_layer_runs import run_last_layer as run  # noqa: PLC0415
    elif name == "svm":
        from gcwsnet.paper._svm_runs import run_svm as run  # noqa: PLC0415
    elif name == "zero-bit":
        from gcwsnet.paper._zero_bit_runs import run_zero_bit as run  # noqa: PLC0415
    else:
        known = "gcws, original, nrff, last-layer, svm, zero-bit or theorem"
        raise ValueError(f"method must be {known}, got method={name!r}")
    return run


def versions() -> dict[str, str]:
    """What the numbers of a run may depend on."""
    packages = ("gcwsnet", "numpy", "scikit-learn", "torch")
    return {"python": sys.version.split()[0], "hash": str(HASH_VERSION), **{name: version(name) for name in packages}}


def compute_and_save(settings: Settings, folder: Path) -> None:
    """One run of a grid, in a process of its own."""
    logging.getLogger("gcwsnet").setLevel(logging.ERROR)  # that a set is rebuilt is said once, before the runs
    write(compute(settings), folder)


def execute(grid: Sequence[Settings], results: Results, *, jobs: int, say: Say) -> None:
    """Do all runs of a grid that are not among the results yet."""
    todo = [settings for settings in grid if settings not in results]
    if not todo:
        return
    start, expected = time.perf_counter(), [total_seconds([one], results) for one in todo]
    number = 0

    def told(settings: Settings, outcome: Outcome) -> None:
        nonlocal number
        number += 1
        passed = time.perf_counter() - start
        left = passed * max(0.0, sum(expected) / max(sum(expected[:number]), 1e-9) - 1)
        accuracy = f"{outcome.accuracy:.1f}%" if "accuracy" in outcome.result else "done"
        what = f"{shown(settings)}: {accuracy} in {outcome.seconds:.1f} s"
        say(f"[{number}/{len(todo)}] {what}, {in_words(left)} left")

    if jobs == 1:
        for settings in todo:
            outcome = compute(settings)
            results.save(outcome)
            told(settings, outcome)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = {pool.submit(compute_and_save, settings, results.folder): settings for settings in todo}
        try:
            for future in as_completed(futures):
                future.result()
                told(futures[future], results.read_again(futures[future]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
