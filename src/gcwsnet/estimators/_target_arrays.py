"""Labels and numbers as arrays of targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array


def check_labels(y: Any) -> NDArray[Any]:
    """Return labels as a vector of any type."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


def places_of_labels(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each label among the classes, which are ascending."""
    y = check_labels(y)
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = np.flatnonzero(classes[place] != y)
    if len(unknown):
        row = int(unknown[0])
        label = y[row : row + 1].tolist()[0]
        raise ValueError(
            f"every label must be one of the {len(classes)} classes known so far, y[{row}] is {label!r}; "
            "give all classes at the first call of partial_fit, or fit again"
        )
    return place.astype(np.int64)


def check_numbers(y: Any) -> NDArray[np.float64]:
    """Return the targets of a regression as float64, one or more in each row."""
    return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")


def mean_and_size(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the standard deviation of each column; 1 instead of 0 for a constant one."""
    columns = y.reshape(len(y), -1)
    size = columns.std(axis=0)
    return columns.mean(axis=0), np.where(size > 0, size, 1.0)


def standardized(y: Any, mean: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return numbers with mean 0 and standard deviation 1, as columns."""
    y = check_numbers(y)
    columns = y.reshape(len(y), -1)
    if columns.shape[1] != len(mean):
        raise ValueError(f"y must have {len(mean)} columns as before, got {columns.shape[1]}")
    return ((columns - mean) / size).astype(np.float32)
