"""The fitted kernel machine, which predicts without scikit-learn and SciPy, and the candidates it was chosen from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._threads import one_blas_thread
from gcwsnet._validation import BATCH_BYTES, Matrix, check_finite
from gcwsnet.coding import Coder
from gcwsnet.estimators._calibration import Calibration
from gcwsnet.kernels._pgmm import kernel_of_checked
from gcwsnet.training import Targets

ROWS, COEFFICIENTS, BIAS = "machine.rows", "machine.coefficients", "machine.bias"
SLOPES, CLASS_BIAS = "machine.calibration.slopes", "machine.calibration.bias"

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KernelCandidate:
    """Settings of a kernel machine that were compared, and how they did.

    Attributes
    ----------
    stage : {"first", "second", "third", "last"}
    scale, relevance, indicators
        The preprocessing, see `PGMMClassifier`.
    p : float
        The power.
    alpha : float
        The regularisation.
    rows : int
        The rows of the stage.
    loss : float
        The weighted mean squared error of the predictions for rows that were left out: of standardised numbers, of
        labels 1 and -1, or summed over the columns of one-hot labels.
    error : float
        The standard error of the loss.
    seconds : float
        The time that it took.
    chosen : bool
        Whether these are the settings in use.
    """

    stage: str
    scale: str | None
    relevance: float
    indicators: bool
    p: float
    alpha: float
    rows: int
    loss: float
    error: float
    seconds: float
    chosen: bool = False


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
    candidates : tuple of KernelCandidate
        What the settings were chosen from.
    """

    rows: Matrix
    p: float
    coefficients: Floats
    bias: Floats
    targets: Targets
    calibration: Calibration | None
    candidates: tuple[KernelCandidate, ...]

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
        candidates = tuple(KernelCandidate(**one) for one in description["selection"])
        return cls(rows, coder.p, coefficients, bias, targets, calibration, candidates)
