"""The kernel machines: a classifier and a regressor with the exact pGMM kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from gcwsnet._locks import reads
from gcwsnet._validation import check_weights
from gcwsnet.estimators._classifier import class_weights
from gcwsnet.estimators._fitted_machine import FittedMachine, Floats
from gcwsnet.estimators._kernel_machine import KernelMachine
from gcwsnet.training import Labels, Numbers, Targets
from gcwsnet.training._targets import check_labels


class PGMMClassifier(ClassifierMixin, KernelMachine):
    """A classifier with the exact pGMM kernel, for tables of up to some ten thousand rows.

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
    selection_ : list of KernelCandidate
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

    def __init__(
        self,
        *,
        p: float | Literal["auto"] = "auto",
        scale: str | None = "auto",
        relevance: float | Literal["auto"] = "auto",
        alpha: float | Literal["auto"] = "auto",
        missing: str = "auto",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            p=p,
            scale=scale,
            relevance=relevance,
            alpha=alpha,
            missing=missing,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    @reads
    def decision_function(self, X: Any) -> Floats:
        """Return the logits of classes, of shape (n, n_classes); of two classes the second minus the first, (n,)."""
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    @reads
    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, of shape (n, n_classes)."""
        outputs = self._outputs(X)
        targets: Any = self.machine_.targets
        probabilities: Floats = targets.probabilities(outputs)
        return probabilities

    def _targets_of(self, y: Any) -> Targets:
        return Labels(np.unique(check_labels(y)))

    def _columns_of(self, target: NDArray[Any], targets: Targets) -> Floats:
        if targets.n_outputs == 2:
            return np.where(target == 1, 1.0, -1.0)[:, np.newaxis]
        return np.eye(targets.n_outputs)[target]

    def _row_weights(self, weight: Floats, target: NDArray[Any], targets: Any) -> Floats:
        if self.class_weight is None:
            return weight
        of_row = class_weights(self._fitted_params["class_weight"], target, targets.classes)[target]
        return check_weights(weight * of_row, "sample_weight times class_weight")

    def _use(self, machine: FittedMachine) -> None:
        super()._use(machine)
        targets: Any = machine.targets
        self.classes_: NDArray[Any] = targets.classes


class PGMMRegressor(RegressorMixin, KernelMachine):
    """A regressor with the exact pGMM kernel, for tables of up to some ten thousand rows.

    It is `PGMMClassifier` for one or more numbers, which are standardised for least squares.

    Parameters
    ----------
    p, scale, relevance, alpha, missing, random_state, n_jobs
        As of `PGMMClassifier`.

    Attributes
    ----------
    scaling_, p_, alpha_, selection_, machine_, coder_, schema_, seed_, n_features_in_, feature_names_in_
        As of `PGMMClassifier`.

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

    def _columns_of(self, target: NDArray[Any], targets: Targets) -> Floats:  # noqa: ARG002
        return target.astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
