"""What a fitted model has chosen, in words, and how much it needs each column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from gcwsnet._keys import SPLIT, random_order
from gcwsnet._validation import require_memory
from gcwsnet.estimators._predictor import Predictor
from gcwsnet.tables._coder import Coder
from gcwsnet.tables._preprocessing import TablePreprocessing

if TYPE_CHECKING:
    from gcwsnet.estimators._base import BaseTableModel

MAX_COLUMNS_NAMED = 5


def explain(estimator: BaseTableModel, particular: list[str]) -> str:
    """Return in words what was chosen for a fitted model, what is particular to its kind, and what was compared."""
    preprocessing, selection = estimator.coder_.preprocessing, estimator.selection_
    lines = [
        f"scaling: {preprocessing.scaling or 'columns as they are'}",
        f"relevance: {_relevance_in_words(estimator) if preprocessing.recipe.relevance else 'all columns count alike'}",
        f"power p: {estimator.p_:g}",
        *particular,
    ]
    if len(selection) > 1:
        best = next((one for one in selection if one.chosen), None)
        compared = f"{len(selection)} candidates were compared on held-out rows"
        lines.append(compared if best is None else f"{compared}; the chosen one had a loss of {best.loss:.4f}")
    else:
        lines.append("nothing was compared: the settings are the given ones, or the defaults")
    return "\n".join(lines)


def _relevance_in_words(estimator: BaseTableModel) -> str:
    preprocessing = estimator.coder_.preprocessing
    power = f"columns are multiplied by their relevance to the power {preprocessing.recipe.relevance:g}"
    if isinstance(preprocessing, TablePreprocessing) or preprocessing.weight is None:
        return power
    names = estimator.get_feature_names_out()
    order = np.argsort(-preprocessing.weight, kind="stable")[:MAX_COLUMNS_NAMED]
    return f"{power}; the most: " + ", ".join(f"{names[i]} ({preprocessing.weight[i]:.2f})" for i in order)


def permutation_importance(
    predictor: Predictor, X: Any, target: NDArray[Any], *, n_repeats: int, max_rows: int
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
    """
    seed, targets = predictor.coder.seed, predictor.targets
    drawn = random_order(seed, SPLIT, X.shape[0])[:max_rows]
    X, target = X[drawn], target[drawn]
    n_inputs = _n_inputs(predictor.coder)
    require_memory(
        8 * n_inputs * (n_repeats + 2), f"importances of {n_inputs} columns", "choose columns, or hash them to fewer"
    )
    as_they_are = targets.losses(predictor.outputs_of_checked(X), target).mean()
    found = np.zeros((n_inputs, n_repeats))
    for number, columns in _columns_of_inputs(predictor.coder, X):
        for repeat in range(n_repeats):
            order = random_order(seed, SPLIT, len(drawn), (1 + number * n_repeats + repeat) * len(drawn))
            losses = targets.losses(predictor.outputs_of_checked(_shuffled(X, columns, order)), target)
            found[number, repeat] = losses.mean() - as_they_are
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
