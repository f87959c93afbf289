"""What the classifier and the regressor share: rows are scaled, hashed and learned in small batches."""

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
from gcwsnet._validation import Matrix, check_matrix, draw_seed
from gcwsnet.estimators._averaging import Averages
from gcwsnet.estimators._beginning import ENOUGH_ROWS, Beginning
from gcwsnet.estimators._coding import Coding
from gcwsnet.estimators._history import Record, check_checkpoints
from gcwsnet.estimators._learner import SCHEDULES, EarlyStopping, Learner, make_net, make_optimizer, torch_threads
from gcwsnet.estimators._progress import progress
from gcwsnet.estimators._rows import Rows, pairs_of, rows_at_once
from gcwsnet.estimators._run import HeldOut, Run
from gcwsnet.estimators._selection import SMALL, SMALL_HIDDEN
from gcwsnet.estimators._targets import Targets, without_targets

RATE_OF_FEW_STEPS, RATE_OF_MANY_STEPS, RATE_WITHOUT_HIDDEN_LAYERS = 5e-3, 3e-3, 1e-2
FEW_STEPS = 3000
EPOCHS_OF_FEW_ROWS, FEW_ROWS = 3, 1500
Self = TypeVar("Self", bound="GCWSNetEstimator")


@contextmanager
def unchanged_unless_it_learns(estimator: BaseEstimator) -> Iterator[None]:
    """An error before a net has learned from any row leaves the estimator as it was, with the net that it had."""
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
    """The part of the classifier and of the regressor that is the same for both."""

    _targets: Targets
    _beginning: Beginning | None = None
    averages_: Averages | None

    @abstractmethod
    def _targets_of(self, y: Any) -> Targets:
        """The targets that y shows; a fit begins with them."""

    @abstractmethod
    def _targets_renewed(self, targets: Targets, y: Any) -> Targets:
        """The targets of a stream, once it has shown more of y."""

    @abstractmethod
    def _set_targets(self, targets: Targets) -> None:
        """Keep the targets, and set the attributes that follow from them."""

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Learn from rows in random order, `epochs` times each.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,) or, for a regression, (n, m)
        sample_weight : array of shape (n,), optional
            Factors of the rows' losses.
        eval_set : (X, y) or [(X, y), ...], optional
            Rows to judge by at each checkpoint: `history_` gets their loss and their measure, with the prefix "eval_",
            for further pairs "eval_1_" and so on. The first pair decides about early stopping. Their codes are kept
            in memory while the net learns.

        Returns
        -------
        self : object
            After an error before it has learned from any row it is as it was: not fitted, or the model of an earlier
            `fit`.
        """
        with unchanged_unless_it_learns(self):
            self._check_parameters()
            fresh = not (self.warm_start and hasattr(self, "net_"))
            rows = self._check_rows(X, y, sample_weight, reset=fresh)
            apart = [self._check_rows(*pair, None, reset=False) for pair in pairs_of(eval_set)]
            targets = self._targets_of(rows.y) if fresh else self._targets
            if fresh:
                self.seed_ = draw_seed(self.random_state)
            if self.early_stopping and not apart:
                rows, *apart = self._split(rows)
            self._beginning = None
            if fresh:
                self._begin(rows, targets)
            self._learn(rows, [HeldOut(self._codes(held.X), targets.encode(held.y)) for held in apart])
        return self

    def _learn(self, rows: Rows, held_out: list[HeldOut]) -> None:
        """Learn from rows as `fit` does."""
        self.averages_ = None
        schedule = SCHEDULES[self.schedule]
        n = rows.X.shape[0]
        epochs = self.epochs if self.epochs != "auto" else EPOCHS_OF_FEW_ROWS if n < FEW_ROWS else 1
        start = self._rate(epochs * math.ceil(n / self.batch_size))
        self._run(rows, held_out, epochs, lambda done: start * schedule(done), shuffle=self.shuffle)

    def _partial_fit(self: Self, X: Any, y: Any, targets: Targets | None, sample_weight: Any) -> Self:
        with unchanged_unless_it_learns(self):
            self._check_parameters()
            fresh = not hasattr(self, "net_")
            rows = self._check_rows(X, y, sample_weight, reset=fresh)
            if fresh:
                self.seed_ = draw_seed(self.random_state)
                self._beginning = Beginning(ENOUGH_ROWS if self._learns_from_first_rows() else 1)
                targets = self._targets_of(rows.y) if targets is None else targets
            else:
                targets = self._targets
            targets.encode(rows.y)  # an error before the net or the beginning change
            if self._beginning is not None:
                self._beginning, first = self._beginning.and_then(rows)
                if first is not None:
                    rows = first
                    self._begin(rows, self._targets_renewed(targets, rows.y))
                if self._beginning.is_over:
                    self._beginning = None
            if self.average and self.averages_ is None:
                self.averages_ = Averages(self.net_, self.n_rows_seen_)
            self._run(rows, [], 1, lambda _: self._rate(), shuffle=False)
        return self

    def save(self, path: str | Path, *, optimizer: bool = True, timings: bool = True) -> None:
        """Write the fitted model to one file: safetensors, with the settings as JSON in its header.

        Parameters
        ----------
        path : str or Path
            The file. It is written beside it first and then moved into its place.
        optimizer : bool, default=True
            Whether the state of the optimizer is saved too. It is one or two times as large as the net, and lets
            `partial_fit` go on as if nothing had been saved; but the first rows of a stream (see `partial_fit`) are
            never saved, so that what has been learned from them is final then.
        timings : bool, default=True
            Whether the seconds of `history_` and `selection_` are saved. Without them they are 0, and equal fits give
            equal files.
        """
        from gcwsnet.estimators._saving import save_model  # noqa: PLC0415

        check_is_fitted(self)
        save_model(self, Path(path), with_optimizer=optimizer, timings=timings)

    def _begin(self, rows: Rows, targets: Targets) -> None:
        """Learn how rows become codes, and make a net that has learned nothing."""
        self._make_coder(rows, targets)
        self._make_net(targets)

    def _make_net(self, targets: Targets) -> None:
        """A net, its optimizer and an empty history."""
        self._make_learner(targets)
        self._set_targets(targets)
        self.averages_ = None
        self.history_: dict[str, list[float]] = {}
        self.n_rows_seen_ = 0
        self.n_epochs_seen_ = 0

    def _scores(
        self, learned: Rows, judged: Rows, targets: Targets, X: Matrix, X_judged: Matrix, p: float
    ) -> NDArray[np.float64]:
        """The score of each judged row by a small net, with X and X_judged for the rows' own numbers."""
        settings = self.get_params(deep=False) | SMALL | {"scale": None, "p": p}
        small = type(self)(**settings | {"hidden": SMALL_HIDDEN if len(self.hidden) else ()})
        small.n_features_in_, small.seed_ = X.shape[1], self.seed_
        small._begin(learned._replace(X=X), targets)
        small._learn(learned._replace(X=X), [])
        return targets.score(small._outputs(X_judged), targets.encode(judged.y)).numpy()

    def _make_learner(self, targets: Targets) -> None:
        net = make_net(
            self.seed_,
            torch.device(self.device),
            n_hashes=self.n_hashes,
            bits=self.hasher_.code_bits,
            n_outputs=targets.n_outputs,
            hidden=tuple(self.hidden),
            reduction=self.reduction,
            sparse=self.optimizer == "lazy",
        )
        self.optimizer_ = make_optimizer(
            net, self.optimizer, lr=self._rate(), betas=tuple(self.betas), weight_decay=self.weight_decay
        )
        self._targets, self.net_ = targets, net

    def _rate(self, steps: float = math.inf) -> float:
        """The learning rate that a run of so many steps begins with."""
        if self.learning_rate != "auto":
            return float(self.learning_rate)
        if not len(self.hidden):
            return RATE_WITHOUT_HIDDEN_LAYERS
        return RATE_OF_FEW_STEPS if steps <= FEW_STEPS else RATE_OF_MANY_STEPS

    def _run(
        self, rows: Rows, held_out: list[HeldOut], epochs: int, rate: Callable[[float], float], *, shuffle: bool
    ) -> None:
        """Learn from all rows, `epochs` times; the rate depends on the share that is done."""
        target = self._targets.encode(rows.y)
        run = Run(
            learner=Learner(self.net_, self.optimizer_, self._targets),
            target=target,
            weight=self._weights(rows.weight, target),
            held_out=held_out,
            epochs=epochs,
            rate=rate,
            fractions=check_checkpoints(self.checkpoints),
            stopping=EarlyStopping(self.patience) if self.early_stopping and held_out else None,
            averages=self.averages_,
            is_enough=self._call_back,
            history=self.history_,
            rows_seen=self.n_rows_seen_,
            epochs_seen=self.n_epochs_seen_,
        )
        codes = self._codes(rows.X) if self.cache else None
        first = self.n_epochs_seen_
        with torch_threads(n_threads(self.n_jobs)), progress(self.verbose, epochs * len(target)) as shown:
            try:
                run.through((self._batches(rows.X, codes, shuffle, first + epoch) for epoch in range(epochs)), shown)
            finally:  # also when it was interrupted: what has been learned stays
                self.n_rows_seen_, self.n_epochs_seen_ = run.rows_seen, run.epochs_seen

    def _call_back(self, record: Record) -> bool:
        """Whether a callback wants to stop; all of them are called."""
        answers = [callback(self, dict(record)) for callback in self.callbacks or ()]
        return any(answer is True for answer in answers)

    def _batches(self, X: Matrix, codes: Tensor | None, shuffle: bool, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Numbers of rows and their codes, batch by batch; hashed in blocks unless all codes are there."""
        n, size = X.shape[0], int(self.batch_size)
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
        """Outputs of the net for rows as users give them."""
        check_is_fitted(self)
        X = check_matrix(X, estimator=self, reset=False)
        self._check_finite(X)
        net = self.net_ if self.averages_ is None else self.averages_.older.net
        learner, step = Learner(net, self.optimizer_, self._targets), rows_at_once(X)
        with torch_threads(n_threads(self.n_jobs)):
            parts = [learner.outputs(self._codes(X[first : first + step])) for first in range(0, X.shape[0], step)]
        return torch.cat(parts)

    def _check_rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        if y is None:
            raise without_targets(self)
        X = check_matrix(X, estimator=self, reset=reset)
        self._check_finite(X)
        y = np.asarray(y)
        check_consistent_length(X, y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return Rows(X, y, None if weight is None else torch.from_numpy(weight.astype(np.float32)))

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        """Rows to learn from, and rows to judge by."""
        numbers = np.arange(rows.X.shape[0])
        strata = self._strata(rows.y, math.ceil(self.validation_fraction * len(numbers)))
        learned, apart = train_test_split(
            numbers, test_size=self.validation_fraction, random_state=self.seed_ % 2**32, stratify=strata
        )
        return rows.take(learned), rows.take(apart)

    def _weights(self, weight: Tensor | None, target: Tensor) -> Tensor | None:  # noqa: ARG002
        """The factor of each row's loss."""
        return weight

    def _strata(self, y: Any, n_apart: int) -> Any:  # noqa: ARG002
        """What a split that takes so many rows apart keeps the shares of."""
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "net_")
