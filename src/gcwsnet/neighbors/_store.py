"""The rows of an index: segments, and what their rows are called by.

A row has a number, counted over all segments with the rows that were removed; a place, counted without them; and an id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._validation import as_floats, check_finite, check_matrix
from gcwsnet.kernels._pgmm import pgmm_pairs
from gcwsnet.neighbors._ids import Ids
from gcwsnet.neighbors._search import Compare, Search
from gcwsnet.neighbors._segments import Segment, append, firsts, in_form_of, rows_where, signs
from gcwsnet.neighbors._settings import IndexSettings

FetchRows = Callable[[NDArray[Any]], Any]
FETCHED_BYTES = 1 << 26  # of the rows that are fetched, or raised to a power, at a time


class Store:
    """The segments of an index.

    Attributes
    ----------
    settings : IndexSettings
    segments : list of Segment
    """

    def __init__(self, settings: IndexSettings, segments: list[Segment] | None = None) -> None:
        self.settings = settings
        self.segments: list[Segment] = segments or []

    @property
    def n_live(self) -> int:
        """The rows that were not removed."""
        return sum(one.n_live for one in self.segments)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(one.nbytes for one in self.segments)

    def add(self, codes: NDArray[Any], ids: Ids, rows: Any, threads: int) -> None:
        """Add rows with ids that were checked."""
        packing = self.settings.packing
        self._append(Segment(packing.pack(codes), packing, ids, rows), threads)

    def _append(self, segment: Segment, threads: int) -> None:
        if self.segments and segment.rows is not None:
            segment.rows = in_form_of(segment.rows, self.segments[0].rows)
        append(self.segments, segment, self.settings.bands, threads)

    def checked_ids(self, ids: Any, n_rows: int) -> Ids:
        """Return the ids of new rows; None goes on from the largest one."""
        if ids is None:
            first = self.next_id()
            return Ids(np.arange(first, first + n_rows, dtype=np.int64))
        made = Ids.checked(ids, n_rows)
        if any(one.n_live and one.ids.is_text != made.is_text for one in self.segments):
            raise ValueError("ids must be all numbers or all texts, and those of the rows before are of the other kind")
        self.refuse_known(made)
        return made

    def next_id(self) -> int:
        """Return the number after the largest id, which is 0 for an empty store."""
        if any(one.ids.is_text for one in self.segments):
            raise ValueError("the rows before have texts as ids, which cannot be continued; give ids")
        return 1 + max((one.ids.largest for one in self.segments if one.n_rows), default=-1)

    def refuse_known(self, ids: Ids) -> None:
        """Raise a ValueError if one of these ids is in the store."""
        for segment in self.segments:
            known = np.flatnonzero(_live_rows(segment, ids) >= 0)
            if len(known):
                twice = ids.take(known[:1]).tolist()[0]
                raise ValueError(f"ids must differ, and {twice!r} is in the index already; nothing was added")

    def remove(self, ids: Ids) -> None:
        """Remove rows. An unknown id is an error, and then none is removed."""
        found = [_live_rows(segment, ids) for segment in self.segments]
        unknown = np.flatnonzero(np.max([np.full(len(ids), -1), *found], axis=0) < 0)
        if len(unknown):
            one = ids.take(unknown[:1]).tolist()[0]
            raise ValueError(f"ids must be those of rows of the index, and {one!r} is not; nothing was removed")
        for segment, rows in zip(self.segments, found, strict=True):
            if (rows >= 0).any():
                segment.remove(rows[rows >= 0])

    def merge(self, other: Store, threads: int) -> None:
        """Add the rows of another store behind those of this one."""
        mine, theirs = asdict(self.settings), asdict(other.settings)
        for name, value in mine.items():
            if theirs[name] != value:
                raise ValueError(
                    f"indexes can be merged if their settings are the same, and these have {name}={value!r} and "
                    f"{name}={theirs[name]!r}; build one of them again"
                )
        for segment in other.segments:
            if any(one.n_live and one.ids.is_text != segment.ids.is_text for one in self.segments if segment.n_live):
                raise ValueError("ids must be all numbers or all texts, and those of the indexes are of both kinds")
            self.refuse_known(segment.compacted().ids)
        for segment in [one.copy() for one in other.segments]:
            self._append(segment, threads)

    def search(self, *, with_bands: bool, threads: int) -> Search:
        """Return the search through all rows, or through the buckets of the bands."""
        bands = self.settings.bands if with_bands else None
        return Search(self.segments, self.settings.bits, self.settings.recall, bands, threads)

    def is_live(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows were not removed."""
        if all(one.live is None for one in self.segments):
            return np.ones(len(numbers), bool)
        parts = [np.ones(one.n_rows, np.uint8) if one.live is None else one.live for one in self.segments]
        return np.concatenate(parts)[numbers].astype(bool)

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of rows, counted without those that were removed."""
        if all(one.live is None for one in self.segments):
            return numbers
        live = self.is_live(np.arange(firsts(self.segments)[-1]))
        return (np.cumsum(live) - 1)[numbers]

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers of the rows that were not removed."""
        numbers = np.arange(firsts(self.segments)[-1])
        return numbers[self.is_live(numbers)]

    def ids_of(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids of rows."""
        dtype = object if any(one.ids.is_text for one in self.segments) else np.int64
        found = np.empty(len(numbers), dtype)
        for segment, chosen, rows in self._by_segment(numbers):
            found[chosen] = segment.ids.take(rows)
        return found

    def compare(self, queries: Any, fetch_rows: FetchRows | None, threads: int) -> Compare:
        """Return the function that computes the exact kernels of queries and rows of the store."""

        def kernels(query: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.float64]:
            found = np.empty(len(query))
            if fetch_rows is None:
                for segment, chosen, rows in self._by_segment(number):
                    found[chosen] = self._kernels(queries, segment.rows, query[chosen], rows, threads)
                return found
            width = queries.nnz // queries.shape[0] * 4 if sparse.issparse(queries) else queries.shape[1]
            step = max(16, FETCHED_BYTES // max(1, 8 * width))
            for start in range(0, len(query), step):
                numbers, rows = np.unique(number[start : start + step], return_inverse=True)
                fetched = self.fetched(numbers, fetch_rows, queries.shape[1])
                part = slice(start, start + step)
                found[part] = self._kernels(queries, fetched, query[part], rows, threads)
            return found

        return kernels

    def _kernels(self, X: Any, Y: Any, x: NDArray[np.int64], y: NDArray[np.int64], threads: int) -> NDArray[np.float64]:
        """Return the kernels of rows x of X and rows y of Y. Rows are raised to a power block by block."""
        p = self.settings.p
        if p == 1:
            return pgmm_pairs(X, Y, np.stack([x, y], axis=1), p=p, threads=threads)
        found = np.empty(len(x))
        width = Y.nnz // Y.shape[0] * 4 if sparse.issparse(Y) else Y.shape[1]
        step = max(16, FETCHED_BYTES // max(1, 8 * width))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            used_x, at_x = np.unique(x[part], return_inverse=True)
            used_y, at_y = np.unique(y[part], return_inverse=True)
            pairs = np.stack([at_x, at_y], axis=1)
            found[part] = pgmm_pairs(X[used_x], rows_where(Y, used_y), pairs, p=p, threads=threads)
        return found

    def fetched(self, numbers: NDArray[np.int64], fetch_rows: FetchRows, n_columns: int | None = None) -> Any:
        """Return the rows that `fetch_rows` gives, checked."""
        rows = as_floats(check_matrix(fetch_rows(self.ids_of(numbers)), name="the rows of fetch_rows"))
        shape = (len(numbers), rows.shape[1] if n_columns is None else n_columns)
        if rows.shape != shape:
            raise ValueError(f"fetch_rows must return rows of the shape {shape}, got {rows.shape}")
        check_finite(rows, name="the rows of fetch_rows")
        return signs(rows) if self.settings.sets else rows

    def _by_segment(self, numbers: NDArray[np.int64]) -> list[tuple[Segment, NDArray[np.intp], NDArray[np.int64]]]:
        """Return each segment that has some of the rows, which of them, and their numbers in the segment."""
        if len(self.segments) == 1:
            return [(self.segments[0], np.arange(len(numbers)), numbers)]
        starts = firsts(self.segments)
        number = np.searchsorted(starts, numbers, side="right") - 1
        found = []
        for i, segment in enumerate(self.segments):
            chosen = np.flatnonzero(number == i)
            if len(chosen):
                found.append((segment, chosen, numbers[chosen] - starts[i]))
        return found


def _live_rows(segment: Segment, ids: Ids) -> NDArray[np.int64]:
    """Return the rows of a segment that have these ids and were not removed, -1 where there is none."""
    rows = segment.ids.find(ids)
    if segment.live is not None:
        rows[(rows >= 0) & (segment.live[rows] == 0)] = -1
    return rows
