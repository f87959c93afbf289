"""What the classifier and the regressor share: they have a coder and a trainer."""

from __future__ import annotations

import copy
import inspect
import math
import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import EPOCH_ORDER, random_order
from gcwsnet._memory import available_bytes
from gcwsnet._threads import n_threads
from gcwsnet._validation import check_integer, check_number, draw_seed
from gcwsnet.coding import Coder, CoderSettings, fit_coder
from gcwsnet.coding._coder import rows_at_once
from gcwsnet.data import Batch, Schema
from gcwsnet.estimators._fitted_model import FittedNet
from gcwsnet.estimators._input import opened, schema_of
from gcwsnet.estimators._model_format import READ_WHEN_USED
from gcwsnet.estimators._progress import describe_event, logger, progress, show_selection
from gcwsnet.estimators._stream import ROWS_LEARNED_AGAIN, Search, Stream, is_same_point
from gcwsnet.estimators._table_model import frozen
from gcwsnet.estimators._warm_up import WARM_UP_ROWS, WarmUpBuffer
from gcwsnet.training import Plan, Targets, Trainer, TrainingSettings
from gcwsnet.training._candidate_score import CandidateScore
from gcwsnet.training._history import Record, record_fractions

CODER_SETTINGS = tuple(CoderSettings.__dataclass_fields__)
TRAINING_SETTINGS = tuple(TrainingSettings.__dataclass_fields__)
MAY_CHANGE_WITH_WARM_START = frozenset(
    {
        *("epochs", "batch_size", "learning_rate", "schedule", "class_weight", "average", "shuffle", "records"),
        *("early_stopping", "patience", "validation_fraction", "warm_start"),
    }
)
SHARE_OF_MEMORY_FOR_CODES = 4
MOST_EPOCHS_OF_EARLY_STOPPING = 30

Callback = Callable[[Any, Record], Any]
Self = TypeVar("Self", bound="GCWSNetEstimator")


class GCWSNetEstimator(FittedNet):
    """The part of the classifier and of the regressor that is the same for both.

    They have a coder and a trainer. Where `fit` goes from here is in ``CONTRIBUTING.md``.
    """

    _stream: Stream | None = None
    _grows: bool = True

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
        self.n_hashes = n_hashes
        self.bits = bits
        self.t_bits = t_bits
        self.p = p
        self.scale = scale
        self.relevance = relevance
        self.search = search
        self.hidden = hidden
        self.ensemble = ensemble
        self.reduction = reduction
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.optimizer = optimizer
        self.betas = betas
        self.weight_decay = weight_decay
        self.average = average
        self.encoding = encoding
        self.missing = missing
        self.shuffle = shuffle
        self.records = records
        self.early_stopping = early_stopping
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.callbacks = callbacks
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

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

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Learn from rows in random order, `epochs` times each.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,) or, for a regression, (n, m)
        sample_weight : array of shape (n,), optional
            Factors of the rows' losses.
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
        with _UnchangedUnlessItLearns(self):
            fresh = not (self.warm_start and self.__sklearn_is_fitted__())
            coder_settings, training_settings = self._freeze_parameters(continued=not fresh)
            if eval_set is not None:
                self._check_unused("validation_fraction", why="an eval_set is given")
            X = opened(X)
            schema = schema_of(X, coder_settings) if fresh else self.coder_.schema
            rows = self._check_rows(X, y, sample_weight, coder_settings, schema, reset=fresh)
            held_out = [self._check_rows(*pair, None, coder_settings, schema, reset=False) for pair in _pairs(eval_set)]
            seed = draw_seed(self.random_state) if fresh else self.seed_
            targets = self._targets_of(rows.y) if fresh else self.trainer_.targets
            all_rows = rows
            if self.early_stopping and not held_out:
                rows, *held_out = self._split(rows, seed)
            self._stream = None
            if fresh:
                self._grows = True
                thorough = coder_settings.search == "thorough"
                epochs = (
                    () if self.early_stopping else training_settings.epochs_to_compare(rows.n_rows, thorough=thorough)
                )
                training_settings = training_settings.for_rows(rows.n_rows, targets.n_outputs)
                self._begin(rows, targets, coder_settings, training_settings, schema, seed, epochs)
            else:
                fitted = self.trainer_.settings
                training_settings = replace(training_settings, hidden=fitted.hidden, ensemble=fitted.ensemble)
                self.trainer_.net.settings = training_settings
            encoded = [Batch(self._codes(held.X), targets.encode(held.y)) for held in held_out]
            plan = Plan(
                self._n_epochs(training_settings, rows.n_rows),
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

    def _partial_fit(self: Self, X: Any, y: Any, targets: Targets | None, sample_weight: Any) -> Self:
        with _UnchangedUnlessItLearns(self):
            fresh = not self.__sklearn_is_fitted__()
            if fresh:
                coder_settings, _ = self._freeze_parameters()
                self._check_unused("early_stopping", why="partial_fit does not know when the rows end")
            else:
                coder_settings = self.coder_.settings
            X = opened(X)
            schema = schema_of(X, coder_settings) if fresh else self.coder_.schema
            rows = self._check_rows(X, y, sample_weight, coder_settings, schema, reset=fresh)
            target = None
            if fresh:
                targets = self._targets_of(rows.y) if targets is None else targets
                targets.encode(rows.y)  # an error before anything changes
                capacity = self._warm_up_rows()
                self._stream = Stream(capacity, WarmUpBuffer(capacity))
                self._warm_up(rows, _Beginning(targets, coder_settings, schema, draw_seed(self.random_state)))
            else:
                target = self._meet_targets(rows.y)
                if self._stream is not None and self._stream.is_busy:
                    self._warm_up(rows)
                    target = None  # other rows may have changed how targets are encoded
            self._learn_stream(rows, target)
        return self

    def _warm_up(self, rows: Batch, beginning: _Beginning | None = None) -> None:
        """Choose a preprocessing by the first rows of a stream, in turns with learning; see `Stream`."""
        stream = self._stream
        assert stream is not None  # noqa: S101
        n_before = 0 if stream.buffer is None else stream.buffer.n_used
        together = None
        if stream.buffer is not None and not stream.buffer.is_full:
            stream.buffer, together = stream.buffer.add(rows)
        if together is not None and self._is_searched() and stream.is_search_due(together.n_rows):
            stream.search(together)
        found = None if stream.waiting is None else stream.advance(rows.n_rows, self._detached_search(beginning))
        if found is None and together is not None and (beginning is not None or stream.waiting is None):
            found = self._fitted_coder(together, beginning)
        if found is not None:
            self._take_coder(found, beginning, rows.n_rows, learned_again=n_before <= ROWS_LEARNED_AGAIN)
        again = stream.next_again(rows.n_rows)
        if again is not None:
            threads = n_threads(self.n_jobs)
            self.trainer_.relearn(self._encoded(again, threads), n_jobs=threads)
        full = stream.buffer is not None and stream.buffer.is_full
        if full and stream.waiting is None and stream.again is None:
            stream.finish(self.coder_)

    def _detached_search(self, beginning: _Beginning | None) -> Search:
        """Return a search that does not keep this estimator alive: it may be dropped before the search ends."""
        detached = copy.copy(self)
        detached._stream = Stream(0)
        return lambda first, pause: detached._fitted_coder(first, beginning, pause)

    def _is_searched(self) -> bool:
        """Return whether the preprocessing of a stream, or p, is searched for."""
        given = self._fitted_params
        return given["search"] != "off" and "auto" in (given["p"], given["relevance"], given["scale"])

    def _fitted_coder(
        self, rows: Batch, beginning: _Beginning | None, pause: Callable[[], None] | None = None
    ) -> Coder:
        """Return the coder of first rows of a stream: with `pause` by a search, else with what was chosen so far."""
        if beginning is None:
            coder = self.coder_
            targets, settings, schema, seed = self.trainer_.targets, coder.settings, coder.schema, coder.seed
        else:
            targets, settings, schema, seed = beginning
        training = self._training_settings().for_rows(math.inf)
        target = targets.encode(rows.y)
        weight = self._row_weights(rows.weight, target, targets)
        score = CandidateScore(targets, target, weight, training, (), seed, n_threads(self.n_jobs), pause)
        asked = settings
        if pause is None and beginning is None:
            recipe = coder.preprocessing.recipe
            asked = replace(asked, scale=recipe.scale, relevance=recipe.relevance, p=coder.p, search="off")
        elif pause is None:
            asked = replace(asked, search="off")
        numeric = None if schema is None else schema.numeric
        members = training.members()
        made = fit_coder(rows.X, asked, seed, score, numeric=numeric, schema=schema, ensemble=members)
        selection = coder.selection if pause is None and beginning is None else made.selection
        return replace(made, settings=settings, selection=selection)

    def _take_coder(self, coder: Coder, beginning: _Beginning | None, n_rows: int, *, learned_again: bool) -> None:
        """Use another coder; rows that it changes much are learned again, but for the `n_rows` that come next."""
        stream = self._stream
        assert stream is not None  # noqa: S101
        if coder.selection and (beginning is not None or coder.selection != self.coder_.selection):
            show_selection(self.verbose, list(coder.selection))
        if beginning is not None:
            self.coder_ = coder
            settings = self._training_settings().for_rows(math.inf)
            self._use(self._new_trainer(settings, beginning.targets))
            return
        changed = not is_same_point(self.coder_, coder)
        self.coder_ = coder
        self._note("preprocessing", scale=coder.scale, p=coder.p, chosen_again=changed)
        if changed or learned_again:
            stream.again = stream.rows_before(n_rows)
        together = stream.buffer.parts if stream.buffer is not None else ()
        if together:
            y = np.concatenate([part.y for part in together if part.y is not None])
            self.trainer_.net.targets = self._targets_with(self.trainer_.targets, y)
            self.trainer_.start_run()
            self._use(self.trainer_)

    def _learn_stream(self, rows: Batch, target: NDArray[Any] | None) -> None:
        """Learn from rows of a stream in their order; their encoded targets may be known."""
        if self._stream is not None:
            coder = self._stream.look_at(rows.X, self.coder_)
            if coder is not None:
                self._use_version(coder)
        if self.callbacks or self.verbose or rows.n_rows > rows_at_once(rows.X):
            fractions = record_fractions(self._fitted_params["records"])
            plan = Plan(1, rows.n_rows, scheduled=False, fractions=fractions, follows=True)
            self._run(plan, rows, shuffle=False)
            return
        threads = 1 if self.n_jobs is None and rows.n_rows == 1 else n_threads(self.n_jobs)
        for event in self.trainer_.follow_quietly(self._encoded(rows, threads, target), n_jobs=threads):
            logger.debug("%s", describe_event(event))

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

    def _training_settings(self) -> TrainingSettings:
        return TrainingSettings(**{name: self._fitted_params[name] for name in TRAINING_SETTINGS})

    def _freeze_parameters(self, *, continued: bool = False) -> tuple[CoderSettings, TrainingSettings]:
        """Check the parameters and keep them for the model that is fitted next; return what coder and trainer need.

        If a fitted model is continued, what its codes and its net follow from must not have changed.
        """
        settings = self._check_parameters()
        params = {name: frozen(value) for name, value in self.get_params(deep=False).items()}
        params["hidden"] = _layers(self.hidden)
        params = {name: params[name] for name in params if name not in READ_WHEN_USED} | {"device": str(self.device)}
        for name in sorted(params.keys() - MAY_CHANGE_WITH_WARM_START) if continued else ():
            if params[name] != self._fitted_params[name]:
                raise ValueError(
                    f"{name} must stay {self._fitted_params[name]!r} while warm_start=True continues the fitted model, "
                    f"got {name}={params[name]!r}; use warm_start=False to fit a new one"
                )
        self._fitted_params = params
        return settings

    def _check_parameters(self) -> tuple[CoderSettings, TrainingSettings]:
        """Return the settings of coder and trainer, once all parameters have been checked."""
        if hasattr(self.scale, "transform"):
            raise TypeError(
                f"scale must be the name of a preprocessing or None, got the transformer {self.scale!r}; put it before "
                f"the model: make_pipeline({type(self.scale).__name__}(...), {type(self).__name__}(scale=None))"
            )
        coder = CoderSettings(**{name: frozen(getattr(self, name)) for name in CODER_SETTINGS})
        given = {name: frozen(getattr(self, name)) for name in TRAINING_SETTINGS}
        trainer = TrainingSettings(**given | {"hidden": _layers(self.hidden)})
        coder.check()
        trainer.check()
        record_fractions(self.records)
        check_integer("patience", self.patience, 1, 2**31)
        check_number("validation_fraction", self.validation_fraction, 0.0, 1.0)
        if not self.early_stopping:
            self._check_unused("patience", "validation_fraction", why="early_stopping is False")
        return coder, trainer

    def _check_unused(self, *names: str, why: str) -> None:
        """Raise a ValueError for parameters that were given and have no effect."""
        defaults = inspect.signature(type(self)).parameters
        for name in names:
            value = getattr(self, name)
            if value != defaults[name].default:
                raise ValueError(f"{name}={value!r} has no effect, since {why}; leave {name} out")

    def _split(self, rows: Batch, seed: int) -> tuple[Batch, Batch]:
        """Return rows to learn from, and held-out rows."""
        from sklearn.model_selection import train_test_split  # noqa: PLC0415 - it takes long to import

        numbers = np.arange(rows.n_rows)
        strata = self._strata(rows.y, math.ceil(self.validation_fraction * len(numbers)))
        learned, held_out = train_test_split(
            numbers, test_size=self.validation_fraction, random_state=seed % 2**32, stratify=strata
        )
        return rows.take(learned), rows.take(held_out)

    def _begin(
        self,
        rows: Batch,
        targets: Targets,
        coder_settings: CoderSettings,
        training_settings: TrainingSettings,
        schema: Schema | None,
        seed: int,
        epochs: Sequence[int] = (),
    ) -> None:
        """Learn how rows become codes, and how many `epochs` to take; and make a net that has learned nothing."""
        target = targets.encode(rows.y)
        weight = self._row_weights(rows.weight, target, targets)
        threads = n_threads(self.n_jobs)
        score = CandidateScore(targets, target, weight, training_settings, epochs, seed, threads)
        numeric = None if schema is None else schema.numeric
        members = training_settings.members()
        self.coder_ = fit_coder(rows.X, coder_settings, seed, score, numeric=numeric, schema=schema, ensemble=members)
        show_selection(self.verbose, self.selection_)
        self._use(self._new_trainer(training_settings, targets))

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


class _Beginning(NamedTuple):
    """What a stream begins with, before there is a coder."""

    targets: Targets
    settings: CoderSettings
    schema: Schema | None
    seed: int


class _UnchangedUnlessItLearns:
    """A context after whose errors the estimator is as it was, with the net that it had, if that has learned no row.

    A net with weights that are not finite is dropped: what it had learned before is lost.
    """

    def __init__(self, estimator: GCWSNetEstimator) -> None:
        self._now: dict[str, Any] = estimator.__dict__

    def __enter__(self) -> None:
        self._before = dict(self._now)
        trainer, stream = self._before.get("trainer_"), self._before.get("_stream")
        self._stream = {} if stream is None else stream.__getstate__()
        self._trained = (None, None) if trainer is None else (trainer.rows_seen, trainer.settings)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            return
        now, before = self._now, self._before
        rows_seen, settings = self._trained
        trainer, stream, current = before.get("trainer_"), before.get("_stream"), now.get("trainer_")
        finite = current is None or current.net.is_finite()
        if current is None or not finite or current.rows_seen == (rows_seen if current is trainer else 0):
            now.clear()
            now.update(before)
            if stream is not None:
                vars(stream).update(self._stream)
            if trainer is not None:
                trainer.net.settings = settings
            if current is trainer and not finite:
                now.pop("trainer_")


def _layers(hidden: Any) -> Any:
    """Return the units of the hidden layers as a tuple; one number is one layer."""
    if isinstance(hidden, numbers.Integral) and not isinstance(hidden, bool):
        return (int(hidden),)
    return frozen(hidden)


def _pairs(eval_set: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of rows and targets of an `eval_set`."""
    if eval_set is None:
        return []
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError("eval_set must be a pair (X, y), or a list of such pairs")
    return [(X, y) for X, y in pairs]
