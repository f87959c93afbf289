"""A fitted kernel machine, which predicts without scikit-learn and SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._threads import one_blas_thread
from gcwsnet._validation import BATCH_BYTES, Matrix, check_finite
from gcwsnet.kernels._exact import kernel_of_checked
from gcwsnet.net._targets import Targets
from gcwsnet.tables._coder import Coder

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


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
        """Return the logits of the classes, of shape (n, n_classes). Two classes have one score, from -1 to 1."""
        if len(self.bias) == 2 and scores.shape[1] == 1:
            scores = np.hstack([1 - scores, 1 + scores]) / 2
        return self.slopes[0] * scores + self.slopes[1] * np.log(np.maximum(scores, 0.01)) + self.bias


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
    """

    rows: Matrix
    p: float
    coefficients: Floats
    bias: Floats
    targets: Targets
    calibration: Calibration | None

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

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold."""
        arrays, targets = self.targets.state()
        arrays = arrays | {"machine.coefficients": self.coefficients, "machine.bias": self.bias}
        if sparse.issparse(self.rows):
            arrays |= {f"machine.rows.{name}": getattr(self.rows, name) for name in ("data", "indices", "indptr")}
        else:
            arrays["machine.rows"] = self.rows
        if self.calibration is not None:
            arrays |= {f"machine.calibration.{name}": array for name, array in vars(self.calibration).items()}
        return arrays, {"targets": targets}

    @classmethod
    def from_state(cls, arrays: Arrays, description: dict[str, Any], coder: Coder) -> FittedMachine:
        """Return the machine whose state this is."""
        coefficients, calibration = arrays["machine.coefficients"], None
        rows = arrays.get("machine.rows")
        if rows is None:
            parts = tuple(arrays[f"machine.rows.{name}"] for name in ("data", "indices", "indptr"))
            rows = sparse.csr_array(parts, shape=(len(coefficients), coder.preprocessing.n_columns))
        if "machine.calibration.slopes" in arrays:
            calibration = Calibration(arrays["machine.calibration.slopes"], arrays["machine.calibration.bias"])
        targets = Targets.from_state(arrays, description["targets"])
        return cls(rows, coder.p, coefficients, arrays["machine.bias"], targets, calibration)
