"""Importances of columns: how much the loss of held-out rows rises when a column is shuffled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from gcwsnet._keys import SPLIT, random_order
from gcwsnet._validation import require_memory
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.tables._coder import Coder
from gcwsnet.tables._preprocessing import explained

MIN_ROWS, MAX_ROWS, MAX_COLUMNS, REPEATS = 100, 1000, 50, 3
PREDICTED_NUMBERS, NUMBERS_OF_ANY_ROW = 20_000_000, 500
"""What importances may cost: the numbers of the rows that are predicted, where each row counts as some more."""


class Importance(NamedTuple):
    """How much the loss of held-out rows rises when a column is shuffled, with its standard deviation."""

    column: str
    mean: float
    deviation: float


def importances_of(predictor: Predictor, X: Any, target: NDArray[Any]) -> list[Importance]:
    """Return the importances of columns for checked held-out rows with encoded targets, the largest one first.

    They are those of `permutation_importance` with three shuffles. Of more than 50 columns, those are shuffled that
    explain most of the target by themselves. The rows are at most 1,000, and fewer where they are long. Columns whose
    categories are hashed share columns of X, and have one importance together.
    """
    inputs, hashed, result = _of_main_columns(predictor, X, target)
    means, deviations = (one.round(6).tolist() for one in (result.importances_mean, result.importances_std))
    found = []
    for number, *numbers in zip(inputs, means, deviations, strict=True):
        found += [Importance(_name(predictor, one), *numbers) for one in (hashed if number in hashed else [number])]
    return sorted(found, key=lambda one: -one.mean)


def importance_shares(predictor: Predictor, X: Any, target: NDArray[Any]) -> NDArray[np.float64]:
    """Return the importances of `importances_of` by the number of the column, as shares of their sum.

    Columns that are not shuffled have 0, and so have those without which the loss would be lower.
    """
    n = _n_inputs(predictor.coder)
    require_memory(8 * n, f"importances of {n} columns", "hash the columns to fewer")
    inputs, hashed, result = _of_main_columns(predictor, X, target)
    found = np.zeros(n)
    for number, mean in zip(inputs, np.maximum(result.importances_mean, 0.0), strict=True):
        found[hashed if number in hashed else number] = mean / (len(hashed) if number in hashed else 1)
    return found / (found.sum() or 1.0)


def _of_main_columns(predictor: Predictor, X: Any, target: NDArray[Any]) -> tuple[list[int], list[int], Bunch]:
    """Return the columns that are shuffled, those that share columns of X, and the importances of the former."""
    schema, columns = predictor.coder.schema, dict(_columns_of_inputs(predictor.coder, X))
    hashed = [number for number, one in enumerate(schema.columns if schema else ()) if one.kind == "hashed"]
    inputs = [number for number in columns if number not in hashed[1:]]
    if len(inputs) > MAX_COLUMNS:
        alone = _explained_alone(X, target)
        inputs.sort(key=lambda number: -max(alone.get(one, 0.0) for one in columns[number].tolist()))
        inputs = inputs[:MAX_COLUMNS]
    length = X.shape[1] if not sparse.issparse(X) else X.nnz // max(1, X.shape[0])
    n_predicted = PREDICTED_NUMBERS // (length + NUMBERS_OF_ANY_ROW)
    max_rows = max(MIN_ROWS, min(MAX_ROWS, n_predicted // (REPEATS * max(1, len(inputs)))))
    chosen: dict[str, Any] = {"n_repeats": REPEATS, "max_rows": max_rows, "inputs": inputs}
    return inputs, hashed, permutation_importance(predictor, X, target, **chosen)


def _name(predictor: Predictor, number: int) -> str:
    """Return the name of a column of the input, or its number as the files have it."""
    schema, names = predictor.coder.schema, getattr(predictor, "feature_names_in_", None)
    if schema is not None and schema.columns:
        return schema.columns[number].key
    base = 0 if schema is None else schema.index_base or 0
    return str(number + base) if names is None else str(names[number])


def _explained_alone(X: Any, target: NDArray[Any]) -> dict[int, float]:
    """Return how much each column of X that occurs explains of the target by itself."""
    present: Any = range(X.shape[1])
    if sparse.issparse(X):
        present, places = np.unique(X.indices, return_inverse=True)
        X = sparse.csr_array((X.data, places, X.indptr), shape=(X.shape[0], len(present)))
    return dict(zip(map(int, present), explained(X, target).tolist(), strict=True))


def permutation_importance(
    predictor: Predictor,
    X: Any,
    target: NDArray[Any],
    *,
    n_repeats: int,
    max_rows: int,
    inputs: Sequence[int] | None = None,
) -> Bunch:
    """Return how much the loss rises when a column is shuffled.

    Parameters
    ----------
    predictor : Predictor
    X : array or CSR of shape (n, D)
        Checked rows.
    target : array
        Their encoded targets.
    n_repeats : int
        How often each column is shuffled.
    max_rows : int
        The rows that are used, drawn at random.
    inputs : list of int, optional
        The numbers of the columns that are shuffled, by default all.
    """
    seed, targets = predictor.coder.seed, predictor.targets
    drawn = random_order(seed, SPLIT, X.shape[0])[:max_rows]
    X, target = X[drawn], target[drawn]
    n_inputs = _n_inputs(predictor.coder) if inputs is None else len(inputs)
    places = None if inputs is None else {number: place for place, number in enumerate(inputs)}
    require_memory(
        8 * n_inputs * (n_repeats + 2), f"importances of {n_inputs} columns", "choose columns, or hash them to fewer"
    )
    as_they_are = targets.losses(predictor.outputs_of_checked(X), target).mean()
    found = np.zeros((n_inputs, n_repeats))
    for number, columns in _columns_of_inputs(predictor.coder, X):
        place = number if places is None else places.get(number)
        for repeat in range(n_repeats if place is not None else 0):
            order = random_order(seed, SPLIT, len(drawn), (1 + number * n_repeats + repeat) * len(drawn))
            losses = targets.losses(predictor.outputs_of_checked(_shuffled(X, columns, order)), target)
            found[place, repeat] = losses.mean() - as_they_are
    return Bunch(importances_mean=found.mean(axis=1), importances_std=found.std(axis=1), importances=found)


def _n_inputs(coder: Coder) -> int:
    return coder.n_features if coder.schema is None or not coder.schema.columns else len(coder.schema.columns)


def _columns_of_inputs(coder: Coder, X: Any) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the number of each column of the input with the columns of the encoded rows X that it became.

    Columns of sparse rows that have no entry in X are left out: shuffling them changes nothing.
    """
    schema = coder.schema
    if schema is None or not schema.columns:
        numbers = np.unique(X.indices).tolist() if sparse.issparse(X) else range(coder.n_features)
        for column in numbers:
            yield column, np.array([column])
        return
    ends = np.cumsum([column.width for column in schema.columns])
    hashed = np.arange(schema.n_features - schema.hash_columns, schema.n_features)  # shared by all such columns
    for number, (end, column) in enumerate(zip(ends, schema.columns, strict=True)):
        yield number, hashed if column.kind == "hashed" else np.arange(end - column.width, end)


def _shuffled(X: Any, columns: NDArray[np.int64], order: NDArray[np.int64]) -> Any:
    """Return rows with the entries of some columns from the rows in another order."""
    if sparse.issparse(X):  # without an index by column, for which SciPy takes memory for each column
        entries, place = X.tocoo(), np.argsort(order)
        moved = np.isin(entries.col, columns)
        rows = np.where(moved, place[entries.row], entries.row)
        out = type(X)((entries.data, (rows, entries.col)), shape=X.shape)
        out.sort_indices()
        return out
    out = X.copy()
    out[:, columns] = X[np.ix_(order, columns)]
    return out
