"""What a fitted model has chosen, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    relevance = preprocessing.recipe.relevance
    power = "columns are multiplied by learned weights"
    if relevance != "learned":
        power = f"columns are multiplied by their relevance to the power {relevance:g}"
    if isinstance(preprocessing, TablePreprocessing) or preprocessing.weight is None:
        return power
    names = estimator.get_feature_names_out()
    order = np.argsort(-preprocessing.weight, kind="stable")[:MAX_COLUMNS_NAMED]
    return f"{power}; the most: " + ", ".join(f"{names[i]} ({preprocessing.weight[i]:.2f})" for i in order)
