"""What the kernel machines share: they have a coder, whose codes they do not need, and a fitted machine."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gcwsnet._keys import SELECTION_ROWS, random_order
from gcwsnet._threads import n_threads
from gcwsnet._validation import BATCH_BYTES, Matrix, as_floats, check_number, draw_seed, without_nan
from gcwsnet.coding import Coder, CoderSettings
from gcwsnet.estimators._calibration import Calibration, learn_calibration
from gcwsnet.estimators._input import check_rows, opened, schema_of
from gcwsnet.estimators._kernel_search import KernelCandidate, Problem, fit_kernel_machine
from gcwsnet.estimators._ridge import Floats, one_blas_thread
from gcwsnet.estimators._table_model import TableModel, frozen
from gcwsnet.kernels import pgmm_kernel
from gcwsnet.training import Labels, Targets

MOST_ROWS = 20_000
ROWS, COEFFICIENTS, BIAS = "machine.rows", "machine.coefficients", "machine.bias"
SLOPES, CLASS_BIAS = "machine.calibration.slopes", "machine.calibration.bias"

Arrays = dict[str, NDArray[Any]]
Self = TypeVar("Self", bound="KernelMachine")


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
        scores = np.empty((X.shape[0], len(self.bias)))
        step = max(1, BATCH_BYTES // (8 * self.rows.shape[0]))
        with one_blas_thread():
            for first in range(0, X.shape[0], step):
                K = pgmm_kernel(X[first : first + step], self.rows, p=self.p, n_jobs=threads)
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


class KernelMachine(TableModel):
    """The part of the kernel machines that is the same for classes and for numbers."""

    machine_: FittedMachine

    def __init__(
        self,
        *,
        p: float | Literal["auto"] = "auto",
        scale: str | None = "auto",
        relevance: float | Literal["auto"] = "auto",
        alpha: float | Literal["auto"] = "auto",
        missing: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.p = p
        self.scale = scale
        self.relevance = relevance
        self.alpha = alpha
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _targets_of(self, y: Any) -> Targets:
        """Return the targets that y shows."""

    @abstractmethod
    def _columns_of(self, target: NDArray[Any], targets: Targets) -> Floats:
        """Return what least squares learns from encoded targets."""

    def _row_weights(self, weight: Floats, target: NDArray[Any], targets: Any) -> Floats:  # noqa: ARG002
        """Return the weight of each row."""
        return weight

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            At most 20,000 rows: time grows with the third power of the rows, and memory with the second.
        y : array of shape (n,) or, for a regression, (n, m)
        sample_weight : array of shape (n,), optional
            Factors of the rows' squared errors. Rows of weight 0 are left out.

        Returns
        -------
        self : object
            After an error it is as it was before.
        """
        now: dict[str, Any] = self.__dict__
        before = dict(now)
        try:
            self._fit(X, y, sample_weight)
        except BaseException:
            now.clear()
            now.update(before)
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        settings = self._freeze_parameters()
        X = opened(X)
        schema = schema_of(X, settings)
        given = self._check_rows(X, y, sample_weight, settings, schema, reset=True)
        targets, seed, threads = self._targets_of(given.y), draw_seed(self.random_state), n_threads(self.n_jobs)
        target = targets.encode(given.y)
        weight = np.ones(given.n_rows) if given.weight is None else given.weight
        weight = self._row_weights(weight, target, targets)
        kept = random_order(seed, SELECTION_ROWS, given.n_rows)
        kept = kept[weight[kept] > 0]
        self._check_number_of_rows(len(kept))
        rows = without_nan(as_floats(given.X)) if settings.missing == "zero" else given.X
        numeric = None if schema is None or not sparse.issparse(rows) else schema.numeric
        columns = self._columns_of(target, targets)[kept]
        problem = Problem(rows[kept], target[kept], columns, weight[kept], numeric)
        found = fit_kernel_machine(problem, settings, self.alpha, threads)
        left_out = found.ridge.left_out
        calibration = None
        if isinstance(targets, Labels):
            last = slice(len(kept) - len(left_out), None)
            with one_blas_thread():
                calibration = learn_calibration(
                    left_out, problem.target[last], problem.weight[last], len(targets.classes)
                )
        self.coder_ = Coder(settings, seed, given.X.shape[1], found.preprocessing, found.point.p, schema=schema)
        machine = FittedMachine(
            found.rows,
            found.point.p,
            found.ridge.coefficients,
            found.ridge.bias,
            targets,
            calibration,
            found.candidates,
        )
        self._use(machine)

    def _use(self, machine: FittedMachine) -> None:
        """Take a fitted machine, and set the attributes that follow from it."""
        self.machine_ = machine

    def _freeze_parameters(self) -> CoderSettings:
        """Check the parameters and keep them for the model that is fitted next; return the settings of its coder."""
        names = ("p", "scale", "relevance", "missing")
        settings = CoderSettings(**{name: frozen(getattr(self, name)) for name in names})
        settings.check()
        if self.alpha != "auto":
            check_number("alpha", self.alpha, 1e-6, 1e9)
        params = self.get_params(deep=False)
        self._fitted_params = {name: frozen(value) for name, value in params.items() if name != "n_jobs"}
        return settings

    def _check_number_of_rows(self, n: int) -> None:
        name = type(self).__name__
        if n < 2:
            raise ValueError(f"{name} needs at least 2 rows of positive weight, got n_samples={n}; give more rows")
        if n > MOST_ROWS:
            raise ValueError(
                f"{name} learns from at most {MOST_ROWS} rows, as its time grows with the third power of the rows, got "
                f"{n}; use {name.replace('PGMM', 'GCWSNet')}, or give some of the rows"
            )

    def _outputs(self, X: Any) -> Floats:
        """Return the logits of classes, or standardised numbers, for rows as users give them."""
        check_is_fitted(self)
        rows = check_rows(opened(X), self, self.coder_.settings, self.coder_.schema, reset=False)
        return self.machine_.outputs(
            without_nan(as_floats(self.coder_.preprocess(rows))), threads=n_threads(self.n_jobs)
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row, or numbers of the shape of y."""
        outputs = self._outputs(X)
        return self.machine_.targets.predictions(outputs)

    def save(self, path: str | Path, *, timings: bool = True) -> None:
        """Write the fitted model to one file: safetensors, with the settings as JSON in its header.

        Parameters
        ----------
        path : str or Path
            The file. It is written beside it first and then moved into its place. It holds the training rows as they
            were preprocessed: do not give it to those who must not see them.
        timings : bool, default=True
            Whether the seconds of `selection_` are saved. Without them they are 0, and equal fits give equal files.
        """
        from gcwsnet.estimators._model_file import save_kernel_machine  # noqa: PLC0415

        check_is_fitted(self)
        save_kernel_machine(self, Path(path), timings=timings)

    @property
    def selection_(self) -> list[KernelCandidate]:
        """The candidates that preprocessing, p and alpha were selected from."""
        return list(self.machine_.candidates)

    @property
    def alpha_(self) -> float:
        """The regularisation in use."""
        return self.machine_.candidates[-1].alpha

    def __sklearn_is_fitted__(self) -> bool:
        return "machine_" in vars(self)
