"""Predictions of a model for the rows of files, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gcwsnet.data import Batch, Batches, Schema, read
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._targets import Labels
from gcwsnet.streaming._session import load_model
from gcwsnet.streaming._task import as_labels


@dataclass(frozen=True)
class Predictions:
    """The predictions for some rows, with what the files say about these rows.

    Attributes
    ----------
    predicted : array of shape (n,)
        Labels or numbers.
    probabilities : array of shape (n, n_classes) or None
        None for a regression.
    outputs : array of shape (n, n_outputs)
        The outputs of the net.
    y : array or None
        The labels of the rows, if they were read.
    weight : array of float64 or None
        The weights of the rows, if they were read.
    """

    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    outputs: NDArray[np.float64]
    y: NDArray[Any] | None
    weight: NDArray[np.float64] | None


class Model:
    """A model together with the way it reads files.

    Parameters
    ----------
    path : Path
        The folder or file of a model.
    n_jobs : int or None
    """

    def __init__(self, path: Path, n_jobs: int | None) -> None:
        self.estimator, self.description = load_model(path)
        self.estimator.n_jobs = n_jobs
        self.n_features: int = self.estimator.n_features_in_
        known = self.description.get("layout")
        self.layout = None if known is None else Schema.from_json(known)

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels; None for a regression."""
        return getattr(self.estimator, "classes_", None)

    @property
    def label_type(self) -> str | None:
        """The type of the labels; None for a model that was not trained on files."""
        return self.description.get("label_type")

    def read(self, files: list[str], *, labels_needed: bool, reading: dict[str, Any]) -> Batches:
        """Read files like those that the model was trained on, except for what `reading` says."""
        if self.layout is None:  # a model that was trained on arrays
            layout_or_width: dict[str, Any] = {"n_features": self.n_features}
        else:
            layout_or_width = {"schema": self.layout}
            if labels_needed and self.layout.label is not None:
                layout_or_width["label"] = self.layout.label
        return read(files if len(files) > 1 else files[0], **layout_or_width | reading)

    def predictions(self, batches: Batches) -> Iterator[Predictions]:
        """Predict all rows, in their order."""
        for batch in batches:
            yield self._predict(batch)

    def _predict(self, batch: Batch) -> Predictions:
        estimator: GCWSNetEstimator = self.estimator
        y = None if batch.y is None else as_labels(batch.y, self.label_type)
        outputs = estimator._outputs(batch.X)
        targets: Any = estimator._targets
        if isinstance(targets, Labels):
            labels = targets.classes[outputs.argmax(1).numpy()]
            return Predictions(labels, softmax(outputs.numpy(), axis=1), outputs.numpy(), y, batch.weight)
        return Predictions(targets.decode(outputs), None, outputs.numpy(), y, batch.weight)
