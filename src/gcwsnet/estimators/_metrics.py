"""Metrics of a model on rows that come batch by batch, in memory that does not grow with their number.

A metric that is undefined for the rows, such as R2 where all targets are equal, is None.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from gcwsnet.estimators._predictions import Predictions
from gcwsnet.training._history import BinnedAUC

MOST_CLASSES_SHOWN = 50


class ClassificationMetrics:
    """Accuracy, log loss, F1 and the confusion matrix; for two classes also the AUC.

    Parameters
    ----------
    classes : array
        The labels that the model knows. A row with another one is an error.
    weighted : bool
        Whether rows count by their weights.
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
    """The root mean square error, the mean absolute error, and R2.

    Parameters
    ----------
    weighted : bool
        Whether rows count by their weights.
    """

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
