"""The streams: Electricity, Covtype in the order of its file, those that come with river, and generated ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction import datasets

COLUMNS, CLASSES, CLUSTERS = 32, 10, 3
SMALL_COLUMNS = 8
GENERATED_ROWS = 20_000
ROWS_OF_COVTYPE = 581_012
FIRST_OF_COVTYPE = (2596, 51, 3)  # elevation, aspect and slope of the first row of the file
ASLEEP = 3_000
"""Rows for which columns that wake up are constant: more than any warm-up looks at."""


@dataclass(frozen=True)
class Rows:
    """The rows of a stream, in their order.

    Attributes
    ----------
    X : float array, shape (n, D)
    y : integer array, shape (n,)
        Classes from 0 on.
    changes : tuple of int
        Rows with which something changes; the accuracy over the next 2,000 rows is measured.
    n_known : int or None
        The classes that are known when the stream begins, if these are not all.
    """

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    changes: tuple[int, ...] = ()
    n_known: int | None = None

    @property
    def n_classes(self) -> int:
        """The classes of the whole stream."""
        return int(self.y.max()) + 1


@dataclass(frozen=True)
class Stream:
    """A stream by name.

    Attributes
    ----------
    name, group : str
    load : callable
        From the most rows that are wanted to `Rows`. It raises FileNotFoundError where a file is missing, and
        ModuleNotFoundError where a package is.
    """

    name: str
    group: str
    load: Callable[[int], Rows]


def clusters(n: int, seed: int = 0, n_columns: int = COLUMNS) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return rows of ten classes, of three normal clusters each, in columns of different units."""
    of_concept = np.random.default_rng([seed, 0])
    centers = of_concept.normal(size=(CLASSES, CLUSTERS, n_columns))
    units = np.exp(of_concept.normal(size=n_columns))
    rng = np.random.default_rng([seed, 1])
    y = rng.integers(0, CLASSES, n)
    X = centers[y, rng.integers(0, CLUSTERS, n)] + 1.3 * rng.normal(size=(n, n_columns))
    return X * units, y


def _stationary(n: int) -> Rows:
    return Rows(*clusters(n))


def _hyperplane(n: int) -> Rows:
    """Return two classes on the sides of a plane, with a tenth of the labels wrong."""
    rng = np.random.default_rng(0)
    X = rng.random((n, SMALL_COLUMNS))
    y = (X - 0.5) @ rng.normal(size=SMALL_COLUMNS) > 0
    return Rows(X, (y ^ (rng.random(n) < 0.1)).astype(np.intp))


def _moving_plane(n: int) -> Rows:
    """Return two classes on the sides of a plane that turns all the time, once around in 20,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.random((n, SMALL_COLUMNS))
    first, second = np.linalg.qr(rng.normal(size=(SMALL_COLUMNS, 2)))[0].T
    angle = 2 * np.pi * np.arange(n) / GENERATED_ROWS
    plane = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second
    y = ((X - 0.5) * plane).sum(axis=1) > 0
    return Rows(X, (y ^ (rng.random(n) < 0.1)).astype(np.intp))


def _abrupt(n: int) -> Rows:
    """Return clusters whose labels are permuted from the middle on."""
    X, y = clusters(n)
    changed = np.arange(n) >= n // 2
    return Rows(X, np.where(changed, (y + 1) % CLASSES, y), (n // 2,))


def _gradual(n: int) -> Rows:
    """Return clusters whose labels are permuted in more and more rows of the second and third quarter."""
    X, y = clusters(n)
    share = np.clip((np.arange(n) - n / 4) / (n / 2), 0, 1)
    changed = np.random.default_rng(1).random(n) < share
    return Rows(X, np.where(changed, (y + 1) % CLASSES, y), (3 * n // 4,))


def _recurring(n: int) -> Rows:
    """Return clusters whose labels are permuted in the second and in the fourth quarter."""
    X, y = clusters(n)
    changed = np.arange(n) // max(1, n // 4) % 2 == 1
    return Rows(X, np.where(changed, (y + 1) % CLASSES, y), (n // 4, n // 2, 3 * n // 4))


def _new_units(n: int) -> Rows:
    """Return clusters whose columns are a thousand times as large from the middle on."""
    X, y = clusters(n)
    X[n // 2 :] *= 1000
    return Rows(X, y, (n // 2,))


def _new_class(n: int) -> Rows:
    """Return clusters whose last class is not there before the middle."""
    X, y = clusters(n)
    kept = (np.arange(n) >= n // 2) | (y < CLASSES - 1)
    return Rows(X[kept], y[kept], (int(kept[: n // 2].sum()),), n_known=CLASSES - 1)


def _waking_column(n: int) -> Rows:
    """Return classes of two columns, of which the one is zero for the first 3,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0).astype(np.intp)
    X[:ASLEEP, 1] = 0.0
    y[:ASLEEP] = (X[:ASLEEP, 0] > 0) + 2 * rng.integers(0, 2, len(y[:ASLEEP]))
    return Rows(X, y, (ASLEEP,) if n > ASLEEP else ())


def _all_columns_wake(n: int) -> Rows:
    """Return clusters in 64 columns, which are all constant for the first 3,000 rows."""
    X, y = clusters(n, n_columns=64)
    X[:ASLEEP] = 1.0
    return Rows(X, y, (ASLEEP,) if n > ASLEEP else ())


DEVELOPMENT: dict[str, Callable[[int], Rows]] = {
    "stationary clusters": _stationary,
    "stationary plane": _hyperplane,
    "moving plane": _moving_plane,
    "abrupt": _abrupt,
    "gradual": _gradual,
    "recurring": _recurring,
    "new units": _new_units,
    "new class": _new_class,
    "a column wakes up": _waking_column,
    "all columns wake up": _all_columns_wake,
}
BUNDLED = {"bananas": "Bananas", "segments": "ImageSegments", "phishing": "Phishing", "shuttle": "Shuttle"}
CONCEPTS: dict[str, Callable[[Any, int], Any]] = {
    "SEA": lambda synth, number: synth.SEA(variant=number, noise=0.1, seed=number),
    "RBF": lambda synth, number: synth.RandomRBF(number, number + 10, n_classes=5, n_features=10, n_centroids=50),
    "LED": lambda synth, number: synth.LEDDrift(number, 0.1, irrelevant_features=True, n_drift_features=2 * number),
    "Agrawal": lambda synth, number: synth.Agrawal(classification_function=2 * number, seed=number),
    "hyperplane": lambda synth, number: synth.Hyperplane(number, n_features=10, noise_percentage=0.05),
}
"""From the generators of river and the number of a concept, from 0 to 3, to an endless stream of its rows."""

SHAPES = ("sudden", "gradual", "recurring")


def _of_concepts(n: int, shape: str) -> NDArray[np.intp]:
    """Return the number of each row's concept, which changes after each quarter of the rows.

    "sudden" goes from one to the next, and "recurring" to and fro between two. With "gradual" the share of the next one
    grows from 0 to 1 over an eighth of the rows.
    """
    place = 4 * np.arange(n) / n
    if shape == "gradual":
        place += np.random.default_rng(0).uniform(-0.25, 0.25, n)
    concept = np.clip(place.astype(np.intp), 0, 3)
    return concept % 2 if shape == "recurring" else concept


def _drifting(name: str, shape: str, most: int) -> Rows:
    """Return rows of a generator of river that changes three times."""
    from river.datasets import synth

    n = min(most, GENERATED_ROWS)
    concepts = [iter(CONCEPTS[name](synth, number)) for number in range(4)]
    rows = [next(concepts[number]) for number in _of_concepts(n, shape)]
    return _of_pairs(rows, (n // 4, n // 2, 3 * n // 4))


def _generated(make: Callable[[int], Rows], most: int) -> Rows:
    return make(min(most, GENERATED_ROWS))


def _electricity(most: int) -> Rows:
    """Return Electricity, whose class is in the last column."""
    path = Path(os.environ.get("GCWSNET_DATA", ""), "electricity.csv.gz")
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; GCWSNET_DATA names its folder")
    table = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=most)
    return _numbered(table[:, :-1], table[:, -1])


def _covtype(most: int) -> Rows:
    """Return Covtype in the order of its file, which is that of the places where it was measured."""
    data = datasets.load("covtype", download=False)
    X = np.concatenate([data.X_train, data.X_test])
    y = np.concatenate([data.y_train, data.y_test])
    order = np.argsort(np.random.default_rng(0).permutation(ROWS_OF_COVTYPE))[:most]
    if len(y) != ROWS_OF_COVTYPE or tuple(np.ravel(_dense(X[order[:1]]))[:3]) != FIRST_OF_COVTYPE:
        raise FileNotFoundError("the rows of covtype.npz are not those of the file, permuted by default_rng(0)")
    return _numbered(X[order], y[order])


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


def _numbered(X: Any, y: Any) -> Rows:
    return Rows(np.asarray(_dense(X), dtype=np.float64), np.unique(y, return_inverse=True)[1])


def _of_pairs(rows: Sequence[tuple[dict[str, Any], Any]], changes: tuple[int, ...] = ()) -> Rows:
    """Return pairs of a dict and a label as rows, with missing numbers and times as zeros."""
    names = list(rows[0][0])
    X = [[float(row[one]) if isinstance(row.get(one), int | float) else 0.0 for one in names] for row, _ in rows]
    numbered = _numbered(np.array(X), np.array([str(label) for _, label in rows]))
    return Rows(numbered.X, numbered.y, changes)


def _of_river(name: str, most: int) -> Rows:
    """Return the first rows of a dataset of river."""
    from river import datasets as of_river

    return _of_pairs(list(getattr(of_river, name)().take(most)))


def all_streams() -> dict[str, Stream]:
    """Return the streams by name. Defaults were chosen on the group "development", which is not in comparisons."""
    found = [Stream("electricity", "files", _electricity), Stream("covtype", "files", _covtype)]
    found += [Stream(name, "river", partial(_of_river, of_river)) for name, of_river in BUNDLED.items()]
    found += [
        Stream(f"{name}, {shape}", shape, partial(_drifting, name, shape)) for name in CONCEPTS for shape in SHAPES
    ]
    found += [Stream(name, "development", partial(_generated, make)) for name, make in DEVELOPMENT.items()]
    return {one.name: one for one in found}
