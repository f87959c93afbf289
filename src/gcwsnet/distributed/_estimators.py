"""Rows in Dask arrays and dataframes: their partitions, a sample of them, and their codes."""

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
from sklearn.utils.validation import check_is_fitted

from gcwsnet import _sparse as sparse
from gcwsnet._threads import n_threads
from gcwsnet._validation import draw_seed
from gcwsnet.distributed._cluster_rounds import (
    SHARDS,
    SYNC_ROWS,
    ClusterRounds,
    check_sharding,
    cluster_errors,
    row_order,
)
from gcwsnet.distributed._rounds import run_in_rounds
from gcwsnet.estimators._base import BaseGCWSNet
from gcwsnet.estimators._gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._input import AllWeightsZeroError, as_array, opened, positive_rows, schema_of
from gcwsnet.estimators._progress import progress
from gcwsnet.estimators._stream import Beginning
from gcwsnet.files._learn import SAMPLE_BYTES, SAMPLE_ROWS, drawn_rows
from gcwsnet.files._train import SHUFFLED_ROWS
from gcwsnet.net._history import History, record_fractions
from gcwsnet.net._targets import Targets, is_indicator_matrix
from gcwsnet.net._trainer import Plan
from gcwsnet.tables._batch import Batch, joined

MOST_CLASSES = 10_000


class Survey(NamedTuple):
    """The rows of a partition, the bytes of its X, and its labels with their numbers if they are few."""

    n_rows: int
    n_bytes: int
    labels: tuple[NDArray[Any], NDArray[np.int64]] | None


def partitions(*collections: Any) -> list[tuple[Any, ...]]:
    """Return the partitions of X, y and the weights side by side, as delayed objects; None is None in all of them.

    The rows come in the order of the partitions. Arrays are cut by rows as X is, if the rows of its chunks are known.
    """
    X, *others = collections
    if not dask.is_dask_collection(X):
        raise TypeError(
            f"X must be a Dask array or a Dask dataframe, got {type(X).__name__}; use to_local() or a local estimator"
        )
    delayed = [_delayed(X)]
    for name, other in zip(("y", "sample_weight"), others, strict=False):
        if other is None:
            delayed.append([None] * len(delayed[0]))
            continue
        if not dask.is_dask_collection(other):
            raise TypeError(f"{name} must be a Dask array or a Dask series, as X is, got {type(other).__name__}")
        both_known = isinstance(X, dask.array.Array) and isinstance(other, dask.array.Array)
        if both_known and X.chunks[0] != other.chunks[0] and not np.isnan(X.shape[0] + other.shape[0]):
            other = other.rechunk({0: X.chunks[0]})  # noqa: PLW2901
        delayed.append(_delayed(other))
        if len(delayed[-1]) != len(delayed[0]):
            raise ValueError(
                f"{name} must have the partitions of X, {len(delayed[0])} of them, got {len(delayed[-1])}; repartition "
                "one of them"
            )
    return list(zip(*delayed, strict=True))


def _delayed(collection: Any) -> list[Any]:
    if isinstance(collection, dask.array.Array):
        whole_rows = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
        return list(whole_rows.to_delayed().ravel())
    return list(collection.to_delayed())


class Partition(NamedTuple):
    """The rows of positive weight of a partition, as the user gave them, and the labels or numbers of all its rows."""

    rows: Batch
    all_y: NDArray[Any]


def load_partition(X: Any, y: Any, weight: Any, class_weight: Any = None) -> Partition:
    """Return a partition, whose parts must have the same number of rows."""
    y = as_array("y", y)
    lengths = {"X": X.shape[0], "y": len(y)} | ({} if weight is None else {"sample_weight": len(weight)})
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the partitions of X and y must have the same rows one by one, got one with {lengths}")
    if len(y) == 0:
        return Partition(Batch(X, y, None if weight is None else np.empty(0)), y)
    try:
        return Partition(Batch(*positive_rows(X, y, weight, class_weight)), y)
    except AllWeightsZeroError:
        return Partition(take_rows(Batch(X, y, None if weight is None else np.zeros(len(y))), np.arange(0)), y)


def survey_partition(partition: Partition, of_labels: bool) -> Survey:
    """Return what has to be known of a partition before rows are drawn."""
    rows = partition.rows
    X = rows.X
    labels = None
    if of_labels and partition.all_y.ndim == 1:
        found = np.unique(partition.all_y)
        counts = np.bincount(np.searchsorted(found, np.asarray(rows.y)), minlength=len(found))
        labels = (found[: MOST_CLASSES + 1], counts[: MOST_CLASSES + 1])
    if hasattr(X, "memory_usage"):
        n_bytes = int(X.memory_usage().sum())
    else:
        n_bytes = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return Survey(rows.n_rows, n_bytes, labels)


def take_rows(rows: Batch, numbers: NDArray[np.int64]) -> Batch:
    """Return some rows of a partition, as the user gave them."""
    if hasattr(rows.X, "iloc"):
        weight = None if rows.weight is None else rows.weight[numbers]
        return Batch(rows.X.iloc[numbers], np.asarray(rows.y)[numbers], weight)
    return rows.take(numbers)


def take_from(partition: Partition, numbers: NDArray[np.int64]) -> Batch:
    """Return some of the rows of positive weight of a partition."""
    return take_rows(partition.rows, numbers)


def draw_sample(client: Client, loaded: Sequence[Future], surveys: Sequence[Survey], seed: int) -> Batch:
    """Return rows drawn at random from all partitions, in their order: at most 20,000, and not more than 64 MB."""
    n_rows = sum(one.n_rows for one in surveys)
    of_a_row = max(1, sum(one.n_bytes for one in surveys) // n_rows)
    numbers = drawn_rows(n_rows, max(1, min(n_rows, SAMPLE_ROWS, SAMPLE_BYTES // of_a_row)), seed)
    ends = np.cumsum([one.n_rows for one in surveys])
    asked = []
    for partition, end, one in zip(loaded, ends.tolist(), surveys, strict=True):
        first = end - one.n_rows
        here = numbers[slice(*np.searchsorted(numbers, [first, end]))] - first
        if len(here):
            asked.append(client.submit(take_from, partition, here, pure=False))
    parts: list[Batch] = client.gather(asked)
    if not hasattr(parts[0].X, "iloc"):
        return joined(parts)
    import pandas as pd  # noqa: PLC0415 - frames are there only where it is

    y = np.concatenate([np.asarray(part.y) for part in parts])
    weights = [part.weight for part in parts if part.weight is not None]
    return Batch(pd.concat([part.X for part in parts]), y, np.concatenate(weights) if weights else None)


def without_net(estimator: BaseGCWSNet) -> BaseGCWSNet:
    """Return a copy of an estimator that checks and encodes rows, and has no net to be sent along."""
    light = copy.copy(estimator)
    light.__dict__.pop("trainer_", None)
    light.callbacks = None
    return light


def encode_partition(estimator: BaseGCWSNet, targets: Targets, partition: Partition) -> Batch:
    """Return the codes of a partition, with encoded targets and weights."""
    coder, rows = estimator.coder_, partition.rows
    if rows.n_rows == 0:
        return Batch(np.empty((0, coder.n_codes), dtype=np.uint8), np.empty(0), None)
    rows = rows._replace(X=opened(rows.X))
    checked = estimator._check_rows(rows, coder.settings, coder.schema, reset=False)
    target = targets.encode(checked.y)
    return Batch(coder.codes(checked.X, n_jobs=1), target, estimator._row_weights(checked.weight, target, targets))


OF_DASK = ("client", "shards", "sync_rows")

NOT_HERE = {
    "early_stopping": (False, "it needs the means of weights over all steps, and shards take steps side by side"),
    "warm_start": (False, "each fit begins with a net that has learned nothing"),
    "device": ("cpu", "workers learn with the native core"),
}

"""Parameters of the local estimators that have one value here, and the reason."""

Self = TypeVar("Self", bound="DaskEstimator")


def _with_parameters_of(local: type[BaseGCWSNet]) -> Callable[[type[Self]], type[Self]]:
    """Return what gives a class the parameters of a local estimator, with those of a cluster after them."""
    own = {"shards": SHARDS, "sync_rows": SYNC_ROWS, "client": None}
    parameters = [
        *inspect.signature(local.__init__).parameters.values(),
        *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in own.items()),
    ]
    signature = inspect.Signature(parameters)

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
    """What the classifier and the regressor share: a local estimator is fitted by the workers of a cluster.

    Attributes
    ----------
    local_ : BaseGCWSNet
    """

    _local: ClassVar[type[BaseGCWSNet]]
    local_: BaseGCWSNet
    client: Client | None
    shards: int
    sync_rows: int

    def __init__(self, *given: Any, **named: Any) -> None:
        raise TypeError("give the class the parameters of a local estimator", given, named)

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
        sharding = check_sharding(self.shards, self.sync_rows)
        client = self._client()
        estimator = self._unfitted()
        with cluster_errors(client):
            class_weight = getattr(estimator, "class_weight", None)
            loaded = [
                client.compute(dask.delayed(load_partition)(*parts, class_weight))
                for parts in partitions(X, y, sample_weight)
            ]
            of_labels = isinstance(self, ClassifierMixin)
            surveys: list[Survey] = client.gather(
                [client.submit(survey_partition, one, of_labels, pure=False) for one in loaded]
            )
            self._begin(estimator, client, loaded, surveys)
            light, targets = without_net(estimator), estimator.trainer_.targets
            parts = [client.submit(encode_partition, light, targets, one, pure=False) for one in loaded]
            del loaded  # workers forget a partition once its codes are there
            self._run(estimator, client, parts, [one.n_rows for one in surveys], sharding)
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
        """Return what a method of the local model gives for X, partition by partition, as it is known from targets."""
        check_is_fitted(self)
        targets = self.local_.trainer_.targets
        like = getattr(targets, of_targets)(np.zeros((1, targets.n_outputs), dtype=np.float32))
        model = dask.delayed(self.local_)
        known = X.chunks[0] if isinstance(X, dask.array.Array) else None
        blocks = []
        for number, (part,) in enumerate(partitions(X)):
            rows = math.nan if known is None else known[number]
            found = dask.delayed(_call)(model, method, part, like[:0])
            blocks.append(dask.array.from_delayed(found, (rows, *like.shape[1:]), dtype=like.dtype))
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
        params = {name: value for name, value in self.get_params(deep=False).items() if name not in OF_DASK}
        for name, (only, reason) in NOT_HERE.items():
            if params[name] != only:
                raise ValueError(
                    f"{name}={params[name]!r} is not for a training on a cluster: {reason}; leave {name} out, or fit "
                    f"{self._local.__name__} to rows in memory"
                )
        return self._local(**params)

    def _begin(self, estimator: BaseGCWSNet, client: Client, loaded: list[Future], surveys: list[Survey]) -> None:
        """Learn from a sample how rows become codes, and make a net that has learned nothing."""
        n_rows = sum(one.n_rows for one in surveys)
        if n_rows == 0:
            raise ValueError("X must have rows of positive weight, and has none")
        coder_settings, training_settings = estimator._freeze_parameters()
        seed = draw_seed(estimator.random_state)
        drawn = draw_sample(client, loaded, surveys, seed)
        drawn = drawn._replace(X=opened(drawn.X))
        schema = schema_of(drawn.X, coder_settings)
        rows = estimator._check_rows(drawn, coder_settings, schema, reset=True)
        targets = estimator._targets_of(self._shown(rows.y, surveys))
        self._weigh_classes(estimator, surveys)
        estimator._begin(rows, Beginning(targets, coder_settings, schema, seed), training_settings, n_rows)

    def _shown(self, y: Any, surveys: list[Survey]) -> Any:  # noqa: ARG002
        """Return what targets are learned from."""
        return y

    def _weigh_classes(self, estimator: BaseGCWSNet, surveys: list[Survey]) -> None:
        """Give the classes weights that follow from all rows."""

    def _run(
        self,
        estimator: BaseGCWSNet,
        client: Client,
        parts: list[Future],
        part_rows: list[int],
        sharding: dict[str, int],
    ) -> None:
        """Learn from all rows in rounds."""
        n_rows, trainer = sum(part_rows), estimator.trainer_
        plan = Plan(
            estimator._n_epochs(trainer.settings, n_rows), n_rows, fractions=record_fractions(estimator.records)
        )
        epochs = partial(row_order, n_rows, SHUFFLED_ROWS if estimator.shuffle else 0, estimator.seed_)
        rounds = ClusterRounds(client, trainer, parts, part_rows, **sharding)
        trainer.start_run()
        with progress(estimator.verbose, plan.epochs * n_rows, estimator._call_back) as observer:
            run_in_rounds(trainer, plan, epochs, rounds, (), observer, n_jobs=n_threads(estimator.n_jobs))

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
    """A classifier that the workers of a cluster of Dask fit, for rows in Dask arrays and dataframes.

    It has the parameters of `GCWSNetClassifier` and three more; early stopping, warm starts and devices other than the
    CPU are not for it. The model follows from these parameters and from the rows in their order. It does not follow
    from how they are cut into partitions, how many workers there are, which worker does what, or which die. The schema
    of a table, preprocessing, p and epochs are learned from a sample of the rows, at most 20,000 of them and 64 MB.

    Parameters
    ----------
    shards : int, default=4
        The pieces of rows that are learned apart in a round, and then combined. More workers than shards have nothing
        to do. ``docs/dask-training.md`` has the cost in accuracy.
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
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
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

    def _shown(self, y: Any, surveys: list[Survey]) -> Any:
        if is_indicator_matrix(y):
            return y
        if y.ndim > 1:
            raise ValueError(
                "y must have one label for each row, or a column of 0 and 1 for each of several labels, got a sample "
                f"of the shape {y.shape}"
            )
        labels, _ = _all_labels(surveys)
        if len(labels) > MOST_CLASSES:
            raise ValueError(
                f"there must be at most {MOST_CLASSES} classes, got more; use DaskGCWSNetRegressor for numbers"
            )
        return labels

    def _weigh_classes(self, estimator: BaseGCWSNet, surveys: list[Survey]) -> None:
        if estimator._fitted_params["class_weight"] == "balanced" and surveys[0].labels is not None:
            labels, counts = _all_labels(surveys)
            weights = counts.sum() / (len(labels) * np.maximum(counts, 1))
            estimator._fitted_params["class_weight"] = dict(zip(labels.tolist(), weights.tolist(), strict=True))


@_with_parameters_of(GCWSNetRegressor)
class DaskGCWSNetRegressor(RegressorMixin, DaskEstimator):
    """A regressor that the workers of a cluster of Dask fit, for rows in Dask arrays and dataframes.

    It has the parameters of `GCWSNetRegressor`, and `shards`, `sync_rows` and `client` as `DaskGCWSNetClassifier` has
    them, with all that is said there.
    """


def _all_labels(surveys: list[Survey]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the labels of all partitions, ascending, and how often each occurs."""
    found = [one.labels for one in surveys if one.labels is not None and len(one.labels[0])]
    labels, places = np.unique(np.concatenate([names for names, _ in found]), return_inverse=True)
    counts = np.concatenate([numbers for _, numbers in found])
    return labels, np.bincount(places, weights=counts, minlength=len(labels)).astype(np.int64)
