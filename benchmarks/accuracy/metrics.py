"""What is measured of a fitted model: accuracy, log loss and calibration of a classifier, R2 of a regressor."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor

BINS = 15
MIN_PROBABILITY = 1e-6


def classification_scores(y: NDArray[np.intp], probabilities: NDArray[Any]) -> dict[str, float]:
    """Return accuracy in percent, log loss and expected calibration error.

    Parameters
    ----------
    y : integer array, shape (n,)
        The column of each row's class; -1 for a class that the training rows do not have.
    probabilities : array, shape (n, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> found = classification_scores(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]))
    >>> {name: round(value, 3) for name, value in found.items()}
    {'accuracy': 66.667, 'log_loss': 0.838, 'ece': 0.233}
    """
    probabilities = np.asarray(probabilities, dtype=np.float64)
    right = probabilities.argmax(axis=1) == y
    of_class = np.where(y >= 0, probabilities[np.arange(len(y)), y], 0.0)
    return {
        "accuracy": 100 * float(right.mean()),
        "log_loss": float(-np.log(np.clip(of_class, MIN_PROBABILITY, 1.0)).mean()),
        "ece": calibration_error(probabilities.max(axis=1), right),
    }


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean over rows of how far the accuracy of a row's bin is from the bin's mean confidence.

    Bins are 15 of equal width from 0 to 1, of the largest probability of each row.

    Examples
    --------
    >>> import numpy as np
    >>> calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([True, True, True, False]))
    0.0
    """
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=confidence - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(right))


def regression_scores(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Return R2."""
    return {"r2": float(r2_score(y, np.ravel(predicted)))}


def model_bytes(model: Any) -> int | None:
    """Return the size of a saved model: of its file for GCWSNet, of a pickle for others; None without a pickle."""
    if isinstance(model, GCWSNetClassifier | GCWSNetRegressor):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            model.save(path)
            return path.stat().st_size
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
        return len(pickle.dumps(model))
    return None
