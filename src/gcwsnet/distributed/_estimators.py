"""Estimators that the workers of a cluster of Dask fit, for rows in Dask arrays and dataframes."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar

import dask
import dask.array
import numpy as np
from distributed import Client, Future, get_client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from gcwsnet import _sparse as sparse
from gcwsnet._threads import n_threads
from gcwsnet._validation import draw_seed
from gcwsnet.distributed._cluster import ClusterRounds, cluster_errors
from gcwsnet.distributed._rounds import RowNumbers, Sharding, row_order, train_in_rounds
from gcwsnet.estimators._gcwsnet import BaseGCWSNet, GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._input import (
    AllWeightsZeroError,
    as_array,
    as_frame,
    check_batch,
    positive_rows,
    row_weights,
    schema_of,
)
from gcwsnet.estimators._progress import progress
from gcwsnet.estimators._stream import FitInputs
from gcwsnet.files._learn import SAMPLE_BYTES, SAMPLE_ROWS, drawn_rows
from gcwsnet.files._train import SHUFFLED_ROWS
from gcwsnet.net._history import History, record_fractions
from gcwsnet.net._targets import Targets, is_indicator_matrix
from gcwsnet.net._trainer import Plan
from gcwsnet.tables._batch import Batch, joined

MAX_CLASSES = 10_000

OWN_PARAMETERS = {**Sharding()._asdict(), "client": None}

ONLY_VALUES = {
    "early_stopping": (False, "it needs the means of weights over all steps, and shards take steps side by side"),
    "device": ("cpu", "workers learn with the native core"),
}
"""Parameters of the local estimators that have only one value here, and the reason."""

Self = TypeVar("Self", bound="DaskEstimator")


class Partition(NamedTuple):
    """The rows of positive weight of a partition, as the user gave them, and the labels or numbers of all its rows."""

    rows: Batch
    all_y: NDArray[Any]


class Survey(NamedTuple):
    """The rows of a partition, the bytes of its X, and its labels with their numbers if they are few."""

    n_rows: int
    n_bytes: int
    labels: tuple[NDArray[Any], NDArray[np.int64]] | None


def partitions(X: Any, **others: Any) -> list[tuple[Any, ...]]:
    """Return the partitions of X and of other collections side by side, as delayed objects; None is None in all.

    The rows come in the order of the partitions. Arrays are cut by rows as X is, if the rows of its chunks are known.
    """
    if not dask.is_dask_collection(X):
        raise TypeError(
            f"X must be a Dask array or a Dask dataframe, got {type(X).__name__}; use to_local() or a local estimator"
        )
    columns = [_delayed(X)]
    n_partitions = len(columns[0])
    for name, other in others.items():
        if other is None:
            columns.append([None] * n_partitions)
            continue
        if not dask.is_dask_collection(other):
            raise TypeError(f"{name} must be a Dask array or a Dask series, as X is, got {type(other).__name__}")
        are_arrays = isinstance(X, dask.array.Array) and isinstance(other, dask.array.Array)
        if are_arrays and X.chunks[0] != other.chunks[0] and not np.isnan(X.shape[0] + other.shape[0]):
            other = other.rechunk({0: X.chunks[0]})  # noqa: PLW2901
        columns.append(_delayed(other))
        if len(columns[-1]) != n_partitions:
            raise ValueError(
                f"{name} must have the partitions of X, {n_partitions} of them, got {len(columns[-1])}; repartition "
                "one of them"
            )
    return list(zip(*columns, strict=True))


def _delayed(collection: Any) -> list[Any]:
    """Return the partitions of a collection, each with all columns."""
    if isinstance(collection, dask.array.Array):
        collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
        return list(collection.to_delayed().ravel())
    return list(collection.to_delayed())


def load_partition(X: Any, y: Any, weight: Any, class_weight: Any) -> Partition:
    """Return a partition, whose parts must have the same number of rows."""
    y = as_array("y", y)
    lengths = {"X": X.shape[0], "y": len(y)} | ({} if weight is None else {"sample_weight": len(weight)})
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the partitions of X and y must have the same rows one by one, got one with {lengths}")
    try:
        if len(y):
            return Partition(positive_rows(X, y, weight, class_weight), y)
    except AllWeightsZeroError:
        pass
    return Partition(Batch(X[:0], y[:0], None if weight is None else np.empty(0)), y)


def survey_partition(partition: Partition, has_labels: bool) -> Survey:
    """Return what has to be known of a partition before rows are drawn."""
    rows, labels = partition.rows, None
    if has_labels and partition.all_y.ndim == 1:
        found = np.unique(partition.all_y)
        counts = np.bincount(np.searchsorted(found, np.asarray(rows.y)), minlength=len(found))
        labels = (found[: MAX_CLASSES + 1], counts[: MAX_CLASSES + 1])
    if hasattr(rows.X, "memory_usage"):
        n_bytes = int(rows.X.memory_usage().sum())
    else:
        n_bytes = rows.X.data.nbytes + rows.X.indices.nbytes if sparse.issparse(rows.X) else rows.X.nbytes
    return Survey(rows.n_rows, n_bytes, labels)


def draw_sample(client: Client, loaded: Sequence[Future], surveys: Sequence[Survey], seed: int) -> Batch:
    """Return rows drawn at random from all partitions, in their order: at most 20,000, and not more than 64 MB."""
    n_rows = sum(survey.n_rows for survey in surveys)
    row_bytes = max(1, sum(survey.n_bytes for survey in surveys) // n_rows)
    numbers = drawn_rows(n_rows, max(1, min(n_rows, SAMPLE_ROWS, SAMPLE_BYTES // row_bytes)), seed)
    futures, first = [], 0
    for partition, survey in zip(loaded, surveys, strict=True):
        end = first + survey.n_rows
        here = numbers[slice(*np.searchsorted(numbers, [first, end]))] - first
        if len(here):
            futures.append(client.submit(take_rows, partition, here, pure=False))
        first = end
    parts: list[Batch] = client.gather(futures)
    if not hasattr(parts[0].X, "iloc"):
        return joined(parts)
    import pandas as pd  # noqa: PLC0415 - frames are there only where it is

    return joined([part._replace(X=np.empty(0)) for part in parts])._replace(X=pd.concat([part.X for part in parts]))


def take_rows(partition: Partition, numbers: RowNumbers) -> Batch:
    """Return some of the rows of positive weight of a partition, as the user gave them."""
    return Batch(*(None if one is None else _safe_indexing(one, numbers) for one in partition.rows))


def encode_partition(estimator: BaseGCWSNet, targets: Targets, partition: Partition) -> Batch:
    """Return the codes of a partition, with encoded targets and weights."""
    coder, rows = estimator.coder_, partition.rows
    if rows.n_rows == 0:
        return Batch(np.empty((0, coder.n_codes), dtype=np.uint8), np.empty(0), None)
    checked = check_batch(rows, estimator, coder.settings, coder.schema, reset=False)
    target = targets.encode(checked.y)
    return Batch(coder.codes(checked.X, n_jobs=1), target, row_weights(estimator, checked.weight, target, targets))


def all_labels(surveys: list[Survey]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the labels of all partitions, ascending, and how often each occurs."""
    found = [survey.labels for survey in surveys if survey.labels is not None and len(survey.labels[0])]
    labels, places = np.unique(np.concatenate([names for names, _ in found]), return_inverse=True)
    counts = np.concatenate([numbers for _, numbers in found])
    return labels, np.bincount(places, weights=counts, minlength=len(labels)).astype(np.int64)


def _with_parameters_of(local: type[BaseGCWSNet]) -> Callable[[type[Self]], type[Self]]:
    """Return a decorator that gives a class the parameters of a local estimator, and those of a cluster after them."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(name, keyword, default=value) for name, value in OWN_PARAMETERS.items()]
    signature = inspect.Signature([*inspect.signature(local.__init__).parameters.values(), *own])

    def assign(self: Any, *given: Any, **named: Any) -> None:
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    def decorate(cls: type[Self]) -> type[Self]:
        assign.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__, cls._local = assign, local  # type: ignore[method-assign]
        return cls

    return decorate


class DaskEstimator(BaseEstimator):
    """The base of the classifier and the regressor: a local estimator is fitted by the workers of a cluster."""

    _local: ClassVar[type[BaseGCWSNet]]
    local_: BaseGCWSNet
    client: Client | None
    shards: int
    sync_rows: int

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of Dask collections, `epochs` times each.

        Parameters
        ----------
        X : dask array or dataframe of shape (n, D)
        y : dask array, series or dataframe of shape (n,) or, for a regression and for several labels, (n, m)
            With the partitions of X.
        sample_weight : dask array or series of shape (n,), optional

        Returns
        -------
        self : object
        """
        sharding = Sharding(self.shards, self.sync_rows).check()
        client = self._client()
        estimator = self._unfitted()
        with cluster_errors(client):
            class_weight = getattr(estimator, "class_weight", None)
            loaded = [
                client.compute(dask.delayed(load_partition)(*parts, class_weight))
                for parts in partitions(X, y=y, sample_weight=sample_weight)
            ]
            has_labels = isinstance(self, ClassifierMixin)
            surveys: list[Survey] = client.gather(
                [client.submit(survey_partition, one, has_labels, pure=False) for one in loaded]
            )
            self._begin(estimator, client, loaded, surveys)
            without_net = copy.copy(estimator)  # it checks and encodes rows
            del without_net.trainer_
            without_net.callbacks = None
            targets = estimator.trainer_.targets
            codes = [client.submit(encode_partition, without_net, targets, one, pure=False) for one in loaded]
            del loaded  # workers forget a partition once its codes are there
            self._train(estimator, client, codes, [survey.n_rows for survey in surveys], sharding)
            estimator.compress()
        self.local_ = estimator
        self.n_features_in_ = estimator.n_features_in_
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        return self

    def to_local(self) -> Any:
        """Return the fitted model as an ordinary estimator, which predicts and saves without Dask."""
        check_is_fitted(self)
        return copy.deepcopy(self.local_)

    def predict(self, X: Any) -> Any:
        """Return the predictions for the rows of X as a Dask array, which are computed when they are asked for.

        Parameters
        ----------
        X : dask array or dataframe of shape (n, D)
        """
        return self._lazily("predict", "predictions", X)

    def _lazily(self, method: str, of_targets: str, X: Any) -> Any:
        """Return the results of a method of the local model for X, of the type and shape that targets give them."""
        check_is_fitted(self)
        targets = self.local_.trainer_.targets
        like = getattr(targets, of_targets)(np.zeros((1, targets.n_outputs), dtype=np.float32))
        model = dask.delayed(self.local_)
        known = X.chunks[0] if isinstance(X, dask.array.Array) else None
        blocks = []
        for number, (part,) in enumerate(partitions(X)):
            n_rows = math.nan if known is None else known[number]
            found = dask.delayed(_call)(model, method, part, like[:0])
            blocks.append(dask.array.from_delayed(found, (n_rows, *like.shape[1:]), dtype=like.dtype))
        return dask.array.concatenate(blocks, allow_unknown_chunksizes=True)

    def _client(self) -> Client:
        try:
            return get_client() if self.client is None else self.client
        except ValueError as error:
            raise ValueError(
                "there is no client of Dask; make one, such as distributed.Client(), or give client="
            ) from error

    def _unfitted(self) -> BaseGCWSNet:
        """Return a local estimator with the parameters of this one."""
        params = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN_PARAMETERS}
        for name, (only, reason) in ONLY_VALUES.items():
            if params[name] != only:
                raise ValueError(
                    f"{name}={params[name]!r} is not for a training on a cluster: {reason}; leave {name} out, or fit "
                    f"{self._local.__name__} to rows in memory"
                )
        return self._local(**params)

    def _begin(self, estimator: BaseGCWSNet, client: Client, loaded: list[Future], surveys: list[Survey]) -> None:
        """Learn from a sample how rows become codes, and make a net that has learned nothing."""
        n_rows = sum(survey.n_rows for survey in surveys)
        if n_rows == 0:
            raise ValueError("X must have rows of positive weight, and has none")
        coder_settings, training_settings = estimator._freeze_parameters()
        seed = draw_seed(estimator.random_state)
        sample = draw_sample(client, loaded, surveys, seed)
        sample = sample._replace(X=as_frame(sample.X))
        schema = schema_of(sample.X, coder_settings)
        rows = check_batch(sample, estimator, coder_settings, schema, reset=True)
        targets = estimator._targets_of(self._labels_or_numbers(rows.y, surveys))
        if estimator._fitted_params.get("class_weight") == "balanced" and surveys[0].labels is not None:
            labels, counts = all_labels(surveys)
            weights = counts.sum() / (len(labels) * np.maximum(counts, 1))
            estimator._fitted_params["class_weight"] = dict(zip(labels.tolist(), weights.tolist(), strict=True))
        estimator._begin(rows, FitInputs(targets, coder_settings, schema, seed), training_settings, n_rows)

    def _labels_or_numbers(self, y: Any, surveys: list[Survey]) -> Any:  # noqa: ARG002
        """Return the labels of all rows, or the numbers of a sample, which targets are learned from."""
        return y

    def _train(
        self,
        estimator: BaseGCWSNet,
        client: Client,
        codes: list[Future],
        part_rows: list[int],
        sharding: Sharding,
    ) -> None:
        """Train the net of an estimator in rounds."""
        n_rows, trainer = sum(part_rows), estimator.trainer_
        n_epochs = estimator._n_epochs(trainer.settings, n_rows)
        plan = Plan(n_epochs, n_rows, fractions=record_fractions(estimator.records))
        epochs = partial(row_order, n_rows, SHUFFLED_ROWS, estimator.seed_)
        rounds = ClusterRounds(client, trainer, codes, part_rows)
        trainer.start_run()
        with progress(estimator, n_epochs * n_rows) as observer:
            n_jobs = n_threads(estimator.n_jobs)
            train_in_rounds(trainer, plan, epochs, rounds.learn, sharding, (), observer, n_jobs=n_jobs)

    @property
    def history_(self) -> History:
        """The records of the training, with the bytes that were sent."""
        return self.local_.history_

    def __sklearn_is_fitted__(self) -> bool:
        return "local_" in vars(self)


def _call(model: Any, method: str, rows: Any, nothing: NDArray[Any]) -> Any:
    return getattr(model, method)(rows) if rows.shape[0] else nothing


@_with_parameters_of(GCWSNetClassifier)
class DaskGCWSNetClassifier(ClassifierMixin, DaskEstimator):
    """A classifier that is trained on a Dask cluster, for Dask arrays and dataframes.

    It has the parameters of `GCWSNetClassifier` and three more; early stopping and devices other than the
    CPU are not for it. The model follows from these parameters and from the rows in their order. It does not follow
    from how they are cut into partitions, how many workers there are, which worker does what, or which die. The schema
    of a table, preprocessing, p and epochs are learned from a sample of the rows, at most 20,000 of them and 64 MB.

    Parameters
    ----------
    shards : int, default=4
        The pieces of rows that are learned apart in a round, and then combined. More workers than shards have nothing
        to do. ``docs/dask.md`` has the cost in accuracy.
    sync_rows : int, default=8192
        The rows of a piece.
    client : distributed.Client, optional
        By default the one that was made last.

    Attributes
    ----------
    local_ : GCWSNetClassifier
        The fitted model; `to_local` returns a copy.
    classes_ : array
    history_ : dict of lists

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from distributed import Client
    >>> from gcwsnet.distributed import DaskGCWSNetClassifier
    >>> X, y = np.tile(np.eye(4), (50, 1)), np.tile([0, 1, 1, 0], 50)
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     settings = {"n_hashes": 8, "hidden": 8, "search": "off", "epochs": 4, "random_state": 0}
    ...     model = DaskGCWSNetClassifier(**settings, client=client)
    ...     rows, labels = dask.array.from_array(X, chunks=(60, 4)), dask.array.from_array(y, chunks=60)
    ...     predicted = model.fit(rows, labels).predict(rows)
    ...     float((predicted == labels).mean().compute())
    1.0
    >>> model.to_local().predict(X[:4]).tolist()
    [0, 1, 1, 0]
    """

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class for the rows of X as a Dask array.

        Parameters
        ----------
        X : dask array or dataframe of shape (n, D)
        """
        return self._lazily("predict_proba", "probabilities", X)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        local: Any = self.local_
        classes: NDArray[Any] = local.classes_
        return classes

    def _labels_or_numbers(self, y: Any, surveys: list[Survey]) -> Any:
        if is_indicator_matrix(y):
            return y
        if y.ndim > 1:
            raise ValueError(
                "y must have one label for each row, or a column of 0 and 1 for each of several labels, got a sample "
                f"of the shape {y.shape}"
            )
        labels, _ = all_labels(surveys)
        if len(labels) > MAX_CLASSES:
            raise ValueError(
                f"there must be at most {MAX_CLASSES} classes, got more; use DaskGCWSNetRegressor for numbers"
            )
        return labels


@_with_parameters_of(GCWSNetRegressor)
class DaskGCWSNetRegressor(RegressorMixin, DaskEstimator):
    """A regressor that is trained on a Dask cluster, for Dask arrays and dataframes.

    It has the parameters of `GCWSNetRegressor`, and `shards`, `sync_rows` and `client` as `DaskGCWSNetClassifier` has
    them, with all that is said there.
    """
