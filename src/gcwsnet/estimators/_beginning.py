"""The first rows of a stream, from which scaling, p and hashes are learned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse

from gcwsnet.estimators._rows import Rows

ENOUGH_ROWS = 2600


@dataclass(frozen=True)
class Beginning:
    """Rows are kept until there are enough. What is learned from them is learned anew whenever they have doubled.

    So a stream of single rows ends with a scaling of thousands, and a row is learned from three times on average at
    most.

    Attributes
    ----------
    enough : int
        Rows.
    parts : tuple of Rows
        Those that there are.
    n_used : int
        How many of them have been learned from.
    """

    enough: int
    parts: tuple[Rows, ...] = ()
    n_used: int = 0

    def and_then(self, rows: Rows) -> tuple[Beginning, Rows | None]:
        """The beginning with more rows; and all rows there are, if it is time to learn anew from them."""
        if self.parts and sparse.issparse(rows.X) != sparse.issparse(self.parts[0].X):
            return self, None  # what was learned from rows of the one form is kept
        parts = (*self.parts, rows)
        n = sum(part.X.shape[0] for part in parts)
        if n < min(2 * self.n_used, self.enough):
            return replace(self, parts=parts), None
        whole = _one_after_another(parts)
        return replace(self, parts=(whole,), n_used=n), whole

    @property
    def is_over(self) -> bool:
        """Whether there are enough rows."""
        return self.n_used >= self.enough


def _one_after_another(parts: tuple[Rows, ...]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    X = [part.X for part in parts]
    weight = None
    if any(part.weight is not None for part in parts):
        weight = torch.cat([torch.ones(len(part.y)) if part.weight is None else part.weight for part in parts])
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
    return Rows(stacked, np.concatenate([part.y for part in parts]), weight)
