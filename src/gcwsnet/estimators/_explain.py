"""What a fitted model has chosen, and which columns it needs: as text, as a picture, and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from gcwsnet._keys import SPLIT, random_order
from gcwsnet.coding import Coder
from gcwsnet.coding._preprocessing import TablePreprocessing
from gcwsnet.coding._selection import Candidate
from gcwsnet.estimators._fitted_machine import KernelCandidate
from gcwsnet.estimators._predictor import Predictor

if TYPE_CHECKING:
    from gcwsnet.estimators._fitted_model import FittedModel

MOST_COLUMNS_NAMED = 5


def explain(estimator: FittedModel, particular: list[str]) -> str:
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


def _relevance_in_words(estimator: FittedModel) -> str:
    preprocessing = estimator.coder_.preprocessing
    power = f"columns are multiplied by their relevance to the power {preprocessing.recipe.relevance:g}"
    if isinstance(preprocessing, TablePreprocessing) or preprocessing.weight is None:
        return power
    names = estimator.get_feature_names_out()
    order = np.argsort(-preprocessing.weight, kind="stable")[:MOST_COLUMNS_NAMED]
    return f"{power}; the most: " + ", ".join(f"{names[i]} ({preprocessing.weight[i]:.2f})" for i in order)


def plot_selection(candidates: Sequence[Candidate | KernelCandidate], ax: Any = None) -> Any:
    """Draw the losses of candidates with their standard errors, one line each, and return the axes."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - it takes long to import, and need not be installed

    if not candidates:
        raise ValueError("there are no candidates to draw: the search was off, or all settings were given")
    if ax is None:
        ax = plt.subplots(figsize=(7, 0.6 + 0.25 * len(candidates)), layout="constrained")[1]
    for place, one in enumerate(candidates):
        color = "C3" if one.chosen else {"first": "C7", "second": "C0", "third": "C2"}.get(one.stage, "C1")
        ax.errorbar(one.loss, place, xerr=one.error, fmt="o", color=color, capsize=2)
    ax.set_yticks(range(len(candidates)), [_label(one) for one in candidates], fontsize="small")
    ax.set_ylim(len(candidates) - 0.5, -0.5)
    ax.set_xlabel("loss on held-out rows (the chosen one in red)")
    return ax


def _label(one: Candidate | KernelCandidate) -> str:
    last = f"alpha {one.alpha:g}" if isinstance(one, KernelCandidate) else f"{one.epochs} epochs"
    return f"{one.stage}: {one.scale}, relevance {one.relevance:g}, p {one.p:g}, {last}"


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
    groups = _columns_of_inputs(predictor.coder)
    as_they_are = targets.losses(predictor.outputs_of_checked(X), target).mean()
    found = np.zeros((len(groups), n_repeats))
    for number, columns in enumerate(groups):
        for repeat in range(n_repeats):
            order = random_order(seed, SPLIT, len(drawn), (1 + number * n_repeats + repeat) * len(drawn))
            losses = targets.losses(predictor.outputs_of_checked(_shuffled(X, columns, order)), target)
            found[number, repeat] = losses.mean() - as_they_are
    return Bunch(importances_mean=found.mean(axis=1), importances_std=found.std(axis=1), importances=found)


def _columns_of_inputs(coder: Coder) -> list[NDArray[np.int64]]:
    """Return the columns of the encoded rows that each column of the input became."""
    schema = coder.schema
    if schema is None or not schema.columns:
        return [np.array([column]) for column in range(coder.n_features)]
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
