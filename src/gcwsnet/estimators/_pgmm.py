"""Kernel machines: regularised least squares with the exact pGMM kernel, and probabilities from its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from gcwsnet._keys import SELECTION_ROWS, random_order
from gcwsnet._locks import reads, writes
from gcwsnet._threads import n_threads, one_blas_thread
from gcwsnet._validation import as_floats, check_number, draw_seed, without_nan
from gcwsnet.estimators._base import KEPT_ROWS, BaseTableModel, TableClassifier, TableRegressor
from gcwsnet.estimators._input import (
    check_batch,
    immutable,
    row_weights,
    rows_to_learn,
    schema_of,
    set_inputs,
    targets_to_learn,
)
from gcwsnet.estimators._intervals import Residuals
from gcwsnet.estimators._machine import Calibration, FittedMachine, Floats
from gcwsnet.estimators._model_file import save_model
from gcwsnet.estimators._notes import warn_about
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.kernels._exact import kernel_of_checked
from gcwsnet.kernels._ridge import fit_ridge
from gcwsnet.net._targets import Labels, Numbers, Targets, check_labels
from gcwsnet.search import Problem, columns_to_learn, fit_kernel_machine
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._schema import Schema

MAX_ROWS = 20_000
MAX_LEARNED_ROWS = 2000
"""Of the machine whose importances are those of the columns."""

Self = TypeVar("Self", bound="KernelMachine")


@dataclass(kw_only=True, eq=False, repr=False)
class KernelMachineParameters:
    """The parameters of kernel machines, with their defaults; `PGMMClassifier` describes them."""

    p: float | Literal["auto"] = "auto"
    scale: str | None = "auto"
    relevance: float | Literal["auto"] = "auto"
    alpha: float | Literal["auto"] = "auto"
    missing: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None


class KernelMachine(KernelMachineParameters, BaseTableModel):
    """The part of the kernel machines that is the same for classes and for numbers."""

    machine_: FittedMachine
    residuals_: Residuals | None
    _learned: tuple[Floats, Floats]

    @writes
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            At most 20,000 rows: time grows with the third power of the rows, and memory with the second.
        y : array of shape (n,) or, for a regression, (n, m)
        sample_weight : array of shape (n,), optional
            Factors of the rows' squared errors. Rows of weight 0, or of a class of weight 0, are ignored, except that
            `classes_` has all labels of y, as in scikit-learn.

        Returns
        -------
        self : object
            After an error it is as it was before.
        """
        with self._rollback():
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        settings = self._freeze_parameters()
        weighted = rows_to_learn(self, X, y, sample_weight)
        schema = schema_of(weighted.X, settings)
        given = check_batch(weighted, self, settings, schema, reset=True)
        targets = self._targets_of(targets_to_learn(self, y, given))
        warn_about(given, targets, schema, stacklevel=4)
        self._learn(given, targets, schema, settings)

    def _fit_rows(self, rows: Batch, targets: Targets, schema: Schema) -> None:
        """Learn from rows of files."""
        settings = self._freeze_parameters()
        settings.check_finite(rows.X)
        names: list[Any] = schema.input_names
        set_inputs(self, len(names) or rows.X.shape[1], None if not names or None in names else names)
        self._learn(rows, targets, schema, settings)

    def _learn(self, given: Batch, targets: Targets, schema: Schema | None, settings: CoderSettings) -> None:
        """Learn from checked rows of positive weight."""
        seed, threads = draw_seed(self.random_state), n_threads(self.n_jobs)
        target = targets.encode(given.y)
        weight = np.ones(given.n_rows) if given.weight is None else given.weight
        weight = np.asarray(row_weights(self, weight, target, targets))
        check_number_of_rows(type(self).__name__, given.n_rows)
        order = random_order(seed, SELECTION_ROWS, given.n_rows)
        rows = without_nan(as_floats(given.X)) if settings.missing == "zero" else given.X
        numeric = None if schema is None or not sparse.issparse(rows) else schema.numeric
        columns = columns_to_learn(target, targets)[order]
        problem = Problem(rows[order], target[order], columns, weight[order], numeric)
        found = fit_kernel_machine(problem, settings, self.alpha, threads)
        left_out = found.ridge.left_out
        calibration = None
        if isinstance(targets, Labels):
            last = problem.last(len(left_out))
            calibration = fit_calibration(left_out, last.target, last.weight, len(targets.classes))
        p, coefficients, bias = found.point.p, found.ridge.coefficients, found.ridge.bias
        self.coder_ = Coder(settings, seed, given.X.shape[1], found.preprocessing, p, settings.n_hashes, schema)
        self.machine_ = FittedMachine(found.rows, p, coefficients, bias, targets, calibration)
        self.selection_ = found.candidates
        last = problem.last(min(KEPT_ROWS, problem.n_rows // 3))
        self._keep(last.X, last.target)
        self._learned = problem.columns, problem.weight
        if isinstance(targets, Numbers):
            self.residuals_ = Residuals.of(left_out, problem.last(len(left_out)).columns)

    def _freeze_parameters(self) -> CoderSettings:
        """Check the parameters and keep them for the model that is fitted next; return the settings of its coder."""
        names = ("p", "scale", "relevance", "missing")
        settings = CoderSettings(**{name: immutable(getattr(self, name)) for name in names})
        settings.check()
        if self.alpha != "auto":
            check_number("alpha", self.alpha, 1e-6, 1e9)
        params = self.get_params(deep=False)
        self._fitted_params = {name: immutable(value) for name, value in params.items() if name != "n_jobs"}
        return settings

    def _predictor(self) -> Predictor:
        return Predictor(self.coder_, self.machine_, n_jobs=self.n_jobs)

    def _predictor_of_kept(self) -> Predictor:
        machine, (columns, weight) = self.machine_, self._learned
        n = len(columns) - self._kept.n_rows if self._kept is not None else 0
        rows, threads = machine.rows[max(0, n - MAX_LEARNED_ROWS) : n], n_threads(self.n_jobs)
        some = slice(n - rows.shape[0], n)
        K = kernel_of_checked(rows, rows, p=machine.p, threads=threads)
        ridge = fit_ridge(K, columns[some], self.alpha_ / weight[some], 0, threads=threads)
        without = replace(machine, rows=rows, coefficients=ridge.coefficients, bias=ridge.bias)
        return Predictor(self.coder_, without, n_jobs=self.n_jobs)

    def _explained(self) -> list[str]:
        return [f"regularisation alpha: {self.alpha_:g}", f"training rows: {len(self.machine_.coefficients)}"]

    @reads
    def save(self, path: str | Path, *, timings: bool = True) -> None:
        """Write the fitted model to one file: safetensors, with the settings as JSON in its header.

        Parameters
        ----------
        path : str or Path
            The file, which is written completely or not at all. It holds the training rows as they were preprocessed:
            do not give it to those who must not see them.
        timings : bool, default=True
            Whether the seconds of `selection_` are saved. Without them they are 0, and equal fits give equal files.
        """
        check_is_fitted(self)
        save_model(self, Path(path), timings=timings)

    @property
    def alpha_(self) -> float:
        """The regularisation in use."""
        return float(self.selection_[-1].alpha or 0.0)

    @property
    def _targets(self) -> Targets:
        return self.machine_.targets

    def __sklearn_is_fitted__(self) -> bool:
        return "machine_" in vars(self)


@dataclass(kw_only=True, eq=False, repr=False)
class PGMMClassifier(TableClassifier, KernelMachine):
    """A classifier with the exact pGMM kernel, for tables of up to 20,000 rows.

    It is regularised least squares on one-hot labels, in closed form. Preprocessing, p and the regularisation are
    chosen by predictions for training rows that are each made without the row, which the closed form gives as well.
    These predictions also say how scores become probabilities.

    Parameters
    ----------
    p : float or "auto", default="auto"
        The power of the pGMM kernel.
    scale : str or None, default="auto"
        The preprocessing of the columns, with the names of `GCWSNetClassifier`.
    relevance : float or "auto", default="auto"
        The power of the columns' relevance that they are multiplied by, see `GCWSNetClassifier`.
        "auto" compares 0, 0.5 and 1. For numbers it also learns weights of columns, by the gradient of the squared
        error of rows that are left out, and takes them if they are better: that finds columns which matter only
        together with others.
    alpha : float or "auto", default="auto"
        The regularisation: the factor of the function's squared norm next to the weighted sum of squared errors.
    missing : {"auto", "error", "zero", "mean"}, default="auto"
        What a missing number means, see `GCWSNetClassifier`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the squared errors of the classes; those not in the dict have 1. "balanced" makes all classes weigh
        the same.
    random_state : int, RandomState instance or None, default=None
        An int from 0 to 2**64 - 1 is the seed of the samples of the search.
    n_jobs : int, default=None
        Threads; None is 1 and -1 is all. The model is the same for any number of them, on one machine with one version
        of BLAS.

    Attributes
    ----------
    classes_ : array
        The labels, ascending.
    scaling_ : ColumnScaling, QuantileScaling, LocalScaling, TermScaling or None
        The preprocessing in use.
    p_, alpha_ : float
        The power and the regularisation in use.
    selection_ : list of Candidate
        What was compared, each with its loss for rows that were left out. The last one is the model itself.
    machine_ : FittedMachine
        The training rows as they were preprocessed, and their coefficients.
    coder_ : Coder
        The preprocessing, with the schema of a frame: ``coder_.preprocess(X)`` are rows as the kernel compares them.
    schema_ : Schema or None
        What the columns of a frame became; None for arrays.
    seed_, n_features_in_ : int
    feature_names_in_ : array of str
        Where X has names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from gcwsnet import PGMMClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_wine(return_X_y=True), random_state=0)
    >>> classifier = PGMMClassifier(random_state=0).fit(X_train, y_train)
    >>> classifier.score(X_test, y_test) > 0.9
    True
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    def _targets_of(self, y: Any) -> Targets:
        return Labels(np.unique(check_labels(y)))


class PGMMRegressor(TableRegressor, KernelMachine):
    """A regressor with the exact pGMM kernel, for tables of up to 20,000 rows.

    It is `PGMMClassifier` for one or more numbers, which are standardised for least squares.

    Parameters
    ----------
    p, scale, relevance, alpha, missing, random_state, n_jobs
        As of `PGMMClassifier`.

    Attributes
    ----------
    scaling_, p_, alpha_, selection_, machine_, coder_, schema_, seed_, n_features_in_, feature_names_in_
        As of `PGMMClassifier`.
    residuals_ : Residuals
        The errors for up to 2,000 rows that were left out, for `predict_interval`.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet import PGMMRegressor
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> regressor = PGMMRegressor(random_state=0).fit(X[:400], y[:400])
    >>> regressor.score(X[400:], y[400:]) > 0.9
    True
    """

    def _targets_of(self, y: Any) -> Targets:
        return Numbers.learn(y, "squared_error")


def check_number_of_rows(name: str, n: int) -> None:
    """Raise an error for fewer or more rows than a kernel machine can learn from."""
    if n < 2:
        raise ValueError(f"{name} needs at least 2 rows of positive weight, got n_samples={n}; give more rows")
    if n > MAX_ROWS:
        raise ValueError(
            f"{name} learns from at most {MAX_ROWS} rows, as its time grows with the third power of the rows, got "
            f"{n}; use {name.replace('PGMM', 'GCWSNet')}, or give some of the rows"
        )


def fit_calibration(scores: Floats, target: NDArray[np.integer], weight: Floats, n_classes: int) -> Calibration:
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
    >>> calibration = fit_calibration(scores, target, np.ones(500), 2)
    >>> bool(calibration.logits(np.array([[0.9]]))[0].argmax() == 1)
    True
    """
    start = np.concatenate([[0.0, 1.0], np.zeros(n_classes)])
    if n_classes == 1 or not len(scores):
        return Calibration(start[:2], start[2:])
    share = scores if n_classes != 2 else np.hstack([1 - scores, 1 + scores]) / 2
    features = share, np.log(np.maximum(share, 0.01))
    # Penalties of squared slopes and biases beside the sum of the rows' losses: few rows change them little.
    penalty = np.concatenate([np.full(2, 0.01), np.full(n_classes, 1.0)]) / len(scores)
    weight = weight / weight.sum()
    rows = np.arange(len(target))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        log_probability = log_softmax(Calibration(parameters[:2], parameters[2:]).logits(scores), axis=1)
        wrong = np.exp(log_probability)
        wrong[rows, target] -= 1
        wrong *= weight[:, np.newaxis]
        slope = np.array([(wrong * feature).sum() for feature in features])
        gradient = np.concatenate([slope, wrong.sum(axis=0)]) + 2 * penalty * parameters
        return float(-weight @ log_probability[rows, target] + penalty @ parameters**2), gradient

    with one_blas_thread():
        found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return Calibration(found[:2], found[2:])
