"""Targets of a task, labels or numbers: as tensors, with their loss and their metric."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from gcwsnet.estimators._target_arrays import check_numbers, mean_and_size, places_of_labels, standardized


class Targets(ABC):
    """The targets of a task. `n_outputs` is how many outputs a net for them has."""

    measure: str
    n_outputs: int

    @abstractmethod
    def encode(self, y: Any) -> Tensor:
        """Return targets as the loss takes them, one row for each of y."""

    @abstractmethod
    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each row."""

    @abstractmethod
    def success(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return for each row what the metric is the mean of."""

    @abstractmethod
    def score(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return for each row how good its outputs are, at best 1."""

    @abstractmethod
    def measured(self, mean_success: float) -> float:
        """Return the metric of rows with this mean success."""


def without_targets(estimator: Any) -> ValueError:
    """Return the error for a y that is None."""
    return ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")


class Labels(Targets):
    """The targets of a classification: cross-entropy, and accuracy.

    Parameters
    ----------
    classes : array
        All labels, ascending.
    """

    measure = "accuracy"

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.n_outputs = len(classes)

    def encode(self, y: Any) -> Tensor:
        """Return the place of each label among the classes."""
        return torch.from_numpy(places_of_labels(y, self.classes))

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the cross-entropy of each row."""
        return functional.cross_entropy(outputs, target, reduction="none")

    def success(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return 1 where the largest output is that of the class, else 0."""
        return (outputs.argmax(1) == target).to(torch.float32)

    def score(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return 1 where the prediction is right, else 0."""
        return self.success(outputs, target)

    def measured(self, mean_success: float) -> float:
        """Return the accuracy."""
        return mean_success


LOSSES: dict[str, Any] = {
    "squared_error": functional.mse_loss,
    "absolute_error": functional.l1_loss,
    "huber": functional.huber_loss,
}


class Numbers(Targets):
    """The targets of a regression, standardised: one of three losses, and the root mean square error.

    Parameters
    ----------
    mean, size : arrays of float64, shape (n_outputs,)
        Mean and standard deviation of the targets, in their own units.
    one_column : bool
        Whether y is a vector and not a matrix.
    loss : {"squared_error", "absolute_error", "huber"}
        The loss of the standardised targets; Huber's changes from square to absolute at 1.
    """

    measure = "rmse"

    def __init__(self, mean: NDArray[np.float64], size: NDArray[np.float64], one_column: bool, loss: str) -> None:
        self.mean, self.size, self.one_column = mean, size, one_column
        self.n_outputs = len(mean)
        self._loss = LOSSES[loss]
        self._square_size = torch.from_numpy((size**2).astype(np.float32))

    @classmethod
    def learn(cls, y: Any, loss: str) -> Numbers:
        """Learn mean and standard deviation from y."""
        y = check_numbers(y)
        return cls(*mean_and_size(y), y.ndim == 1, loss)

    def encode(self, y: Any) -> Tensor:
        """Return standardised targets, in float32."""
        return torch.from_numpy(standardized(y, self.mean, self.size))

    def decode(self, outputs: Tensor) -> NDArray[np.float64]:
        """Return predictions in the units of y, of its shape."""
        columns = outputs.numpy() * self.size + self.mean
        return columns[:, 0] if self.one_column else columns

    def loss(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss of the targets of each row."""
        return self._loss(outputs, target, reduction="none").mean(1)

    def success(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the mean square error of the targets of each row, in their own units."""
        return ((outputs - target).square() * self._square_size.to(outputs.device)).mean(1)

    def score(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return one minus the square error of the standardised targets, whose mean is near R2."""
        return 1 - (outputs - target).square().mean(1)

    def measured(self, mean_success: float) -> float:
        """Return the root mean square error."""
        return math.sqrt(mean_success)
