"""The index: rows added, removed and found again by their similarity."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gcwsnet._locks import reads, writes
from gcwsnet._threads import n_threads
from gcwsnet._validation import as_floats, check_choice, check_finite, check_integer, check_matrix, check_number
from gcwsnet.hashing._hasher import Codes, Hasher, check_comparable
from gcwsnet.neighbors._files import read_store, write_store
from gcwsnet.neighbors._index_settings import Bands, IndexSettings
from gcwsnet.neighbors._search import Search
from gcwsnet.neighbors._store import Ids, Store, signs


class Neighbors(NamedTuple):
    """The most similar rows of each query: their ids and similarities, of the shape (queries, k), best first."""

    ids: NDArray[Any]
    similarities: NDArray[np.float64]


class Matches(NamedTuple):
    """All rows above a similarity: the number of the query, the id of the row and the similarity, best first."""

    queries: NDArray[np.int64]
    ids: NDArray[Any]
    similarities: NDArray[np.float64]


class Pairs(NamedTuple):
    """Similar pairs: the id of the row that was added later, that of the earlier one, and the similarity."""

    ids: NDArray[Any]
    earlier_ids: NDArray[Any]
    similarities: NDArray[np.float64]


class GCWSIndex(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An index of rows of real numbers that finds near neighbours under the pGMM kernel.

    Rows are hashed to k codes of b bits by generalized consistent weighted sampling. Two codes agree with the
    probability J + (1 - J) / 2**b, where J is the pGMM similarity of the rows (Theorem 2). The codes find the
    candidates, by a scan of all codes or by the buckets of bands of codes. The exact kernel then decides, if the rows
    are kept; else the similarities are the estimates of the codes.

    It is a transformer too, which gives the graph of the nearest neighbours as scikit-learn's `KNeighborsTransformer`
    does, for clustering and t-SNE with ``metric="precomputed"``. Distances are 1 - similarity.

    Parameters
    ----------
    n_hashes : int, default=256
        k, the codes of a row.
    p : float, default=1.0
        The power of the pGMM kernel. Rows of 0 and 1 have the Jaccard similarity for any p: minwise hashing.
    bits : int, default=8
        b, the bits of a code, from 1 to 32. A code is held in 1, 2, 4, 8, 16 or 32 bits.
    threshold : float, default=None
        A similarity. With it the index has buckets, which find pairs that are at least as similar, each with a
        probability of at least `recall`. Without it all searches scan the codes.
    recall : float, default=0.95
        The share of the neighbours that are to be found, from 0.5 to 0.9999.
    keep_rows : bool, default=True
        Whether the rows are kept, so that the exact kernel decides.
    sets : bool, default=False
        Whether a row is the set of its non-zero entries, so that the similarity is that of Jaccard and the size of a
        number does not matter. The codes are then those of minwise hashing, which is several times faster. For rows of
        0 and 1 the similarities are the same without it.
    method : {"auto", "scan", "bands"}, default="auto"
        How candidates are found. "auto" scans up to 16,384 rows. With more rows it uses the bands for similarities
        from the threshold on, and scans for others. `query` with "auto" always scans: the k nearest rows may be less
        similar than the threshold. With "bands", rows that share no bucket with a query are not found.
    n_neighbors : int, default=5
        The neighbours of `kneighbors` and `kneighbors_graph`. `transform` gives one more, as a row of `fit` is its own
        neighbour.
    random_state : int, RandomState instance or None, default=0
        The seed of the hashes. Only indexes with the same seed can be merged.
    n_jobs : int, default=None
        Number of threads; None is 1 and -1 is all. Results and files are the same for any number.

    Attributes
    ----------
    n_features_in_ : int
        The columns of the rows.
    n_samples_fit_ : int
        The rows that can be found.
    bands_ : Bands or None
        The number of bands and their width.
    nbytes : int
        The bytes of all arrays: codes, buckets (8 for each band and row, once they are built), ids and kept rows.
    metadata : dict
        Anything that JSON can hold, to be saved with the index.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet.neighbors import GCWSIndex
    >>> X = np.array([[1.0, 5.0, -2.0], [1.5, 4.0, -2.0], [0.0, 1.0, 9.0]])
    >>> index = GCWSIndex(n_hashes=64).add(X, ids=["a", "b", "c"])
    >>> index.query(X[:1], k=2)
    Neighbors(ids=array([['a', 'b']], dtype=object), similarities=array([[1.        , 0.82352941]]))
    >>> index.query_threshold(X, 0.5).ids
    array(['a', 'b', 'b', 'a', 'c'], dtype=object)
    >>> index.pairs(0.5)
    Pairs(ids=array(['b'], dtype=object), earlier_ids=array(['a'], dtype=object), similarities=array([0.82352941]))
    """

    _store: Store
    _hasher: Hasher

    def __init__(
        self,
        n_hashes: int = 256,
        *,
        p: float = 1.0,
        bits: int = 8,
        threshold: float | None = None,
        recall: float = 0.95,
        keep_rows: bool = True,
        sets: bool = False,
        method: str = "auto",
        n_neighbors: int = 5,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_hashes = n_hashes
        self.p = p
        self.bits = bits
        self.threshold = threshold
        self.recall = recall
        self.keep_rows = keep_rows
        self.sets = sets
        self.method = method
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Rows in and out

    @writes
    def fit(self, X: Any, y: Any = None) -> GCWSIndex:  # noqa: ARG002
        """Drop all rows, read the parameters again, and add the rows of X. Ids are their numbers from 0 on.

        Returns
        -------
        self : GCWSIndex
        """
        for name in ("_store", "_hasher", "_metadata", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        return self.add(X)

    @writes
    def add(self, X: Any, ids: Any = None) -> GCWSIndex:
        """Add rows.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (n, D); or codes
            Rows, or the codes of rows by a `GCWSHasher` with the same settings and seed, if rows are not kept.
        ids : sequence of n whole numbers or texts, default=None
            They differ from each other and from those of the rows before. By default they go on from the largest one,
            from 0 for an empty index.

        Returns
        -------
        self : GCWSIndex
        """
        store = self._store_or_new()
        before = dict(self.__dict__)
        try:
            codes, rows = self._hashed(X, store.settings)
            made = store.checked_ids(ids, len(codes))
            self._store = store.added(codes, made, None if rows is None else rows.copy(), n_threads(self.n_jobs))
        except BaseException:  # nothing was added
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    @writes
    def remove(self, ids: Any) -> GCWSIndex:
        """Remove rows by their ids. An unknown id is an error, and then no row is removed."""
        self._store = self._filled().removed(Ids.checked(ids, len(ids)))
        return self

    def merge(self, other: GCWSIndex) -> GCWSIndex:
        """Add the rows of another index behind those of this one.

        Both have the same settings and seed, and no id in common. The index is then the same as if all rows had been
        added to it, and it is saved as the same bytes.
        """
        other._filled()
        return self._merge(other.__getstate__())  # of one moment; no thread waits for both indexes

    @writes
    def _merge(self, other: dict[str, Any]) -> GCWSIndex:
        """Add the rows of an index, given by its attributes."""
        store, before = self._store_or_new(), self.__dict__
        widths = {one["n_features_in_"] for one in (before, other) if "n_features_in_" in one}
        if len(widths) > 1:
            raise ValueError(f"indexes can be merged if their rows have as many columns, got {sorted(widths)}")
        self._store = store.merged(other["_store"], n_threads(self.n_jobs))
        for name in ("n_features_in_", "feature_names_in_"):
            if name in other:
                before.setdefault(name, other[name])
        return self

    def codes(self, X: Any) -> Codes:
        """Return the codes of rows, which `add` and the searches of an index without rows take in their place."""
        settings = self._store_or_new().settings
        return Codes(self._hashed(X, settings)[0], settings.origin())

    # Searches

    @reads
    def query(self, X: Any, k: int) -> Neighbors:
        """Return the k most similar rows of each row of X.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (m, D); or codes
        k : int
            At most the number of rows in the index.

        Returns
        -------
        neighbors : Neighbors
            Of equal similarities the row that was added first comes first.
        """
        k = self._checked_k("k", k)
        found = self._search(X).top(k)
        return Neighbors(self._store.ids_of(found.row).reshape(-1, k), found.similarity.reshape(-1, k))

    @reads
    def query_threshold(self, X: Any, t: float) -> Matches:
        """Return all rows with a similarity of at least t to a row of X, which is found with the probability `recall`.

        Parameters
        ----------
        X : array, CSR matrix or array, or frame, of shape (m, D); or codes
        t : float
            From 0 to 1.

        Returns
        -------
        matches : Matches
        """
        found = self._search(X).above(check_number("t", t, 0.0, 1.0))
        return Matches(found.query, self._store.ids_of(found.row), found.similarity)

    @reads
    def pairs(self, t: float) -> Pairs:
        """Return all pairs of rows of the index with a similarity of at least t.

        They are in the order of the later row, and the most similar earlier row comes first.

        Parameters
        ----------
        t : float
            From 0 to 1.

        Returns
        -------
        pairs : Pairs
        """
        found = self._search(None).above(check_number("t", t, 0.0, 1.0))
        return Pairs(self._store.ids_of(found.query), self._store.ids_of(found.row), found.similarity)

    # As scikit-learn's KNeighborsTransformer

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
        found = self._search(X).top(k)
        places = self._store.places(found.row).reshape(-1, k)
        return (1.0 - found.similarity.reshape(-1, k), places) if return_distance else places

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

    # Files

    @reads
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, in place of the index that is there.

        The file is written beside the old one and replaces it at the end: a process that is killed while saving leaves
        the old index as it was. Segments are merged on the way, and removed rows are left out. So the bytes depend only
        on the settings, the metadata, and the rows and ids in their order.
        """
        store = self._filled()
        names = getattr(self, "feature_names_in_", None)
        described = {
            "n_features": getattr(self, "n_features_in_", None),
            "feature_names": None if names is None else names.tolist(),
            "metadata": self.metadata,
        }
        write_store(Path(path), store, described, n_threads(self.n_jobs))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        verify: bool = True,
        n_jobs: int | None = None,
    ) -> GCWSIndex:
        """Return the index of a folder. Except on Windows its arrays are memory maps, which may be larger than memory.

        Parameters
        ----------
        path : path
            A folder that `save` wrote.
        verify : bool, default=True
            Whether all bytes are read once to check them. Without it only sizes and types are, which is enough for
            files that you wrote yourself.
        n_jobs : int, default=None
            As for a new index.
        """
        store, described = read_store(Path(path), verify=verify)
        kept = asdict(store.settings)
        index = cls(random_state=kept.pop("seed"), n_jobs=n_jobs, **kept)
        index._store, index._metadata = store, described["metadata"]
        if described["n_features"] is not None:
            index.n_features_in_ = described["n_features"]
        if described["feature_names"] is not None:
            index.feature_names_in_ = np.array(described["feature_names"], dtype=object)
        return index

    @reads
    def __getstate__(self) -> Any:
        return dict(super().__getstate__())

    # What it holds

    @property
    def bands_(self) -> Bands | None:
        """The number of bands and their width."""
        return self._filled().settings.bands

    @property
    @reads
    def ids_(self) -> NDArray[Any]:
        """The ids of the rows, in the order in which they were added."""
        store = self._filled()
        live = store.live()
        return store.ids_of(np.arange(store.n_live) if live is None else np.flatnonzero(live))

    @property
    @reads
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(one.nbytes for one in self._filled().segments)

    @property
    def metadata(self) -> dict[str, Any]:
        """What the user wants to keep with the index."""
        if "_metadata" not in self.__dict__:
            self._metadata: dict[str, Any] = {}
        return self._metadata

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

    # The way to a search

    def _filled(self) -> Store:
        if not hasattr(self, "_store"):
            check_is_fitted(self)
        return self._store

    def _store_or_new(self) -> Store:
        """Return the store; one without rows, by the parameters as they are now, if there is none yet."""
        return self._store if hasattr(self, "_store") else Store(IndexSettings.checked(**self.get_params(deep=False)))

    def _checked_k(self, name: str, k: object, exclude_self: bool = False) -> int:
        most = max(0, self._filled().n_live - exclude_self)
        number = check_integer(name, k, 1, 2**31)
        if number > most:
            raise ValueError(f"{name} must be at most {most}, the rows that can be neighbours, got {name}={number}")
        return number

    def _hashed(self, X: Any, settings: IndexSettings) -> tuple[Any, Any]:
        """Return the codes of rows, and the rows if they are compared exactly."""
        if isinstance(X, Codes):
            if settings.keep_rows:
                raise ValueError(
                    "codes have no rows to compare exactly; give the rows, or an index with keep_rows=False"
                )
            return _checked_codes(X, settings), None
        X = check_matrix(X, estimator=self, reset=not hasattr(self, "n_features_in_"))
        check_finite(X, columns=getattr(self, "feature_names_in_", None))
        if not hasattr(self, "_hasher"):
            self._hasher = settings.hasher(X.shape[1])
        codes = self._hasher.codes(X, n_threads(self.n_jobs))
        if not settings.keep_rows:
            return codes, None
        return codes, signs(as_floats(X)) if settings.sets else as_floats(X)

    def _search(self, X: Any) -> Search:
        """Return the search for rows, or for all rows of the index if X is None."""
        store, codes, rows = self._filled(), None, None
        if X is not None:
            codes, rows = self._hashed(X, store.settings)
            codes = store.settings.packing.pack(codes)
        return Search(store, codes, rows, self.method, n_threads(self.n_jobs))


def _checked_codes(codes: Codes, settings: IndexSettings) -> NDArray[Any]:
    if codes.ndim != 2 or codes.shape[1] != settings.n_hashes:
        raise ValueError(f"codes must have the shape (n, {settings.n_hashes}), got {codes.shape}")
    if codes.origin is None:
        raise ValueError("codes must know the hasher that made them; give what GCWSHasher.transform returned")
    check_comparable([Codes(np.empty(0, np.uint8), settings.origin()), codes], settings.bits)
    return np.ascontiguousarray(codes).view(np.ndarray)


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


@contextlib.contextmanager
def spilling(index: GCWSIndex, out: Path, memory: int = 1 << 30) -> Iterator[Callable[[], None]]:
    """Yield a function that moves the rows of an index to files when they have filled `memory` bytes.

    The files are in a folder within `out`, to which the index will be saved, and are removed at the end. What an
    earlier process left behind when it was killed is removed first.
    """
    folder, new, numbers = out / ".segments", not out.exists(), itertools.count()

    def spill() -> None:
        store = index._store
        fresh, mapped = (tuple(one for one in store.segments if one.mapped == is_mapped) for is_mapped in (False, True))
        of_buckets = 0 if store.settings.bands is None else 8 * store.settings.bands.n_bands
        if sum(one.nbytes + of_buckets * (one.built is None) * one.n_rows for one in fresh) < memory:
            return
        path = folder / str(next(numbers))
        n_features = getattr(index, "n_features_in_", None)
        described: dict[str, Any] = {"n_features": n_features, "feature_names": None, "metadata": {}}
        write_store(path, Store(store.settings, fresh), described, n_threads(index.n_jobs))
        index._store = Store(store.settings, mapped + read_store(path, verify=False)[0].segments)

    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield spill
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if new and out.exists() and not any(out.iterdir()):
            out.rmdir()
