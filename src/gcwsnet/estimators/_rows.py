"""Rows with their targets and weights, and the size of the blocks they are hashed in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from gcwsnet._validation import BATCH_BYTES, Matrix

ROWS_AT_ONCE = 8192


class Rows(NamedTuple):
    """Rows with their targets and weights."""

    X: Matrix
    y: Any
    weight: Tensor | None

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Return the rows with these numbers."""
        return Rows(self.X[rows], self.y[rows], None if self.weight is None else self.weight[torch.from_numpy(rows)])


def rows_at_once(X: Matrix) -> int:
    """Return how many rows are scaled and hashed together."""
    if sparse.issparse(X):
        return ROWS_AT_ONCE
    return max(1, min(ROWS_AT_ONCE, BATCH_BYTES // (8 * X.shape[1])))


def pairs_of(eval_set: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of rows and targets of an `eval_set`."""
    if eval_set is None:
        return []
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError("eval_set must be a pair (X, y), or a list of such pairs")
    return [(X, y) for X, y in pairs]
