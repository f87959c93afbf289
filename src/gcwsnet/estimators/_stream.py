"""What a stream's model keeps beside coder and net: first rows, a search in turns, and a watch over its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet.coding import Coder
from gcwsnet.coding._scaling import CONSTANT, ColumnScaling
from gcwsnet.coding._sparse_watch import SparseWatch
from gcwsnet.coding._version import ColumnVersion, ColumnWatch
from gcwsnet.data import Batch
from gcwsnet.data._batch import joined
from gcwsnet.estimators._warm_up import WarmUpBuffer
from gcwsnet.training._turns import InTurns

TURNS_PER_ROW = 2
"""Turns of a search for each row of a call: a turn is 256 rows of a small net, or a part of the work for its codes."""
ROWS_LEARNED_AGAIN_PER_ROW = 64
FIRST_SEARCH, NEXT_SEARCH = 200, 4
"""The rows of the first search, and by which factor they grow until the next one."""
ROWS_LEARNED_AGAIN = 128
"""Up to this number of rows all are learned again when their preprocessing is."""

Search = Callable[[Batch, Callable[[], None]], Coder]


@dataclass
class Stream:
    """The state of a stream between two calls.

    Attributes
    ----------
    capacity : int
        The first rows that a preprocessing is learned from; 0 if it is never searched for again.
    buffer : WarmUpBuffer or None
        The first rows, while they are few.
    searched : int
        The rows of the last search.
    waiting : Batch or None
        Rows that a search is to be done on, or is being done on.
    turns : int
        The turns that this search has had.
    again : Batch or None
        Rows that are to be learned again, as their codes have changed.
    watch : ColumnWatch, SparseWatch or None
        Of the columns, once there are enough rows.
    """

    capacity: int
    buffer: WarmUpBuffer | None = None
    searched: int = 0
    waiting: Batch | None = None
    turns: int = 0
    again: Batch | None = None
    watch: ColumnWatch | SparseWatch | None = None
    _search: InTurns[Coder] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_search": None}  # a copy does the turns of the search again

    @property
    def is_busy(self) -> bool:
        """Whether there is more to do than to learn and to watch."""
        return self.buffer is not None or self.waiting is not None or self.again is not None

    def is_search_due(self, n_rows: int) -> bool:
        """Return whether it is time for a search, with this number of first rows."""
        return n_rows >= FIRST_SEARCH and (n_rows >= NEXT_SEARCH * self.searched or n_rows >= self.capacity)

    def search(self, rows: Batch) -> None:
        """Let a search begin on rows, unless another one is going on."""
        if self.waiting is None:
            self.waiting, self.turns, self._search, self.searched = rows, 0, None, rows.n_rows

    def advance(self, n_rows: int, search: Search) -> Coder | None:
        """Give the search the turns of `n_rows` rows; return its coder once it is done."""
        rows = self.waiting
        if rows is None:
            return None
        if self._search is None:
            self._search = InTurns(lambda pause: search(rows, pause))
            self._search.advance(self.turns)
        done = self._search.advance(TURNS_PER_ROW * n_rows)
        self.turns = self._search.n_turns
        if not done:
            return None
        coder = self._search.result
        self.waiting, self._search = None, None
        return coder

    def rows_before(self, n_rows: int) -> Batch | None:
        """Return the rows of the buffer without the last `n_rows`, which are learned next; None if there are none."""
        if self.buffer is None or not self.buffer.parts:
            return None
        together = joined(self.buffer.with_weights())
        return together.rows(0, together.n_rows - n_rows) if together.n_rows > n_rows else None

    def next_again(self, n_rows: int) -> Batch | None:
        """Return the rows that are learned again beside `n_rows` new ones."""
        if self.again is None:
            return None
        most = ROWS_LEARNED_AGAIN_PER_ROW * n_rows
        part, rest = self.again.rows(0, most), self.again.rows(most, self.again.n_rows)
        self.again = rest if rest.n_rows else None
        return part

    def finish(self, coder: Coder) -> None:
        """Forget the first rows, and watch the columns from here on, if they are scaled."""
        assert self.buffer is not None  # noqa: S101
        X = joined(self.buffer.with_weights()).X
        self.buffer = None
        self.watch_rows(X, coder)

    def watch_rows(self, X: Any, coder: Coder) -> None:
        """Watch the columns of a stream that began with X, if they are scaled one by one; of a table the numbers."""
        scaling, numbers = coder.preprocessing.scaling, coder.preprocessing.numbers_of(X)
        kind = getattr(scaling, "kind", None)
        if sparse.issparse(numbers) and isinstance(scaling, ColumnScaling):
            self.watch = SparseWatch.of(numbers, scaling)
        elif kind is not None:
            self.watch = ColumnWatch.of(numbers, kind == CONSTANT)

    def look_at(self, X: Any, coder: Coder) -> Coder | None:
        """Watch rows; return the coder with a new version if one is due."""
        if self.watch is None:
            return None
        numbers = coder.preprocessing.numbers_of(X)
        if sparse.issparse(numbers) != isinstance(self.watch, SparseWatch) or not self.watch.is_full_with(numbers):
            return None
        before = ColumnVersion.first(numbers.shape[1]) if coder.version is None else coder.version
        version = self.watch.look(before)
        if version is None:
            return None
        live = np.count_nonzero(~self.watch.constant) + X.shape[1] - numbers.shape[1]
        if self.capacity and np.count_nonzero(before.awake) < live + 1 <= np.count_nonzero(version.awake):
            self.buffer = WarmUpBuffer(self.capacity, n_used=ROWS_LEARNED_AGAIN)
            self.searched, self.watch = 0, None
        return replace(coder, version=version)


def is_same_point(one: Coder, other: Coder) -> bool:
    """Return whether two coders differ in statistics of columns alone."""
    return (
        one.p == other.p
        and one.preprocessing.recipe == other.preprocessing.recipe
        and one.preprocessing.n_columns == other.preprocessing.n_columns
    )
