"""Probabilities from the scores of regularised least squares, learned from the scores of rows that were left out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._threads import one_blas_thread
from gcwsnet._validation import BATCH_BYTES, Matrix, check_finite
from gcwsnet.kernels._pgmm import kernel_of_checked
from gcwsnet.net._targets import Targets
from gcwsnet.tables._coder import Candidate, Coder

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


ROWS, COEFFICIENTS, BIAS = "machine.rows", "machine.coefficients", "machine.bias"

SLOPES, CLASS_BIAS = "machine.calibration.slopes", "machine.calibration.bias"

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class FittedMachine:
    """A fitted kernel machine: f(x) = sum_i c_i pgmm(x, x_i) + b.

    Attributes
    ----------
    rows : array or CSR of shape (n, columns)
        The x_i: training rows as they were preprocessed.
    p : float
        The power of the kernel.
    coefficients : array of shape (n, m)
        The c_i.
    bias : array of shape (m,)
        b.
    targets : Targets
        What the outputs stand for.
    calibration : Calibration or None
        From scores to the logits of classes; None for numbers.
    candidates : tuple of Candidate
        What the settings were chosen from.
    """

    rows: Matrix
    p: float
    coefficients: Floats
    bias: Floats
    targets: Targets
    calibration: Calibration | None
    candidates: tuple[Candidate, ...]

    def outputs(self, X: Matrix, *, threads: int) -> Floats:
        """Return the logits of classes, or standardised numbers, for preprocessed rows."""
        check_finite(X, name="preprocessed X")
        scores = np.empty((X.shape[0], len(self.bias)))
        step = max(1, BATCH_BYTES // (8 * self.rows.shape[0]))
        with one_blas_thread():
            for first in range(0, X.shape[0], step):
                K = kernel_of_checked(X[first : first + step], self.rows, p=self.p, threads=threads)
                scores[first : first + step] = K @ self.coefficients + self.bias
        return scores if self.calibration is None else self.calibration.logits(scores)

    def state(self, *, timings: bool) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold."""
        arrays, targets = self.targets.state()
        arrays = arrays | {COEFFICIENTS: self.coefficients, BIAS: self.bias}
        if sparse.issparse(self.rows):
            arrays |= {f"{ROWS}.{name}": getattr(self.rows, name) for name in ("data", "indices", "indptr")}
        else:
            arrays[ROWS] = self.rows
        if self.calibration is not None:
            arrays |= {SLOPES: self.calibration.slopes, CLASS_BIAS: self.calibration.bias}
        found = self.candidates if timings else [replace(one, seconds=0.0) for one in self.candidates]
        return arrays, {"targets": targets, "selection": [asdict(one) for one in found]}

    @classmethod
    def from_state(cls, arrays: Arrays, description: dict[str, Any], coder: Coder) -> FittedMachine:
        """Return the machine whose state this is."""
        coefficients, bias = arrays[COEFFICIENTS], arrays[BIAS]
        shape = len(coefficients), coder.preprocessing.n_columns
        rows = arrays.get(ROWS)
        if rows is None:
            parts = [arrays[f"{ROWS}.{name}"] for name in ("data", "indices", "indptr")]
            rows = sparse.csr_array(tuple(parts), shape=shape)
        if rows.shape != shape or coefficients.shape[1:] != bias.shape:
            raise IndexError(f"rows of shape {rows.shape} for {shape} and {coefficients.shape} coefficients")
        calibration = Calibration(arrays[SLOPES], arrays[CLASS_BIAS]) if SLOPES in arrays else None
        targets = Targets.from_state(arrays, description["targets"])
        candidates = tuple(Candidate(**one) for one in description["selection"])
        return cls(rows, coder.p, coefficients, bias, targets, calibration, candidates)
