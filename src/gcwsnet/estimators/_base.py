"""What all estimators of tables share: they take rows, targets and weights, predict, and say what was chosen."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gcwsnet._locks import reads
from gcwsnet._memory import require_names
from gcwsnet._validation import MAX_WEIGHT, check_integer
from gcwsnet.estimators._explain import explain, permutation_importance, plot_selection
from gcwsnet.estimators._input import (
    as_array,
    check_rows,
    check_targets,
    opened,
    positive_rows,
)
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.net._targets import Labels
from gcwsnet.search import Candidate
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._schema import Schema


class BaseTableModel(BaseEstimator):
    """A fitted model of rows of tables: it has a coder, predicts, and says what was chosen for it.

    Attributes
    ----------
    coder_ : Coder
    selection_ : list of Candidate
        What the search compared.
    _fitted_params : dict
        The parameters as they were in `fit`, which everything after it reads: changing a parameter of a fitted model
        changes nothing until the next `fit`.
    """

    coder_: Coder
    selection_: list[Candidate]
    _fitted_params: dict[str, Any]
    missing: str
    n_jobs: int | None

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that are hashed, such as ``age`` and ``city=Rome``.

        Parameters
        ----------
        input_features : array of str, optional
            The names of the columns of X, where X is an array. They must be those of `fit` where it had names.
        """
        check_is_fitted(self)
        require_names(self.coder_.n_features)
        names = _check_feature_names_in(self, input_features)
        schema = self.coder_.schema
        return np.array(schema.feature_names(), dtype=object) if schema is not None and schema.columns else names

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        schema = self.coder_.schema if "coder_" in vars(self) else None
        return text if schema is None or not schema.columns else f"{text}\nfitted on a table with {schema}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: what scikit-learn shows, and the table that a model was fitted on."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        schema = self.coder_.schema if "coder_" in vars(self) else None
        if "text/html" in bundle and schema is not None and schema.columns:
            title = f"Fitted on a table of {len(schema.columns)} columns"
            bundle["text/html"] += f"<details><summary>{title}</summary>{schema._repr_html_()}</details>"
        return bundle

    @property
    def schema_(self) -> Schema | None:
        """How the columns of a table become the columns that are hashed; None for arrays."""
        return self.coder_.schema

    @property
    def scaling_(self) -> Any:
        """The scaling of columns in use."""
        return self.coder_.preprocessing.scaling

    @property
    def p_(self) -> float:
        """The power in use."""
        return self.coder_.p

    @property
    def seed_(self) -> int:
        """The seed of hashes, weights and order."""
        return self.coder_.seed

    def _positive_rows(self, X: Any, y: Any, sample_weight: Any) -> Batch:
        """Return what users gave without the rows of weight 0, with X opened if it is a frame."""
        if y is None:
            raise without_targets(self)
        X, y, weight = positive_rows(X, y, sample_weight, self._fitted_params.get("class_weight"))
        return Batch(opened(X), y, weight)

    def _check_rows(self, rows: Batch, settings: CoderSettings, schema: Schema | None, *, reset: bool) -> Batch:
        """Return the rows of `_positive_rows` as a coder takes them, with checked targets."""
        X = check_rows(rows.X, self, settings, schema, reset=reset)
        y = check_targets(rows.y, are_numbers=isinstance(self, RegressorMixin))
        if y.shape[:1] != X.shape[:1]:
            check_consistent_length(X, y)
        return Batch(X, y, rows.weight)

    def _shown_targets(self, rows: Batch, y: Any) -> Any:
        """Return what targets are learned from: the labels of all rows, as in scikit-learn, or numbers of `rows`."""
        y = as_array("y", y) if isinstance(self, ClassifierMixin) else rows.y
        return rows.y if len(y) == rows.n_rows else check_targets(y, are_numbers=False)

    @reads
    def __getstate__(self) -> Any:
        """Return the state for pickle: what predicts, or of a model that follows a stream all that it has learned."""
        state: Any = super().__getstate__()
        if "trainer_" not in state:
            return state
        trainer = state["trainer_"]
        if trainer.net.packed is None:
            return state | {"trainer_": copy.deepcopy(trainer)}  # of which nothing changes while it is written
        return state | {"trainer_": trainer.predicting(), "_stream": None}

    @reads
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a model that has learned the same, and can learn further."""
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(vars(self), memo))
        return made

    @reads
    def __copy__(self) -> Any:
        """Return a model that shares what this one has learned."""
        made = type(self).__new__(type(self))
        made.__dict__.update(vars(self))
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    @abstractmethod
    def _predictor(self) -> Predictor:
        """Return what predicts."""

    @abstractmethod
    def _explained(self) -> list[str]:
        """Return in words what this kind of model has beside its preprocessing and p."""

    def _outputs(self, X: Any) -> NDArray[Any]:
        """Return the outputs of the model for rows as users give them."""
        fitted: Any = self
        if not fitted.__sklearn_is_fitted__():
            check_is_fitted(self)
        rows = check_rows(opened(X), self, self.coder_.settings, self.coder_.schema, reset=False)
        return self._predictor().outputs_of_checked(rows)

    @reads
    def explain(self) -> str:
        """Return in words what was chosen for the model: scaling, relevant columns, p, and what is particular to it."""
        check_is_fitted(self)
        return explain(self, self._explained())

    def plot_selection(self, ax: Any = None) -> Any:
        """Draw the candidates of the search with their losses on held-out rows; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        ax : matplotlib axes
        """
        check_is_fitted(self)
        return plot_selection(self.selection_, ax)

    @reads
    def permutation_importance(self, X: Any, y: Any, *, n_repeats: int = 5, max_rows: int = 1000) -> Any:
        """Return how much the loss rises when a column of held-out rows is shuffled.

        It is what `sklearn.inspection.permutation_importance` does with the negative loss as the score, in less time:
        rows are checked and encoded once.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Held-out rows.
        y : array of shape (n,) or (n, m)
        n_repeats : int, default=5
            How often each column is shuffled.
        max_rows : int, default=1000
            The rows that are used, drawn at random.

        Returns
        -------
        result : Bunch
            `importances_mean` and `importances_std` of each column of X, and all `importances`, of shape
            (columns, n_repeats). Columns of text that are hashed share columns, and have one importance together.
        """
        check_is_fitted(self)
        check_integer("n_repeats", n_repeats, 1, 2**20)
        check_integer("max_rows", max_rows, 1, 2**31)
        coder = self.coder_
        rows = check_rows(opened(X), self, coder.settings, coder.schema, reset=False)
        predictor = self._predictor()
        targets = predictor.targets
        target = targets.encode(check_targets(y, are_numbers=not isinstance(targets, Labels)))
        check_consistent_length(rows, target)
        return permutation_importance(predictor, rows, target, n_repeats=n_repeats, max_rows=max_rows)


def without_targets(estimator: Any) -> ValueError:
    """Return the error for a y that is None."""
    return ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")


def frozen(value: Any) -> Any:
    """Return a parameter in values of Python that the caller cannot change."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {frozen(key): frozen(one) for key, one in value.items()}
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(frozen(one) for one in value)
    return value


def class_weights(class_weight: Any, target: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of each class; "balanced" gives all classes the same weight in total."""
    if class_weight == "balanced":
        counts = np.bincount(target, minlength=len(classes))
        return len(target) / (len(classes) * np.maximum(counts, 1))
    if isinstance(class_weight, Mapping):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(f"class_weight must be for classes of y, got {unknown} that are none of them")
        weights = {label: float(class_weight.get(label, 1.0)) for label in classes.tolist()}
        for label, weight in weights.items():
            if not 0 <= weight <= MAX_WEIGHT:
                raise ValueError(f"class_weight must be from 0 to {MAX_WEIGHT:g}, that of {label!r} is {weight:g}")
        return np.array(list(weights.values()))
    raise ValueError(f"class_weight must be a dict, 'balanced' or None, got class_weight={class_weight!r}")
