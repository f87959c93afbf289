"""The datasets of the experiments: whether they are available, in which form, and their rows."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from sklearn.utils import Bunch

from gcwsnet.datasets import load
from gcwsnet.datasets._catalog import DATASETS
from gcwsnet.datasets._files import find_files
from reproduction.settings import Settings

NOISE_SETS = tuple(f"m-noise{level}" for level in range(1, 7))
REBUILT = (*NOISE_SETS, "m-image")
"""Datasets that `gcwsnet.datasets.load` rebuilds from MNIST where the published files are missing."""

DISPLAY_NAMES = {
    "semg": "SEMG",
    "dailysports": "DailySports",
    **{name: name.replace("m-noise", "M-Noise") for name in NOISE_SETS},
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
"""Origins whose numbers may be compared with those of the paper."""


class Availability(NamedTuple):
    """Whether a dataset is available.

    Attributes
    ----------
    available : bool
        Whether it can be loaded without a download.
    state : str
        The same in a few words, with its form if that is not the published one.
    way_out : str
        Which file to put where if it is not available.
    """

    available: bool
    state: str
    way_out: str = ""


def availability(name: str) -> Availability:
    """Return whether a dataset can be loaded without a download, and in which form."""
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
    """Download a dataset that is missing or would be rebuilt, if that is possible, and return its availability."""
    before = availability(name)
    if before.state in ("available", "available: derived") or name == "digits":
        return before
    try:
        find_files(DATASETS[name], name=name, data_home=None, download=True)
    except FileNotFoundError as missing:
        before = before._replace(way_out=str(missing))
    if name in REBUILT and not before.available:
        with suppress(FileNotFoundError):
            find_files(DATASETS["mnist"], name=name, data_home=None, download=True)
    after = availability(name)
    return after if after.available else before


def where_to_get(name: str) -> str:
    """Return which file to put where, without the folders of this machine, as a page may be read elsewhere."""
    files = " and ".join(f"{one.file} from {one.urls[0]}" for one in DATASETS[name].published)
    return f"put {files} into the folder that GCWSNET_DATA names, and run it"


def load_rows(settings: Settings) -> Bunch:
    """Return the dataset of a run, split into rows for training and for testing."""
    return _load(settings["dataset"], settings["standardized"])


@lru_cache(maxsize=1)
def _load(name: str, standardized: bool) -> Bunch:
    logger = logging.getLogger("gcwsnet")
    level = logger.level
    logger.setLevel(logging.ERROR)  # before the first run it was said that a set is rebuilt
    try:
        return load(name, download=False, standardized=standardized)
    finally:
        logger.setLevel(level)


def sizes(name: str) -> tuple[int, int, int]:
    """Return the numbers of rows for training, of rows for testing, and of columns."""
    if name == "digits":
        return 1347, 450, 64
    known = DATASETS[name].sizes
    return known.n_train, known.n_test, known.n_columns


def subsample_test_rows(X: Any, y: Any, most: int) -> tuple[Any, Any]:
    """Return at most `most` rows for testing and their labels, evenly spaced; curves are measured on them."""
    step = -(-len(y) // most)
    return X[::step], y[::step]
