"""The datasets of experiments: whether they are there, as what, and their rows."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from sklearn.utils import Bunch

from gcwsnet.datasets import load
from gcwsnet.datasets._catalog import DATASETS
from gcwsnet.datasets._files import find_files
from gcwsnet.datasets._load import REBUILT
from reproduction.settings import Settings

SHOWN = {
    "semg": "SEMG",
    "dailysports": "DailySports",
    **{f"m-noise{level}": f"M-Noise{level}" for level in range(1, 7)},
    "m-image": "M-Image",
    "pamap101": "PAMAP101",
    "covtype": "Covtype",
    "pendigits": "Pendigits",
    "mnist": "MNIST",
    "digits": "digits",
}
ORIGINS = {
    "exact": "the published numbers",
    "rounded": "the published rows with fewer digits",
    "derived": "derived from published data, and not the rows of the paper",
    "rebuilt": "rebuilt by the published recipe with other random numbers, and not the rows of the paper",
    "bundled": "comes with scikit-learn, and is not in the paper",
}
COMPARABLE = ("exact", "rounded")
"""Origins whose numbers may be held against those of the paper."""


class Availability(NamedTuple):
    """Whether a dataset is there, in a few words as what, and if it is not, which file belongs where."""

    there: bool
    told: str
    way_out: str = ""


def availability(name: str) -> Availability:
    """Whether a dataset can be loaded without a download, and as what; if not, which file belongs where."""
    if name == "digits":
        return Availability(True, "available: comes with scikit-learn")
    try:
        form, _ = find_files(DATASETS[name], name=name, data_home=None, download=False)
    except FileNotFoundError as missing:
        if name in REBUILT:
            with suppress(FileNotFoundError):
                find_files(DATASETS["mnist"], name=name, data_home=None, download=False)
                return Availability(True, "available: rebuilt from MNIST")
        return Availability(False, "dataset not available", str(missing))
    return Availability(True, "available: derived" if form.instead else "available")


def fetch(name: str) -> Availability:
    """Download a dataset that is not there, or that would be rebuilt, if that is possible."""
    there = availability(name)
    if there.told in ("available", "available: derived") or name == "digits":
        return there
    try:
        find_files(DATASETS[name], name=name, data_home=None, download=True)
    except FileNotFoundError as missing:
        there = there._replace(way_out=str(missing))
    if name in REBUILT and not there.there:
        with suppress(FileNotFoundError):
            find_files(DATASETS["mnist"], name=name, data_home=None, download=True)
    found = availability(name)
    return found if found.there else there


def rows_of(settings: Settings) -> Bunch:
    """The rows that a run learns from and is judged by."""
    return _loaded(settings["dataset"], settings["standardized"])


@lru_cache(maxsize=1)
def _loaded(name: str, standardized: bool) -> Bunch:
    logger = logging.getLogger("gcwsnet")
    level = logger.level
    logger.setLevel(logging.ERROR)  # that a set is rebuilt has been said before the runs
    try:
        return load(name, download=False, standardized=standardized)
    finally:
        logger.setLevel(level)


def sizes(name: str) -> tuple[int, int, int]:
    """Rows for training, rows for testing, columns."""
    if name == "digits":
        return 1347, 450, 64
    known = DATASETS[name].sizes
    return known.n_train, known.n_test, known.n_columns


def some_test_rows(data: Any, most: int) -> tuple[Any, Any]:
    """At most so many rows for testing, evenly spaced: those that curves are judged by."""
    step = -(-len(data.y_test) // most)
    return data.X_test[::step], data.y_test[::step]
