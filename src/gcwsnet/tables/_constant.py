"""Columns that were constant while the preprocessing of a stream was learned, and vary later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix
from gcwsnet.tables._preprocessing import (
    AnyPreprocessing,
    Preprocessing,
    TablePreprocessing,
    split_columns,
)
from gcwsnet.tables._scaling import CONSTANT, NUMERIC, QuantileScaling, TermScaling, WiderScaling


def keep_constants(preprocessing: AnyPreprocessing, X: Matrix) -> AnyPreprocessing:
    """Return a preprocessing learned from X that maps constant columns to 0 by their value, and not for good.

    - A column of dense rows is (x - value) / infinity until it varies: see `reactivate`.
    - With "quantile" all its quantiles are its value, until it varies.
    - A column with the same entry in all sparse rows is divided by that entry.
    """
    if isinstance(preprocessing, TablePreprocessing):
        numbers, others = split_columns(X, preprocessing.numeric)
        kept = [_keep(*part) for part in ((preprocessing.of_numbers, numbers), (preprocessing.of_others, others))]
        return TablePreprocessing(preprocessing.numeric, *kept)
    return _keep(preprocessing, X)


def _keep(preprocessing: Preprocessing, X: Matrix) -> Preprocessing:
    scaling, weight = preprocessing.scaling, preprocessing.weight
    columns = np.flatnonzero(getattr(scaling, "kind", np.empty(0)) == CONSTANT)
    if scaling is None or not len(columns):
        return preprocessing
    some = X[:, columns]
    value = np.nan_to_num(np.fmax.reduce(some.toarray() if sparse.issparse(X) else some, axis=0)).astype(np.float64)
    if weight is not None:  # nothing is known of their relevance
        weight = weight.copy()
        weight[columns] = np.delete(weight, columns).mean() if len(columns) < len(weight) else 1.0
    made: Any
    if isinstance(scaling, QuantileScaling):
        kind = np.where(scaling.kind == CONSTANT, NUMERIC, scaling.kind).astype(np.uint8)
        quantiles = np.empty((np.count_nonzero(kind == NUMERIC), scaling.quantiles.shape[1]))
        is_new = np.isin(np.flatnonzero(kind == NUMERIC), columns)
        quantiles[is_new], quantiles[~is_new] = value[:, None], scaling.quantiles
        made = QuantileScaling(kind, quantiles)
    elif sparse.issparse(X):
        made = _with(scaling, "divisor", columns, np.where(value == 0, np.inf, np.abs(value)))
    else:
        made = _with(scaling, "shift", columns, value)
    return replace(preprocessing, scaling=made, weight=weight)


def reactivate(preprocessing: AnyPreprocessing, X: Matrix) -> AnyPreprocessing | None:
    """Return a preprocessing for constant columns that vary in dense rows X; None if there is nothing new.

    Such a column is divided by its largest distance to its former value in X, and once more if there are rows that are
    twice as far away. Other columns keep their codes.
    """
    if not isinstance(preprocessing, TablePreprocessing):
        return _reactivate(preprocessing, X)
    numbers = _reactivate(preprocessing.of_numbers, split_columns(X, preprocessing.numeric)[0])
    return None if numbers is None else replace(preprocessing, of_numbers=numbers)


def _reactivate(preprocessing: Preprocessing, X: Matrix) -> Preprocessing | None:
    scaling = preprocessing.scaling
    if scaling is None or isinstance(scaling, TermScaling) or sparse.issparse(X):
        return None
    if isinstance(scaling, QuantileScaling):
        return _reactivate_quantiles(preprocessing, scaling, X)
    standardised = scaling.standardised if isinstance(scaling, WiderScaling) else scaling
    columns, shift, limit = standardised.constants
    if not len(columns):
        return None
    with np.errstate(over="ignore"):
        distance = np.fmax.reduce(np.abs(X[:, columns] - shift), axis=0, initial=0.0)
    is_far = distance > limit
    if not is_far.any():
        return None
    largest = np.finfo(np.float64).max
    made = _with(scaling, "divisor", columns[is_far], np.minimum(distance[is_far], largest))
    return replace(preprocessing, scaling=made)


def _reactivate_quantiles(preprocessing: Preprocessing, scaling: QuantileScaling, X: Matrix) -> Preprocessing | None:
    """Spread the quantiles of a column that are all its former value evenly, as far to both sides as X is away."""
    constant = np.flatnonzero(scaling.quantiles[:, 0] == scaling.quantiles[:, -1])
    if not len(constant):
        return None
    columns, value = np.flatnonzero(scaling.kind == NUMERIC)[constant], scaling.quantiles[constant, 0]
    limit = np.finfo(np.float64).max / 4
    with np.errstate(over="ignore"):
        distance = np.minimum(np.fmax.reduce(np.abs(X[:, columns] - value), axis=0, initial=0.0), limit)
    if not distance.any():
        return None
    quantiles = scaling.quantiles.copy()
    steps = np.linspace(-1.0, 1.0, quantiles.shape[1])
    quantiles[constant] = np.clip(value, -limit, limit)[:, None] + distance[:, None] * steps
    return replace(preprocessing, scaling=replace(scaling, quantiles=quantiles))


def _with(scaling: Any, name: str, columns: NDArray[np.int64], numbers: NDArray[np.float64]) -> Any:
    """Return a scaling by columns with another shift or divisor of some columns."""
    if isinstance(scaling, WiderScaling):
        return replace(scaling, standardised=_with(scaling.standardised, name, columns, numbers))
    changed = getattr(scaling, name).copy()
    changed[columns] = numbers
    return replace(scaling, **{name: changed})
