"""Searches for many queries, batch by batch: rows that were given, or the rows of the index itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gcwsnet._locks import reads
from gcwsnet._validation import check_choice, check_integer, check_number
from gcwsnet.neighbors._store import Candidates, Compare, FetchRows, Store

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


class NeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A transformer that finds neighbours and gives their graph, as scikit-learn's `KNeighborsTransformer` does.

    An index is one that has a store of rows and says how queries are made of rows.
    """

    n_neighbors: int
    _store: Store

    @reads
    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Return the distances and the places of the nearest rows.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (m, D), default=None
            None is all rows of the index, which are then not their own neighbours.
        n_neighbors : int, default=None
            None is the parameter of the index.
        return_distance : bool, default=True

        Returns
        -------
        distances : float64 array of shape (m, n_neighbors)
            1 - similarity, ascending; only if `return_distance`.
        places : int64 array of the same shape
            Numbers of rows from 0 on, in the order in which they were added.
        """
        k = self._checked_k("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors, X is None)
        found = self._queries(X).top(k)
        places = self._store.places(found.row).reshape(-1, k)
        return (1.0 - found.similarity.reshape(-1, k), places) if return_distance else places

    @reads
    def radius_neighbors(self, X: Any = None, radius: float | None = None, return_distance: bool = True) -> Any:
        """Return the distances and the places of all rows within a radius, nearest first.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (m, D), default=None
            None is all rows of the index, which are then not their own neighbours.
        radius : float, default=None
            A distance, from 0 to 1. None is 1 - threshold.
        return_distance : bool, default=True

        Returns
        -------
        distances, places : arrays of m arrays
        """
        store = self._filled()
        if radius is not None:
            t = 1.0 - check_number("radius", radius, 0.0, 1.0)
        elif store.settings.threshold is not None:
            t = store.settings.threshold
        else:
            raise ValueError("radius is needed for an index without a threshold, got radius=None")
        found = self._queries(X).above(t)
        query, n_queries = found.query, store.n_live
        if X is None:
            found = found.taken(found.query != found.row)
            query = store.places(found.query)
        else:
            n_queries = X.shape[0] if hasattr(X, "shape") else len(X)
        ends = np.cumsum(np.bincount(query, minlength=n_queries))[:-1]
        distances, places = (
            _array_of_arrays(np.split(one, ends)) for one in (1.0 - found.similarity, store.places(found.row))
        )
        return (distances, places) if return_distance else places

    @reads
    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the graph of the nearest rows.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether an entry is 1 or the distance. Distances ascend within each row, and zeros are stored.

        Returns
        -------
        graph : CSR matrix of shape (m, rows of the index)
        """
        check_choice("mode", mode, ("connectivity", "distance"))
        distances, places = self.kneighbors(X, n_neighbors)
        m, k = places.shape
        values = np.ones(m * k) if mode == "connectivity" else distances.ravel()
        return sparse.csr_matrix((values, places.ravel(), np.arange(0, m * k + 1, k)), shape=(m, self.n_samples_fit_))

    @reads
    def transform(self, X: Any) -> Any:
        """Return the graph of distances to the ``n_neighbors + 1`` nearest rows, for ``metric="precomputed"``."""
        self._filled()
        return self.kneighbors_graph(X, check_integer("n_neighbors", self.n_neighbors, 1, 2**31) + 1, mode="distance")

    @property
    def n_samples_fit_(self) -> int:
        """The rows that can be found."""
        return self._filled().n_live

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_store")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _filled(self) -> Store:
        if not hasattr(self, "_store"):
            check_is_fitted(self)
        return self._store

    def _checked_k(self, name: str, k: object, exclude_self: bool = False) -> int:
        most = self._filled().n_live - exclude_self
        number = check_integer(name, k, 1, 2**31)
        if number > most:
            raise ValueError(f"{name} must be at most {most}, the rows that can be neighbours, got {name}={number}")
        return number

    @abstractmethod
    def _queries(self, X: Any) -> Queries:
        """Return the queries of rows, or of all rows of the index if X is None."""


def _array_of_arrays(parts: list[NDArray[Any]]) -> NDArray[Any]:
    found = np.empty(len(parts), dtype=object)
    found[:] = parts
    return found
