"""What all models share that are fitted on tables: they have a coder, and take rows, targets and weights."""

from __future__ import annotations

import copy
import math
import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gcwsnet._keys import EPOCH_ORDER, random_order
from gcwsnet._locks import reads, writes
from gcwsnet._memory import available_bytes, require_names
from gcwsnet._threads import n_threads
from gcwsnet._validation import check_choice, check_integer, check_number, draw_seed
from gcwsnet.estimators._explain import explain, permutation_importance, plot_selection
from gcwsnet.estimators._input import (
    AllWeightsZeroError,
    as_array,
    check_rows,
    check_targets,
    opened,
    positive_rows,
    schema_of,
)
from gcwsnet.estimators._model_file import READ_WHEN_USED, TABLE_DTYPES, save_model
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.estimators._progress import describe_event, logger, progress, show_selection
from gcwsnet.estimators._stream import WARM_UP_ROWS, Beginning, WarmUp
from gcwsnet.net._history import History, Record, record_fractions
from gcwsnet.net._settings import TrainingParameters, TrainingSettings
from gcwsnet.net._targets import Labels, Targets
from gcwsnet.net._trainer import Plan, Trainer
from gcwsnet.search import NetScore, fit_coder
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._coder import Candidate, Coder, CoderSettings, HashingParameters, rows_at_once
from gcwsnet.tables._constant import keep_constants, reactivate
from gcwsnet.tables._schema import Schema


class BaseTableModel(BaseEstimator):
    """A fitted model of rows of tables: it has a coder, predicts, and says what was chosen for it.

    Attributes
    ----------
    coder_ : Coder
    _fitted_params : dict
        The parameters as they were in `fit`, which everything after it reads: changing a parameter of a fitted model
        changes nothing until the next `fit`.
    """

    coder_: Coder
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
        """Return the state for pickle and deepcopy, of which nothing changes while it is written."""
        state = super().__getstate__()
        return state | {"trainer_": copy.deepcopy(state["trainer_"])} if "trainer_" in state else state

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


MAY_CHANGE_WITH_WARM_START = frozenset(
    {
        *("epochs", "batch_size", "learning_rate", "schedule", "class_weight", "average", "shuffle", "records"),
        *("early_stopping", "patience", "validation_fraction", "warm_start"),
    }
)

Callback = Callable[[Any, Record], Any]


@dataclass(kw_only=True, eq=False, repr=False)
class NetParameters(TrainingParameters, HashingParameters):
    """The parameters of nets on codes, with their defaults; `GCWSNetClassifier` describes them."""

    shuffle: bool = True
    records: int | Sequence[float] = 10
    early_stopping: bool = False
    patience: int = 5
    validation_fraction: float = 0.1
    callbacks: Sequence[Callback] | None = None
    warm_start: bool = False
    verbose: int = 0
    random_state: Any = None
    n_jobs: int | None = None
    device: Any = "cpu"


SHARE_OF_MEMORY_FOR_CODES = 4

MOST_EPOCHS_OF_EARLY_STOPPING = 30

MAX_RELEARNED_ROWS = 128
"""Up to this number of rows of a stream, all are learned again when their preprocessing is."""

Self = TypeVar("Self", bound="BaseGCWSNet")


class BaseGCWSNet(NetParameters, BaseTableModel):
    """The part of the classifier and of the regressor that is the same for both.

    They have a coder and a trainer. Where `fit` goes from here is in ``CONTRIBUTING.md``.
    """

    trainer_: Trainer
    _stream: WarmUp | None = None
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
        with self._rollback():
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

    def _learn_again(self, rows: Batch, epochs: int) -> None:
        """Learn from all rows, those that were held out too, for as many epochs as were best for these."""
        stopped = self.trainer_
        self._use(self._new_trainer(stopped.settings, stopped.targets))
        self._run(Plan(epochs, rows.n_rows), rows, shuffle=self.shuffle)
        self.trainer_.history = stopped.history

    @writes
    def _partial_fit(self: Self, X: Any, y: Any, targets: Targets | None, sample_weight: Any) -> Self:
        with self._rollback():
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
                self._stream = WarmUp(self._warm_up_rows())
                self._warm_up(rows, Beginning(targets, coder_settings, schema, draw_seed(self.random_state)))
            else:
                target = self._meet_targets(rows.y)
                if self._stream is not None and not self._stream.is_over:
                    self._warm_up(rows)
                    target = None  # other rows may have changed how targets are encoded
                elif self._stream is not None:
                    self._reactivate_columns(rows.X)
            self._follow(rows, target)
        return self

    def _warm_up(self, rows: Batch, beginning: Beginning | None = None) -> None:
        """Keep the first rows of a stream, and learn a preprocessing from all of them whenever they have doubled."""
        assert self._stream is not None  # noqa: S101
        n_fitted, stream = self._stream.n_fitted, self._stream.append(rows)
        self._stream = stream
        if not stream.is_fit_due:
            return
        kept, searched = stream.joined(), stream.is_full and self._is_searched()
        self._stream = stream.fitted(kept)
        coder = self._fit_stream_coder(kept, beginning, searched=searched)
        if searched:
            show_selection(self.verbose, list(coder.selection))
        if beginning is not None:
            self.coder_ = coder
            self._use(self._new_trainer(self._training_settings().for_rows(math.inf), beginning.targets))
            return
        changed, self.coder_ = not self.coder_.is_alike(coder), coder
        self._note("preprocessing", scale=coder.scale, p=coder.p, chosen_again=changed)
        trainer = self.trainer_
        trainer.net.targets = self._targets_with(trainer.targets, kept.y)
        trainer.start_run()
        self._use(trainer)
        n_before = kept.n_rows - rows.n_rows
        if n_before and (changed or n_fitted <= MAX_RELEARNED_ROWS):
            threads = n_threads(self.n_jobs)
            trainer.relearn(self._encoded(kept.rows(0, n_before), threads), n_jobs=threads)

    def _fit_stream_coder(self, rows: Batch, beginning: Beginning | None, *, searched: bool) -> Coder:
        """Return the coder of the first rows of a stream: by a search, or with what was chosen so far."""
        chosen: dict[str, Any] = {}
        selection: tuple[Candidate, ...] = ()
        if beginning is None:
            coder, recipe = self.coder_, self.coder_.preprocessing.recipe
            beginning = Beginning(self.trainer_.targets, coder.settings, coder.schema, coder.seed)
            chosen = {"scale": recipe.scale, "relevance": recipe.relevance, "p": coder.p}
            selection = coder.selection
        settings = beginning.settings
        if not searched:
            beginning = beginning._replace(settings=replace(settings, search="off", **chosen))
        made = self._fit_coder(rows, beginning, self._training_settings().for_rows(math.inf))
        preprocessing = keep_constants(made.preprocessing, rows.X)
        selection = made.selection if searched else selection
        return replace(made, settings=settings, preprocessing=preprocessing, selection=selection)

    def _reactivate_columns(self, X: Any) -> None:
        """Take in columns of a stream that were constant in its first rows, and vary now."""
        preprocessing = reactivate(self.coder_.preprocessing, X)
        if preprocessing is not None:
            self.coder_ = replace(self.coder_, preprocessing=preprocessing)
            self._note("columns")

    def _follow(self, rows: Batch, target: NDArray[Any] | None) -> None:
        """Learn from rows of a stream in their order; their encoded targets may be known."""
        if self.callbacks or self.verbose or rows.n_rows > rows_at_once(rows.X):
            fractions = record_fractions(self._fitted_params["records"])
            plan = Plan(1, rows.n_rows, scheduled=False, fractions=fractions, follows=True)
            self._run(plan, rows, shuffle=False)
            return
        threads = 1 if self.n_jobs is None and rows.n_rows == 1 else n_threads(self.n_jobs)
        self.trainer_.follow_quietly(self._encoded(rows, threads, target), n_jobs=threads)

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
    ) -> Coder:
        """Return the coder that suits rows and a net with these settings."""
        targets, settings, schema, seed = beginning
        target = targets.encode(rows.y)
        weight = self._row_weights(rows.weight, target, targets)
        score = NetScore(targets, target, weight, training, epochs, seed, n_threads(self.n_jobs))
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
        coder = CoderSettings(**{name: frozen(getattr(self, name)) for name in CoderSettings.__dataclass_fields__})
        given = {name: frozen(getattr(self, name)) for name in TrainingSettings.__dataclass_fields__}
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
        for name in names:
            value = getattr(self, name)
            if value != type(self).__dataclass_fields__[name].default:
                raise ValueError(f"{name}={value!r} has no effect, since {why}; leave {name} out")

    def _training_settings(self) -> TrainingSettings:
        return TrainingSettings(**{name: self._fitted_params[name] for name in TrainingSettings.__dataclass_fields__})

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
        check_is_fitted(self)
        check_choice("dtype", dtype, TABLE_DTYPES)
        if optimizer and dtype != "float32":
            raise ValueError(
                f"dtype={dtype!r} rounds the weights, from which training cannot go on as if nothing had been saved; "
                "give optimizer=False too"
            )
        save_model(self, Path(path), resumable=optimizer, timings=timings, dtype=dtype)

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
        """What happened while a stream was followed, the latest 1,000: "preprocessing", "columns" and "label"."""
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
