"""What a net learns: labels or numbers as arrays, with their losses and their metrics."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet._validation import MAX_EXACT, check_integer, check_number, rounded

Arrays = dict[str, NDArray[Any]]

Floats = NDArray[np.float64]

PRIOR_ROWS = 2

LARGEST = sys.float_info.max

TEMPERATURES = np.round(2.0 ** (np.arange(-8, 25) / 8), 2)
"""From a half to eight; rounded, so that they are the same numbers on every machine."""


class Targets(ABC):
    """The targets of a task.

    Attributes
    ----------
    metric : str
        The name of the metric beside the loss.
    loss : str
        The name of the loss, as the native core knows it.
    n_outputs : int
        The outputs of a net for these targets.
    temperature : float
        What the outputs of a net are divided by before they become probabilities; 1 for numbers.
    """

    metric: str
    loss: str
    n_outputs: int
    temperature: float = 1.0

    @abstractmethod
    def encode(self, y: Any) -> NDArray[Any]:
        """Return y as the loss takes it, one row for each of y."""

    @abstractmethod
    def losses(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return the loss of each row."""

    @abstractmethod
    def successes(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return for each row what the metric is made of."""

    @abstractmethod
    def metric_of(self, mean_success: float) -> float:
        """Return the metric of rows whose mean success is known."""

    def calibrated(self, outputs: NDArray[np.float32], target: NDArray[Any], weight: Floats) -> Targets:  # noqa: ARG002
        """Return these targets with the temperature at which the mean loss of held-out rows is least."""
        return self

    def with_temperature(self, temperature: float) -> Targets:
        """Return these targets with a temperature, which only classes have."""
        if temperature != 1.0:
            raise ValueError(f"the temperature of numbers is 1, got {temperature}")
        return self

    @abstractmethod
    def predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return the labels or numbers that outputs stand for."""

    @abstractmethod
    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold."""

    @staticmethod
    def from_state(arrays: Arrays, description: dict[str, Any]) -> Targets:
        """Return the targets whose state this is."""
        if "n_labels" in description:
            temperature = check_number("temperature", description["temperature"], 1e-3, 1e3)
            return LabelIndicators(np.arange(check_integer("n_labels", description["n_labels"], 1, 2**31)), temperature)
        if "classes" in description:
            dtype = np.dtype(description["dtype"])  # that of texts is as wide as they are, whatever a file says
            classes = np.array(description["classes"], dtype=str if dtype.kind == "U" else dtype)
            return Labels(classes, check_number("temperature", description["temperature"], 1e-3, 1e3))
        mean, deviation = arrays["targets.mean"], arrays["targets.deviation"]
        return Numbers(mean, deviation, description["one_column"], description["loss"])


class UnknownLabelError(ValueError):
    """The error for a label that is none of the classes."""


class Labels(Targets):
    """Classes, with the cross-entropy and the accuracy.

    Parameters
    ----------
    classes : array
        All labels, ascending.
    temperature : float, default=1.0
        What outputs are divided by before they become probabilities: a net that has seen its rows often is too sure of
        itself, and one number found on held-out rows corrects that.
    """

    metric, loss = "accuracy", "cross_entropy"

    def __init__(self, classes: NDArray[Any], temperature: float = 1.0) -> None:
        self.classes, self.temperature = classes, temperature
        self.n_outputs = len(classes)
        self._number_of: dict[Any, int] | None = None

    def calibrated(self, outputs: NDArray[np.float32], target: NDArray[Any], weight: Floats) -> Labels:
        """Return these classes with the temperature at which the cross-entropy of held-out rows is least.

        A prior keeps it near 1 where the rows are too few to say otherwise: the square of its logarithm is added, as
        much as that of two rows.
        """

        def loss(number: int) -> float:
            temperature = float(TEMPERATURES[number])
            losses = self.with_temperature(temperature).losses(outputs, target)
            return float((losses * weight).sum()) + PRIOR_ROWS * math.log(temperature) ** 2

        first, last = 0, len(TEMPERATURES) - 1
        while first < last:  # the cross-entropy is a convex function of 1 / temperature, so there is one valley
            middle = (first + last) // 2
            first, last = (first, middle) if loss(middle) <= loss(middle + 1) else (middle + 1, last)
        return self.with_temperature(float(TEMPERATURES[first]))

    def with_temperature(self, temperature: float) -> Labels:
        """Return these classes with a temperature."""
        return Labels(self.classes, temperature)

    def encode(self, y: Any) -> NDArray[Any]:
        """Return the number of each label's class."""
        y = check_labels(y)
        number = self._number_of_label(y.tolist()[0]) if len(y) == 1 else None
        if number is not None:
            return np.array([number], dtype=np.int32)
        check_comparable(self.classes, y)
        place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        unknown = self.classes[place] != y
        if unknown.any():
            row = int(unknown.argmax())
            label = y[row : row + 1].tolist()[0]
            raise UnknownLabelError(
                f"every label must be one of the {self.n_outputs} classes known so far, y[{row}] is {label!r}; "
                "give all classes at the first call of partial_fit, or none, or fit again"
            )
        return place.astype(np.int32)

    def _number_of_label(self, label: Any) -> int | None:
        """Return the number of a label's class, None if there is none: quicker for one than a search in arrays."""
        if self._number_of is None:
            self._number_of = {one: number for number, one in enumerate(self.classes.tolist())}
        return self._number_of.get(label)

    def losses(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return the cross-entropy of each row."""
        outputs = outputs.astype(np.float64) / self.temperature
        largest = outputs.max(axis=1, keepdims=True)
        of_all = largest[:, 0] + np.log(np.exp(outputs - largest).sum(axis=1))
        return of_all - outputs[np.arange(len(target)), target]

    def successes(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return 1 where the largest output is that of the class."""
        return (outputs.argmax(axis=1) == target).astype(np.float64)

    def metric_of(self, mean_success: float) -> float:
        """Return the accuracy."""
        return mean_success

    def predictions(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return the most probable labels."""
        return self.classes[outputs.argmax(axis=1)]

    def probabilities(self, outputs: NDArray[Any]) -> Floats:
        """Return the probability of each class: of outputs of float32 the same bytes on every machine."""
        if outputs.dtype == np.float64:
            shares: Floats = np.exp((outputs - outputs.max(axis=1, keepdims=True)) / self.temperature)
            return shares / shares.sum(axis=1, keepdims=True)
        return _core.softmax(outputs if self.temperature == 1 else outputs / np.float32(self.temperature))

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the classes, which must be strings, numbers or bools."""
        values = self.classes.tolist()
        odd = [value for value in values if not isinstance(value, str | bool | int | float)]
        if odd:
            raise ValueError(f"labels must be strings, numbers or bools to be saved, got {odd[0]!r}; use other labels")
        dtype = np.array(values).dtype if self.classes.dtype.kind == "U" else self.classes.dtype
        return {}, {"classes": values, "dtype": dtype.str, "temperature": self.temperature}


class LabelIndicators(Labels):
    """Labels of which a row can have any number, with the binary cross-entropy and the share of rows all right.

    Parameters
    ----------
    classes : array
        The numbers of the labels: the columns of y.
    temperature : float, default=1.0
        As of `Labels`.
    """

    loss = "binary_cross_entropy"

    def encode(self, y: Any) -> NDArray[np.float32]:
        """Return y as columns of 0 and 1."""
        y = check_indicators(y)
        if y.shape[1] != self.n_outputs:
            raise ValueError(f"y must have {self.n_outputs} columns as before, one for each label, got {y.shape[1]}")
        return y.astype(np.float32)

    def with_temperature(self, temperature: float) -> LabelIndicators:
        """Return these labels with a temperature."""
        return LabelIndicators(self.classes, temperature)

    def losses(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return the mean binary cross-entropy of each row's labels."""
        outputs = outputs.astype(np.float64) / self.temperature
        return (np.logaddexp(0.0, outputs) - outputs * target).mean(axis=1)

    def successes(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return 1 where all labels of a row are right."""
        return ((outputs > 0) == (target > 0.5)).all(axis=1).astype(np.float64)

    def predictions(self, outputs: NDArray[Any]) -> NDArray[np.int64]:
        """Return 1 for the labels that are more probable than not."""
        return (outputs > 0).astype(np.int64)

    def probabilities(self, outputs: NDArray[np.float32]) -> Floats:
        """Return the probability of each label."""
        scaled = np.ascontiguousarray(outputs / np.float32(self.temperature)).reshape(-1, 1)
        return _core.softmax(np.hstack([np.zeros_like(scaled), scaled]))[:, 1].reshape(outputs.shape)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the number of labels and the temperature."""
        return {}, {"n_labels": self.n_outputs, "temperature": self.temperature}


LOSSES = ("squared_error", "absolute_error", "huber")


class Numbers(Targets):
    """Numbers, standardised for the net, with one of three losses and the root mean square error.

    Parameters
    ----------
    mean, deviation : arrays of float64, shape (n_outputs,)
        The mean and the standard deviation of the targets.
    one_column : bool
        Whether y is a vector and not a matrix.
    loss : {"squared_error", "absolute_error", "huber"}
        The loss of the standardised targets; Huber's changes from square to absolute at 1.
    """

    metric = "rmse"

    def __init__(self, mean: Floats, deviation: Floats, one_column: bool, loss: str) -> None:
        self.mean, self.deviation, self.one_column, self.loss = mean, deviation, one_column, loss
        self.n_outputs = len(mean)
        # Powers of two near the largest numbers: on their scale nothing overflows, and every bit stays as it was.
        self._exponents = np.frexp(np.maximum(np.abs(mean), deviation))[1]
        self._exponent = int(self._exponents.max())

    @classmethod
    def learn(cls, y: Any, loss: str) -> Numbers:
        """Return targets like those of y; a constant column has deviation 1."""
        y = check_numbers(y)
        columns = y.reshape(len(y), -1)
        exponents = np.frexp(np.abs(columns).max(axis=0))[1]
        near_one = np.ldexp(columns, -exponents)
        mean, deviation = (
            np.ldexp(of_column, exponents) for of_column in (near_one.mean(axis=0), near_one.std(axis=0))
        )
        return cls(mean, np.where(deviation > 0, deviation, 1.0), y.ndim == 1, loss)

    def encode(self, y: Any) -> NDArray[np.float32]:
        """Return standardised targets as columns."""
        y = check_numbers(y)
        columns = y.reshape(len(y), -1)
        if columns.shape[1] != self.n_outputs:
            raise ValueError(f"y must have {self.n_outputs} columns as before, got {columns.shape[1]}")
        near_one, mean, deviation = (np.ldexp(one, -self._exponents) for one in (columns, self.mean, self.deviation))
        with np.errstate(over="ignore"):  # as of a row of evaluation that is 1e40 standard deviations away
            return rounded((near_one - mean) / deviation, np.dtype(np.float32))

    def losses(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return the mean loss of each row's targets."""
        distance = np.abs(outputs.astype(np.float64) - target)
        if self.loss == "squared_error":
            return (distance**2).mean(axis=1)
        if self.loss == "absolute_error":
            return distance.mean(axis=1)
        return np.where(distance < 1, 0.5 * distance**2, distance - 0.5).mean(axis=1)

    def successes(self, outputs: NDArray[Any], target: NDArray[Any]) -> Floats:
        """Return the mean square error of each row's targets, in the units of y divided by a power of two."""
        deviation = np.ldexp(self.deviation, -self._exponent)
        return (((outputs.astype(np.float64) - target) * deviation) ** 2).mean(axis=1)

    def metric_of(self, mean_success: float) -> float:
        """Return the root mean square error in the units of y."""
        return float(np.ldexp(math.sqrt(mean_success), self._exponent))

    def predictions(self, outputs: NDArray[Any]) -> Floats:
        """Return numbers in the units of y and of its shape."""
        mean, deviation = (np.ldexp(one, -self._exponents) for one in (self.mean, self.deviation))
        with np.errstate(over="ignore"):
            columns = np.clip(np.ldexp(outputs * deviation + mean, self._exponents), -LARGEST, LARGEST)
        return columns[:, 0] if self.one_column else columns

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return mean and deviation as arrays."""
        arrays = {"targets.mean": self.mean, "targets.deviation": self.deviation}
        return arrays, {"one_column": self.one_column, "loss": self.loss}


def check_labels(y: Any) -> NDArray[Any]:
    """Return labels as a vector of any type."""
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuU":
        return y
    from sklearn.utils import assert_all_finite, column_or_1d  # noqa: PLC0415 - it takes long to import
    from sklearn.utils.multiclass import check_classification_targets  # noqa: PLC0415

    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


def check_comparable(classes: NDArray[Any], labels: NDArray[Any]) -> None:
    """Raise a ValueError for integers beyond 2**53 that would be rounded to be compared with labels of another type."""
    kinds = {classes.dtype.kind, labels.dtype.kind}
    if classes.dtype == labels.dtype or not kinds <= set("iuf") or np.result_type(classes, labels).kind != "f":
        return
    for one in (classes, labels):
        beyond = one[(one < -MAX_EXACT) | (one > MAX_EXACT)] if one.dtype.kind in "iu" else one[:0]
        if len(beyond):
            raise ValueError(
                "labels beyond 2**53 must all have the same type, or some of them would become equal, got "
                f"{beyond[:1].tolist()[0]} beside labels of the type {(labels if one is classes else classes).dtype}; "
                "convert the labels to one type of integers, or to text"
            )


def is_indicator_matrix(y: Any) -> bool:
    """Return whether y has a column of 0 and 1 for each of several labels."""
    if getattr(y, "ndim", 1) != 2 or y.shape[1] < 2:
        return False
    from sklearn.utils.multiclass import type_of_target  # noqa: PLC0415 - it takes long to import

    return type_of_target(y) == "multilabel-indicator"


def check_indicators(y: Any) -> NDArray[Any]:
    """Return an indicator matrix as a dense array."""
    if not is_indicator_matrix(y):
        raise ValueError("y must be a matrix of 0 and 1 with a column for each label, as in fit")
    return y.toarray() if hasattr(y, "toarray") else np.asarray(y)


def check_numbers(y: Any) -> Floats:
    """Return the targets of a regression as float64, one or more in each row."""
    from sklearn.utils.validation import check_array  # noqa: PLC0415 - it takes long to import

    return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
