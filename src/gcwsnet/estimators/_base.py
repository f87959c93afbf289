"""What all estimators of tables share: they take rows, targets and weights, predict, and say what was chosen."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gcwsnet._atomic import write_file
from gcwsnet._keys import SPLIT, random_order
from gcwsnet._locks import reads
from gcwsnet._validation import check_integer, check_unmasked, require_names
from gcwsnet.estimators._explain import explain
from gcwsnet.estimators._importances import importance_shares, permutation_importance
from gcwsnet.estimators._input import check_rows, check_targets
from gcwsnet.estimators._intervals import Residuals, interval
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.estimators._report import MAX_ROWS, report
from gcwsnet.net._targets import LabelIndicators, Labels, Targets
from gcwsnet.search import Candidate
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._coder import Coder
from gcwsnet.tables._schema import Schema

KEPT_ROWS = 500


class UnmaskedScore:
    """A score that refuses masked entries and NaT, which that of scikit-learn, the next one, would take as given."""

    _learns_numbers: bool

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predicted labels, or R**2 of the predicted numbers, as in scikit-learn."""
        check_unmasked("y", y)
        check_unmasked("sample_weight", sample_weight)
        of_mixin: Any = super()
        return float(of_mixin.score(X, check_targets(y, are_numbers=self._learns_numbers), sample_weight))


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
    _learns_numbers: bool = False
    missing: str
    n_jobs: int | None
    _kept: Batch | None = None
    _importances: NDArray[np.float64] | None = None

    def _keep(self, X: Any, target: NDArray[Any]) -> None:
        """Keep some checked rows with encoded targets for `feature_importances_`."""
        self._kept, self._importances = Batch(X[:KEPT_ROWS], target[:KEPT_ROWS]), None

    def _predictor_of_kept(self) -> Predictor:
        """Return what the importances of columns are those of, which has not learned the kept rows if that is cheap."""
        return self._predictor()

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

    @reads
    def __getstate__(self) -> Any:
        """Return the state for pickle: what predicts, or of a model that follows a stream all that it has learned."""
        state: Any = super().__getstate__()
        state = {name: value for name, value in state.items() if name not in ("_kept", "_learned", "_importances")}
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

    @contextmanager
    def _rollback(self) -> Iterator[None]:
        """Leave the estimator as it was after an error, unless its net has learned from further rows by then.

        A net whose weights are not finite is dropped: what it had learned before is lost.
        """
        state: dict[str, Any] = self.__dict__
        before = dict(state)
        trainer = before.get("trainer_")
        rows_seen, settings = (0, None) if trainer is None else (trainer.rows_seen, trainer.settings)
        try:
            yield
        except BaseException:
            current = state.get("trainer_")
            diverged = current is not None and not current.net.is_finite()
            if current is None or diverged or current.rows_seen == (rows_seen if current is trainer else 0):
                state.clear()
                state.update(before)
                if trainer is not None:
                    trainer.net.settings = settings
                if diverged and current is trainer:
                    del state["trainer_"]
            raise

    @abstractmethod
    def _targets_of(self, y: Any) -> Targets:
        """Return the targets that y shows; a fit begins with them."""

    def _may_add_classes(self) -> bool:
        """Return whether the model follows a stream in which new labels become classes."""
        return False

    @abstractmethod
    def _predictor(self) -> Predictor:
        """Return what predicts."""

    @property
    @abstractmethod
    def _targets(self) -> Targets:
        """What the outputs stand for."""

    @abstractmethod
    def _explained(self) -> list[str]:
        """Return in words what this kind of model has beside its preprocessing and p."""

    def _outputs(self, X: Any) -> NDArray[Any]:
        """Return the outputs of the model for rows as users give them."""
        fitted: Any = self
        if not fitted.__sklearn_is_fitted__():
            check_is_fitted(self)
        rows = check_rows(X, self, self.coder_.settings, self.coder_.schema, reset=False)
        return self._predictor().outputs_of_checked(rows)

    @reads
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row, or numbers of the shape of y.

        Where rows have any number of labels, they are 1 for those a row has.
        """
        outputs = self._outputs(X)
        return self._targets.predictions(outputs)

    @reads
    def explain(self) -> str:
        """Return a text that says what was chosen for the model: scaling, relevant columns, p, and further settings."""
        check_is_fitted(self)
        return explain(self, self._explained())

    @property
    @reads
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column of X matters: shares of the rise of the loss when a column is shuffled.

        They are computed when they are asked for first, from up to 500 rows of `fit` which stay in memory, and are no
        part of a file or a pickle. A kernel machine is fitted without these rows for it. A net has learned them,
        unless there was an `eval_set` or early stopping: `permutation_importance` tells more with held-out rows. Of
        more than 50 columns those have 0 that explain least of y by themselves.
        """
        check_is_fitted(self)
        if self._importances is None:
            if self._kept is None:
                raise AttributeError(
                    "feature_importances_ needs rows of fit, and files, pickles and partial_fit keep none; use "
                    "permutation_importance(X, y)"
                )
            self._importances = importance_shares(self._predictor_of_kept(), self._kept.X, np.asarray(self._kept.y))
        return self._importances.copy()

    def plot_importances(self, n_columns: int = 20, ax: Any = None) -> Any:
        """Draw the columns that matter most as bars, with matplotlib.

        Parameters
        ----------
        n_columns : int, default=20
            The most columns that are drawn.
        ax : matplotlib.axes.Axes, optional
            What is drawn on; by default a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        check_integer("n_columns", n_columns, 1, 2**31)
        shares = self.feature_importances_
        if ax is None:
            try:
                import matplotlib.pyplot as plt  # noqa: PLC0415 - not needed by most
            except ImportError as error:
                raise ImportError(
                    "plot_importances needs matplotlib, which is not installed; pip install matplotlib"
                ) from error
            ax = plt.figure(layout="constrained").subplots()
        names = getattr(self, "feature_names_in_", range(len(shares)))
        order = np.argsort(-shares, kind="stable")[:n_columns][::-1]
        ax.barh([str(names[number]) for number in order], shares[order])
        ax.set_xlabel("share of the rise of the loss when a column is shuffled")
        return ax

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
        rows = check_rows(X, self, coder.settings, coder.schema, reset=False)
        predictor = self._predictor()
        targets = predictor.targets
        target = targets.encode(check_targets(y, are_numbers=not isinstance(targets, Labels)))
        check_consistent_length(rows, target)
        return permutation_importance(predictor, rows, target, n_repeats=n_repeats, max_rows=max_rows)

    @reads
    def write_report(self, path: str | Path, X: Any, y: Any, *, title: str = "Report") -> None:
        """Write a page of HTML about the model on held-out rows, which needs no other file and no network.

        It has the scores, the ROC curve or the residuals, how well predictions are calibrated, the columns in the order
        of their importance, and what was chosen.

        Parameters
        ----------
        path : str or Path
        X : array, CSR matrix or array, or frame, of shape (n, D)
            Held-out rows. Of more than 20,000 rows, 20,000 are drawn at random.
        y : array of shape (n,)
            Their labels or numbers.
        title : str, default="Report"
        """
        check_is_fitted(self)
        rows = check_rows(X, self, self.coder_.settings, self.coder_.schema, reset=False)
        target = check_targets(y, are_numbers=self._learns_numbers)
        check_consistent_length(rows, target)
        drawn = random_order(self.seed_, SPLIT, rows.shape[0])[:MAX_ROWS]
        page = report(self, rows[drawn], target[drawn], title=title)
        write_file(Path(path), page.encode())


class TableClassifier(UnmaskedScore, ClassifierMixin, BaseTableModel):
    """A model whose outputs are logits of classes."""

    _takes_several_labels = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._takes_several_labels
        return tags

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, ascending; where y has a column for each label, the numbers of the columns."""
        return cast(Labels, self._targets).classes

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the logits of the classes, of shape (n, n_classes); of two the second minus the first, (n,)."""
        outputs = self._outputs(X).astype(np.float64)
        if len(self.classes_) == 2 and not isinstance(self._targets, LabelIndicators):
            return outputs[:, 1] - outputs[:, 0]
        return outputs

    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, of shape (n, n_classes); of each label where rows have several."""
        outputs = self._outputs(X)
        return cast(Labels, self._targets).probabilities(outputs)


class TableRegressor(UnmaskedScore, RegressorMixin, BaseTableModel):
    """A model whose outputs are one or more numbers."""

    _learns_numbers = True
    residuals_: Residuals | None = None

    @reads
    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper ends of intervals that hold the number of a row with a given probability.

        The intervals are conformal: they come from the errors for up to 2,000 rows that were not learned, `residuals_`,
        whose size depends on the prediction. A kernel machine has the errors of leave-one-out predictions. A net has
        those of the first `eval_set`, or of the rows that early stopping held out; without either it is an error.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        coverage : float, default=0.9
            The share of rows whose numbers are within their intervals. That holds for the mean over rows like those of
            the fit, and not for every kind of row.

        Returns
        -------
        lower, upper : arrays of the shape of predictions
            As many numbers are expected below the interval as above it.
        """
        return interval(self._targets, self.residuals_, self._outputs(X), coverage)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
