"""Searches for many queries, batch by batch: rows that were given, or the rows of the index itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gcwsnet.neighbors._search import Candidates, Compare
from gcwsnet.neighbors._store import FetchRows, Store

BATCH_ROWS = 4096


class Queries(NamedTuple):
    """Queries to a store.

    Attributes
    ----------
    store : Store
    codes, rows : arrays or None
        The codes of the queries, as the store holds codes, and the queries if they are compared exactly. Without codes,
        the rows of the store are the queries.
    fetch_rows : callable or None
    method : {"auto", "scan", "bands"}
    threads : int
    """

    store: Store
    codes: Any
    rows: Any
    fetch_rows: FetchRows | None
    method: str
    threads: int

    @property
    def are_own(self) -> bool:
        """Whether the rows of the store are the queries."""
        return self.codes is None

    def top(self, k: int) -> Candidates:
        """Return the k nearest rows of each query; a row of the store is not its own neighbour."""
        store = self.store
        with_bands = store.settings.uses_bands(self.method, store.n_live, None)
        search = store.search(with_bands=with_bands, threads=self.threads)
        parts = []
        for first, codes, compare in self._batches():
            found = search.top(codes, k + self.are_own, compare)
            if with_bands:
                found = self._with_rest(found, codes, k + self.are_own, compare)
            found = found._replace(query=found.query + first)
            if self.are_own:
                found = found.taken(store.is_live(found.query) & (found.query != found.row)).best(k)
            parts.append(found)
        return Candidates.joined(parts)

    def above(self, t: float, *, earlier: bool = False) -> Candidates:
        """Return the rows from a similarity on; for the rows of the store, all or only earlier ones."""
        store = self.store
        with_bands = store.settings.uses_bands(self.method, store.n_live, t)
        search = store.search(with_bands=with_bands, threads=self.threads)
        parts = []
        for first, codes, compare in self._batches():
            found = search.above(codes, t, compare, first if earlier else -1)
            found = found._replace(query=found.query + first)
            parts.append(found.taken(store.is_live(found.query)) if self.are_own else found)
        return Candidates.joined(parts)

    def _batches(self) -> Iterator[tuple[int, Any, Compare | None]]:
        """Yield the number of the first query, the codes of a batch, and its exact comparison."""
        if not self.are_own and len(self.codes) <= BATCH_ROWS:  # without a slice, which takes SciPy long for a row
            yield 0, self.codes, self._compare(self.rows)
            return
        if not self.are_own:
            for start in range(0, len(self.codes), BATCH_ROWS):
                batch = slice(start, start + BATCH_ROWS)
                yield start, self.codes[batch], self._compare(None if self.rows is None else self.rows[batch])
            return
        first = 0
        for segment in self.store.segments:
            for start in range(0, segment.n_rows, BATCH_ROWS):
                batch = slice(start, start + BATCH_ROWS)
                codes = segment.codes[batch]
                rows = None if segment.rows is None else segment.rows[batch]
                if self.fetch_rows is not None:
                    rows = self.store.fetched(np.arange(first + start, first + start + len(codes)), self.fetch_rows)
                yield first + start, codes, self._compare(rows)
            first += segment.n_rows

    def _compare(self, rows: Any) -> Compare | None:
        return None if rows is None else self.store.compare(rows, self.fetch_rows, self.threads)

    def _with_rest(self, found: Candidates, codes: Any, k: int, compare: Compare | None) -> Candidates:
        """Return the neighbours with those of a scan for queries that share buckets with fewer than k rows."""
        few = np.flatnonzero(np.bincount(found.query, minlength=len(codes)) < k)
        if len(few) == 0:
            return found
        scan = self.store.search(with_bands=False, threads=self.threads)
        more = scan.top(codes[few], k, None if compare is None else lambda query, row: compare(few[query], row))
        kept = found.taken(~np.isin(found.query, few))
        return Candidates.joined([kept, more._replace(query=few[more.query])]).sorted()
