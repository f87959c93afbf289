"""The regressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from gcwsnet._locks import reads
from gcwsnet._validation import check_choice
from gcwsnet.coding import CoderSettings
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._parameters import Callback
from gcwsnet.estimators._table_model import without_targets
from gcwsnet.estimators._warm_up import WARM_UP_ROWS
from gcwsnet.training import Numbers, Targets, Trainer, TrainingSettings
from gcwsnet.training._targets import LOSSES


class GCWSNetRegressor(RegressorMixin, GCWSNetEstimator):
    """A regressor that predicts one or more numbers for rows of numbers, or of a table, by nets on their GCWS codes.

    It is `GCWSNetClassifier` for numbers; the net learns standardised targets.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber"}, default="squared_error"
        The loss of the standardised targets. "absolute_error" predicts medians; "huber" is the square up to one
        standard deviation and grows like the absolute error beyond.
    n_hashes, bits, t_bits, p, scale, relevance, search, hidden, ensemble, reduction, epochs, batch_size, \
learning_rate, schedule, optimizer, betas, weight_decay, average, encoding, missing, shuffle, records, \
early_stopping, patience, validation_fraction, callbacks, warm_start, verbose, random_state, n_jobs, device
        As of `GCWSNetClassifier`.

    Attributes
    ----------
    scaling_, p_, selection_, schema_, hasher_, coder_, trainer_, seed_, n_features_in_, \
n_rows_seen_, n_epochs_seen_, feature_names_in_
        As of `GCWSNetClassifier`.
    history_ : dict of lists
        As of `GCWSNetClassifier`, with "rmse", the root mean square error in the units of y, for the accuracy. The
        loss is that of the standardised targets.
    target_mean_, target_deviation_ : arrays of float64, shape (n_outputs,)
        Mean and standard deviation of the targets of `fit`, or of the first `partial_fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet import GCWSNetRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> regressor = GCWSNetRegressor(n_hashes=128, epochs=5, random_state=0).fit(X[:1500], y[:1500])
    >>> regressor.score(X[1500:], y[1500:]) > 0.7
    True
    """

    def __init__(
        self,
        n_hashes: int = 256,
        *,
        bits: int = 8,
        t_bits: int | Literal["all"] = "all",
        p: float | Literal["auto"] = "auto",
        scale: str | None = "auto",
        relevance: float | Literal["auto"] = "auto",
        search: str = "fast",
        hidden: int | Sequence[int] | Literal["auto"] = "auto",
        ensemble: int | Literal["auto"] = "auto",
        reduction: int | Literal["8bit"] | None = None,
        epochs: int | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        loss: str = "squared_error",
        schedule: str = "linear",
        optimizer: str = "lazy",
        betas: tuple[float, float] = (0.0, 0.999),
        weight_decay: float = 0.0,
        average: bool = True,
        encoding: str = "mixed",
        missing: str = "auto",
        shuffle: bool = True,
        records: int | Sequence[float] = 10,
        early_stopping: bool = False,
        patience: int = 5,
        validation_fraction: float = 0.1,
        callbacks: Sequence[Callback] | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: Any = "cpu",
    ) -> None:
        super().__init__(
            n_hashes=n_hashes,
            bits=bits,
            t_bits=t_bits,
            p=p,
            scale=scale,
            relevance=relevance,
            search=search,
            hidden=hidden,
            ensemble=ensemble,
            reduction=reduction,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            schedule=schedule,
            optimizer=optimizer,
            betas=betas,
            weight_decay=weight_decay,
            average=average,
            encoding=encoding,
            missing=missing,
            shuffle=shuffle,
            records=records,
            early_stopping=early_stopping,
            patience=patience,
            validation_fraction=validation_fraction,
            callbacks=callbacks,
            warm_start=warm_start,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
            device=device,
        )
        self.loss = loss

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSNetRegressor:
        """Learn from further rows, once and in their order; they may come in pieces of any size.

        The model follows a stream that changes: ``docs/streams.md`` says how. The first 2,600 rows are kept in a
        warm-up buffer. Whenever these rows have doubled, preprocessing and the mean and the standard deviation of y are
        learned from all of them again; the search for a preprocessing and p is spread over the calls.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,) or (n, m)
        sample_weight : array of shape (n,), optional
            A row of weight 0 is as if it were not there, with its label. If all rows of the first call have weight 0,
            that is an error; later calls of this kind change nothing.

        Returns
        -------
        self : GCWSNetRegressor
        """
        if y is None:
            raise without_targets(self)
        return self._partial_fit(X, y, None, sample_weight)

    @reads
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return numbers of the shape of y."""
        outputs = self._outputs(X)
        return self.trainer_.targets.predictions(outputs)

    def _check_parameters(self) -> tuple[CoderSettings, TrainingSettings]:
        check_choice("loss", self.loss, LOSSES)
        return super()._check_parameters()

    def _targets_of(self, y: Any) -> Targets:
        return Numbers.learn(y, self.loss)

    def _targets_with(self, targets: Targets, y: Any) -> Targets:
        return Numbers.learn(y, targets.loss)

    def _warm_up_rows(self) -> int:
        return WARM_UP_ROWS  # for the mean and the standard deviation of y

    def _use(self, trainer: Trainer) -> None:
        super()._use(trainer)
        targets: Any = trainer.targets
        self.target_mean_: NDArray[np.float64] = targets.mean
        self.target_deviation_: NDArray[np.float64] = targets.deviation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
