"""The datasets of the experiments: whether they are available, in which form, and their rows."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from reproduction.datasets import load, make_mnist_image, make_mnist_noise
from reproduction.datasets._bunch import standardize
from reproduction.datasets._catalog import DATASETS
from reproduction.datasets._files import find_files
from reproduction.settings import Settings

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
"""Training rows and test rows of the moments of DailySports: as many as PAMAP101 has."""
COMPARABLE = ("exact", "rounded")
"""Origins whose numbers may be compared with those of the paper."""


@dataclass(frozen=True)
class Dataset:
    """A dataset of the experiments.

    Attributes
    ----------
    display_name : str
    load : callable
        Returns the rows.
    sources : tuple of str
        What the rows come from, by the names of the catalog: the published files, or else what they are rebuilt from.
        It is empty for what comes with scikit-learn.
    sizes : tuple of int
        The training rows, the test rows and the columns.
    split : str or None
        The file that says which rows are for training, where the sources do not.
    redraw : callable or None
        Rebuilds the rows with another ``random_state``.
    """

    display_name: str
    load: Callable[[], Bunch]
    sources: tuple[str, ...]
    sizes: tuple[int, int, int]
    split: str | None = None
    redraw: Callable[..., Bunch] | None = None


def _in_catalog(name: str, display_name: str, redraw: Callable[..., Bunch] | None = None) -> Dataset:
    """Return a dataset of the catalog; one that can be drawn again is rebuilt where its files are missing."""
    sources = (name,) if redraw is None else (name, "mnist")
    return Dataset(display_name, partial(_load_quietly, name), sources, _sizes(name), redraw=redraw)


def _sizes(name: str) -> tuple[int, int, int]:
    known = DATASETS[name].sizes
    return known.n_train, known.n_test, known.n_columns


def _load_quietly(name: str) -> Bunch:
    logger = logging.getLogger("gcwsnet")
    level = logger.level
    logger.setLevel(logging.ERROR)  # before the first run it was said that a set is rebuilt
    try:
        return load(name, download=False)
    finally:
        logger.setLevel(level)


def _diabetes() -> Bunch:
    """Return a regression that comes with scikit-learn; the paper has none."""
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    rows = {"X_train": X_train, "X_test": X_test, "y_train": y_train, "y_test": y_test}
    return Bunch(**rows, name="diabetes", origin="bundled", DESCR="")


def _covtype_of_authors() -> Bunch:
    """Return Covtype with the authors' training rows; covtype.npz has the rows of UCI in a known random order."""
    data, path = load("covtype", download=False), _path(AUTHORS_SPLIT)
    if not path.is_file():
        raise FileNotFoundError(f"{AUTHORS_SPLIT} is missing; {where_to_get('covtype-authors')}")
    X, y = _all_rows(data)
    chosen = np.unpackbits(np.load(path), count=len(y)).astype(bool)[np.random.default_rng(0).permutation(len(y))]
    return _split_again(data, X, y, chosen, name="covtype-authors")


def _moments_of_dailysports() -> Bunch:
    """Return rows of single moments, drawn at random from all rows of DailySports; half of them are for training."""
    data, (n_train, n_test) = load("dailysports", download=False), MOMENTS
    X, y = _all_rows(data)
    drawn = np.random.default_rng(0).choice(X.size // MOMENT, n_train + n_test, replace=False)
    moments, labels = X.reshape(-1, MOMENT)[drawn], np.repeat(y, X.shape[1] // MOMENT)[drawn]
    chosen = np.arange(len(labels)) < n_train
    return _split_again(data, moments, labels, chosen, name="dailysports-moments", origin="derived")


def _all_rows(data: Bunch) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows and the labels of a dataset, those for training first."""
    X, y = (np.concatenate([data[f"{name}_train"], data[f"{name}_test"]]) for name in "Xy")
    return X, y


def _split_again(data: Bunch, X: NDArray[Any], y: NDArray[Any], chosen: NDArray[np.bool_], **about: str) -> Bunch:
    """Return a dataset with other rows, of which the chosen ones are for training."""
    rows = {"X_train": X[chosen], "y_train": y[chosen], "X_test": X[~chosen], "y_test": y[~chosen]}
    return Bunch(**{**data, **rows, **about})


def _path(split: str) -> Path:
    return Path(os.environ.get("GCWSNET_DATA", "")) / split


BY_NAME = {
    "semg": _in_catalog("semg", "SEMG"),
    "dailysports": _in_catalog("dailysports", "DailySports"),
    **{
        f"m-noise{level}": _in_catalog(f"m-noise{level}", f"M-Noise{level}", partial(make_mnist_noise, level))
        for level in range(1, 7)
    },
    "m-image": _in_catalog("m-image", "M-Image", make_mnist_image),
    "pamap101": _in_catalog("pamap101", "PAMAP101"),
    "dailysports-moments": Dataset(
        "moments of DailySports", _moments_of_dailysports, ("dailysports",), (*MOMENTS, MOMENT)
    ),
    "covtype": _in_catalog("covtype", "Covtype"),
    "covtype-authors": Dataset(
        "Covtype (the authors' split)", _covtype_of_authors, ("covtype",), _sizes("covtype"), AUTHORS_SPLIT
    ),
    "pendigits": _in_catalog("pendigits", "Pendigits"),
    "mnist": _in_catalog("mnist", "MNIST"),
    "digits": Dataset("digits", partial(_load_quietly, "digits"), (), (1347, 450, 64)),
    "diabetes": Dataset("diabetes", _diabetes, (), (331, 111, 10)),
}
DISPLAY_NAMES = {name: dataset.display_name for name, dataset in BY_NAME.items()}
REBUILT = tuple(name for name, dataset in BY_NAME.items() if dataset.redraw is not None)
"""Datasets that `reproduction.datasets.load` rebuilds from MNIST where the published files are missing."""


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
    dataset, missing = BY_NAME[name], []
    if dataset.split is not None and not _path(dataset.split).is_file():
        return Availability(False, "split not available", where_to_get(name))
    if not dataset.sources:
        return Availability(True, "available: comes with scikit-learn")
    for source in dataset.sources:
        try:
            form, _ = find_files(DATASETS[source], name=name, data_home=None, download=False)
        except FileNotFoundError as error:
            missing.append(str(error))
            continue
        if missing:
            return Availability(True, "available: rebuilt from MNIST")
        return Availability(True, "available: derived" if form.instead else "available")
    return Availability(False, "dataset not available", missing[0])


def fetch(name: str) -> Availability:
    """Download a dataset that is missing or would be rebuilt, if that is possible, and return its availability."""
    found, missing = availability(name), []
    if found.state == "split not available":
        return found
    for source in BY_NAME[name].sources:
        try:
            find_files(DATASETS[source], name=name, data_home=None, download=True)
            break
        except FileNotFoundError as error:
            missing.append(str(error))
    found = availability(name)
    return found if found.available else found._replace(way_out=missing[0])


def where_to_get(name: str) -> str:
    """Return which file to put where, without the folders of this machine, as a page may be read elsewhere."""
    dataset = BY_NAME[name]
    if dataset.split is not None:
        files = f"{dataset.split} beside {dataset.sources[0]}.npz"
    else:
        files = " and ".join(f"{one.file} from {one.urls[0]}" for one in DATASETS[dataset.sources[0]].published)
    return f"put {files} into the folder that GCWSNET_DATA names, and run it"


def load_rows(settings: Settings) -> Bunch:
    """Return the dataset of a run, split into training rows and test rows."""
    return _load(settings["dataset"], settings["standardized"], settings.get("draw", 0))


@lru_cache(maxsize=1)
def _load(name: str, standardized: bool, draw: int) -> Bunch:
    dataset = BY_NAME[name]
    if draw:
        if dataset.redraw is None:
            raise ValueError(f"draw must be 0 for {name}, which is not rebuilt, got draw={draw}")
        return dataset.redraw(random_state=draw)
    rows = dataset.load()
    return standardize(rows) if standardized else rows


def sizes(name: str) -> tuple[int, int, int]:
    """Return the numbers of training rows, of test rows, and of columns."""
    return BY_NAME[name].sizes


def subsample_test_rows(X: Any, y: Any, most: int) -> tuple[Any, Any]:
    """Return at most `most` test rows and their labels, evenly spaced; curves are measured on them."""
    step = -(-len(y) // most)
    return X[::step], y[::step]


def length_one_on_average(X: Any, Y: Any) -> tuple[Any, Any]:
    """Return rows for training and for testing divided by one number, so that those for training have mean square 1."""
    size = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    return X / size, Y / size
