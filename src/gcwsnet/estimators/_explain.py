"""What a fitted model has chosen, and which columns it needs: as text, as a picture, and as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from gcwsnet._keys import SPLIT, random_order
from gcwsnet.coding._preprocessing import TablePreprocessing
from gcwsnet.coding._selection import Candidate
from gcwsnet.estimators._predictor import Predictor

if TYPE_CHECKING:
    from gcwsnet.estimators._base import GCWSNetEstimator

MOST_COLUMNS_NAMED = 5


def explain(estimator: GCWSNetEstimator) -> str:
    """Return in words what was chosen for a fitted model, and what it was compared with."""
    coder, settings = estimator.coder_, estimator.trainer_.settings
    recipe = coder.preprocessing.recipe
    lines = [
        f"scaling: {coder.preprocessing.scaling or 'columns as they are'}",
        f"relevance: {_relevance_in_words(estimator) if recipe.relevance else 'all columns count alike'}",
        f"power p: {coder.p:g}",
        f"nets: {settings.members()}, each on {coder.settings.n_hashes} hashes of {coder.settings.bits} bits",
        f"hidden layers of each net: {settings.layers()}",
        f"epochs: {estimator.n_epochs_seen_}",
        f"temperature: {estimator.trainer_.targets.temperature:g}",
    ]
    if coder.selection:
        best = next((one for one in coder.selection if one.chosen), None)
        compared = f"{len(coder.selection)} candidates were compared on held-out rows"
        lines.append(compared if best is None else f"{compared}; the chosen one had a loss of {best.loss:.4f}")
    else:
        lines.append("nothing was compared: the settings are the given ones, or the defaults")
    return "\n".join(lines)


def _relevance_in_words(estimator: GCWSNetEstimator) -> str:
    preprocessing = estimator.coder_.preprocessing
    power = f"columns are multiplied by their relevance to the power {preprocessing.recipe.relevance:g}"
    if isinstance(preprocessing, TablePreprocessing) or preprocessing.weight is None:
        return power
    names = estimator.get_feature_names_out()
    order = np.argsort(-preprocessing.weight, kind="stable")[:MOST_COLUMNS_NAMED]
    return f"{power}; the most: " + ", ".join(f"{names[i]} ({preprocessing.weight[i]:.2f})" for i in order)


def plot_selection(candidates: list[Candidate], ax: Any = None) -> Any:
    """Draw the losses of candidates with their standard errors, one line each, and return the axes."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - it takes long to import, and need not be installed

    if not candidates:
        raise ValueError("there are no candidates to draw: the search was off, or all settings were given")
    if ax is None:
        ax = plt.subplots(figsize=(7, 0.6 + 0.25 * len(candidates)), layout="constrained")[1]
    for place, one in enumerate(candidates):
        color = "C3" if one.chosen else {"first": "C7", "second": "C0"}.get(one.stage, "C1")
        ax.errorbar(one.loss, place, xerr=one.error, fmt="o", color=color, capsize=2)
    labels = [
        f"{one.stage}: {one.scale}, relevance {one.relevance:g}, p {one.p:g}, {one.epochs} epochs" for one in candidates
    ]
    ax.set_yticks(range(len(candidates)), labels, fontsize="small")
    ax.set_ylim(len(candidates) - 0.5, -0.5)
    ax.set_xlabel("loss on held-out rows (the chosen one in red)")
    return ax


def permutation_importance(
    estimator: GCWSNetEstimator, X: Any, target: NDArray[Any], *, n_repeats: int, max_rows: int
) -> Bunch:
    """Return how much the loss rises when a column is shuffled.

    Parameters
    ----------
    estimator : fitted estimator
    X : array or CSR of shape (n, D)
        Checked rows.
    target : array
        Their encoded targets.
    n_repeats : int
        How often each column is shuffled.
    max_rows : int
        The rows that are used, drawn at random.
    """
    drawn = random_order(estimator.coder_.seed, SPLIT, X.shape[0])[:max_rows]
    X, target = X[drawn], target[drawn]
    groups = _columns_of_inputs(estimator)
    targets = estimator.trainer_.targets
    predictor = Predictor(estimator.coder_, estimator.trainer_.net, n_jobs=estimator.n_jobs)
    as_they_are = targets.losses(predictor.outputs_of_checked(X), target).mean()
    found = np.zeros((len(groups), n_repeats))
    for number, columns in enumerate(groups):
        for repeat in range(n_repeats):
            order = random_order(
                estimator.coder_.seed, SPLIT, len(drawn), (1 + number * n_repeats + repeat) * len(drawn)
            )
            losses = targets.losses(predictor.outputs_of_checked(_shuffled(X, columns, order)), target)
            found[number, repeat] = losses.mean() - as_they_are
    return Bunch(importances_mean=found.mean(axis=1), importances_std=found.std(axis=1), importances=found)


def _columns_of_inputs(estimator: GCWSNetEstimator) -> list[NDArray[np.int64]]:
    """Return the columns of the encoded rows that each column of the input became."""
    schema = estimator.coder_.schema
    if schema is None or not schema.columns:
        return [np.array([column]) for column in range(estimator.coder_.n_features)]
    ends = np.cumsum([column.width for column in schema.columns])
    hashed = np.arange(schema.n_features - schema.hash_columns, schema.n_features)  # shared by all such columns
    return [
        hashed if column.kind == "hashed" else np.arange(end - column.width, end)
        for end, column in zip(ends, schema.columns, strict=True)
    ]


def _shuffled(X: Any, columns: NDArray[np.int64], order: NDArray[np.int64]) -> Any:
    if sparse.issparse(X):
        out = X.tolil()
        out[:, columns] = X[order][:, columns].tolil()
        return out.tocsr()
    out = X.copy()
    out[:, columns] = X[np.ix_(order, columns)]
    return out
