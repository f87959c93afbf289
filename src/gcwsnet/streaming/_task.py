"""The task of a dataset: classification or regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Survey

MOST_CLASSES_OF_INTEGERS = 100


def find_task(task: str, label_type: str | None, labels: tuple[Any, ...] | None) -> str:
    """Return "classification" or "regression".

    "auto": text is classified, whole numbers are if there are at most 100 different ones, other numbers are predicted.
    """
    if label_type is None:
        raise ValueError("there are no labels to learn from; name their column with --label")
    if task == "auto":
        few = labels is not None and len(labels) <= MOST_CLASSES_OF_INTEGERS
        task = "classification" if label_type == "strings" or (label_type == "integers" and few) else "regression"
    if task == "regression" and label_type == "strings":
        raise ValueError("a regression needs numbers, and the labels are text; use --task classification")
    if task == "classification" and labels is None:
        raise ValueError("there are too many different labels to classify; use --task regression")
    return task


def classes_of(survey: Survey) -> NDArray[Any]:
    """Return the labels of a survey as an array, whole numbers as integers."""
    return as_labels(np.array(survey.labels), survey.label_type)


def as_labels(y: NDArray[Any], label_type: str | None) -> NDArray[Any]:
    """Return labels in the type that the classes have."""
    return y.astype(np.int64) if label_type == "integers" else y
