"""Predictions and metrics of a model for the rows of files, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from gcwsnet.estimators._predictor import Predictor
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches
from gcwsnet.net._history import BinnedAUC
from gcwsnet.net._targets import Labels
from gcwsnet.tables._columns import BOOLEANS, labels_of_texts, text_of
from gcwsnet.tables._schema import Schema


@dataclass(frozen=True)
class Predictions:
    """The predictions for some rows, with the labels and the weights that the files have for them."""

    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None  # of shape (n, n_classes); None for a regression
    outputs: NDArray[np.float64]  # over the temperature: the logarithms of the probabilities, but for a constant
    y: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None


def labels_like(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return labels of a file in the type of the classes of a model, where another format has them as text or numbers.

    Examples
    --------
    >>> labels_like(np.array([1.0, 2.0]), np.array(["1", "2"])).tolist()
    ['1', '2']
    >>> labels_like(np.array(["True", "False"]), np.array([0, 1])).tolist()
    [1.0, 0.0]
    """
    if classes is None or (y.dtype.kind in "UO") == (classes.dtype.kind in "UO"):
        return y
    if y.dtype.kind not in "UO":
        if set(classes.tolist()) <= {"True", "False"}:
            y = y.astype(bool)
        return np.array([text_of(label) for label in y.tolist()])
    numbers = [str(BOOLEANS.get(label.strip().lower(), label)) for label in y.tolist()]
    try:
        return labels_of_texts(numbers)
    except ValueError:
        return y


def as_labels(y: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Return whole numbers as integers where the classes are integers, and all else as it is."""
    y = np.asarray(y)
    if classes is None or classes.dtype.kind not in "iu" or y.dtype.kind not in "bif":
        return y
    integers = y.astype(np.int64)
    return integers if np.array_equal(integers, y) else y


class Model:
    """A model that predicts the rows of files, and the way it reads them."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.schema: Schema | None = predictor.coder.schema

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels; None for a regression."""
        return getattr(self.predictor, "classes_", None)

    def read(self, files: list[str], *, labels_needed: bool, reading: dict[str, Any]) -> Batches:
        """Read files like those that the model was trained on, except for what `reading` says."""
        if self.schema is None:
            known: dict[str, Any] = {"n_features": self.predictor.coder.n_features}
        else:
            text = self.classes is not None and self.classes.dtype.kind in "UO"
            known = {"schema": replace(self.schema, label_type="strings" if text else None)}
            if labels_needed and self.schema.label is not None:
                known["label"] = self.schema.label
        return read(files if len(files) > 1 else files[0], **known | reading)

    def predictions(self, batches: Batches) -> Iterator[Predictions]:
        """Predict all rows, in their order."""
        coder, targets = self.predictor.coder, self.predictor.targets
        for batch in batches:
            X = batch.X if self.schema is None else self.schema.rows(batch.X)
            coder.settings.check_finite(X)
            outputs = self.predictor.outputs_of_checked(X)
            yield Predictions(
                targets.predictions(outputs),
                targets.probabilities(outputs) if isinstance(targets, Labels) else None,
                outputs.astype(np.float64) / targets.temperature,
                None if batch.y is None else as_labels(labels_like(batch.y, self.classes), self.classes),
                batch.weight,
            )

    def metrics(self, *, weighted: bool) -> ClassificationMetrics | RegressionMetrics:
        """Return metrics of its predictions, still without rows."""
        if self.classes is None:
            return RegressionMetrics(weighted=weighted)
        return ClassificationMetrics(self.classes, weighted=weighted)


MAX_CLASSES_SHOWN = 50


class ClassificationMetrics:
    """Accuracy, log loss, F1 and the confusion matrix; for two classes also the AUC.

    A row whose label is none of the classes is an error.
    """

    def __init__(self, classes: NDArray[Any], *, weighted: bool) -> None:
        self.classes, self._weighted = classes, weighted
        self._rows = 0
        self._confusion = np.zeros((len(classes), len(classes)))
        self._log_loss = 0.0
        self._auc = BinnedAUC(np.float64) if len(classes) == 2 else None

    def add(self, found: Predictions) -> None:
        """Count some rows."""
        truth, predicted = (self._places(labels) for labels in (found.y, found.predicted))
        weight = _weights(found, self._weighted)
        self._rows += len(truth)
        np.add.at(self._confusion, (truth, predicted), weight)
        log_probability = log_softmax(found.outputs, axis=1)
        self._log_loss -= float(weight @ log_probability[np.arange(len(truth)), truth])
        if self._auc is not None:
            self._auc.add((found.outputs[:, 1] - found.outputs[:, 0]).astype(np.float32), truth == 1, weight)

    def _places(self, labels: Any) -> NDArray[np.int64]:
        place = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        unknown = np.flatnonzero(self.classes[place] != labels)
        if len(unknown):
            label = np.asarray(labels)[unknown[:1]].tolist()[0]
            raise ValueError(f"the model knows the labels {_some(self.classes)} and not {label!r}")
        return place

    def values(self) -> dict[str, Any]:
        """Return all metrics by name. The counts of the confusion matrix are sums of weights if there are weights."""
        total = float(self._confusion.sum())
        hits = np.diag(self._confusion)
        of_class, as_class = self._confusion.sum(axis=1), self._confusion.sum(axis=0)
        precision = np.divide(hits, as_class, out=np.zeros_like(hits), where=as_class > 0)
        recall = np.divide(hits, of_class, out=np.zeros_like(hits), where=of_class > 0)
        both = of_class + as_class
        f1 = np.divide(2 * hits, both, out=np.zeros_like(hits), where=both > 0)
        values: dict[str, Any] = {
            "rows": self._rows,
            "accuracy": _ratio(hits.sum(), total),
            "log_loss": _ratio(self._log_loss, total),
        }
        if self._auc is not None:
            area = self._auc.value()
            values["auc"] = None if math.isnan(area) else area
            values["f1"] = float(f1[1])
        values["f1_macro"] = float(f1[both > 0].mean()) if total else None
        values["classes"] = self.classes.tolist()
        values["precision"], values["recall"], values["f1_of_class"] = precision.tolist(), recall.tolist(), f1.tolist()
        values["confusion_matrix"] = self._confusion.astype(float if self._weighted else int).tolist()
        return values


class RegressionMetrics:
    """The root mean square error, the mean absolute error, and R2."""

    def __init__(self, *, weighted: bool) -> None:
        self._weighted = weighted
        self._rows = 0
        self._total = self._square = self._absolute = 0.0
        self._mean = self._spread = 0.0  # of the truth, by the method of Welford for whole batches
        self._least, self._most = math.inf, -math.inf

    def add(self, found: Predictions) -> None:
        """Count some rows."""
        truth, weight = np.asarray(found.y, dtype=np.float64), _weights(found, self._weighted)
        self._rows += len(truth)
        error, here = found.predicted - truth, float(weight.sum())
        if here == 0:
            return
        counted = truth[weight > 0]
        self._least, self._most = min(self._least, counted.min()), max(self._most, counted.max())
        self._square += float(weight @ error**2)
        self._absolute += float(weight @ np.abs(error))
        mean = float(weight @ truth) / here
        moved, total = mean - self._mean, self._total + here
        self._spread += float(weight @ (truth - mean) ** 2) + moved**2 * self._total * here / total
        self._mean += moved * here / total
        self._total = total

    def values(self) -> dict[str, Any]:
        """Return all metrics by name."""
        mean_square = _ratio(self._square, self._total)
        unexplained = _ratio(self._square, self._spread) if self._least < self._most else None
        return {
            "rows": self._rows,
            "rmse": None if mean_square is None else math.sqrt(mean_square),
            "mae": _ratio(self._absolute, self._total),
            "r2": None if unexplained is None else 1 - unexplained,
        }


def _weights(found: Predictions, weighted: bool) -> NDArray[np.float64]:
    if not weighted:
        return np.ones(len(found.predicted))
    if found.weight is None:
        raise ValueError("there are no weights to count rows by; name their column with --weight")
    return np.asarray(found.weight, dtype=np.float64)


def _ratio(part: float, whole: float) -> float | None:
    """Return part / whole, or None where that is no finite number."""
    ratio = float(part) / float(whole) if whole > 0 else math.nan
    return ratio if math.isfinite(ratio) else None


def _some(classes: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in classes[:5].tolist())
    return shown + (", ..." if len(classes) > 5 else "")
