"""A model that predicts and does nothing else: the one way from rows to predictions, without scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._threads import n_threads
from gcwsnet._validation import Matrix, as_floats, without_nan
from gcwsnet.estimators._input import check_rows, set_inputs
from gcwsnet.estimators._intervals import Residuals, interval
from gcwsnet.estimators._machine import FittedMachine
from gcwsnet.estimators._model_file import read_model, residuals_from
from gcwsnet.estimators._tensor_file import Arrays, Description
from gcwsnet.net._net import Net, net_from_state
from gcwsnet.net._packed import PackedNet
from gcwsnet.net._targets import Labels, Targets
from gcwsnet.tables._coder import Coder, rows_at_once


class Predictor:
    """A model that only predicts, and loads faster than the estimator.

    The estimators predict with it. A program that only predicts can load it alone: `Predictor.load` and its first
    prediction import neither scikit-learn nor SciPy, which take most of the time of a cold start.

    Parameters
    ----------
    coder : Coder
        The way from rows to preprocessed rows, and to codes.
    model : Net, PackedNet or FittedMachine
        The net that learned from these codes, or the kernel machine that learned from these preprocessed rows.
    feature_names : sequence of str, optional
        The names of the columns, where the model knows them.
    residuals : Residuals, optional
        The errors for rows that the model was not fitted to, for `predict_interval`.
    n_jobs : int, default=None
        Threads; None is 1 and -1 is all. Predictions are the same for any number of them.

    Attributes
    ----------
    n_features_in_ : int
        The columns of a row.
    feature_names_in_ : array of str
        Their names, where the model knows them.

    Notes
    -----
    An array of float64 or float32 is checked here. All else that the estimators take, such as a frame, a list or a CSR
    matrix, is checked by scikit-learn, which is imported then. A model with ``scale="quantile"`` needs SciPy. So does a
    kernel machine that learned from CSR, or from a frame of many columns.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import gcwsnet
    >>> X, y = np.eye(6), ["a", "b"] * 3
    >>> model = gcwsnet.GCWSNetClassifier(n_hashes=8, hidden=(4,), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/some.safetensors")
    ...     predictor = gcwsnet.Predictor.load(f"{folder}/some.safetensors")
    >>> bool((predictor.predict_proba(X) == model.predict_proba(X)).all())
    True
    """

    def __init__(
        self,
        coder: Coder,
        model: Net | PackedNet | FittedMachine,
        feature_names: Any = None,
        residuals: Residuals | None = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        self.coder, self.model, self.residuals, self.n_jobs = coder, model, residuals, n_jobs
        set_inputs(self, coder.n_inputs, feature_names)

    @classmethod
    def load(cls, path: str | Path, *, n_jobs: int | None = None) -> Predictor:
        """Return the predictor of a model file, which the native core computes, whatever device the net learned on.

        Parameters
        ----------
        path : str or Path
            The file that `save` of an estimator wrote, or a folder with a file "model.safetensors" in it.
        n_jobs : int, default=None

        Raises
        ------
        ValueError
            If the file is damaged, is not a model file of gcwsnet, or was written by a version that this one cannot
            read.
        """
        _, arrays, description = read_model(Path(path))
        return cls.of_file(arrays, description, n_jobs=n_jobs)

    @classmethod
    def of_file(cls, arrays: Arrays, description: Description, *, n_jobs: int | None = None) -> Predictor:
        """Return the predictor of what `read_model` has read."""
        coder = Coder.from_state(arrays, description["coder"])
        model: Net | PackedNet | FittedMachine
        if "machine" in description:
            model = FittedMachine.from_state(arrays, description["machine"], coder)
        else:
            net = net_from_state(arrays, description["trainer"])
            model = net if net.packed is None else net.packed
        return cls(coder, model, description["feature_names_in"], residuals_from(arrays), n_jobs=n_jobs)

    @property
    def targets(self) -> Targets:
        """What the outputs stand for."""
        return self.model.targets

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, ascending."""
        return self._labels.classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row, or the numbers of a regression."""
        return self.targets.predictions(self.outputs(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, of shape (n, n_classes)."""
        return self._labels.probabilities(self.outputs(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper ends of intervals that hold the number of a row with that probability."""
        return interval(self.targets, self.residuals, self.outputs(X), coverage)

    def outputs(self, X: Any) -> NDArray[Any]:
        """Return the outputs of the model, of shape (n, n_outputs): float32 of a net, float64 of a kernel machine."""
        rows = check_rows(X, self, self.coder.settings, self.coder.schema, reset=False)
        return self.outputs_of_checked(rows)

    def outputs_of_checked(self, X: Matrix) -> NDArray[Any]:
        """Return the outputs of the model for rows that `check_rows` returned."""
        n, step, threads = X.shape[0], rows_at_once(X), n_threads(self.n_jobs)
        if n <= step:
            return self._outputs_of_some(X, threads)
        return np.concatenate([self._outputs_of_some(X[first : first + step], threads) for first in range(0, n, step)])

    def _outputs_of_some(self, X: Matrix, threads: int) -> NDArray[Any]:
        if isinstance(self.model, FittedMachine):
            return self.model.outputs(without_nan(as_floats(self.coder.preprocess(X))), threads=threads)
        return self.model.outputs(self.coder.codes(X, n_jobs=threads), n_jobs=threads)

    @property
    def _labels(self) -> Labels:
        targets = self.targets
        if not isinstance(targets, Labels):
            raise AttributeError("a regression has no classes and no probabilities; use predict")
        return targets

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn's checks of rows ask for."""
        from sklearn.utils import InputTags, Tags, TargetTags  # noqa: PLC0415 - it takes long to import

        missing = self.coder.settings.missing != "error"
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, allow_nan=missing),
        )
