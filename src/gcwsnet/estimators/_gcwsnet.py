"""The classifier and the regressor: neural nets on the GCWS codes of rows."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gcwsnet import _sparse as sparse
from gcwsnet._keys import ROWS_OF_SHARE, SPLIT, random_order
from gcwsnet._locks import reads, writes
from gcwsnet._threads import n_threads
from gcwsnet._validation import available_bytes, check_choice, check_integer, check_number, draw_seed
from gcwsnet.estimators._base import KEPT_ROWS, BaseTableModel, TableClassifier, TableRegressor
from gcwsnet.estimators._input import (
    AllWeightsZeroError,
    check_batch,
    immutable,
    row_weights,
    rows_to_learn,
    schema_of,
    set_inputs,
    targets_to_learn,
)
from gcwsnet.estimators._intervals import MAX_ROWS, Residuals
from gcwsnet.estimators._model_file import READ_WHEN_USED, save_model
from gcwsnet.estimators._notes import warn_about
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.estimators._progress import progress, show_selection
from gcwsnet.estimators._stream import WARM_UP_ROWS, FitInputs, WarmUp
from gcwsnet.net._history import History, Record, record_fractions
from gcwsnet.net._packed import WEIGHTS
from gcwsnet.net._settings import TrainingParameters, TrainingSettings
from gcwsnet.net._targets import (
    LOSSES,
    LabelIndicators,
    Labels,
    Numbers,
    Targets,
    UnknownLabelError,
    check_labels,
    is_indicator_matrix,
)
from gcwsnet.net._trainer import Plan, Trainer
from gcwsnet.search import Candidate, NetScore, fit_coder, selected_training
from gcwsnet.tables._batch import Batch, shuffled_epochs
from gcwsnet.tables._coder import Coder, CoderSettings, HashingParameters, rows_at_once
from gcwsnet.tables._constant import keep_constants, reactivate
from gcwsnet.tables._schema import Schema

Callback = Callable[[Any, Record], Any]


@dataclass(kw_only=True, eq=False, repr=False)
class NetParameters(TrainingParameters, HashingParameters):
    """The parameters of nets on codes, with their defaults; `GCWSNetClassifier` describes them."""

    records: int | Sequence[float] = 10
    early_stopping: bool = False
    patience: int = 5
    validation_fraction: float = 0.1
    callbacks: Sequence[Callback] | None = None
    verbose: int = 0
    random_state: Any = None
    n_jobs: int | None = None
    device: Any = "cpu"


SHARE_OF_MEMORY_FOR_CODES = 4

MAX_EPOCHS_OF_EARLY_STOPPING = 30

MAX_ROWS_OF_SHARE = 2000
"""The share of an additive model is chosen by at most that many rows, which are not learned."""

MAX_RELEARNED_ROWS = 128
"""Up to this number of rows of a stream, all are learned again when their preprocessing is."""

Self = TypeVar("Self", bound="BaseGCWSNet")


class BaseGCWSNet(NetParameters, BaseTableModel):
    """The part of the classifier and of the regressor that is the same for both.

    They have a coder and a trainer. Where `fit` goes from here is in ``CONTRIBUTING.md``.
    """

    trainer_: Trainer
    _stream: WarmUp | None = None
    _adds_classes: bool = True

    def _targets_with(self, targets: Targets, y: Any) -> Targets:  # noqa: ARG002
        """Return the targets of a stream, once it has shown more of y."""
        return targets

    def _encode_targets(self, y: Any) -> NDArray[Any]:
        """Return encoded targets. What the net cannot learn is an error, unless it can be changed so that it can."""
        return self.trainer_.targets.encode(y)

    def _strata(self, y: Any, n_held_out: int) -> Any:  # noqa: ARG002
        """Return what a split that holds out `n_held_out` rows keeps the shares of."""
        return None

    def _may_add_classes(self) -> bool:
        return self._stream is not None and self._adds_classes

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
            Factors of the rows' losses. Rows of weight 0, or of a class of weight 0, are ignored, except that
            `classes_` has all labels of y, as in scikit-learn.
        eval_set : (X, y) or [(X, y), ...], optional
            Held-out rows that are evaluated at each record: `history_` gets their loss and their metric, with the
            prefix ``eval_``, for further pairs ``eval_1_`` and so on. The first pair decides about early stopping.
            Their codes are kept in memory while the net learns.

        Returns
        -------
        self : object
            If an error is raised before it has learned from any row, it stays as it was: not fitted, or the model of an
            earlier `fit`.
        """
        with self._rollback():
            coder_settings, training_settings = self._freeze_parameters()
            if eval_set is not None:
                self._check_unused("validation_fraction", why="an eval_set is given")
            given = rows_to_learn(self, X, y, sample_weight)
            schema = schema_of(given.X, coder_settings)
            rows = check_batch(given, self, coder_settings, schema, reset=True)
            held_out = [
                check_batch(Batch(X, y), self, coder_settings, schema, reset=False) for X, y in _pairs(eval_set)
            ]
            seed = draw_seed(self.random_state)
            targets = self._targets_of(targets_to_learn(self, y, rows))
            warn_about(rows, targets, schema, stacklevel=3)
            all_rows = rows
            if self.early_stopping and not held_out:
                rows, *held_out = self._split(rows, seed)
            self._stream, self._adds_classes = None, True
            inputs = FitInputs(targets, coder_settings, schema, seed)
            self._begin(rows, inputs, training_settings, rows.n_rows, from_memory=True)
            if self.coder_.bins is not None and training_settings.additive == "auto":
                rows = self._hold_out_for_share(rows, inputs)
            encoded = [Batch(self._codes(held.X), targets.encode(held.y)) for held in held_out]
            plan = replace(self._plan(rows.n_rows), fractions=record_fractions(self.records))
            self._run(plan, rows, held_out=encoded)
            self._take_residuals(encoded)
            self._keep_some((held_out or [rows])[0])
            if rows is not all_rows and self.trainer_.best_epoch:
                self._learn_again(all_rows, self.trainer_.best_epoch)
            self.trainer_.compress("int4", n_jobs=n_threads(self.n_jobs))
            if self.coder_.bins is not None and not self.trainer_.settings.share():
                self.coder_ = replace(self.coder_, bins=None)
                self.trainer_.net.drop_additive()
                self.trainer_.compress("int4", n_jobs=n_threads(self.n_jobs))
        return self

    def _take_residuals(self, held_out: Sequence[Batch]) -> None:
        """Keep the errors for encoded rows that were not learned, where the model predicts numbers."""

    def _keep_some(self, rows: Batch) -> None:
        """Keep some rows, drawn at random, for `feature_importances_`."""
        some = rows.take(random_order(self.seed_, SPLIT, rows.n_rows)[:KEPT_ROWS])
        self._keep(some.X, self.trainer_.targets.encode(some.y))

    def _hold_out_for_share(self, rows: Batch, inputs: FitInputs) -> Batch:
        """Return the rows to learn from without those that say at the end which share the additive model gets."""
        drawn = random_order(inputs.seed, ROWS_OF_SHARE, rows.n_rows)
        held_out = rows.take(np.sort(drawn[: min(rows.n_rows // 20, MAX_ROWS_OF_SHARE)]))
        target = inputs.targets.encode(held_out.y)
        weight = row_weights(self, held_out.weight, target, inputs.targets)
        settings = replace(self.trainer_.settings, additive="auto")
        score = NetScore(inputs.targets, target, weight, settings, (), inputs.seed, n_threads(self.n_jobs))
        codes, trainer = self._codes(held_out.X), self.trainer_

        def set_share() -> None:
            found = score.outcome(trainer.net.outputs_of_cores(codes, n_jobs=score.n_jobs), np.arange(len(codes)))
            trainer.net.settings = replace(trainer.settings, additive=found.additive)
            trainer.net.targets = trainer.targets.with_temperature(found.temperature)

        trainer.before_compression = set_share
        return rows.take(np.sort(drawn[held_out.n_rows :]))

    def _learn_again(self, rows: Batch, epochs: int) -> None:
        """Learn from all rows, those that were held out too, with the epochs and the temperature that suited these."""
        stopped = self.trainer_
        self.trainer_ = self._new_trainer(stopped.settings, stopped.targets)
        self.trainer_.net.targets = stopped.targets
        self._run(Plan(epochs, rows.n_rows), rows)
        self.trainer_.history = stopped.history

    def _partial_fit(self: Self, X: Any, y: Any, targets: Targets | None, sample_weight: Any) -> Self:
        with self._rollback():
            fresh = not self.__sklearn_is_fitted__()
            if fresh:
                coder_settings, _ = self._freeze_parameters()
            else:
                self.trainer_.require_training_state()
                coder_settings = self.coder_.settings
            try:
                given = rows_to_learn(self, X, y, sample_weight)
            except AllWeightsZeroError:
                if fresh:
                    raise
                return self
            schema = schema_of(given.X, coder_settings) if fresh else self.coder_.schema
            rows = check_batch(given, self, coder_settings, schema, reset=fresh)
            target = None
            if fresh:
                targets = self._targets_of(rows.y) if targets is None else targets
                inputs = FitInputs(targets, coder_settings, schema, draw_seed(self.random_state))
                self._begin_stream(rows, inputs, self._warm_up_rows())
            else:
                target = self._take_in(rows)
            self._follow(rows, target)
            self._take_residuals(())
            self._kept = self._importances = None
        return self

    def _begin_stream(self, rows: Batch, inputs: FitInputs, warm_up_rows: int) -> None:
        """Learn from the first rows of a stream how rows become codes, and make a net that has learned nothing."""
        self._check_unused("early_stopping", why="nobody knows when the rows of a stream end")
        self._check_unused("additive", why="its bins are learned from all rows, and those of a stream are not known")
        inputs.targets.encode(rows.y)  # an error before anything changes
        self._stream = WarmUp(warm_up_rows)
        self._warm_up(rows, inputs._replace(settings=inputs.settings.for_rows(math.inf)))

    def _take_in(self, rows: Batch) -> NDArray[Any] | None:
        """Take in what is new in further rows of a stream, and return their encoded targets where these are final."""
        target = self._encode_targets(rows.y)
        if self._stream is not None and not self._stream.is_over:
            self._warm_up(rows)
            return None  # other rows may have changed how targets are encoded
        if self._stream is not None:
            self._reactivate_columns(rows.X)
        return target

    def _warm_up(self, rows: Batch, inputs: FitInputs | None = None) -> None:
        """Keep the first rows of a stream, and learn a preprocessing from all of them whenever they have doubled."""
        assert self._stream is not None  # noqa: S101
        n_fitted, stream = self._stream.n_fitted, self._stream.append(rows)
        self._stream = stream
        if not stream.is_fit_due:
            return
        kept, searched = stream.joined(), stream.is_full and self._is_searched()
        self._stream = stream.fitted(kept)
        coder, selection = self._fit_stream_coder(kept, inputs, searched=searched)
        if searched or inputs is not None:
            self.selection_ = selection
            show_selection(self.verbose, selection)
        if inputs is not None:
            self.coder_ = coder
            self.trainer_ = self._new_trainer(self._training_settings().for_rows(math.inf), inputs.targets)
            return
        changed, self.coder_ = not self.coder_.is_alike(coder), coder
        self._note("preprocessing", scale=coder.scale, p=coder.p, chosen_again=changed)
        trainer = self.trainer_
        trainer.net.targets = self._targets_with(trainer.targets, kept.y)
        trainer.start_run()
        n_before = kept.n_rows - rows.n_rows
        if n_before and (changed or n_fitted <= MAX_RELEARNED_ROWS):
            threads = n_threads(self.n_jobs)
            trainer.relearn(self._encoded(kept.rows(0, n_before), threads), n_jobs=threads)

    def _fit_stream_coder(
        self, rows: Batch, inputs: FitInputs | None, *, searched: bool
    ) -> tuple[Coder, list[Candidate]]:
        """Return the coder of the first rows of a stream: by a search, or with what was chosen so far."""
        chosen: dict[str, Any] = {}
        if inputs is None:
            coder, recipe = self.coder_, self.coder_.preprocessing.recipe
            inputs = FitInputs(self.trainer_.targets, coder.settings, coder.schema, coder.seed)
            chosen = {"scale": recipe.scale, "relevance": recipe.relevance, "p": coder.p}
        settings = inputs.settings
        if not searched:
            inputs = inputs._replace(settings=replace(settings, search="off", **chosen))
        made, selection = self._fit_coder(rows, inputs, self._training_settings().for_rows(math.inf))
        preprocessing = keep_constants(made.preprocessing, rows.X)
        return replace(made, settings=settings, preprocessing=preprocessing), selection

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
            self._run(plan, rows)
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
        return Batch(codes, target, row_weights(self, rows.weight, target, targets))

    def _note(self, event: str, **more: Any) -> None:
        """Note an event of a stream."""
        following = self.trainer_.following
        if following is not None:
            following.note(event, self.trainer_.rows_seen, **more)

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
        inputs: FitInputs,
        settings: TrainingSettings,
        n_rows: int,
        *,
        with_net: bool = True,
        from_memory: bool = False,
    ) -> None:
        """Learn how rows become codes, and make a net that has learned nothing.

        The rows may be a sample of the `n_rows` that will be learned. The search for a preprocessing finds the number
        of epochs, too, unless early stopping does.
        """
        thorough = inputs.settings.search == "thorough"
        inputs = inputs._replace(settings=inputs.settings.for_rows(n_rows))
        settings = settings.for_rows(n_rows, inputs.targets.n_outputs)
        has_epochs = not self.early_stopping and (with_net or inputs.settings.search != "off")
        epochs = settings.epochs_to_compare(n_rows, thorough=thorough) if has_epochs else ()
        if settings.share() and (not from_memory or sparse.issparse(rows.X)):
            raise ValueError(f"additive={self.additive} is for `fit` with dense rows in memory; leave it out")
        if settings.additive == "auto" and (not from_memory or sparse.issparse(rows.X) or str(self.device) != "cpu"):
            settings = replace(settings, additive=0.0)
        self.coder_, self.selection_ = self._fit_coder(rows, inputs, settings, epochs)
        show_selection(self.verbose, self.selection_)
        if settings.additive == "auto":
            settings = replace(settings, additive=selected_training(self.selection_)[2])
        if with_net:
            self.trainer_ = self._new_trainer(settings, inputs.targets)

    def _begin_with_sample(
        self, rows: Batch, targets: Targets, schema: Schema, n_rows: int | None, *, with_net: bool = True
    ) -> None:
        """Begin to learn `n_rows` rows of files, of which some are given; None is for a stream that begins with them.

        Without a net it is learned only how rows become codes.
        """
        coder_settings, settings = self._freeze_parameters()
        coder_settings.check_finite(rows.X)
        self._set_inputs(schema, rows.X.shape[1])
        inputs = FitInputs(targets, coder_settings, schema, draw_seed(self.random_state))
        if n_rows is None:
            self._begin_stream(rows, inputs, min(self._warm_up_rows(), rows.n_rows))
        else:
            self._begin(rows, inputs, settings, n_rows, with_net=with_net)

    def _begin_with_coder(self, coder: Coder, targets: Targets, selection: list[Candidate], n_rows: int) -> None:
        """Begin to learn `n_rows` rows whose codes there are."""
        n_nets = coder.n_codes // coder.settings.n_hashes
        if self._freeze_parameters()[1].for_rows(n_rows).members() != n_nets:
            self.ensemble = n_nets
        settings = replace(self._freeze_parameters()[1], ensemble=n_nets).for_rows(n_rows, targets.n_outputs)
        self.coder_, self.selection_ = coder, selection
        self._set_inputs(coder.schema, coder.n_features)
        self.trainer_ = self._new_trainer(settings, targets)

    def _set_inputs(self, schema: Schema | None, n_features: int) -> None:
        names = [] if schema is None else schema.input_names
        set_inputs(self, len(names) or n_features, None if not names or None in names else names)

    def _fit_coder(
        self,
        rows: Batch,
        inputs: FitInputs,
        training: TrainingSettings,
        epochs: Sequence[int] = (),
    ) -> tuple[Coder, list[Candidate]]:
        """Return the coder that suits rows and a net with these settings, and what was compared for it."""
        targets, settings, schema, seed = inputs
        target = targets.encode(rows.y)
        weight = row_weights(self, rows.weight, target, targets)
        score = NetScore(targets, target, weight, training, epochs, seed, n_threads(self.n_jobs))
        numeric = None if schema is None else schema.numeric
        return fit_coder(rows.X, settings, seed, score, numeric=numeric, schema=schema, ensemble=training.members())

    def _new_trainer(self, settings: TrainingSettings, targets: Targets) -> Trainer:
        """Return a trainer whose net has learned nothing from the codes of the coder."""
        coder = self.coder_
        made = {"n_hashes": coder.settings.n_hashes, "code_bits": coder.code_bits, "seed": coder.seed}
        made |= {"n_bins": coder.n_bins}
        _, temperature, _ = selected_training(self.selection_)
        return Trainer.begin(settings, targets.with_temperature(temperature), **made, device=str(self.device))

    def _n_epochs(self, settings: TrainingSettings, n_rows: int) -> int:
        """Return how often `fit` goes over the rows: as often as was given or, if it was left open, selected."""
        if self.early_stopping and settings.epochs == "auto":
            return MAX_EPOCHS_OF_EARLY_STOPPING
        selected = selected_training(self.selection_)[0] if settings.epochs == "auto" else None
        return settings.n_epochs(n_rows) if selected is None else selected

    def _plan(self, n_rows: int) -> Plan:
        """Return the plan of a run over `n_rows` rows, which early stopping may end."""
        return Plan(
            self._n_epochs(self.trainer_.settings, n_rows),
            n_rows,
            scheduled=not self.early_stopping,
            patience=self.patience if self.early_stopping else None,
            averaged=self.early_stopping,
        )

    def _run(self, plan: Plan, rows: Batch, *, held_out: Sequence[Batch] = ()) -> None:
        """Run the trainer on rows: a stream in its order, and others in a random order for each epoch."""
        targets = self.trainer_.targets
        target = targets.encode(rows.y)
        rows = Batch(rows.X, target, row_weights(self, rows.weight, target, targets))
        coder = self.coder_
        encode: Callable[[Any], NDArray[Any]] | None = partial(coder.codes, n_jobs=self.n_jobs)
        block_rows = rows_at_once(rows.X)
        n_bytes = rows.n_rows * (coder.n_codes + coder.n_bins) * np.min_scalar_type((1 << coder.code_bits) - 1).itemsize
        if plan.epochs > 1 and n_bytes <= (available_bytes() or 0) // SHARE_OF_MEMORY_FOR_CODES:
            rows, encode = rows._replace(X=self._codes(rows.X)), None  # all codes are kept
        epochs = shuffled_epochs(rows, coder.seed, encode=encode, block_rows=block_rows, shuffle=not plan.follows)
        self.trainer_.start_run()
        with progress(self, plan.epochs * rows.n_rows) as observer:
            evaluated = [lambda batch=batch: [batch] for batch in held_out]
            self.trainer_.run(plan, epochs, evaluated, observer, n_jobs=n_threads(self.n_jobs))

    def _codes(self, X: Any) -> NDArray[Any]:
        return self.coder_.codes(X, n_jobs=self.n_jobs)

    def _freeze_parameters(self) -> tuple[CoderSettings, TrainingSettings]:
        """Check the parameters and keep them for the model that is fitted next; return what coder and trainer need."""
        settings = self._check_parameters()
        params = {name: immutable(value) for name, value in self.get_params(deep=False).items()}
        params["hidden"] = _layers(self.hidden)
        params = {name: params[name] for name in params if name not in READ_WHEN_USED} | {"device": str(self.device)}
        self._fitted_params = params
        return settings

    def _check_parameters(self) -> tuple[CoderSettings, TrainingSettings]:
        """Return the settings of coder and trainer, once all parameters have been checked."""
        if hasattr(self.scale, "transform"):
            raise TypeError(
                f"scale must be the name of a preprocessing or None, got the transformer {self.scale!r}; put it before "
                f"the model: make_pipeline({type(self.scale).__name__}(...), {type(self).__name__}(scale=None))"
            )
        coder = CoderSettings(**{name: immutable(getattr(self, name)) for name in CoderSettings.__dataclass_fields__})
        given = {name: immutable(getattr(self, name)) for name in TrainingSettings.__dataclass_fields__}
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

    @writes
    def compress(self: Self, weights: str = "int4") -> Self:
        """Predict from fewer bits, as the model will that `save` writes with such weights; `fit` ends with that.

        After `partial_fit` a model predicts from all bits of all weights, until it is compressed. Nothing that was
        learned is lost: `partial_fit` goes on from all bits.

        Parameters
        ----------
        weights : {"int4", "float32"}, default="int4"
            The type of the first layer's weights, see `save`.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.trainer_.compress(weights, n_jobs=n_threads(self.n_jobs))
        return self

    @reads
    def save(
        self, path: str | Path, *, weights: str = "int4", training_state: bool = False, timings: bool = True
    ) -> None:
        """Write the fitted model to one file: safetensors, with the settings as JSON in its header.

        Parameters
        ----------
        path : str or Path
            The file, which is written completely or not at all.
        weights : {"int4", "float32"}, default="int4"
            The type of the weights of the first layer, which are nearly all of a file. Either way it has only the
            weights that training has changed. With "int4" each is a whole number from -7 to 7 times a scale, and the
            loaded model predicts what the fitted one predicts: `fit` ends by rounding. "float32" has all of their bits;
            After ``compress("float32")`` the model predicts what such a file does.
        training_state : bool, default=False
            Whether to save all that training needs, so that `partial_fit` of the loaded model continues as that of this
            one: all weights, the state of the optimizer and of the averaging. Such a file can be a hundred times as
            large, and `weights` has no effect on it. The warm-up buffer of a stream (see `partial_fit`) is never saved:
            what has been learned from it is then final.
        timings : bool, default=True
            Whether the seconds of `history_` and `selection_` are saved. Without them they are 0, and equal fits give
            equal files.
        """
        check_is_fitted(self)
        check_choice("weights", weights, WEIGHTS)
        save_model(self, Path(path), weights=weights, training_state=training_state, timings=timings)

    def _predictor(self) -> Predictor:
        net = self.trainer_.net
        return Predictor(self.coder_, net.packed or net, n_jobs=self.n_jobs)

    def _explained(self) -> list[str]:
        codes, trainer = self.coder_.settings, self.trainer_
        return [
            f"nets: {trainer.settings.members()}, each on {codes.n_hashes} hashes of {codes.bits} bits",
            f"hidden layers of each net: {trainer.settings.layers()}",
            f"epochs: {trainer.epochs_seen}",
            f"temperature: {trainer.targets.temperature:g}",
            *(
                [f"additive model: {trainer.settings.share():.0%} of the outputs"]
                if self.coder_.bins is not None
                else []
            ),
        ]

    @property
    def _targets(self) -> Targets:
        return self.trainer_.net.targets

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
    return immutable(hidden)


def _pairs(eval_set: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of rows and targets of an `eval_set`."""
    if eval_set is None:
        return []
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError("eval_set must be a pair (X, y), or a list of such pairs")
    return [(X, y) for X, y in pairs]


@dataclass(kw_only=True, eq=False, repr=False)
class GCWSNetClassifier(TableClassifier, BaseGCWSNet):
    """A classifier for tables and rows of numbers, by neural nets on GCWS codes.

    Rows are preprocessed, hashed to k codes of b bits (`GCWSHasher`) and learned in batches with Adam. Rows that are
    similar by the pGMM kernel have many codes in common, so a net needs few passes over them. Parameters that are
    "auto" are chosen by the number of rows or on held-out rows, see `search`. On a CPU the same seed, settings and rows
    give the same weights, to the last bit, on any machine and with any number of threads. (The scalings "quantile",
    "idf" and "tfidf" use library functions whose last bit may differ between machines.)

    X is an array, a CSR matrix, or a frame of pandas, polars or Arrow with columns of numbers, booleans, text,
    categories, dates and missing values, which are matched by their names: see ``docs/tables.md``.

    ``docs/choosing.md`` shows the parameters that matter. Those after `verbose` are rarely needed. They are about, in
    this order, the search, the course of a `fit`, the net, and the settings of the paper, which trains one net in one
    pass: ``GCWSNetClassifier(256, bits=8, epochs=1, hidden=(200,), search="off")``.

    Parameters
    ----------
    n_hashes : int or "auto", default="auto"
        k, the number of codes of a row for each net. More codes make the net more accurate, and take more time and
        memory. "auto" is 128 for at most 10,000 rows, and 256 for more rows, for streams, and with
        ``encoding="lowbits"``. ``coder_.settings.n_hashes`` is the number in use.
    bits : int or "auto", default="auto"
        b, the bits of a code. The table of the first layer has 2**b k rows: with fewer bits it is smaller and, where
        rows are many, the net is less accurate. "auto" is 4 for at most 10,000 rows, 6 for more and for streams, and 8
        with ``encoding="lowbits"``. ``coder_.settings.bits`` is the number in use. The paper has 8.
    p : float or "auto", default="auto"
        The power of the pGMM kernel. With a large power, the largest entries of a row decide. Without a search it is 1.
    scale : str or None, default="auto"
        How columns are scaled, before the kernel compares their sizes:

        - "numeric" standardises numeric columns, leaves binary ones as they are, and drops constant ones. Sparse rows
          are divided and not shifted. It is the default without a search.
        - "standard" treats binary columns like numeric ones.
        - "minmax" brings columns into [0, 1].
        - "quantile" makes numeric columns normal by their ranks.
        - "local" adds hat functions over the quantiles of a column to "numeric", so that nearby numbers are similar.
        - "levels" adds a column of 0 and 1 for each value of integers that are categories.
        - "idf", for counts of words or clicks, gives rare columns more weight, "unit" gives rows length 1, and "tfidf"
          does both.
        - None takes rows as they are. It suits columns that share one unit, such as pixels.
        - "auto" compares these: "quantile", "local" and "levels" for dense rows only, "idf", "unit" and "tfidf" for
          sparse rows only.

        The scaling is learned in `fit`, or from the first rows of a stream, see `partial_fit`. For any other
        preprocessing, put a transformer before the model in a `Pipeline`.
    missing : {"auto", "error", "zero", "mean"}, default="auto"
        What to do with missing numbers (NaN, None, null). "auto": they are zero after scaling, and a column that had
        missing numbers in training gets an indicator column; "error": raise an error; "zero": they are 0 before
        scaling; "mean": they are 0 after it, which is the mean of a standardised column. Missing categories set none of
        their columns, or are an error.
    epochs : int or "auto", default="auto"
        The number of passes of `fit` over the rows. "auto" is 5 for at most 32,000 rows, 3 for at most 53,000, and 1
        for more; for a net of more than 64 units, it is 8 for 10,000 to 20,000 rows. With ``search="thorough"`` 20, 8,
        3 and 1 are compared.
    ensemble : int or "auto", default="auto"
        The number of nets, each with its own `n_hashes` hashes, whose outputs are averaged. "auto" is 4 for at most
        10,000 rows if `hidden` is "auto", and else 1: where rows are few, four nets of 48 units are more accurate than
        one of 200 and take about as much memory.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses of the classes; those not in the dict have 1. "balanced" makes all classes weigh the
        same in `fit`.
    search : {"fast", "thorough", "off"}, default="fast"
        How long to look for the parameters that are "auto". "fast" compares about a dozen preprocessings and powers by
        leave-one-out predictions of the exact kernel on 300 rows. With at least 1,000 rows, small nets on at most 3,000
        of them then compare the default and the two best; with fewer, the kernel does on up to 500 rows, and the
        default stays unless another is clearly better. Held-out rows also calibrate the probabilities. All this is
        about a third of the time of a `fit` on a few thousand rows, and little of it for very many. "thorough"
        compares more, also numbers of epochs, and takes several times as long. "off" takes the defaults and only
        calibrates. With fewer than 100 rows there is no search for a preprocessing, with fewer than 30 none at all.
    random_state : int, RandomState instance or None, default=None
        An int from 0 to 2**64 - 1 is the seed of hashes, weights and order.
    n_jobs : int, default=None
        The number of threads; None is 1 and -1 is all. The model is the same for any number of them.
    verbose : int, default=0
        1 shows a bar with rows per second, loss and time left, or lines of the logger "gcwsnet" where there is no
        terminal.
    relevance : float or "auto", default="auto"
        Columns are multiplied by this power of their relevance after they were scaled, because irrelevant columns
        dilute the kernel. The relevance of a column is the share of the variance of y that it explains by itself. 0
        treats all columns alike. "auto" is 0 without a search, and with one 0, 0.5 or 1.
    early_stopping : bool, default=False
        Whether `fit` stops when the loss on held-out rows no longer falls. With an `eval_set` its rows decide, and the
        best weights are taken. Without one, `validation_fraction` of the rows is held out; a new net then learns from
        all rows, for as many epochs as were best, and `history_` is that of the net that was stopped. The learning rate
        is constant, weights are averaged over the last half of the rows, and the loss is that at the best temperature.
        With ``epochs="auto"`` there are at most 30 epochs.
    patience : int, default=5
        The number of epochs without a lower loss before early stopping.
    validation_fraction : float, default=0.1
        The share of rows that early stopping holds out if there is no `eval_set`.
    callbacks : sequence of callables, optional
        Each is called at each record with the estimator and the record, a dict. If it returns True, `fit` stops.
    records : int or sequence of float, default=10
        The number of records that `history_` gets in an epoch, or the fractions of an epoch at which it gets them;
        there is always one at the end.
    hidden : int, sequence of int or "auto", default="auto"
        The units of the hidden layers; ``()`` is a linear model on the codes, which is faster and less accurate. "auto"
        is 48 for each net of an ensemble, 64 for a net with one or two outputs (two classes, or a number), and else
        200. It is 200 for streams.
    reduction : int, "8bit" or None, default=None
        m, by which the table of the first layer becomes smaller, by count-sketch. Up to 16 little accuracy is lost.
        None is no reduction.
    batch_size : int or "auto", default="auto"
        The rows of a step. Larger batches are faster, and learn less if rows are few. "auto" is 128 for a `fit` over at
        least 200,000 rows, all epochs together, 32 for others, and 4 for streams.
    learning_rate : float or "auto", default="auto"
        The learning rate of Adam at the beginning. "auto" is 0.007 for a `fit` of at most 3,000 steps and 0.003 for
        longer ones, with more than 256 hashes times the root of 256 / k. For streams it is 0.003, with more than 64
        hashes times the root of 64 / k. Without hidden layers it is 0.01. The paper has 0.001.
    weight_decay : float or "auto", default="auto"
        Decoupled weight decay, as in AdamW. "auto" is 0.001 for streams, where weights would grow without end, and 0
        for `fit`.
    device : str or torch.device, default="cpu"
        Where the net learns. Devices other than "cpu" need torch and do not promise the same bits everywhere.
    schedule : {"linear", "constant"}, default="linear"
        Whether the learning rate falls to zero in the course of a `fit`. `partial_fit` keeps it constant, and so does
        the paper.
    additive : float or "auto", default="auto"
        The share of an additive model in the outputs: a weight for each bin of each column, learned with the nets.
        Quantiles, frequent values and missing ones are bins, at most 64 for a column. "auto" is the share that is best
        on held-out rows, for a number or two classes, more than 10,000 dense rows of at most 256 columns, several
        `epochs` and ``hidden="auto"``, and else 0, which is no such model.
    optimizer : {"lazy", "adam"}, default="lazy"
        "lazy" updates the rows of the table that occur in a batch, "adam" all of them, as in the paper, which takes
        many times longer.
    betas : pair of float, default=(0.0, 0.999)
        The decay rates of Adam. With a first one of 0 there is no momentum: after one pass the net is better, and a
        third of the memory and of the time of a step is saved. The paper has (0.9, 0.999).
    encoding : {"mixed", "lowbits"}, default="mixed"
        How samples become codes, see `GCWSHasher`.
    t_bits : "all" or int from 0 to 8, default="all"
        How much of t* is kept, see `GCWSHasher`. 0 with ``encoding="lowbits"`` is the paper's practice.

    Attributes
    ----------
    classes_ : array
        The labels, ascending; where y has a column for each label, the numbers of the columns.
    scaling_ : ColumnScaling, QuantileScaling, LocalScaling, LevelScaling, TermScaling or None
        The scaling of columns in use; ``coder_.preprocessing`` has the relevance and the indicators of missing values,
        too, and `explain` says it in words.
    p_ : float
        The power in use.
    selection_ : list of Candidate
        What the search has compared, each with its loss on held-out rows and the standard error of it, its accuracy,
        its temperature, its seconds and whether it was chosen. The outputs of the nets are divided by the temperature
        before they become probabilities, which corrects probabilities that are too extreme.
    hasher_ : GCWSHasher
        The hasher in use.
    coder_ : Coder
        Preprocessing, p and hasher as one object: ``coder_.codes(X)`` are the codes of checked rows.
    trainer_ : Trainer
        The net and how far its training has come: ``trainer_.net.weights()`` are the weights by their names in
        `gcwsnet.nn.GCWSNet`, of an ensemble with the number of the net before the name.
    history_ : dict of lists
        The records: "epoch", "rows" learned so far, "seconds", "learning_rate"; "loss" and "accuracy" on the rows since
        the last record, measured before each row was learned; "eval_loss" and "eval_accuracy" on an `eval_set`. A call
        of `partial_fit` counts as an epoch. A stream has at most 512 records, see ``docs/streams.md``.
    stream_events_ : list of dict
        What happened while a stream was followed: "preprocessing", "columns" and "label", with the "rows" seen.
    schema_ : Schema or None
        What the columns of a frame became; None for arrays. ``get_feature_names_out()`` has the names of the columns
        that are hashed.
    seed_, n_features_in_, n_rows_seen_, n_epochs_seen_ : int
    feature_names_in_ : array of str
        Where X has names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from gcwsnet import GCWSNetClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    >>> classifier = GCWSNetClassifier(n_hashes=64, scale="numeric", random_state=0).fit(X_train, y_train)
    >>> classifier.score(X_test, y_test) > 0.95
    True
    >>> classifier.scaling_
    ColumnScaling('numeric': 57 numeric standardised, 4 binary left as they are, 3 constant dropped)
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    _takes_several_labels = True

    @writes
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> GCWSNetClassifier:
        """Learn from more rows, once and in their order, in batches of any size.

        The model follows a stream that changes: ``docs/streams.md`` says how. Where preprocessing or p are learned from
        the rows, the first 2,600 are kept in a warm-up buffer, and what is learned from them is learned again whenever
        their number has doubled. The call that fills the buffer searches for a preprocessing, which takes a moment.
        What the columns of a frame become, with their categories, is learned from the rows of the first call.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D)
        y : array of shape (n,), or of 0 and 1 of shape (n, labels)
        classes : array, optional
            All labels that the stream can have, at the first call; any other label is an error then. Without them, a
            new label becomes a new class.
        sample_weight : array of shape (n,), optional
            Rows of weight 0 are ignored, with their labels. If all rows of the first call have weight 0, that is an
            error; later calls of this kind change nothing.

        Returns
        -------
        self : GCWSNetClassifier
        """
        fitted = self.__sklearn_is_fitted__()
        if (self._fitted_params["class_weight"] if fitted else self.class_weight) == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows and cannot be used with partial_fit; give the weights as a dict"
            )
        known = cast(Labels, self._targets).classes if fitted else None
        targets: Labels | None = None
        if classes is not None and (known is None or not _are_same(classes, known)):
            classes = np.unique(check_labels(classes))
            if known is not None and not np.array_equal(classes, known):
                raise ValueError(f"classes must be those of the first call, {known}, got {classes}")
        if not fitted:
            targets = None if classes is None else Labels(classes)
            targets = LabelIndicators(np.arange(y.shape[1])) if is_indicator_matrix(y) else targets
            self._adds_classes = classes is None
        return self._partial_fit(X, y, targets, sample_weight)

    def _encode_targets(self, y: Any) -> NDArray[Any]:
        targets = self.trainer_.targets
        try:
            return targets.encode(y)
        except UnknownLabelError:
            if not self._adds_classes or type(targets) is not Labels:
                raise
            labels = np.unique(check_labels(y))
            if (labels.dtype.kind == "U") != (targets.classes.dtype.kind == "U"):
                raise
        for label in np.setdiff1d(labels, targets.classes):
            place = int(np.searchsorted(targets.classes, label))
            classes = np.insert(np.append(targets.classes, label)[:-1], place, label)
            targets = Labels(classes, targets.temperature)
            self.trainer_.insert_output(place, targets)
            self._note("label", label=label.item(), classes=len(classes))
        return targets.encode(y)

    def _targets_of(self, y: Any) -> Targets:
        if is_indicator_matrix(y):
            return LabelIndicators(np.arange(y.shape[1]))
        return Labels(np.unique(check_labels(y)))

    def _strata(self, y: Any, n_held_out: int) -> Any:
        if y.ndim > 1:
            return None
        counts = np.unique(y, return_counts=True)[1]
        possible = counts.min() > 1 and len(counts) <= min(n_held_out, len(y) - n_held_out)
        return y if possible else None


def _are_same(classes: Any, known: NDArray[Any]) -> bool:
    """Return whether classes are given as they are known, which takes less time than to sort them."""
    of_one_kind = isinstance(classes, np.ndarray) and classes.shape == known.shape and classes.dtype == known.dtype
    return of_one_kind and known.dtype.kind in "biuU" and classes.tobytes() == known.tobytes()


@dataclass(kw_only=True, eq=False, repr=False)
class GCWSNetRegressor(TableRegressor, BaseGCWSNet):
    """A regressor for tables and rows of numbers, by neural nets on GCWS codes.

    It predicts one number or several. It has the parameters of `GCWSNetClassifier`, and the net learns standardised
    targets.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber"}, default="squared_error"
        The loss of the standardised targets. "absolute_error" predicts medians; "huber" is the square up to one
        standard deviation and grows like the absolute error beyond.
    n_hashes, bits, p, scale, missing, epochs, ensemble, search, random_state, n_jobs, verbose, relevance, \
early_stopping, patience, validation_fraction, callbacks, records, hidden, reduction, batch_size, \
learning_rate, weight_decay, additive, device, schedule, optimizer, betas, encoding, t_bits
        As of `GCWSNetClassifier`.

    Attributes
    ----------
    scaling_, p_, selection_, schema_, hasher_, coder_, trainer_, seed_, n_features_in_, \
n_rows_seen_, n_epochs_seen_, feature_names_in_
        As of `GCWSNetClassifier`.
    history_ : dict of lists
        As of `GCWSNetClassifier`, with "rmse", the root mean square error in the units of y, for the accuracy. The
        loss is that of the standardised targets.
    residuals_ : Residuals or None
        The errors for up to 2,000 rows of the first `eval_set`, or of those that early stopping held out, for
        `predict_interval`.
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

    loss: str = "squared_error"

    @writes
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSNetRegressor:
        """Learn from further rows, once and in their order; they may come in pieces of any size.

        The model follows a stream that changes: ``docs/streams.md`` says how. The first 2,600 rows are kept in a
        warm-up buffer. Whenever these rows have doubled, preprocessing and the mean and the standard deviation of y are
        learned from all of them again. The call that fills the buffer searches for a preprocessing and p.

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
        return self._partial_fit(X, y, None, sample_weight)

    def _check_parameters(self) -> tuple[CoderSettings, TrainingSettings]:
        check_choice("loss", self.loss, LOSSES)
        return super()._check_parameters()

    def _targets_of(self, y: Any) -> Targets:
        return Numbers.learn(y, self.loss)

    def _targets_with(self, targets: Targets, y: Any) -> Targets:
        return Numbers.learn(y, targets.loss)

    def _take_residuals(self, held_out: Sequence[Batch]) -> None:
        self.residuals_ = None
        if held_out:
            some = held_out[0].take(random_order(self.seed_, SPLIT, held_out[0].n_rows)[:MAX_ROWS])
            outputs = self.trainer_.net.outputs(some.X, n_jobs=n_threads(self.n_jobs))
            self.residuals_ = Residuals.of(outputs, np.asarray(some.y))

    def _warm_up_rows(self) -> int:
        return WARM_UP_ROWS  # for the mean and the standard deviation of y

    @property
    def target_mean_(self) -> NDArray[np.float64]:
        """The mean of the targets."""
        return cast(Numbers, self._targets).mean

    @property
    def target_deviation_(self) -> NDArray[np.float64]:
        """The standard deviation of the targets."""
        return cast(Numbers, self._targets).deviation
