"""How long runs will take: a rule of thumb for each method, corrected by the runs that there are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from reproduction.datasets import sizes
from reproduction.results import Results
from reproduction.settings import Settings

CLASSES = 10


def expected_seconds(grid: Sequence[Settings], results: Results) -> list[float]:
    """Expected seconds of each run on one core."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for outcome in results:
        ratio = outcome.seconds / by_rule(outcome.settings)
        for name in _alike(outcome.settings):
            ratios.setdefault(name, []).append(ratio)
    factors = {name: statistics.median(values) for name, values in ratios.items()}
    return [
        by_rule(settings) * next((factors[name] for name in _alike(settings) if name in factors), 1.0)
        for settings in grid
    ]


def _alike(settings: Settings) -> list[tuple[str, str]]:
    """Kinds of runs that the time of this one can be told from, the closest first."""
    method = settings["method"]
    return [(method, str(settings.get("dataset", settings.get("name")))), (method, "")]


def by_rule(settings: Settings) -> float:
    """Seconds by rule of thumb: what was measured on one core of a server, in numbers of operations."""
    method = settings["method"]
    if method == "theorem":
        return 0.4 * float(settings["size"])
    n_train, n_test, D = sizes(settings["dataset"])
    if method == "svm":
        return _of_machine(settings, n_train, n_test, D)
    if method == "zero-bit":
        return 2e-9 * settings["pairs"] * settings["k"] * D + 1
    if method == "last-layer":
        times = n_train / (settings["batch"] * settings["every"]) + 2
        return times * n_train * (1e-4 + 2.5e-9 * settings["k"] * CLASSES)
    return _of_net(settings, n_train, n_test, D)


def _of_machine(settings: Settings, n_train: int, n_test: int, D: int) -> float:
    if settings["kernel"] == "linear":
        return 2e-7 * n_train * D * len(settings["C"]) * CLASSES + 1
    pairs = n_train * (n_train + n_test)
    return (4e-10 * D if settings["kernel"] == "pgmm" else 1e-10 * D) * pairs + 2e-8 * pairs * len(settings["C"]) + 1


def _of_net(settings: Settings, n_train: int, n_test: int, D: int) -> float:
    units = max(settings["H"], CLASSES)
    judged = min(n_test, 10_000) * settings["checkpoints"] * settings["epochs"]
    rows = n_train * settings["epochs"] + 0.3 * judged
    if settings["method"] == "gcws":
        return rows * (2e-5 + 2.5e-9 * settings["k"] * units) + 1e-8 * (n_train + n_test) * D + 0.3
    if settings["method"] == "nrff":
        projected = 5e-11 * (n_train + n_test) * D * settings["k"]
        return rows * (1e-5 + 1e-9 * settings["k"] * units) + projected + 0.3
    return rows * (1e-5 + 1e-9 * D * units) + 0.3


def in_words(seconds: float) -> str:
    """A duration as one says it.

    Examples
    --------
    >>> from reproduction._expected import in_words
    >>> in_words(4), in_words(200), in_words(20_000)
    ('4 s', '3 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
