"""The first rows of a stream: they are kept for a while, as it takes many of them to choose a preprocessing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet.net._targets import Targets
from gcwsnet.tables._batch import Batch, joined
from gcwsnet.tables._coder import CoderSettings
from gcwsnet.tables._schema import Schema

WARM_UP_ROWS = 2600


class FitInputs(NamedTuple):
    """What a fit begins with, before there is a coder."""

    targets: Targets
    settings: CoderSettings
    schema: Schema | None
    seed: int


@dataclass(frozen=True)
class WarmUp:
    """A buffer that keeps the first rows of a stream until there are enough.

    Whenever they have doubled, the preprocessing is fitted to all of them again. When the buffer is full, a search
    chooses another one, and the rows are dropped.

    Attributes
    ----------
    capacity : int
        The rows that are enough; 0 for a stream whose warm-up is over.
    parts : tuple of Batch
        The rows so far.
    n_rows, n_fitted : int
        How many there are now, and how many there were at the last fit.
    """

    capacity: int = 0
    parts: tuple[Batch, ...] = ()
    n_rows: int = 0
    n_fitted: int = 0

    @property
    def is_over(self) -> bool:
        """Whether the preprocessing is final."""
        return self.n_fitted >= self.capacity

    @property
    def is_fit_due(self) -> bool:
        """Whether it is time to fit the preprocessing to all rows."""
        return self.n_rows >= min(max(2 * self.n_fitted, 1), self.capacity)

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows to search for a preprocessing."""
        return self.n_rows >= self.capacity

    def append(self, rows: Batch) -> WarmUp:
        """Return the buffer with a copy of more rows."""
        if self.parts and sparse.issparse(rows.X) != sparse.issparse(self.parts[0].X):
            return self  # dense rows in a sparse stream, or sparse ones in a dense one, do not change the model
        copied = Batch(*(None if part is None else part.copy() for part in rows))
        return replace(self, parts=(*self.parts, copied), n_rows=self.n_rows + rows.n_rows)

    def joined(self) -> Batch:
        """Return all rows, with weights if some of them have weights."""
        if all(part.weight is None for part in self.parts):
            return joined(self.parts)
        return joined([p if p.weight is not None else p._replace(weight=np.ones(p.n_rows)) for p in self.parts])

    def fitted(self, rows: Batch) -> WarmUp:
        """Return the buffer after a fit to its joined rows; once it is full, it is empty for good."""
        return WarmUp() if self.is_full else replace(self, parts=(rows,), n_fitted=rows.n_rows)
