"""Intervals of predicted numbers, from the errors for rows that were not learned: conformal prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import check_number
from gcwsnet.net._targets import Labels, Targets

MAX_ROWS = 2000
ROWS_OF_A_BIN, MAX_BINS = 50, 20
LEAST_SHARE = 0.01
"""The least size of errors in a bin, as a share of that of all errors."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Residuals:
    """The errors of a model for rows that it was not fitted to, in standardised numbers.

    Attributes
    ----------
    predictions : array of float32, shape (n, m)
        The outputs for these rows.
    errors : array of float32, shape (n, m)
        The targets minus the outputs.
    """

    predictions: NDArray[np.float32]
    errors: NDArray[np.float32]

    @classmethod
    def of(cls, outputs: NDArray[Any], target: NDArray[Any]) -> Residuals:
        """Return the residuals of the first 2,000 rows."""
        outputs, target = outputs[:MAX_ROWS].astype(np.float64), target[:MAX_ROWS].astype(np.float64)
        return cls(outputs.astype(np.float32), (target - outputs).astype(np.float32))

    def interval(self, outputs: NDArray[Any], coverage: float) -> tuple[Floats, Floats]:
        """Return what is left and right of the targets of a share `coverage` of rows, half of the others on each side.

        Errors are divided by their typical size, which depends on the prediction, and the interval is between two of
        these quotients times the size. Of n rows that are exchangeable with a new one, the k-th smallest error is above
        that of the new one with probability k / (n + 1).

        Examples
        --------
        >>> errors = np.linspace(-1, 1, 19)[:, np.newaxis]
        >>> residuals = Residuals.of(np.zeros((19, 1)), errors)
        >>> [one.item() for one in residuals.interval(np.full((1, 1), 5.0), 0.9)]
        [4.0, 6.0]
        """
        coverage = check_number("coverage", coverage, 0.0, 1.0)
        n = len(self.errors)
        rank = math.floor((n + 1) * (1 - coverage) / 2 + 1e-9)
        if rank < 1:
            needed = f"{math.ceil(2 / (1 - coverage) - 1e-9) - 1} rows" if coverage < 1 else "infinitely many rows"
            raise ValueError(
                f"coverage={coverage:g} needs the errors for at least {needed} that were not learned, got {n}; ask for "
                "less, or fit with more rows"
            )
        outputs = outputs.astype(np.float64)
        lower, upper = np.empty_like(outputs), np.empty_like(outputs)
        for column in range(outputs.shape[1]):
            places, sizes = self._sizes(column)
            quotients = np.sort(self.errors[:, column] / np.interp(self.predictions[:, column], places, sizes))
            scale = np.interp(outputs[:, column], places, sizes)
            lower[:, column] = outputs[:, column] + scale * quotients[rank - 1]
            upper[:, column] = outputs[:, column] + scale * quotients[n - rank]
        return lower, upper

    def _sizes(self, column: int) -> tuple[Floats, Floats]:
        """Return the mean absolute error near some predictions, which are ascending."""
        order = np.argsort(self.predictions[:, column], kind="stable")
        bins = np.array_split(order, min(MAX_BINS, max(1, len(order) // ROWS_OF_A_BIN)))
        predictions, errors = (one[:, column].astype(np.float64) for one in (self.predictions, np.abs(self.errors)))
        places, sizes = (np.array([one[rows].mean() for rows in bins]) for one in (predictions, errors))
        least = LEAST_SHARE * sizes.mean()
        return places, np.maximum(sizes, least if least > 0 else 1.0)


def interval(
    targets: Targets, residuals: Residuals | None, outputs: NDArray[Any], coverage: float
) -> tuple[Floats, Floats]:
    """Return the ends of intervals around outputs, in the units of y."""
    if isinstance(targets, Labels):
        raise AttributeError("intervals are for numbers; use predict_proba for classes")
    if residuals is None:
        raise ValueError(
            "predict_interval needs the errors for rows that the nets have not learned; fit with early_stopping=True, "
            "or with eval_set=(X, y) of held-out rows"
        )
    lower, upper = residuals.interval(outputs, coverage)
    return targets.predictions(lower), targets.predictions(upper)
