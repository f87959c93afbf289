"""What a fitted model offers beside its predictions: what was chosen for it, its file, and its records."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from gcwsnet._locks import reads
from gcwsnet._validation import check_choice, check_integer
from gcwsnet.coding import Candidate
from gcwsnet.estimators._explain import explain, permutation_importance, plot_selection
from gcwsnet.estimators._input import check_rows, check_targets, opened
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.estimators._table_model import TableModel
from gcwsnet.training import Labels, Trainer
from gcwsnet.training._history import History


class FittedModel(TableModel):
    """A model that predicts, and says what was chosen for it."""

    @abstractmethod
    def _predictor(self) -> Predictor:
        """Return what predicts."""

    @abstractmethod
    def _explained(self) -> list[str]:
        """Return in words what this kind of model has beside its preprocessing and p."""

    @property
    @abstractmethod
    def selection_(self) -> list[Any]:
        """The candidates that the settings were selected from."""

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


class FittedNet(FittedModel):
    """The views of a fitted net: all of them read its coder and its trainer, and none changes them.

    Attributes
    ----------
    trainer_ : Trainer
    """

    trainer_: Trainer

    @reads
    def save(self, path: str | Path, *, optimizer: bool = True, timings: bool = True, dtype: str = "float32") -> None:
        """Write the fitted model to one file: safetensors, with the settings as JSON in its header.

        Parameters
        ----------
        path : str or Path
            The file. It is written beside it first and then moved into its place.
        optimizer : bool, default=True
            Whether the state of the optimizer and of the averaging is saved too, so that `partial_fit` goes on as if
            nothing had been saved. The file is two to five times as large then. The warm-up buffer of a stream (see
            `partial_fit`) is never saved: what has been learned from it is final then.
        timings : bool, default=True
            Whether the seconds of `history_` and `selection_` are saved. Without them they are 0, and equal fits give
            equal files.
        dtype : {"float32", "float16", "int8"}, default="float32"
            The type of the first layer's table in the file, which is nearly all of it; the others need
            ``optimizer=False``. "float16" halves the file. "int8" makes it four times smaller: each row of the table
            has a scale, and its weights are rounded to 1/127 of the row's largest. Predictions change by that rounding;
            ``docs/training-speed.md`` has the accuracy. The loaded net computes in float32 with what was stored.
        """
        from gcwsnet.estimators._model_file import save_model  # noqa: PLC0415
        from gcwsnet.estimators._model_format import TABLE_DTYPES  # noqa: PLC0415

        check_is_fitted(self)
        check_choice("dtype", dtype, TABLE_DTYPES)
        if optimizer and dtype != "float32":
            raise ValueError(
                f"dtype={dtype!r} rounds the weights, from which training cannot go on as if nothing had been saved; "
                "give optimizer=False too"
            )
        estimator: Any = self
        save_model(estimator, Path(path), resumable=optimizer, timings=timings, dtype=dtype)

    def _predictor(self) -> Predictor:
        return Predictor(self.coder_, self.trainer_.net, n_jobs=self.n_jobs)

    def _explained(self) -> list[str]:
        codes, trainer = self.coder_.settings, self.trainer_
        return [
            f"nets: {trainer.settings.members()}, each on {codes.n_hashes} hashes of {codes.bits} bits",
            f"hidden layers of each net: {trainer.settings.layers()}",
            f"epochs: {trainer.epochs_seen}",
            f"temperature: {trainer.targets.temperature:g}",
        ]

    def __sklearn_is_fitted__(self) -> bool:
        return "trainer_" in vars(self)

    @property
    def history_(self) -> History:
        """The records of the training."""
        return self.trainer_.history

    @property
    def stream_events_(self) -> list[dict[str, Any]]:
        """What happened while a stream was followed, the latest 1,000 events: "drift", "preprocessing" and "label"."""
        following = self.trainer_.following
        return [] if following is None else list(following.events)

    @property
    def selection_(self) -> list[Candidate]:
        """The candidates that preprocessing, p, epochs and temperature were selected from."""
        return list(self.coder_.selection)

    @property
    def hasher_(self) -> Any:
        """The hasher in use."""
        return self.coder_.hasher

    @property
    def n_rows_seen_(self) -> int:
        """The rows that the net has learned from."""
        return self.trainer_.rows_seen

    @property
    def n_epochs_seen_(self) -> int:
        """The epochs that the net has learned from; a call of `partial_fit` counts as one."""
        return self.trainer_.epochs_seen
