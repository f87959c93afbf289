"""What the classifier and the regressor share: they have a coder and a trainer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import EPOCH_ORDER, random_order
from gcwsnet._locks import writes
from gcwsnet._memory import available_bytes
from gcwsnet._threads import n_threads
from gcwsnet._validation import draw_seed
from gcwsnet.coding import Coder, fit_coder
from gcwsnet.coding._coder import rows_at_once
from gcwsnet.data import Batch
from gcwsnet.estimators import _stream_fit
from gcwsnet.estimators._input import AllWeightsZeroError, opened, schema_of
from gcwsnet.estimators._parameters import Beginning, NetParameters
from gcwsnet.estimators._progress import describe_event, logger, progress, show_selection
from gcwsnet.estimators._stream import Stream
from gcwsnet.estimators._unchanged import UnchangedUnlessItLearns
from gcwsnet.estimators._warm_up import WARM_UP_ROWS, WarmUpBuffer
from gcwsnet.training import Plan, Targets, Trainer, TrainingSettings
from gcwsnet.training._candidate_score import CandidateScore
from gcwsnet.training._history import Record, record_fractions

SHARE_OF_MEMORY_FOR_CODES = 4
MOST_EPOCHS_OF_EARLY_STOPPING = 30

Self = TypeVar("Self", bound="GCWSNetEstimator")


class GCWSNetEstimator(NetParameters):
    """The part of the classifier and of the regressor that is the same for both.

    They have a coder and a trainer. Where `fit` goes from here is in ``CONTRIBUTING.md``.
    """

    _stream: Stream | None = None
    _grows: bool = True

    @abstractmethod
    def _targets_of(self, y: Any) -> Targets:
        """Return the targets that y shows; a fit begins with them."""

    def _targets_with(self, targets: Targets, y: Any) -> Targets:  # noqa: ARG002
        """Return the targets of a stream, once it has shown more of y."""
        return targets

    def _meet_targets(self, y: Any) -> NDArray[Any]:
        """Return encoded targets. What the net cannot learn is an error, unless it can be changed so that it can."""
        return self.trainer_.targets.encode(y)

    def _row_weights(self, weight: NDArray[Any] | None, target: NDArray[Any], targets: Any) -> NDArray[Any] | None:  # noqa: ARG002
        """Return the factor of each row's loss."""
        return weight

    def _strata(self, y: Any, n_held_out: int) -> Any:  # noqa: ARG002
        """Return what a split that holds out `n_held_out` rows keeps the shares of."""
        return None

    def _warm_up_rows(self) -> int:
        """Return the rows of a stream that preprocessing and p are learned from."""
        learned = self.scale is not None or self.relevance not in ("auto", 0)
        return WARM_UP_ROWS if learned or self._is_searched() else 1

    @writes
    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Learn from rows in random order, `epochs` times each.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,) or, for a regression, (n, m)
        sample_weight : array of shape (n,), optional
            Factors of the rows' losses. A row of weight 0, or of a class of weight 0, is as if it were not there, but
            for its label: `classes_` has all labels of y, as in scikit-learn.
        eval_set : (X, y) or [(X, y), ...], optional
            Held-out rows that are evaluated at each record: `history_` gets their loss and their metric, with the
            prefix ``eval_``, for further pairs ``eval_1_`` and so on. The first pair decides about early stopping.
            Their codes are kept in memory while the net learns.

        Returns
        -------
        self : object
            After an error before it has learned from any row it is as it was: not fitted, or the model of an earlier
            `fit`.
        """
        with UnchangedUnlessItLearns(self):
            fresh = not (self.warm_start and self.__sklearn_is_fitted__())
            coder_settings, training_settings = self._freeze_parameters(continued=not fresh)
            if eval_set is not None:
                self._check_unused("validation_fraction", why="an eval_set is given")
            given = self._positive_rows(X, y, sample_weight)
            schema = schema_of(given.X, coder_settings) if fresh else self.coder_.schema
            rows = self._check_rows(given, coder_settings, schema, reset=fresh)
            held_out = [
                self._check_rows(Batch(opened(X), y), coder_settings, schema, reset=False) for X, y in _pairs(eval_set)
            ]
            seed = draw_seed(self.random_state) if fresh else self.seed_
            targets = self._targets_of(self._shown_targets(rows, y)) if fresh else self.trainer_.targets
            all_rows = rows
            if self.early_stopping and not held_out:
                rows, *held_out = self._split(rows, seed)
            self._stream = None
            if fresh:
                self._grows = True
                beginning = Beginning(targets, coder_settings, schema, seed)
                self._begin(rows, beginning, training_settings, rows.n_rows)
            else:
                fitted = self.trainer_.settings
                self.trainer_.net.settings = replace(training_settings, hidden=fitted.hidden, ensemble=fitted.ensemble)
            encoded = [Batch(self._codes(held.X), targets.encode(held.y)) for held in held_out]
            plan = Plan(
                self._n_epochs(self.trainer_.settings, rows.n_rows),
                rows.n_rows,
                scheduled=not self.early_stopping,
                fractions=record_fractions(self.records),
                patience=self.patience if self.early_stopping else None,
                averaged=self.early_stopping,
            )
            self._run(plan, rows, shuffle=self.shuffle, held_out=encoded)
            if fresh and rows is not all_rows and self.trainer_.best_epoch:
                self._learn_again(all_rows, self.trainer_.best_epoch)
        return self

    def _learn_again(self, rows: Batch, epochs: int) -> None:
        """Learn from all rows, those that were held out too, for as many epochs as were best for these."""
        stopped = self.trainer_
        self._use(self._new_trainer(stopped.settings, stopped.targets))
        self._run(Plan(epochs, rows.n_rows), rows, shuffle=self.shuffle)
        self.trainer_.history = stopped.history

    @writes
    def _partial_fit(self: Self, X: Any, y: Any, targets: Targets | None, sample_weight: Any) -> Self:
        with UnchangedUnlessItLearns(self):
            fresh = not self.__sklearn_is_fitted__()
            if fresh:
                coder_settings, _ = self._freeze_parameters()
                self._check_unused("early_stopping", why="partial_fit does not know when the rows end")
            else:
                coder_settings = self.coder_.settings
            try:
                given = self._positive_rows(X, y, sample_weight)
            except AllWeightsZeroError:
                if fresh:
                    raise
                return self
            schema = schema_of(given.X, coder_settings) if fresh else self.coder_.schema
            rows = self._check_rows(given, coder_settings, schema, reset=fresh)
            target = None
            if fresh:
                targets = self._targets_of(rows.y) if targets is None else targets
                targets.encode(rows.y)  # an error before anything changes
                capacity = self._warm_up_rows()
                self._stream = Stream(capacity, WarmUpBuffer(capacity))
                beginning = Beginning(targets, coder_settings, schema, draw_seed(self.random_state))
                _stream_fit.warm_up(self, rows, beginning)
            else:
                target = self._meet_targets(rows.y)
                if self._stream is not None and self._stream.is_busy:
                    _stream_fit.warm_up(self, rows)
                    target = None  # other rows may have changed how targets are encoded
            _stream_fit.learn(self, rows, target)
        return self

    def _is_searched(self) -> bool:
        """Return whether the preprocessing of a stream, or p, is searched for."""
        given = self._fitted_params
        return given["search"] != "off" and "auto" in (given["p"], given["relevance"], given["scale"])

    def _encoded(self, rows: Batch, threads: int, target: NDArray[Any] | None = None) -> Batch:
        """Return the codes of rows, with encoded targets and weights."""
        targets = self.trainer_.targets
        target = targets.encode(rows.y) if target is None else target
        codes = self.coder_.codes(rows.X, n_jobs=threads)
        return Batch(codes, target, self._row_weights(rows.weight, target, targets))

    def _use_version(self, coder: Coder) -> None:
        """Use a coder with a new version of its preprocessing."""
        assert coder.version is not None  # noqa: S101
        self.coder_ = coder
        self._note("preprocessing", version=coder.version.number, awake=int(np.count_nonzero(coder.version.awake)))

    def _note(self, event: str, **more: Any) -> None:
        """Note an event of a stream."""
        following = self.trainer_.following
        if following is not None:
            logger.debug("%s", describe_event(following.note(event, self.trainer_.rows_seen, **more)))

    def _split(self, rows: Batch, seed: int) -> tuple[Batch, Batch]:
        """Return rows to learn from, and held-out rows."""
        from sklearn.model_selection import train_test_split  # noqa: PLC0415 - it takes long to import

        numbers = np.arange(rows.n_rows)
        strata = self._strata(rows.y, math.ceil(self.validation_fraction * len(numbers)))
        learned, held_out = train_test_split(
            numbers, test_size=self.validation_fraction, random_state=seed % 2**32, stratify=strata
        )
        return rows.take(learned), rows.take(held_out)

    def _begin(self, rows: Batch, beginning: Beginning, settings: TrainingSettings, n_rows: int) -> None:
        """Learn how rows become codes, and make a net that has learned nothing.

        The rows may be a sample of the `n_rows` that will be learned. The search for a preprocessing finds the number
        of epochs, too, unless early stopping does.
        """
        thorough = beginning.settings.search == "thorough"
        epochs = () if self.early_stopping else settings.epochs_to_compare(n_rows, thorough=thorough)
        settings = settings.for_rows(n_rows, beginning.targets.n_outputs)
        self.coder_ = self._fit_coder(rows, beginning, settings, epochs)
        show_selection(self.verbose, self.selection_)
        self._use(self._new_trainer(settings, beginning.targets))

    def _fit_coder(
        self,
        rows: Batch,
        beginning: Beginning,
        training: TrainingSettings,
        epochs: Sequence[int] = (),
        pause: Callable[[], None] | None = None,
    ) -> Coder:
        """Return the coder that suits rows and a net with these settings; a search calls `pause` now and then."""
        targets, settings, schema, seed = beginning
        target = targets.encode(rows.y)
        weight = self._row_weights(rows.weight, target, targets)
        score = CandidateScore(targets, target, weight, training, epochs, seed, n_threads(self.n_jobs), pause)
        numeric = None if schema is None else schema.numeric
        return fit_coder(rows.X, settings, seed, score, numeric=numeric, schema=schema, ensemble=training.members())

    def _new_trainer(self, settings: TrainingSettings, targets: Targets) -> Trainer:
        """Return a trainer whose net has learned nothing from the codes of the coder."""
        coder = self.coder_
        made = {"n_hashes": coder.settings.n_hashes, "code_bits": coder.code_bits, "seed": coder.seed}
        return Trainer.begin(settings, targets.with_temperature(coder.temperature), **made, device=str(self.device))

    def _n_epochs(self, settings: TrainingSettings, n_rows: int) -> int:
        """Return how often `fit` goes over the rows: as often as was given or, if it was left open, selected."""
        if self.early_stopping and settings.epochs == "auto":
            return MOST_EPOCHS_OF_EARLY_STOPPING
        selected = self.coder_.epochs if settings.epochs == "auto" else None
        return settings.n_epochs(n_rows) if selected is None else selected

    def _use(self, trainer: Trainer) -> None:
        """Take a trainer, and set the attributes that follow from its targets."""
        self.trainer_ = trainer

    def _run(self, plan: Plan, rows: Batch, *, shuffle: bool, held_out: Sequence[Batch] = ()) -> None:
        """Run the trainer on rows."""
        targets = self.trainer_.targets
        target = targets.encode(rows.y)
        rows = Batch(rows.X, target, self._row_weights(rows.weight, target, targets))
        epochs = self._coded_epochs(rows, plan.epochs, shuffle=shuffle)
        self.trainer_.start_run()
        with progress(self.verbose, plan.epochs * rows.n_rows, self._call_back) as observer:
            evaluated = [lambda batch=batch: [batch] for batch in held_out]
            self.trainer_.run(plan, epochs, evaluated, observer, n_jobs=n_threads(self.n_jobs))

    def _coded_epochs(self, rows: Batch, n_epochs: int, *, shuffle: bool) -> Callable[[int], Iterator[Batch]]:
        """Return the codes of each epoch in its order; they are kept where that saves work and takes little memory."""
        n, seed = rows.n_rows, self.seed_
        block = rows_at_once(rows.X)
        kept: Batch | None = None
        n_bytes = n * self.coder_.n_codes * np.min_scalar_type((1 << self.coder_.code_bits) - 1).itemsize
        if n_epochs > 1 and n_bytes <= (available_bytes() or 0) // SHARE_OF_MEMORY_FOR_CODES:
            kept = rows._replace(X=self._codes(rows.X))

        def epoch(number: int) -> Iterator[Batch]:
            drawn = random_order(seed, EPOCH_ORDER, n, number * n) if shuffle else np.arange(n)
            for first in range(0, n, block):
                some = drawn[first : first + block]
                if kept is not None:
                    yield kept.take(some)
                else:
                    chosen = rows.take(some) if shuffle else rows.rows(first, first + block)
                    yield chosen._replace(X=self._codes(chosen.X))

        return epoch

    def _codes(self, X: Any) -> NDArray[Any]:
        return self.coder_.codes(X, n_jobs=self.n_jobs)

    def _call_back(self, record: Record) -> bool:
        """Return whether a callback wants to stop; all of them are called."""
        answers = [callback(self, dict(record)) for callback in self.callbacks or ()]
        return any(answer is True for answer in answers)


def _pairs(eval_set: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of rows and targets of an `eval_set`."""
    if eval_set is None:
        return []
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError("eval_set must be a pair (X, y), or a list of such pairs")
    return [(X, y) for X, y in pairs]
