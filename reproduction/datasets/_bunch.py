"""Datasets as a Bunch of arrays: read from their files, checked to be whole, split, and standardized."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from sklearn.datasets import load_digits as load_bundled_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from reproduction.datasets._archives import WAY_OUT, open_files
from reproduction.datasets._catalog import DATASETS, DatasetInfo
from reproduction.datasets._files import Folder, find_files
from reproduction.datasets._layouts import Array, Part, as_float32, read_npz

DatasetOrigin = Literal["exact", "rounded", "derived", "rebuilt", "bundled"]
HALF_PRECISION = " The values are rounded to half precision."
DIGITS_DESCR = (
    "Small images of 10 handwritten digits, bundled with scikit-learn: 8 x 8 pixels from 0 to 16, line by line; the "
    "split of train_test_split(X, y, random_state=0)."
)


class StoredDataset(NamedTuple):
    """The four arrays of a dataset in the types in which they are stored, their origin and their description."""

    arrays: dict[str, Array]
    origin: DatasetOrigin
    descr: str


def as_bunch(name: str, origin: DatasetOrigin, descr: str, arrays: dict[str, Array]) -> Bunch:
    """Return a dataset in the form that `load` returns, with rows in float32 and labels in int64."""
    return Bunch(
        X_train=as_float32(arrays["X_train"]),
        y_train=np.ascontiguousarray(arrays["y_train"], dtype=np.int64),
        X_test=as_float32(arrays["X_test"]),
        y_test=np.ascontiguousarray(arrays["y_test"], dtype=np.int64),
        name=name,
        origin=origin,
        DESCR=descr,
    )


def named_arrays(train: Part, test: Part) -> dict[str, Array]:
    """Return the rows and labels of both parts by the names that `load` gives them."""
    return {"X_train": train[0], "y_train": train[1], "X_test": test[0], "y_test": test[1]}


def read_dataset(name: str, *, data_home: Folder | None, download: bool = True) -> StoredDataset:
    """Read a dataset of the catalog from its files, which are downloaded if needed, and check that it is whole."""
    info = DATASETS[name]
    file_set, paths = find_files(info, name=name, data_home=data_home, download=download)
    if file_set.read is None:
        stored = file_set.instead or info
        arrays = read_npz(paths[0], stored.sizes.shapes)
        if file_set.instead is not None:
            return StoredDataset(arrays, "derived", stored.descr)
        if arrays["X_train"].dtype == np.float16:
            return StoredDataset(arrays, "rounded", stored.descr + HALF_PRECISION)
        return StoredDataset(arrays, "exact", stored.descr)
    with open_files(paths, file_set.inside) as files:
        arrays = _split(file_set.read(files), info)
    _check_whole(arrays, info, " and ".join(map(str, paths)))
    return StoredDataset(arrays, "exact", info.descr)


def load_stored(name: str, *, data_home: Folder | None, download: bool) -> Bunch:
    """Return a dataset of the catalog as `load` returns it."""
    stored = read_dataset(name, data_home=data_home, download=download)
    return as_bunch(name, stored.origin, stored.descr, stored.arrays)


def load_all_mnist(*, data_home: Folder | None = None, download: bool = True) -> Part:
    """Return the pixels and labels of all 70,000 digits of MNIST as they are stored, the training rows first."""
    arrays = read_dataset("mnist", data_home=data_home, download=download).arrays
    X, y = ((arrays[f"{kind}_train"], arrays[f"{kind}_test"]) for kind in "Xy")
    return np.concatenate(X), np.concatenate(y)


def load_digits() -> Bunch:
    """Return the digits of scikit-learn, split into 1,347 training rows and 450 test rows."""
    X_train, X_test, y_train, y_test = train_test_split(*load_bundled_digits(return_X_y=True), random_state=0)
    return as_bunch("digits", "bundled", DIGITS_DESCR, named_arrays((X_train, y_train), (X_test, y_test)))


def standardize(dataset: Bunch) -> Bunch:
    """Return the dataset with columns of mean 0 and standard deviation 1 in the training rows.

    Columns that hold only 0 and 1 in the training rows stay as they are. The test rows are scaled by the mean and the
    standard deviation of the training rows.
    """
    X_train, X_test = dataset.X_train, dataset.X_test
    numeric = ~np.all((X_train == 0) | (X_train == 1), axis=0)
    scaler = StandardScaler().fit(X_train[:, numeric].astype(np.float64))
    for rows in (X_train, X_test):
        rows[:, numeric] = scaler.transform(rows[:, numeric].astype(np.float64))
    dataset.DESCR += (
        f" Of the columns, {np.count_nonzero(numeric)} are standardized by the training rows, and "
        f"{np.count_nonzero(~numeric)} that hold only 0 and 1 are as they were."
    )
    return dataset


def _split(parts: list[Part], info: DatasetInfo) -> dict[str, Array]:
    """Return the training rows and the test rows by the rule of the dataset.

    A random half is the first half, rounded up, of `default_rng(0).permutation(n)`: the same rows in every run.
    """
    if info.split == "published":
        train, test = parts
        return named_arrays(train, test)
    ((X, y),) = parts
    if info.split == "first rows":
        n = info.sizes.n_train
        return named_arrays((X[:n], y[:n]), (X[n:], y[n:]))
    order = np.random.default_rng(0).permutation(len(X))
    rows_train, rows_test = np.split(order, [(len(X) + 1) // 2])
    return named_arrays((X[rows_train], y[rows_train]), (X[rows_test], y[rows_test]))


def _check_whole(arrays: dict[str, Array], info: DatasetInfo, place: str) -> None:
    """Raise a ValueError if rows, columns or labels are missing or are not those of the dataset."""
    for name, shape in info.sizes.shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} of {place} must have the shape {shape}, got {arrays[name].shape}; {WAY_OUT}")
    labels = np.union1d(arrays["y_train"], arrays["y_test"])
    others = np.setdiff1d(labels, info.labels)
    if len(others):
        raise ValueError(
            f"labels of {place} must be among {', '.join(map(str, info.labels))}, got {others[0]}; {WAY_OUT}"
        )
    if info.all_labels and len(labels) < len(info.labels):
        raise ValueError(f"{place} must have {len(info.labels)} labels, got {len(labels)}; {WAY_OUT}")
