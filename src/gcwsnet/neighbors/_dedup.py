"""Near-duplicates in a stream of rows: the first of them is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.neighbors._index import GCWSIndex


class Duplicates(NamedTuple):
    """The rows of a batch that are kept, and for each other row the kept row that it is similar to."""

    kept: NDArray[np.bool_]
    rows: NDArray[np.int64]
    originals: NDArray[np.int64]
    similarities: NDArray[np.float64]


class Deduplicator:
    """A filter of near-duplicates: it keeps a row unless it is similar to a row that was kept before.

    Only codes are held, of the rows that are kept: memory does not grow with the size of a row. The result does not
    depend on how the rows are divided into batches.

    Parameters
    ----------
    threshold : float
        The similarity from which a row is a near-duplicate, as the codes estimate it.
    n_hashes, bits, p, recall, random_state, n_jobs
        As for `GCWSIndex`.

    Examples
    --------
    >>> from gcwsnet.neighbors import Deduplicator
    >>> deduplicate = Deduplicator(0.8)
    >>> deduplicate([[1.0, 2.0, 3.0], [9.0, 1.0, 0.0], [1.0, 2.0, 3.1]]).kept
    array([ True,  True, False])
    >>> deduplicate([[1.0, 2.0, 2.9], [0.0, 0.0, 1.0]])
    Duplicates(kept=array([False,  True]), rows=array([3]), originals=array([0]), similarities=array([0.99215686]))
    """

    def __init__(self, threshold: float, **settings: Any) -> None:
        self.threshold = threshold
        self._settings = settings | {"threshold": threshold, "keep_rows": False, "method": "bands"}
        self.index = GCWSIndex(**self._settings)
        self.n_rows = 0

    def __call__(self, X: Any) -> Duplicates:
        """Return which of the next rows are kept, and what the others are near-duplicates of."""
        codes = self.index.codes(X)
        first = self.n_rows
        original = np.full(len(codes), -1, np.int64)
        similarity = np.full(len(codes), -np.inf)
        if first > 0:
            found = self.index.query_threshold(codes, self.threshold)
            rows, best = np.unique(found.queries, return_index=True)
            original[rows], similarity[rows] = found.ids[best], found.similarities[best]
        kept = original < 0
        pairs = GCWSIndex(**self._settings).add(codes).pairs(self.threshold)
        for row, earlier, value in zip(*(one.tolist() for one in pairs), strict=True):  # rows ascend
            if kept[earlier] and value > similarity[row]:
                kept[row] = False
                original[row], similarity[row] = first + earlier, value
        if kept.any():
            self.index.add(codes[kept], ids=first + np.flatnonzero(kept))
        self.n_rows += len(codes)
        lost = np.flatnonzero(~kept)
        return Duplicates(kept, first + lost, original[lost], similarity[lost])
