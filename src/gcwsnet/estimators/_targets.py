"""What is learned: labels or numbers, as tensors, with their loss and their measure of success."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array
from torch import Tensor
from torch.nn import functional


class Targets(ABC):
    """The targets of a task. `n_outputs` is how many outputs a net for them has."""

    measure: str
    n_outputs: int

    @abstractmethod
    def encode(self, y: Any) -> Tensor:
        """Targets as the loss takes them, one row for each of y."""

    @abstractmethod
    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """The loss of each row."""

    @abstractmethod
    def success(self, outputs: Tensor, target: Tensor) -> Tensor:
        """For each row what the measure is the mean of."""

    @abstractmethod
    def score(self, outputs: Tensor, target: Tensor) -> Tensor:
        """For each row how good its outputs are: at best 1."""

    @abstractmethod
    def measured(self, mean_success: float) -> float:
        """The measure of rows whose mean success is known."""


def without_targets(estimator: Any) -> ValueError:
    """The error for a y that is None."""
    return ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")


def check_labels(y: Any) -> NDArray[Any]:
    """Labels as a vector of any type."""
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


class Labels(Targets):
    """Classes: cross-entropy, and accuracy.

    Parameters
    ----------
    classes : array
        All labels there are, ascending.
    """

    measure = "accuracy"

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.n_outputs = len(classes)

    def encode(self, y: Any) -> Tensor:
        """The number of each label's class."""
        y = check_labels(y)
        place = np.searchsorted(self.classes, y)
        place = np.minimum(place, len(self.classes) - 1)
        unknown = np.flatnonzero(self.classes[place] != y)
        if len(unknown):
            row = int(unknown[0])
            label = y[row : row + 1].tolist()[0]
            raise ValueError(
                f"every label must be one of the {len(self.classes)} classes known so far, y[{row}] is {label!r}; "
                "give all classes at the first call of partial_fit, or fit anew"
            )
        return torch.from_numpy(place.astype(np.int64))

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Cross-entropy."""
        return functional.cross_entropy(outputs, target, reduction="none")

    def success(self, outputs: Tensor, target: Tensor) -> Tensor:
        """1 where the largest output is that of the class."""
        return (outputs.argmax(1) == target).to(torch.float32)

    def score(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Success."""
        return self.success(outputs, target)

    def measured(self, mean_success: float) -> float:
        """Accuracy."""
        return mean_success


def check_numbers(y: Any) -> NDArray[np.float64]:
    """Targets of a regression as float64, one or more in each row."""
    return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")


LOSSES: dict[str, Any] = {
    "squared_error": functional.mse_loss,
    "absolute_error": functional.l1_loss,
    "huber": functional.huber_loss,
}


class Numbers(Targets):
    """Numbers, brought to mean 0 and deviation 1: one of three losses, and the root mean square error.

    Parameters
    ----------
    mean, size : arrays of float64, shape (n_outputs,)
        Of the targets, in their own units.
    one_column : bool
        Whether y is a vector and not a matrix.
    loss : {"squared_error", "absolute_error", "huber"}
        On the standardised targets, where Huber's loss changes from square to absolute at 1.
    """

    measure = "rmse"

    def __init__(self, mean: NDArray[np.float64], size: NDArray[np.float64], one_column: bool, loss: str) -> None:
        self.mean, self.size, self.one_column = mean, size, one_column
        self.n_outputs = len(mean)
        self._loss = LOSSES[loss]
        self._square_size = torch.from_numpy((size**2).astype(np.float32))

    @classmethod
    def learn(cls, y: Any, loss: str) -> Numbers:
        """Targets like those of y."""
        y = check_numbers(y)
        columns = y.reshape(len(y), -1)
        size = columns.std(axis=0)
        return cls(columns.mean(axis=0), np.where(size > 0, size, 1.0), y.ndim == 1, loss)

    def encode(self, y: Any) -> Tensor:
        """Standardised targets, in float32."""
        y = check_numbers(y)
        columns = y.reshape(len(y), -1)
        if columns.shape[1] != self.n_outputs:
            raise ValueError(f"y must have {self.n_outputs} columns as before, got {columns.shape[1]}")
        return torch.from_numpy(((columns - self.mean) / self.size).astype(np.float32))

    def decode(self, outputs: Tensor) -> NDArray[np.float64]:
        """Predictions in the units of y, of its shape."""
        columns = outputs.numpy() * self.size + self.mean
        return columns[:, 0] if self.one_column else columns

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """The mean loss of a row's targets."""
        return self._loss(outputs, target, reduction="none").mean(1)

    def success(self, outputs: Tensor, target: Tensor) -> Tensor:
        """The mean square error of a row's targets, in their own units."""
        return ((outputs - target).square() * self._square_size.to(outputs.device)).mean(1)

    def score(self, outputs: Tensor, target: Tensor) -> Tensor:
        """One minus the square error of the standardised targets, whose mean is near R2."""
        return 1 - (outputs - target).square().mean(1)

    def measured(self, mean_success: float) -> float:
        """The root mean square error."""
        return math.sqrt(mean_success)
