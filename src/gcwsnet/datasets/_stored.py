"""Datasets that are read from npz files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import Bunch

from gcwsnet.datasets._bunch import Array, Origin, as_bunch
from gcwsnet.datasets._files import Folder, find_file
from gcwsnet.datasets._npz import read_npz


@dataclass(frozen=True)
class Stored:
    """A file with the arrays X_train, y_train, X_test and y_test, and what is known of them."""

    file: str
    n_train: int
    n_test: int
    n_columns: int
    origin: Origin
    descr: str

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What shapes the arrays have: those of the published data, so that no part of a dataset passes for all."""
        return {
            "X_train": (self.n_train, self.n_columns),
            "y_train": (self.n_train,),
            "X_test": (self.n_test, self.n_columns),
            "y_test": (self.n_test,),
        }


STORED = {
    "semg": Stored(
        file="semg_db2_diff.npz",
        n_train=900,
        n_test=900,
        n_columns=2500,
        origin="derived",
        descr=(
            "Muscle signals of 6 hand movements, derived from UCI sEMG for Basic Hand Movements, database 2: one row "
            "for each trial, channel 1 minus channel 2; a random half for training. The paper takes both channels as "
            "3,600 rows: data of the same kind, not the same data."
        ),
    ),
    "dailysports": Stored(
        file="dailysports.npz",
        n_train=4560,
        n_test=4560,
        n_columns=5625,
        origin="rounded",
        descr=(
            "Motion sensors in 19 activities, UCI Daily and Sports Activities: each row is a segment of 125 times 45 "
            "sensors, time by time. All rows, with values rounded to half precision; a random half for training."
        ),
    ),
    "covtype": Stored(
        file="covtype.npz",
        n_train=290_506,
        n_test=290_506,
        n_columns=54,
        origin="exact",
        descr=(
            "Forest cover of 7 types, UCI Covertype: columns 0 to 9 are numeric, columns 10 to 53 are binary; a random "
            "half for training."
        ),
    ),
    "pendigits": Stored(
        file="pendigits.npz",
        n_train=7494,
        n_test=3498,
        n_columns=16,
        origin="exact",
        descr=(
            "10 digits written with a pen, UCI Pen-Based Recognition of Handwritten Digits: 8 points of the pen, each "
            "with x and y from 0 to 100; the official split."
        ),
    ),
    "mnist": Stored(
        file="mnist.npz",
        n_train=60_000,
        n_test=10_000,
        n_columns=784,
        origin="exact",
        descr=(
            "Pictures of 10 handwritten digits, MNIST: 28 x 28 pixels from 0 to 255, line by line; the official split."
        ),
    ),
}


def read_stored(name: str, *, data_home: Folder | None, needed_by: str | None = None) -> dict[str, Array]:
    """The four arrays of a stored dataset, checked, as they are stored."""
    known = STORED[name]
    return read_npz(find_file(known.file, name=needed_by or name, data_home=data_home), known.shapes)


def load_stored(name: str, *, data_home: Folder | None) -> Bunch:
    """A stored dataset."""
    known = STORED[name]
    return as_bunch(name, known.origin, known.descr, **read_stored(name, data_home=data_home))


def all_mnist(*, data_home: Folder | None, needed_by: str) -> tuple[Array, Array]:
    """Pixels and labels of all 70,000 digits of MNIST, those for training first, as they are stored."""
    found = read_stored("mnist", data_home=data_home, needed_by=needed_by)
    X, y = ((found[f"{part}_train"], found[f"{part}_test"]) for part in "Xy")
    return np.concatenate(X), np.concatenate(y)
