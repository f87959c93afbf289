"""Predictions of a model for the rows of files, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch, Batches, Schema, read
from gcwsnet.data._columns import BOOLEANS, labels_of_texts, text_of
from gcwsnet.estimators._file_coder import as_labels
from gcwsnet.estimators._model_file import read_model
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.training import Labels


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
        The outputs of the model over the temperature: the logarithms of the probabilities, but for a constant.
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


class Model:
    """A model together with the way it reads files.

    Parameters
    ----------
    path : Path
        The folder or file of a model.
    n_jobs : int or None
    """

    def __init__(self, path: Path, n_jobs: int | None) -> None:
        path, arrays, description = read_model(path)
        self.predictor = Predictor.of_file(path, arrays, description, n_jobs=n_jobs)
        self.n_features: int = self.predictor.coder.n_features
        self.schema: Schema | None = self.predictor.coder.schema
        files = description.get("files")  # None for a model that was trained in Python
        self.label_type: str | None = None if files is None else files["label_type"]

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels; None for a regression."""
        return getattr(self.predictor, "classes_", None)

    def read(self, files: list[str], *, labels_needed: bool, reading: dict[str, Any]) -> Batches:
        """Read files like those that the model was trained on, except for what `reading` says."""
        known: dict[str, Any] = {"n_features": self.n_features} if self.schema is None else {"schema": self.schema}
        if self.schema is not None:
            text = self.classes is not None and self.classes.dtype.kind in "UO"
            known["schema"] = replace(self.schema, label_type="strings" if text else None)
            if labels_needed and self.schema.label is not None:
                known["label"] = self.schema.label
        return read(files if len(files) > 1 else files[0], **known | reading)

    def predictions(self, batches: Batches) -> Iterator[Predictions]:
        """Predict all rows, in their order."""
        for batch in batches:
            yield self._predict(batch)

    def _predict(self, batch: Batch) -> Predictions:
        y = None if batch.y is None else as_labels(labels_like(batch.y, self.classes), self.label_type)
        self.predictor.coder.settings.check_finite(batch.X)
        outputs = self.predictor.outputs_of_checked(batch.X)
        targets = self.predictor.targets
        probabilities = targets.probabilities(outputs) if isinstance(targets, Labels) else None
        scaled = outputs.astype(np.float64) / targets.temperature
        return Predictions(targets.predictions(outputs), probabilities, scaled, y, batch.weight)
