"""Probabilities from the scores of regularised least squares, learned from the scores of rows that were left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_SHARE = 0.01
SLOPE_PENALTY, BIAS_PENALTY = 0.01, 1.0
"""Of the squares of slopes and biases, next to the sum of the rows' losses: few rows change them little."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A map from scores to logits.

    A score of least squares on labels of 0 and 1 is an estimate s of a probability, but may be below 0 or above 1. The
    logit of a class is slope_1 s + slope_2 log(max(s, 0.01)) + bias.

    Attributes
    ----------
    slopes : array of shape (2,)
        The same for all classes.
    bias : array of shape (n_classes,)
    """

    slopes: Floats
    bias: Floats

    def logits(self, scores: Floats) -> Floats:
        """Return the logits of the classes, of shape (n, n_classes)."""
        return _combine(_features(shares(scores, len(self.bias))), self.slopes, self.bias)


def shares(scores: Floats, n_classes: int) -> Floats:
    """Return a share for each class: of two classes there is one score, from -1 to 1."""
    if n_classes != 2:
        return scores
    return np.hstack([1 - scores, 1 + scores]) / 2


def learn_calibration(scores: Floats, target: NDArray[np.integer], weight: Floats, n_classes: int) -> Calibration:
    """Return the calibration with the least cross-entropy for the scores of rows that were left out.

    Parameters
    ----------
    scores : array of shape (n, 1) or (n, n_classes)
    target : array of shape (n,)
        The numbers of the classes.
    weight : array of shape (n,)
    n_classes : int

    Examples
    --------
    >>> scores = np.random.default_rng(0).uniform(-1, 1, (500, 1))
    >>> target = (scores[:, 0] > np.random.default_rng(1).uniform(-1, 1, 500)).astype(int)
    >>> calibration = learn_calibration(scores, target, np.ones(500), 2)
    >>> bool(calibration.logits(np.array([[0.9]]))[0].argmax() == 1)
    True
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - predictions do without SciPy
    from scipy.special import log_softmax  # noqa: PLC0415

    start = np.concatenate([[0.0, 1.0], np.zeros(n_classes)])
    if n_classes == 1 or not len(scores):
        return Calibration(start[:2], start[2:])
    features = _features(shares(scores, n_classes))
    penalty = np.concatenate([np.full(2, SLOPE_PENALTY), np.full(n_classes, BIAS_PENALTY)]) / len(scores)
    weight = weight / weight.sum()
    rows = np.arange(len(target))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        log_probability = log_softmax(_combine(features, parameters[:2], parameters[2:]), axis=1)
        wrong = np.exp(log_probability)
        wrong[rows, target] -= 1
        wrong *= weight[:, np.newaxis]
        slope = np.array([(wrong * feature).sum() for feature in features])
        gradient = np.concatenate([slope, wrong.sum(axis=0)]) + 2 * penalty * parameters
        return float(-weight @ log_probability[rows, target] + penalty @ parameters**2), gradient

    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return Calibration(found[:2], found[2:])


def _features(share: Floats) -> tuple[Floats, Floats]:
    return share, np.log(np.maximum(share, LEAST_SHARE))


def _combine(features: tuple[Floats, Floats], slopes: Floats, bias: Floats) -> Floats:
    return slopes[0] * features[0] + slopes[1] * features[1] + bias
