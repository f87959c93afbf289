"""Searches: the rows whose codes agree with a query, and the exact kernel that decides between them.

The codes of a row estimate its similarity with the standard error sqrt(P (1 - P) / k) / (1 - 2**-b). Where the rows are
at hand, those whose estimates come near enough are compared by the exact kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from gcwsnet import _core
from gcwsnet.kernels._exact import pgmm_pairs
from gcwsnet.neighbors._index_settings import LOSS_OF_ESTIMATES, Bands
from gcwsnet.neighbors._store import Store, join_rows, take_rows
from gcwsnet.theory import similarity_variance

BATCH_ROWS = 4096  # queries at a time
ALL = 2**62
FIRST = 8  # times k rows are compared exactly at first
RANKS_BYTES = 1 << 27  # of what one call of the native core may find, if it finds every row
ROWS_BYTES = 1 << 26  # of the rows that are raised to a power at a time


class Candidates(NamedTuple):
    """Rows found for queries, by the numbers of both, in the order of the queries; of one query the best first."""

    query: NDArray[np.int64]
    row: NDArray[np.int64]
    similarity: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return several parts, one after the other."""
        if not parts:  # of a search for the rows of an index without rows
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(*(np.concatenate(one) for one in zip(*parts, strict=True)))

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


class Queries(NamedTuple):
    """Queries of a batch: the number of the first one, their codes, and the rows if they are compared exactly."""

    first: int
    codes: NDArray[Any]
    rows: Any

    def taken(self, chosen: Any) -> Queries:
        """Return some of the queries."""
        return Queries(self.first, self.codes[chosen], None if self.rows is None else self.rows[chosen])


class Search(NamedTuple):
    """A search of queries in a store, by codes as the store holds them, and by rows if they are compared exactly.

    Without codes, the rows of the store are the queries.
    """

    store: Store
    codes: Any
    rows: Any
    method: str
    threads: int

    def top(self, k: int) -> Candidates:
        """Return the k nearest rows of each query; a row of the store is not its own neighbour."""
        own = self.codes is None
        bands = self.store.settings.bands_for(self.method, self.store.n_live, None)
        parts = []
        for queries in self._batches():
            found = self._top(queries, k + own, bands)
            few = np.flatnonzero(np.bincount(found.query, minlength=len(queries.codes)) < k + own)
            if bands is not None and len(few):  # these queries share buckets with too few rows
                scanned = self._top(queries.taken(few), k + own, None)
                kept = found.taken(~np.isin(found.query, few))
                found = Candidates.joined([kept, scanned._replace(query=few[scanned.query])]).sorted()
            found = found._replace(query=found.query + queries.first)
            if own:
                found = self._of_live(found.taken(found.query != found.row)).best(k)
            parts.append(found)
        return Candidates.joined(parts)

    def above(self, t: float) -> Candidates:
        """Return the rows from a similarity on; for the rows of the store, only earlier ones."""
        settings = self.store.settings
        bands = settings.bands_for(self.method, self.store.n_live, t)
        parts = []
        for queries in self._batches():
            exact = queries.rows is not None
            recall = 1.0 - LOSS_OF_ESTIMATES * (1.0 - settings.recall) if exact else None
            least = np.full(len(queries.codes), _fewest(t, settings.bits, settings.n_hashes, recall), np.uint32)
            step = max(1, len(least) if bands else RANKS_BYTES // max(8 * int(self.store.starts()[-1]), 1))
            for start in range(0, max(1, len(least)), step):
                some = slice(start, start + step)
                before = queries.first + start if self.codes is None else -1
                found = self.found(queries.codes[some], ALL, least[some], bands, before)
                found = found._replace(query=found.query + start)
                if exact:
                    found = self._compared(found, queries.rows)
                    found = found.taken(found.similarity >= t).sorted()
                found = found._replace(query=found.query + queries.first)
                parts.append(self._of_live(found) if self.codes is None else found)
        return Candidates.joined(parts)

    def _of_live(self, found: Candidates) -> Candidates:
        """Return what was found for rows of the store that were not removed."""
        live = self.store.live()
        return found if live is None else found.taken(live[found.query])

    def _batches(self) -> Iterator[Queries]:
        """Yield the queries, batch by batch."""
        if self.codes is not None and len(self.codes) <= BATCH_ROWS:  # without a slice, which takes SciPy long
            yield Queries(0, self.codes, self.rows)
            return
        first = 0
        given = (
            [(self.codes, self.rows)] if self.codes is not None else [(s.codes, s.rows) for s in self.store.segments]
        )
        for codes, rows in given:
            for start in range(0, len(codes), BATCH_ROWS):
                yield Queries(first + start, codes, rows).taken(slice(start, start + BATCH_ROWS))
            first += len(codes)

    def _top(self, queries: Queries, k: int, bands: Bands | None) -> Candidates:
        """Return the k most similar rows of each query; there may be fewer if only buckets are searched.

        With exact kernels, let s be the k-th best kernel of the 8 k rows with the best estimates. A row with a kernel
        of s has an estimate below s - z sigma with the probability 1 - recall, for the quantile z of the normal
        distribution. All rows with estimates from there on are compared.
        """
        settings, codes = self.store.settings, queries.codes
        none = np.zeros(len(codes), np.uint32)
        if queries.rows is None:
            return self.found(codes, k, none, bands)
        first = self.found(codes, FIRST * k, none, bands)
        exact = self._compared(first, queries.rows).sorted().best(k)
        n_first, n_best = (np.bincount(one.query, minlength=len(codes)) for one in (first, exact))
        full = np.flatnonzero((n_best == k) & (n_first == FIRST * k))  # else there are no more rows
        kth, worst = (one.similarity[np.cumsum(n)[full] - 1] for one, n in ((exact, n_best), (first, n_first)))
        least = _least(kth, settings.bits, settings.n_hashes, settings.recall)
        again = self._estimates(least) <= worst
        parts = [exact.taken(~np.isin(exact.query, full[again]))]
        n_parts = 1 + int(again.sum()) * int(self.store.starts()[-1]) * 8 // RANKS_BYTES
        halves = (np.array_split(one[again], n_parts) for one in (full, least))
        for chosen, needed in zip(*halves, strict=True):
            more = self.found(codes[chosen], ALL, needed, bands)
            more = more._replace(query=chosen[more.query])
            parts.append(self._compared(more, queries.rows).sorted().best(k))
        return Candidates.joined(parts).sorted()

    def found(
        self, codes: NDArray[Any], most: int, least: NDArray[np.uint32], bands: Bands | None, before: int = -1
    ) -> Candidates:
        """Return the rows that agree on at least `least` hashes with a query: at most `most`, with their estimates.

        With `before` not negative, query i is compared with the rows whose numbers are below `before` + i.
        """
        least = np.ascontiguousarray(least, np.uint32)
        segments, packing = self.store.segments, self.store.settings.packing
        queries, ranks = [], []
        for first, segment in zip(self.store.starts()[:-1].tolist(), segments, strict=True):
            where = (codes, segment.codes, *packing, segment.live, first)
            if bands is None:
                start, rank = _core.scan(*where, most, least, before, self.threads)
            else:
                buckets = segment.buckets(bands, self.threads)
                start, rank = _core.search_buckets(*where, *buckets, bands.width, most, least, before, self.threads)
            queries.append(np.repeat(np.arange(len(codes)), np.diff(start)))
            ranks.append(rank)
        query, rank = np.concatenate(queries), np.concatenate(ranks)
        if len(segments) > 1:
            order = np.lexsort((~rank, query))
            query, rank = query[order], rank[order]
        row = (~rank & np.uint64(0xFFFFFFFF)).astype(np.int64)
        found = Candidates(query, row, self._estimates((rank >> np.uint64(32)).astype(np.int64)))
        return found if len(segments) == 1 else found.best(most)

    def _estimates(self, count: NDArray[np.integer]) -> NDArray[np.float64]:
        by_chance = 0.5**self.store.settings.bits
        return (count / self.store.settings.n_hashes - by_chance) / (1.0 - by_chance)

    def _compared(self, found: Candidates, queries: Any) -> Candidates:
        """Return candidates with their exact kernels in place of the estimates."""
        p, kernels = self.store.settings.p, np.empty(len(found.query))
        if not len(kernels):
            return found
        if p == 1:
            for segment, chosen, rows in self.store.by_segment(found.row):
                pairs = np.stack([found.query[chosen], rows], axis=1)
                kernels[chosen] = pgmm_pairs(queries, segment.rows, pairs, p=p, threads=self.threads)
            return found._replace(similarity=kernels)
        width = queries.nnz // queries.shape[0] * 4 if sparse.issparse(queries) else queries.shape[1]
        step = max(16, ROWS_BYTES // max(1, 8 * width))
        for start in range(0, len(kernels), step):
            part = slice(start, start + step)
            used, query = np.unique(found.query[part], return_inverse=True)
            numbers, row = np.unique(found.row[part], return_inverse=True)
            rows = join_rows([take_rows(one.rows, at) for one, _, at in self.store.by_segment(numbers)])
            pairs = np.stack([query, row], axis=1)
            kernels[part] = pgmm_pairs(take_rows(queries, used), rows, pairs, p=p, threads=self.threads)
        return found._replace(similarity=kernels)


def _least(similarity: Any, bits: int, n_hashes: int, recall: float | None) -> NDArray[np.uint32]:
    """Return the equal codes that a row of this similarity has with the probability `recall`, or more.

    Without a recall, they are the fewest whose estimate is at least this similarity.
    """
    similarity = np.asarray(similarity)
    if recall is not None:
        error = np.sqrt(similarity_variance(similarity, bits, n_hashes))
        similarity = np.maximum(similarity - float(ndtri(recall)) * error, -1.0)
    P = similarity * (1.0 - 0.5**bits) + 0.5**bits
    return np.clip(np.ceil(n_hashes * P - 1e-9), 0, n_hashes).astype(np.uint32)


@lru_cache(maxsize=256)  # many calls have a query each, and the same threshold
def _fewest(similarity: float, bits: int, n_hashes: int, recall: float | None) -> int:
    return int(_least(similarity, bits, n_hashes, recall))
