"""What is learned: labels or numbers, as tensors, with their loss and their measure of success."""

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
        return torch.from_numpy(places_of_labels(y, self.classes))

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
        return cls(*mean_and_size(y), y.ndim == 1, loss)

    def encode(self, y: Any) -> Tensor:
        """Standardised targets, in float32."""
        return torch.from_numpy(standardized(y, self.mean, self.size))

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
