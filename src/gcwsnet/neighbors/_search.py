"""Search in segments: the rows whose codes agree with a query, and their exact kernel.

The codes of a row estimate its similarity with the standard error sqrt(P (1 - P) / k) / (1 - 2**-b). Where the rows are
at hand, those whose estimates come near enough are compared by the exact kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gcwsnet import _core
from gcwsnet.neighbors._bands import LOSS_OF_ESTIMATES, Bands
from gcwsnet.neighbors._packing import Codes
from gcwsnet.neighbors._segments import Segment, firsts
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
