"""The datasets of the experiments: whether they are available, in which form, and their rows."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from gcwsnet.datasets import load, make_mnist_image, make_mnist_noise
from gcwsnet.datasets._bunch import standardize
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
    "dailysports-moments": "moments of DailySports",
    "covtype": "Covtype",
    "covtype-authors": "Covtype (the authors' split)",
    "pendigits": "Pendigits",
    "mnist": "MNIST",
    "digits": "digits",
    "diabetes": "diabetes",
}
BUNDLED = {"digits": (1347, 450, 64), "diabetes": (331, 111, 10)}
"""Datasets that come with scikit-learn: rows for training, rows for testing, columns."""
ORIGINS = {
    "exact": "the published numbers",
    "rounded": "the published rows with fewer digits",
    "derived": "derived from published data, and not the rows of the paper",
    "rebuilt": "rebuilt by the published recipe with other random numbers, and not the rows of the paper",
    "bundled": "comes with scikit-learn, and is not in the paper",
}
AUTHORS_SPLIT = "covtype_authors_train_mask.npy"
"""The rows for training in a split of Covtype that the authors publish with another package, as packed bits in UCI's
order. It has the sizes of the paper; whether it is the split of the paper is not known."""
MOMENT = 45
"""Numbers that the sensors of DailySports measure in one moment; a row of DailySports has 125 moments."""
MOMENTS = (188_209, 188_208)
"""Rows for training and for testing of the moments of DailySports: as many as PAMAP101 has."""
MADE_FROM = {"covtype-authors": "covtype", "dailysports-moments": "dailysports"}
"""Datasets that are made from the rows of another one."""
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
    if name in BUNDLED:
        return Availability(True, "available: comes with scikit-learn")
    if name == "covtype-authors" and _authors_split() is None:
        return Availability(False, "split not available", where_to_get(name))
    if name in MADE_FROM:
        return availability(MADE_FROM[name])
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
    if before.state in ("available", "available: derived") or name in BUNDLED:
        return before
    if name in MADE_FROM:
        fetch(MADE_FROM[name])
        return availability(name)
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
    if name == "covtype-authors":
        return f"put {AUTHORS_SPLIT} beside covtype.npz into the folder that GCWSNET_DATA names, and run it"
    name = MADE_FROM.get(name, name)
    files = " and ".join(f"{one.file} from {one.urls[0]}" for one in DATASETS[name].published)
    return f"put {files} into the folder that GCWSNET_DATA names, and run it"


def load_rows(settings: Settings) -> Bunch:
    """Return the dataset of a run, split into rows for training and for testing."""
    return _load(settings["dataset"], settings["standardized"], settings.get("draw", 0))


@lru_cache(maxsize=1)
def _load(name: str, standardized: bool, draw: int) -> Bunch:
    if draw:
        return draw_again(name, draw)
    if name == "covtype-authors":
        return standardize(_covtype_of_authors())
    if name == "dailysports-moments":
        return _moments_of_dailysports()
    if name == "diabetes":
        return standardize(_diabetes())
    logger = logging.getLogger("gcwsnet")
    level = logger.level
    logger.setLevel(logging.ERROR)  # before the first run it was said that a set is rebuilt
    try:
        return load(name, download=False, standardized=standardized)
    finally:
        logger.setLevel(level)


def draw_again(name: str, draw: int) -> Bunch:
    """Return another draw of a dataset that is rebuilt from MNIST."""
    if name == "m-image":
        return make_mnist_image(random_state=draw)
    return make_mnist_noise(NOISE_SETS.index(name) + 1, random_state=draw)


def _diabetes() -> Bunch:
    """Return a regression that comes with scikit-learn; the paper has none."""
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    rows = {"X_train": X_train, "X_test": X_test, "y_train": y_train, "y_test": y_test}
    return Bunch(**rows, name="diabetes", origin="bundled", DESCR="")


def _authors_split() -> Path | None:
    path = Path(os.environ.get("GCWSNET_DATA", "")) / AUTHORS_SPLIT
    return path if path.is_file() else None


def _covtype_of_authors() -> Bunch:
    """Return Covtype with the authors' rows for training; covtype.npz has the rows of UCI in a known random order."""
    data, path = load("covtype", download=False), _authors_split()
    if path is None:
        raise FileNotFoundError(f"{AUTHORS_SPLIT} is missing; {where_to_get('covtype-authors')}")
    X, y = (np.concatenate([data[f"{name}_train"], data[f"{name}_test"]]) for name in "Xy")
    chosen = np.unpackbits(np.load(path), count=len(y)).astype(bool)[np.random.default_rng(0).permutation(len(y))]
    rows = {"X_train": X[chosen], "y_train": y[chosen], "X_test": X[~chosen], "y_test": y[~chosen]}
    return Bunch(**{**data, **rows, "name": "covtype-authors"})


def _moments_of_dailysports() -> Bunch:
    """Return rows of single moments, drawn at random from all rows of DailySports; half of them are for training."""
    data, (n_train, n_test) = load("dailysports", download=False), MOMENTS
    X, y = (np.concatenate([data[f"{name}_train"], data[f"{name}_test"]]) for name in "Xy")
    drawn = np.random.default_rng(0).choice(X.size // MOMENT, n_train + n_test, replace=False)
    moments, labels = X.reshape(-1, MOMENT)[drawn], np.repeat(y, X.shape[1] // MOMENT)[drawn]
    train, test = slice(n_train), slice(n_train, None)
    rows = {"X_train": moments[train], "y_train": labels[train], "X_test": moments[test], "y_test": labels[test]}
    return Bunch(**{**data, **rows, "name": "dailysports-moments", "origin": "derived"})


def sizes(name: str) -> tuple[int, int, int]:
    """Return the numbers of rows for training, of rows for testing, and of columns."""
    if name in BUNDLED:
        return BUNDLED[name]
    if name == "dailysports-moments":
        return (*MOMENTS, MOMENT)
    known = DATASETS[name.removesuffix("-authors")].sizes
    return known.n_train, known.n_test, known.n_columns


def subsample_test_rows(X: Any, y: Any, most: int) -> tuple[Any, Any]:
    """Return at most `most` rows for testing and their labels, evenly spaced; curves are measured on them."""
    step = -(-len(y) // most)
    return X[::step], y[::step]
