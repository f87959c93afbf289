"""How good a model is on rows that come batch by batch, in memory that does not grow with their number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from gcwsnet.streaming._answers import Answer
from gcwsnet.streaming._progressive import BinnedAUC

MOST_CLASSES_SHOWN = 50


class LabelMeasures:
    """Accuracy, log loss, F1 and the confusion matrix; for two classes the AUC.

    Parameters
    ----------
    classes : array
        The labels that the model knows. A row with another one is an error.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
        self._log_loss = 0.0
        self._auc = BinnedAUC() if len(classes) == 2 else None

    def add(self, answer: Answer) -> None:
        """Count some rows."""
        truth, found = (self._numbers(labels) for labels in (answer.y, answer.predicted))
        np.add.at(self.confusion, (truth, found), 1)
        log_probability = log_softmax(answer.outputs, axis=1)
        self._log_loss -= float(log_probability[np.arange(len(truth)), truth].sum())
        if self._auc is not None:
            self._auc.add((answer.outputs[:, 1] - answer.outputs[:, 0]).astype(np.float32), truth == 1)

    def _numbers(self, labels: Any) -> NDArray[np.int64]:
        place = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        unknown = np.flatnonzero(self.classes[place] != labels)
        if len(unknown):
            label = np.asarray(labels)[unknown[:1]].tolist()[0]
            raise ValueError(f"the model knows the labels {_some(self.classes)} and not {label!r}")
        return place

    def values(self) -> dict[str, Any]:
        """All measures, by name."""
        n = int(self.confusion.sum())
        hits = np.diag(self.confusion).astype(np.float64)
        of_class, as_class = self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        precision = np.divide(hits, as_class, out=np.zeros_like(hits), where=as_class > 0)
        recall = np.divide(hits, of_class, out=np.zeros_like(hits), where=of_class > 0)
        both = of_class + as_class
        f1 = np.divide(2 * hits, both, out=np.zeros_like(hits), where=both > 0)
        there = both > 0
        values: dict[str, Any] = {"rows": n, "accuracy": hits.sum() / n, "log_loss": self._log_loss / n}
        if self._auc is not None:
            values["auc"] = self._auc.value()
            values["f1"] = float(f1[1])
        values["f1_macro"] = float(f1[there].mean())
        values["classes"] = self.classes.tolist()
        values["precision"], values["recall"], values["f1_of_class"] = precision.tolist(), recall.tolist(), f1.tolist()
        values["confusion_matrix"] = self.confusion.tolist()
        return values


class NumberMeasures:
    """The root mean square error, the mean absolute error, and R2."""

    def __init__(self) -> None:
        self._n = 0
        self._square = self._absolute = 0.0
        self._mean = self._spread = 0.0  # of the truth, by the method of Welford for whole batches

    def add(self, answer: Answer) -> None:
        """Count some rows."""
        truth = np.asarray(answer.y, dtype=np.float64)
        error = answer.predicted - truth
        self._square += float(error @ error)
        self._absolute += float(np.abs(error).sum())
        n, mean = len(truth), float(truth.mean())
        moved, total = mean - self._mean, self._n + n
        self._spread += float(((truth - mean) ** 2).sum()) + moved**2 * self._n * n / total
        self._mean += moved * n / total
        self._n = total

    def values(self) -> dict[str, Any]:
        """All measures, by name."""
        r2 = 1 - self._square / self._spread if self._spread > 0 else math.nan
        return {
            "rows": self._n,
            "rmse": math.sqrt(self._square / self._n),
            "mae": self._absolute / self._n,
            "r2": r2 if math.isfinite(r2) else None,
        }


def _some(classes: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in classes[:5].tolist())
    return shown + (", ..." if len(classes) > 5 else "")
