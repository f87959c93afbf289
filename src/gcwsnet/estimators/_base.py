"""The base class of the classifier and the regressor: rows are scaled, hashed and learned in small batches."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, check_is_fitted
from torch import Tensor

from gcwsnet._threads import n_threads
from gcwsnet._validation import Matrix, draw_seed
from gcwsnet.estimators._averaging import Averages
from gcwsnet.estimators._coding import Coding
from gcwsnet.estimators._history import Record, check_records
from gcwsnet.estimators._learner import SCHEDULES, EarlyStopping, Learner, make_net, make_optimizer, torch_threads
from gcwsnet.estimators._progress import progress
from gcwsnet.estimators._rows import Rows, pairs_of, rows_at_once
from gcwsnet.estimators._run import HeldOut, Run
from gcwsnet.estimators._selection import SMALL, SMALL_HIDDEN
from gcwsnet.estimators._targets import Targets, without_targets
from gcwsnet.estimators._warm_up import WARM_UP_ROWS, WarmUpBuffer

RATE_OF_FEW_STEPS, RATE_OF_MANY_STEPS, RATE_WITHOUT_HIDDEN_LAYERS = 5e-3, 3e-3, 1e-2
FEW_STEPS = 3000
EPOCHS_OF_FEW_ROWS, FEW_ROWS = 3, 1500
Self = TypeVar("Self", bound="GCWSNetEstimator")


@contextmanager
def unchanged_unless_it_learns(estimator: BaseEstimator) -> Iterator[None]:
    """Restore the estimator, with the net that it had, after an error before a net has learned from any row."""
    now = vars(estimator)
    before = dict(now)
    try:
        yield
    except BaseException:
        same_net = now.get("net_") is before.get("net_")
        rows_before = before.get("n_rows_seen_", 0) if same_net else 0
        if now.get("n_rows_seen_", 0) == rows_before:
            now.clear()
            now.update(before)
        raise


class GCWSNetEstimator(Coding):
    """The part that the classifier and the regressor share."""

    _targets: Targets
    _warm_up: WarmUpBuffer | None = None
    averages_: Averages | None

    @abstractmethod
    def _targets_of(self, y: Any) -> Targets:
        """Return the targets that y shows."""

    @abstractmethod
    def _targets_renewed(self, targets: Targets, y: Any) -> Targets:
        """Return the targets of a stream that has shown more of y."""

    @abstractmethod
    def _set_targets(self, targets: Targets) -> None:
        """Set the public attributes that follow from the targets."""

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Learn from rows in random order, `epochs` times each.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,) or, for a regression, (n, m)
        sample_weight : array of shape (n,), optional
            Factors of the rows' losses.
        eval_set : (X, y) or [(X, y), ...], optional
            Validation sets. Each record of `history_` has their loss and their metric with the prefix "eval_", for
            further pairs "eval_1_" and so on. The first pair decides about early stopping. Their codes are kept in
            memory while the net learns.

        Returns
        -------
        self : object
            An error before it has learned from any row leaves it as it was: not fitted, or the model of an earlier
            `fit`.
        """
        with unchanged_unless_it_learns(self):
            fresh = not (self.warm_start and hasattr(self, "net_"))
            if fresh:
                self._freeze_parameters()
            else:
                self._freeze_parameters_of_warm_start()
            if eval_set is not None:
                self._check_unused("validation_fraction", why="an eval_set is given")
            rows = self._check_rows(X, y, sample_weight, reset=fresh)
            held_out = [self._check_rows(*pair, None, reset=False) for pair in pairs_of(eval_set)]
            targets = self._targets_of(rows.y) if fresh else self._targets
            if fresh:
                self.seed_ = draw_seed(self.random_state)
            if self._settings.early_stopping and not held_out:
                rows, *held_out = self._split(rows)
            self._warm_up = None
            if fresh:
                self._begin(rows, targets)
            self._learn(rows, [HeldOut(self._codes(some.X), targets.encode(some.y)) for some in held_out])
        return self

    def _learn(self, rows: Rows, held_out: list[HeldOut]) -> None:
        """Learn from rows as `fit` does, with a schedule."""
        self.averages_ = None
        settings, n = self._settings, rows.X.shape[0]
        schedule = SCHEDULES[settings.schedule]
        epochs = settings.epochs if settings.epochs != "auto" else EPOCHS_OF_FEW_ROWS if n < FEW_ROWS else 1
        start = self._rate(epochs * math.ceil(n / settings.batch_size))
        self._run(rows, held_out, epochs, lambda done: start * schedule(done), shuffle=settings.shuffle)

    def _partial_fit(self: Self, X: Any, y: Any, targets: Targets | None, sample_weight: Any) -> Self:
        with unchanged_unless_it_learns(self):
            fresh = not hasattr(self, "net_")
            if fresh:
                self._freeze_parameters()
                self._check_unused("early_stopping", why="partial_fit does not know when the rows end")
            rows = self._check_rows(X, y, sample_weight, reset=fresh)
            if fresh:
                self.seed_ = draw_seed(self.random_state)
                self._warm_up = WarmUpBuffer(WARM_UP_ROWS if self._learns_from_first_rows() else 1)
                targets = self._targets_of(rows.y) if targets is None else targets
            else:
                targets = self._targets
            targets.encode(rows.y)  # an error before the net or the buffer change
            if self._warm_up is not None:
                self._warm_up, first = self._warm_up.extended(rows)
                if first is not None:
                    rows = first
                    self._begin(rows, self._targets_renewed(targets, rows.y))
                if self._warm_up.is_full:
                    self._warm_up = None
            if self._settings.average and self.averages_ is None:
                self.averages_ = Averages(self.net_, self.n_rows_seen_)
            self._run(rows, [], 1, lambda _: self._rate(), shuffle=False)
        return self

    def save(self, path: str | Path, *, optimizer: bool = True, timings: bool = True) -> None:
        """Write the fitted model to one file: safetensors, with the settings as JSON in its header.

        Parameters
        ----------
        path : str or Path
            The file. The model is written to a file beside it first, which is then moved into its place.
        optimizer : bool, default=True
            Whether the state of the optimizer is saved too. It is one or two times as large as the net, and lets
            `partial_fit` continue as if nothing had been saved. The warm-up rows of a stream (see `partial_fit`) are
            never saved: the scaling and p that have been learned from them are final then.
        timings : bool, default=True
            Whether the seconds of `history_` and `selection_` are saved. Without them they are 0, and equal fits give
            equal files.
        """
        from gcwsnet.estimators._saving import save_model  # noqa: PLC0415

        check_is_fitted(self)
        save_model(self, Path(path), with_optimizer=optimizer, timings=timings)

    def _begin(self, rows: Rows, targets: Targets) -> None:
        """Learn how rows become codes, and create a net that has learned nothing."""
        self._make_coder(rows, targets)
        self._make_net(targets)

    def _make_net(self, targets: Targets) -> None:
        """Create a net, its optimizer and an empty history."""
        self._make_learner(targets)
        self._set_targets(targets)
        self.averages_ = None
        self.history_: dict[str, list[float]] = {}
        self.n_rows_seen_ = 0
        self.n_epochs_seen_ = 0

    def _scores(
        self, train: Rows, validation: Rows, targets: Targets, X: Matrix, X_validation: Matrix, p: float
    ) -> NDArray[np.float64]:
        """Return the score of each validation row by a small net, from rows that were scaled."""
        hidden = SMALL_HIDDEN if self._settings.hidden else ()
        small = type(self)(**{**self._settings, **SMALL, "hidden": hidden, "scale": None, "p": p}, n_jobs=self.n_jobs)
        small._freeze_parameters()
        small.n_features_in_, small.seed_ = X.shape[1], self.seed_
        small._begin(train._replace(X=X), targets)
        small._learn(train._replace(X=X), [])
        return targets.score(small._outputs(X_validation), targets.encode(validation.y)).numpy()

    def _make_learner(self, targets: Targets) -> None:
        settings = self._settings
        net = make_net(
            self.seed_,
            torch.device(settings.device),
            n_hashes=settings.n_hashes,
            bits=self.hasher_.code_bits,
            n_outputs=targets.n_outputs,
            hidden=settings.hidden,
            reduction=settings.reduction,
            sparse=settings.optimizer == "lazy",
        )
        self.optimizer_ = make_optimizer(
            net, settings.optimizer, lr=self._rate(), betas=settings.betas, weight_decay=settings.weight_decay
        )
        self._targets, self.net_ = targets, net

    def _rate(self, steps: float = math.inf) -> float:
        """Return the learning rate that a run of this many steps begins with."""
        if self._settings.learning_rate != "auto":
            return float(self._settings.learning_rate)
        if not self._settings.hidden:
            return RATE_WITHOUT_HIDDEN_LAYERS
        return RATE_OF_FEW_STEPS if steps <= FEW_STEPS else RATE_OF_MANY_STEPS

    def _run(
        self, rows: Rows, held_out: list[HeldOut], epochs: int, rate: Callable[[float], float], *, shuffle: bool
    ) -> None:
        """Learn from all rows, `epochs` times; the learning rate is a function of the share that is done."""
        target, settings = self._targets.encode(rows.y), self._settings
        run = Run(
            learner=Learner(self.net_, self.optimizer_, self._targets),
            target=target,
            weight=self._weights(rows.weight, target),
            held_out=held_out,
            epochs=epochs,
            rate=rate,
            fractions=check_records(settings.records),
            stopping=EarlyStopping(settings.patience) if settings.early_stopping and held_out else None,
            averages=self.averages_,
            is_enough=self._call_back,
            history=self.history_,
            rows_seen=self.n_rows_seen_,
            epochs_seen=self.n_epochs_seen_,
        )
        codes = self._codes(rows.X) if epochs > 1 and self._can_keep_codes(len(target)) else None
        first = self.n_epochs_seen_
        with torch_threads(n_threads(self.n_jobs)), progress(self.verbose, epochs * len(target)) as display:
            try:
                run.through((self._batches(rows.X, codes, shuffle, first + epoch) for epoch in range(epochs)), display)
            finally:  # also when it was interrupted: what has been learned stays
                self.n_rows_seen_, self.n_epochs_seen_ = run.rows_seen, run.epochs_seen

    def _call_back(self, record: Record) -> bool:
        """Call all callbacks, and tell whether one of them wants to stop."""
        returned = [callback(self, dict(record)) for callback in self.callbacks or ()]
        return any(value is True for value in returned)

    def _batches(self, X: Matrix, codes: Tensor | None, shuffle: bool, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield numbers of rows and their codes, batch by batch; rows are hashed in blocks if `codes` is None."""
        n, size = X.shape[0], int(self._settings.batch_size)
        order = np.arange(n)
        if shuffle:
            order = np.random.default_rng([self.seed_, epoch]).permutation(n)
        block = max(1, rows_at_once(X) // size) * size
        for first in range(0, n, block):
            numbers = order[first : first + block]
            rows = torch.from_numpy(numbers)
            if codes is not None:
                of_block = codes[rows]
            else:
                of_block = self._codes(X[numbers] if shuffle else X[first : first + block])
            yield from zip(rows.split(size), of_block.split(size), strict=True)

    def _outputs(self, X: Any) -> Tensor:
        """Return the outputs of the net for rows as users give them."""
        check_is_fitted(self)
        X = self._check_input(X, reset=False)
        net = self.net_ if self.averages_ is None else self.averages_.older.net
        learner, step = Learner(net, self.optimizer_, self._targets), rows_at_once(X)
        with torch_threads(n_threads(self.n_jobs)):
            parts = [learner.outputs(self._codes(X[first : first + step])) for first in range(0, X.shape[0], step)]
        return torch.cat(parts)

    def _check_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        if y is None:
            raise without_targets(self)
        X = self._check_input(X, reset=reset)
        y = np.asarray(y)
        check_consistent_length(X, y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return Rows(X, y, None if weight is None else torch.from_numpy(weight.astype(np.float32)))

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows to learn from, and the held-out rows of early stopping."""
        numbers, fraction = np.arange(rows.X.shape[0]), self._settings.validation_fraction
        strata = self._strata(rows.y, math.ceil(fraction * len(numbers)))
        train, held_out = train_test_split(
            numbers, test_size=fraction, random_state=self.seed_ % 2**32, stratify=strata
        )
        return rows.take(train), rows.take(held_out)

    def _weights(self, weight: Tensor | None, target: Tensor) -> Tensor | None:  # noqa: ARG002
        """Return the factor of each row's loss."""
        return weight

    def _strata(self, y: Any, n_held_out: int) -> Any:  # noqa: ARG002
        """Return the labels whose shares a split with `n_held_out` rows keeps, if that is possible."""
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "net_")
