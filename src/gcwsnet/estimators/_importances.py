"""Importances of columns: how much the loss of held-out rows rises when a column is shuffled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._keys import SPLIT, random_order
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.tables._coder import Coder
from gcwsnet.tables._relevance import explained

MIN_ROWS, MAX_ROWS, MAX_COLUMNS, REPEATS = 100, 1000, 50, 3
PREDICTED_NUMBERS, NUMBERS_OF_ANY_ROW = 40_000_000, 500
"""What importances may cost: the numbers of the rows that are predicted, where each row counts as some more."""


class Importance(NamedTuple):
    """How much the loss of held-out rows rises when a column is shuffled, with its standard deviation."""

    column: str
    mean: float
    deviation: float


def importances_of(predictor: Predictor, X: Any, target: NDArray[Any]) -> list[Importance]:
    """Return the importances of columns for checked held-out rows with encoded targets, the largest one first.

    A column is shuffled three times, as `sklearn.inspection.permutation_importance` does, with the loss in place of a
    score. Of more than 50 columns, those are shuffled that explain most of the target by themselves. The rows are at
    most 1,000, and fewer where they are long. Columns whose categories are hashed share columns of X, and have one
    importance together.
    """
    coder, targets = predictor.coder, predictor.targets
    inputs, hashed = _columns_of_inputs(coder, X)
    if len(inputs) > MAX_COLUMNS:
        alone = _explained_alone(X, target)
        by_relevance = sorted(inputs, key=lambda one: -max(alone.get(column, 0.0) for column in inputs[one].tolist()))
        inputs = {number: inputs[number] for number in by_relevance[:MAX_COLUMNS]}
    length = X.shape[1] if not sparse.issparse(X) else X.nnz // max(1, X.shape[0])
    n_predicted = PREDICTED_NUMBERS // (length + NUMBERS_OF_ANY_ROW)
    n_rows = min(X.shape[0], max(MIN_ROWS, min(MAX_ROWS, n_predicted // (REPEATS * max(1, len(inputs))))))
    drawn = random_order(coder.seed, SPLIT, X.shape[0])[:n_rows]
    X, target = X[drawn], target[drawn]
    as_they_are = targets.losses(predictor.outputs_of_checked(X), target).mean()
    found = []
    for number, columns in inputs.items():
        orders = (random_order(coder.seed, SPLIT, n_rows, (1 + number * REPEATS + i) * n_rows) for i in range(REPEATS))
        shuffled = [predictor.outputs_of_checked(_shuffled(X, columns, order)) for order in orders]
        rises = [targets.losses(outputs, target).mean() - as_they_are for outputs in shuffled]
        numbers = round(float(np.mean(rises)), 6), round(float(np.std(rises)), 6)
        found += [Importance(_name(predictor, one), *numbers) for one in (hashed if number in hashed else [number])]
    return sorted(found, key=lambda one: -one.mean)


def _columns_of_inputs(coder: Coder, X: Any) -> tuple[dict[int, NDArray[np.int64]], list[int]]:
    """Return the columns of X that each column of the input became, and which of these are hashed.

    The first hashed one stands for all. Columns of sparse rows that have no entry in X are left out.
    """
    schema = coder.schema
    if schema is None or not schema.columns:
        numbers = np.unique(X.indices).tolist() if sparse.issparse(X) else range(coder.n_features)
        return {number: np.array([number]) for number in numbers}, []
    ends = np.cumsum([column.width for column in schema.columns])
    hashed = [number for number, column in enumerate(schema.columns) if column.kind == "hashed"]
    inputs = {
        number: np.arange(end - column.width, end)
        for number, (end, column) in enumerate(zip(ends, schema.columns, strict=True))
        if number not in hashed[1:]
    }
    if hashed:
        inputs[hashed[0]] = np.arange(schema.n_features - schema.hash_columns, schema.n_features)
    return inputs, hashed


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
