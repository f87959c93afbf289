"""The interface of scikit-learn's nearest neighbours: distances, places and graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gcwsnet._locks import reads
from gcwsnet._validation import check_choice, check_integer, check_number
from gcwsnet.neighbors._queries import Queries
from gcwsnet.neighbors._store import Store


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
