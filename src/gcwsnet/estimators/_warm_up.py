"""The warm-up buffer of a stream, from whose rows preprocessing and p are learned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet.data import Batch
from gcwsnet.data._batch import joined

WARM_UP_ROWS = 2600


@dataclass(frozen=True)
class WarmUpBuffer:
    """A buffer that keeps rows until there are enough; whenever they have doubled, the model is fitted again.

    So a stream of single rows ends with a preprocessing learned from thousands, and a row is learned from three times
    on average at most.

    Attributes
    ----------
    capacity : int
        The rows that are enough.
    parts : tuple of Batch
        The rows so far.
    n_used : int
        How many of them the model has been fitted to.
    """

    capacity: int
    parts: tuple[Batch, ...] = ()
    n_used: int = 0

    def add(self, rows: Batch) -> tuple[WarmUpBuffer, Batch | None]:
        """Return the buffer with a copy of more rows; and all its rows, if it is time to fit the model again."""
        if self.parts and sparse.issparse(rows.X) != sparse.issparse(self.parts[0].X):
            return self, None  # dense rows in a sparse stream, or sparse ones in a dense one, do not change the model
        parts = (*self.parts, Batch(*(None if part is None else part.copy() for part in rows)))
        n = sum(part.n_rows for part in parts)
        if n < min(2 * self.n_used, self.capacity):
            return replace(self, parts=parts), None
        together = joined(replace(self, parts=parts).with_weights())
        return replace(self, parts=(together,), n_used=n), together

    def with_weights(self) -> tuple[Batch, ...]:
        """Return the parts, all of them with weights if one has some."""
        if all(part.weight is None for part in self.parts):
            return self.parts
        return tuple(
            part if part.weight is not None else part._replace(weight=np.ones(part.n_rows)) for part in self.parts
        )

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows."""
        return self.n_used >= self.capacity
