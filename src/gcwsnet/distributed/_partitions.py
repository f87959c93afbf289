"""Rows in Dask arrays and dataframes: their partitions, a sample of them, and their codes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array
import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet.data import Batch
from gcwsnet.data._batch import joined
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._file_coder import SAMPLE_BYTES, SAMPLE_ROWS, drawn_rows
from gcwsnet.estimators._input import AllWeightsZeroError, as_array, opened, positive_rows
from gcwsnet.training import Targets

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


def without_net(estimator: GCWSNetEstimator) -> GCWSNetEstimator:
    """Return a copy of an estimator that checks and encodes rows, and has no net to be sent along."""
    light = copy.copy(estimator)
    light.__dict__.pop("trainer_", None)
    light.callbacks = None
    return light


def encode_partition(estimator: GCWSNetEstimator, targets: Targets, partition: Partition) -> Batch:
    """Return the codes of a partition, with encoded targets and weights."""
    coder, rows = estimator.coder_, partition.rows
    if rows.n_rows == 0:
        return Batch(np.empty((0, coder.n_codes), dtype=np.uint8), np.empty(0), None)
    rows = rows._replace(X=opened(rows.X))
    checked = estimator._check_rows(rows, coder.settings, coder.schema, reset=False)
    target = targets.encode(checked.y)
    return Batch(coder.codes(checked.X, n_jobs=1), target, estimator._row_weights(checked.weight, target, targets))
