"""What a dataset is given out as."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

Origin = Literal["exact", "rounded", "derived", "rebuilt", "bundled"]
Array = NDArray[Any]


def as_bunch(
    name: str, origin: Origin, descr: str, *, X_train: Array, y_train: Array, X_test: Array, y_test: Array
) -> Bunch:
    """The arrays with what they are called and where they come from; rows in float32, labels in int64."""
    return Bunch(
        X_train=as_rows(X_train),
        y_train=as_labels(y_train),
        X_test=as_rows(X_test),
        y_test=as_labels(y_test),
        name=name,
        origin=origin,
        DESCR=descr,
    )


def as_rows(X: Array) -> NDArray[np.float32]:
    """X in float32, rows adjacent in memory."""
    with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite
        return np.ascontiguousarray(X, dtype=np.float32)


def as_labels(y: Array) -> NDArray[np.int64]:
    """The labels y in int64."""
    return np.ascontiguousarray(y, dtype=np.int64)
