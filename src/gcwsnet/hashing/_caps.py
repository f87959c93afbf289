"""The caps of rejection sampling: the largest size of each column and sign, under which points are drawn."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import BATCH_BYTES, Matrix, as_floats
from gcwsnet.hashing.elementary import F, exp, log_of_data
from gcwsnet.kernels._exact import gmm_transform

POINTS = 1 << 63  # a table divides the whole numbers below it among the features


class CapTable(NamedTuple):
    """A table that draws features with probability cap**p / sum.

    Feature f has the whole numbers from ``ends[f - 1]`` to ``ends[f] - 1``, of all below 2**63.
    """

    log_caps: NDArray[np.float32]
    ends: NDArray[np.uint64]


def column_caps(X: Matrix, caps: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the largest size of each column of `gmm_transform` in X, or the given caps where they are larger.

    NaN counts as zero, and a feature that did not occur has the cap 0.
    """
    raised = np.zeros(2 * X.shape[1]) if caps is None else caps.copy()
    X = as_floats(X)
    if isinstance(X, np.ndarray):
        for sign, part in ((1, raised[0::2]), (-1, raised[1::2])):
            np.fmax(part, np.fmax.reduce(sign * X, axis=0, initial=0.0), out=part)
    else:
        features = 2 * X.indices.astype(np.int64) + (X.data < 0)
        np.fmax.at(raised, features, np.abs(X.data).astype(np.float64))
    return raised + 0.0  # minus zero becomes zero


def check_caps(X: Matrix, caps: NDArray[np.float64], *, columns: Any = None) -> None:
    """Raise a ValueError that names the first entry of X whose size is above its cap, if there is one."""
    positive, negative = caps[0::2], caps[1::2]
    if isinstance(X, np.ndarray):
        step = max(1, BATCH_BYTES // X.shape[1])
        for first in range(0, X.shape[0], step):
            batch = X[first : first + step]
            above = (batch > positive) | (batch < -negative)
            if above.any():
                row, column = divmod(int(np.argmax(above)), X.shape[1])
                row, value = first + row, float(batch[row, column])
                break
        else:
            return
    else:
        above = (X.data > positive[X.indices]) | (X.data < -negative[X.indices])
        if not above.any():
            return
        entry = int(np.argmax(above))
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        column, value = int(X.indices[entry]), float(X.data[entry])
    called = "" if columns is None else f" (column {columns[column]!r})"
    raise ValueError(
        "no size may be above the cap of its column and sign, the largest seen in fit; "
        f"X[{row}, {column}]{called} is {value} and its cap {float(caps[2 * column + (value < 0)])}; "
        "fit on such rows too, call partial_fit with them, or clip them to caps_"
    )


def cap_table(caps: NDArray[np.float64], p: float) -> CapTable:
    """Return the table that draws features with probability cap**p / sum.

    A share is right to 2**-44 of itself and to 2**-63. Features whose share is below 2**-63 are never drawn. If all
    caps are zero, so are all rows, and nothing is drawn.
    """
    log_caps = F(p) * log_of_data(caps)
    heaviest = int(np.argmax(log_caps))
    if caps[heaviest] == 0:
        return CapTable(log_caps, np.full(len(caps), POINTS, dtype=np.uint64))
    relative = exp(log_caps.astype(np.float64) - float(log_caps[heaviest]))
    share = relative / math.fsum(relative)  # fsum rounds once: no order of the sum changes it
    points = np.floor(share * float(POINTS)).astype(np.uint64)
    points[heaviest] = 0
    points[heaviest] = POINTS - int(points.sum())
    return CapTable(log_caps, np.cumsum(points))


def expected_trials(X: Matrix, caps: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return how many trials each row needs on average: the sum of cap**p over that of u**p, 0 for a row of zeros.

    No sample depends on it. X holds no NaN.
    """
    U = sparse.csr_array(gmm_transform(X)).astype(np.float64)
    if not caps.any():
        return np.zeros(U.shape[0])
    with np.errstate(under="ignore", divide="ignore"):
        log_caps = p * np.log(caps)
        U.data = np.exp(p * np.log(U.data) - log_caps.max())
        trials: NDArray[np.float64] = np.exp(log_caps - log_caps.max()).sum() / U.sum(axis=1)
    return np.where(np.diff(U.indptr) > 0, trials, 0.0)
