"""Datasets as arrays, out of the files in which they are found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

from gcwsnet.datasets._archives import open_sources
from gcwsnet.datasets._bunch import Array, Origin, as_bunch
from gcwsnet.datasets._catalog import DATASETS, Known
from gcwsnet.datasets._damage import WAY_OUT
from gcwsnet.datasets._files import Folder, find_files
from gcwsnet.datasets._npz import read_npz

ROUNDED = " The values are rounded to half precision."


class Found(NamedTuple):
    """The four arrays as they are stored, and what they are."""

    arrays: dict[str, Array]
    origin: Origin
    descr: str


def read_dataset(
    name: str, *, data_home: Folder | None = None, download: bool = True, needed_by: str | None = None
) -> Found:
    """A dataset, from where it is found or from the network; known to be whole."""
    known = DATASETS[name]
    form, paths = find_files(known, name=needed_by or name, data_home=data_home, download=download)
    if form.read is None:
        what = form.instead or known
        arrays = read_npz(paths[0], what.sizes.shapes)
        if form.instead is not None:
            return Found(arrays, "derived", what.descr)
        if arrays["X_train"].dtype == np.float16:
            return Found(arrays, "rounded", what.descr + ROUNDED)
        return Found(arrays, "exact", what.descr)
    with open_sources(paths, form.inside) as sources:
        arrays = form.read(sources, known.sizes.n_train)
    _check_whole(arrays, known, " and ".join(map(str, paths)))
    return Found(arrays, "exact", known.descr)


def load_dataset(name: str, *, data_home: Folder | None, download: bool) -> Bunch:
    """A dataset that is read from files."""
    found = read_dataset(name, data_home=data_home, download=download)
    return as_bunch(name, found.origin, found.descr, **found.arrays)


def all_mnist(*, data_home: Folder | None, needed_by: str, download: bool = True) -> tuple[Array, Array]:
    """Pixels and labels of all 70,000 digits of MNIST, those for training first, as they are stored."""
    found = read_dataset("mnist", data_home=data_home, download=download, needed_by=needed_by).arrays
    X, y = ((found[f"{part}_train"], found[f"{part}_test"]) for part in "Xy")
    return np.concatenate(X), np.concatenate(y)


def _check_whole(arrays: dict[str, Array], known: Known, place: str) -> None:
    """ValueError if something is missing, so that no part of a dataset passes for all."""
    for name, shape in known.sizes.shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} of {place} must have the shape {shape}, got {arrays[name].shape}; {WAY_OUT}")
    labels = np.union1d(arrays["y_train"], arrays["y_test"])
    others = np.setdiff1d(labels, known.labels)
    if len(others):
        raise ValueError(
            f"labels of {place} must be among {', '.join(map(str, known.labels))}, got {others[0]}; {WAY_OUT}"
        )
    if known.all_labels and len(labels) < len(known.labels):
        raise ValueError(f"{place} must have {len(known.labels)} labels, got {len(labels)}; {WAY_OUT}")
