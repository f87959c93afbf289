"""The warm-up of a stream: its first rows are kept, since scaling and p are learned from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse

from gcwsnet.estimators._rows import Rows

WARM_UP_ROWS = 2600


@dataclass(frozen=True)
class WarmUpBuffer:
    """A buffer of the first rows of a stream. Whenever its rows have doubled, a new model is fitted to all of them.

    So a stream of single rows ends with a scaling of thousands, and on average a row is learned from at most three
    times.

    Attributes
    ----------
    capacity : int
        The rows after which the warm-up ends.
    parts : tuple of Rows
        The rows in the buffer.
    n_fitted : int
        How many of them the last model was fitted to.
    """

    capacity: int
    parts: tuple[Rows, ...] = ()
    n_fitted: int = 0

    def extended(self, rows: Rows) -> tuple[WarmUpBuffer, Rows | None]:
        """Return the buffer with more rows; and all rows in it if a new model is due, else None."""
        if self.parts and sparse.issparse(rows.X) != sparse.issparse(self.parts[0].X):
            return self, None  # dense and sparse rows are not mixed: the scaling of the first ones stays
        parts = (*self.parts, rows)
        n = sum(part.X.shape[0] for part in parts)
        if n < min(2 * self.n_fitted, self.capacity):
            return replace(self, parts=parts), None
        whole = _joined(parts)
        return replace(self, parts=(whole,), n_fitted=n), whole

    @property
    def is_full(self) -> bool:
        """Whether the warm-up is over."""
        return self.n_fitted >= self.capacity


def _joined(parts: tuple[Rows, ...]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    X = [part.X for part in parts]
    weight = None
    if any(part.weight is not None for part in parts):
        weight = torch.cat([torch.ones(len(part.y)) if part.weight is None else part.weight for part in parts])
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
    return Rows(stacked, np.concatenate([part.y for part in parts]), weight)
