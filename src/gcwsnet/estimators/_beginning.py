"""The first rows of a stream, from which scaling, p and hashes are learned."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from gcwsnet.estimators._rows import Rows

ENOUGH_ROWS = 2600


class Beginning:
    """Rows are kept until there are enough. What is learned from them is learned anew whenever they have doubled.

    So a stream of single rows ends with a scaling of thousands, and a row is learned from three times on average at
    most.

    Parameters
    ----------
    enough : int
        Rows.
    """

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self._parts: list[Rows] = []
        self._n = self._n_used = 0

    def add(self, rows: Rows) -> Rows | None:
        """All rows there are, if it is time to learn anew from them."""
        if self._parts and sparse.issparse(rows.X) != sparse.issparse(self._parts[0].X):
            return None  # what was learned from rows of the one form is kept
        self._parts.append(rows)
        self._n += rows.X.shape[0]
        if self._n < min(2 * self._n_used, self.enough):
            return None
        self._parts = [_one_after_another(self._parts)]
        self._n_used = self._n
        return self._parts[0]

    @property
    def is_over(self) -> bool:
        """Whether there are enough rows."""
        return self._n_used >= self.enough


def _one_after_another(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    X = [part.X for part in parts]
    weight = None
    if any(part.weight is not None for part in parts):
        weight = torch.cat([torch.ones(len(part.y)) if part.weight is None else part.weight for part in parts])
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
    return Rows(stacked, np.concatenate([part.y for part in parts]), weight)
