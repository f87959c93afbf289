"""Search in segments: the rows whose codes agree with a query, and their exact kernel.

The codes of a row estimate its similarity with the standard error sqrt(P (1 - P) / k) / (1 - 2**-b). Where the rows are
at hand, those whose estimates come near enough are compared by the exact kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from gcwsnet import _core
from gcwsnet._validation import as_floats, check_finite, check_matrix
from gcwsnet.kernels._pgmm import pgmm_pairs
from gcwsnet.neighbors._segments import Ids, Segment, append, firsts, in_form_of, rows_where, signs
from gcwsnet.neighbors._settings import LOSS_OF_ESTIMATES, Bands, Codes, IndexSettings
from gcwsnet.theory import similarity_variance

Compare = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]

"""A function from the numbers of queries and the numbers of rows to the exact kernels of these pairs."""

ALL = 2**62

LOW = np.uint64(0xFFFFFFFF)

FIRST = 8

RANKS_BYTES = 1 << 27  # of what one call may find, if it finds every row


class Candidates(NamedTuple):
    """Rows found for queries, in the order of the queries; of one query the best first.

    Attributes
    ----------
    query, row : int64 arrays
        Numbers of a query and of a row of all segments.
    similarity : float64 array
    """

    query: NDArray[np.int64]
    row: NDArray[np.int64]
    similarity: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return several parts, one after the other."""
        query, row, similarity = zip(*parts, strict=True)
        return cls(np.concatenate(query), np.concatenate(row), np.concatenate(similarity))

    def taken(self, chosen: NDArray[Any]) -> Candidates:
        """Return some of them, by a mask or by their numbers."""
        return Candidates(*(one[chosen] for one in self))

    def sorted(self) -> Candidates:
        """Return them with the most similar row of each query first, and of equal ones that with the lower number."""
        return self.taken(np.lexsort((self.row, -self.similarity, self.query)))

    def best(self, k: int) -> Candidates:
        """Return the first k of each query."""
        place = np.arange(len(self.query)) - np.searchsorted(self.query, self.query)
        return self.taken(place < k)


class Search(NamedTuple):
    """What is searched, and how.

    Attributes
    ----------
    segments : list of Segment
    bits : int
    recall : float
        The share of the neighbours that are to be found.
    bands : Bands or None
        None scans all rows.
    threads : int
    """

    segments: Sequence[Segment]
    bits: int
    recall: float
    bands: Bands | None
    threads: int

    @property
    def _n_hashes(self) -> int:
        return self.segments[0].packing.n_hashes

    def top(self, codes: Codes, k: int, compare: Compare | None) -> Candidates:
        """Return the k most similar rows of each query; there may be fewer if only buckets are searched.

        With exact kernels, let s be the k-th best kernel of the 8 k rows with the best estimates. A row with a kernel
        of s has an estimate below s - z sigma with the probability 1 - recall, for the quantile z of the normal
        distribution. All rows with estimates from there on are compared.
        """
        none = np.zeros(len(codes), np.uint32)
        if compare is None:
            return self.found(codes, k, none)
        first = self.found(codes, FIRST * k, none)
        exact = _compared(first, compare).sorted().best(k)
        n_first, n_best = (np.bincount(one.query, minlength=len(codes)) for one in (first, exact))
        full = np.flatnonzero((n_best == k) & (n_first == FIRST * k))  # else there are no more rows
        kth, worst = (one.similarity[np.cumsum(n)[full] - 1] for one, n in ((exact, n_best), (first, n_first)))
        least = _least(kth, self.bits, self._n_hashes, self.recall)
        again = self._estimates(least) <= worst
        parts = [exact.taken(~np.isin(exact.query, full[again]))]
        n_parts = 1 + int(again.sum()) * self._n_rows * 8 // RANKS_BYTES
        for chosen, needed in zip(
            np.array_split(full[again], n_parts), np.array_split(least[again], n_parts), strict=True
        ):
            more = self.found(codes[chosen], ALL, needed)
            parts.append(_compared(more._replace(query=chosen[more.query]), compare).sorted().best(k))
        return Candidates.joined(parts).sorted()

    def above(self, codes: Codes, threshold: float, compare: Compare | None, before: int = -1) -> Candidates:
        """Return all rows with at least this similarity, estimated or exact.

        With `before` not negative, query i is compared with the rows whose numbers are below `before` + i.
        """
        if compare is None:
            fewest = int(_counts_from(np.array(threshold), self.bits, self._n_hashes))
        else:
            fewest = _fewest(threshold, self.bits, self._n_hashes, 1.0 - LOSS_OF_ESTIMATES * (1.0 - self.recall))
        least = np.full(len(codes), fewest, np.uint32)
        parts = []
        step = max(1, len(codes) if self.bands else RANKS_BYTES // max(8 * self._n_rows, 1))
        for start in range(0, len(codes), step):
            rows = slice(start, start + step)
            found = self.found(codes[rows], ALL, least[rows], before + start if before >= 0 else -1)
            found = found._replace(query=found.query + start)
            if compare is not None:
                found = _compared(found, compare)
                found = found.taken(found.similarity >= threshold)
            parts.append(found)
        candidates = Candidates.joined(parts)
        return candidates if compare is None else candidates.sorted()  # estimates come best first

    @property
    def _n_rows(self) -> int:
        return sum(one.n_rows for one in self.segments)

    def found(self, codes: Codes, most: int, least: NDArray[np.uint32], before: int = -1) -> Candidates:
        """Return the rows that agree on at least `least` hashes with a query: at most `most`, with their estimates."""
        least = np.ascontiguousarray(least, np.uint32)
        queries, ranks = [], []
        for first, segment in zip(firsts(self.segments)[:-1].tolist(), self.segments, strict=True):
            where = (codes, segment.codes, *segment.packing, segment.live, first)
            if self.bands is None:
                start, rank = _core.scan(*where, most, least, before, self.threads)
            else:
                keys, rows = segment.buckets(self.bands, self.threads)
                width = self.bands.width
                start, rank = _core.search_buckets(*where, keys, rows, width, most, least, before, self.threads)
            queries.append(np.repeat(np.arange(len(codes)), np.diff(start)))
            ranks.append(rank)
        query, rank = np.concatenate(queries), np.concatenate(ranks)
        if len(self.segments) > 1:
            order = np.lexsort((~rank, query))
            query, rank = query[order], rank[order]
        row = (~rank & LOW).astype(np.int64)
        count = (rank >> np.uint64(32)).astype(np.int64)
        found = Candidates(query, row, self._estimates(count))
        return found if len(self.segments) == 1 else found.best(most)

    def _estimates(self, count: NDArray[np.integer]) -> NDArray[np.float64]:
        by_chance = 0.5**self.bits
        return (count / self._n_hashes - by_chance) / (1.0 - by_chance)


def _counts_from(similarity: NDArray[np.float64], bits: int, n_hashes: int) -> NDArray[np.uint32]:
    """Return the fewest equal codes whose estimate is at least this similarity."""
    P = np.asarray(similarity) * (1.0 - 0.5**bits) + 0.5**bits
    return np.clip(np.ceil(n_hashes * P - 1e-9), 0, n_hashes).astype(np.uint32)


def _least(similarity: NDArray[np.float64], bits: int, n_hashes: int, recall: float) -> NDArray[np.uint32]:
    """Return the equal codes that a row of this similarity has with the probability `recall`, or more."""
    error = np.sqrt(similarity_variance(similarity, bits, n_hashes))
    z = float(ndtri(recall))
    return _counts_from(np.maximum(similarity - z * error, -1.0), bits, n_hashes)


@lru_cache(maxsize=256)
def _fewest(similarity: float, bits: int, n_hashes: int, recall: float) -> int:
    """Return `_least` of one similarity, which is that of many calls with a query each."""
    return int(_least(np.array([similarity]), bits, n_hashes, recall)[0])


def _compared(found: Candidates, compare: Compare) -> Candidates:
    """Return candidates with their exact kernels in place of the estimates."""
    return found._replace(similarity=compare(found.query, found.row)) if len(found.query) else found


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
