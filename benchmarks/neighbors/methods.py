"""The methods that are compared: gcwsnet's index, datasketch, rensa and faiss, each on one thread."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.neighbors.cases import TOP
from gcwsnet import gmm_transform, pgmm_kernel
from gcwsnet.neighbors import GCWSIndex

Found = list[NDArray[np.int64]]
PERMUTATIONS = 128
ALONE = 20  # queries that are asked one by one
BLOCK_NUMBERS = 1 << 25


@dataclass(frozen=True)
class Method:
    """A way to find neighbours.

    Attributes
    ----------
    name : str
        What is shown.
    family : str
        Methods of one family are connected in the picture.
    similarity : str
    prepare : callable
        Rows in the form that the method takes; not timed.
    build : callable
        From prepared rows to an index, with hashing.
    query : callable
        From an index and prepared queries to the rows found, with hashing.
    """

    name: str
    family: str
    similarity: str
    prepare: Callable[[Any], Any]
    build: Callable[[Any], Any]
    query: Callable[[Any, Any], Found]
    size: Callable[[Any], int] | None = None
    """The bytes of an index; None is the growth of the process."""


class Measured(NamedTuple):
    """Seconds to build, of all queries at a time and of one query alone, bytes of the index, and what was found.

    Seconds are those of the processor: other work on the machine counts less.
    """

    build: float
    query: float
    alone: float
    bytes: float
    found: Found


def measure(method: Method, X: Any, Q: Any) -> Measured:
    """Build and query in a process of its own, whose memory tells the size of the index."""
    rows, queries = method.prepare(X), method.prepare(Q)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)  # what was freed before must not serve the index
            before = _resident()
            start = time.process_time()
            index = method.build(rows)
            built = time.process_time()
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            grown = _resident() - before if method.size is None else method.size(index)
            method.query(index, queries[:1])
            asked = time.process_time()
            found = method.query(index, queries)
            done = time.process_time()
            n_alone = min(ALONE, len(found))
            for i in range(n_alone):
                method.query(index, queries[i : i + 1])
            alone = (time.process_time() - done) / n_alone
            result = [built - start, done - asked, alone, grown, [np.asarray(one).tolist() for one in found]]
            with os.fdopen(writer, "w") as file:
                json.dump(result, file)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(f"{method.name} failed")
    build, query, alone, grown, found = json.loads(text)
    return Measured(build, query, alone, grown, [np.array(one, dtype=np.int64) for one in found])


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _size(index: GCWSIndex) -> int:
    """Return the bytes of the arrays; the hasher's tables of parameters, up to `table_memory`, are not the index."""
    return index.nbytes


def gcwsnet_top(n_hashes: int, *, keep_rows: bool = True, **more: Any) -> Method:
    """Return the ten nearest rows by the index."""
    kind = "exact kernel decides" if keep_rows else "codes only"
    default = ", the default" if n_hashes == 256 and keep_rows and not more else ""
    settings = "".join(f", {name}={value}" for name, value in more.items())
    family = ", ".join(["GCWSIndex", *(["sets"] if "sets" in more else []), kind])
    return Method(
        f"GCWSIndex({n_hashes}{settings}), {kind}{default}",
        family if "bits" not in more else "",
        "pGMM",
        lambda X: X,
        lambda X: GCWSIndex(n_hashes, keep_rows=keep_rows, **more).add(X),
        lambda index, Q: list(index.query(Q, TOP).ids),
        _size,
    )


def gcwsnet_threshold(t: float, n_hashes: int, *, keep_rows: bool = True, **more: Any) -> Method:
    """Return the rows from a similarity on, by bands."""
    kind = "exact kernel decides" if keep_rows else "codes only"
    settings = "".join(f", {name}={value}" for name, value in more.items())

    def build(X: Any) -> GCWSIndex:
        index = GCWSIndex(n_hashes, threshold=t, keep_rows=keep_rows, method="bands", **more).add(X)
        index.query_threshold(X[:1], t)  # the buckets are built when they are first needed
        return index

    def query(index: GCWSIndex, Q: Any) -> Found:
        found = index.query_threshold(Q, t)
        ends = np.cumsum(np.bincount(found.queries, minlength=Q.shape[0]))[:-1]
        return np.split(found.ids, ends)

    name = f"GCWSIndex({n_hashes}{settings}), {kind}"
    return Method(name, "", "pGMM", lambda X: X, build, query, _size)


def all_kernels() -> Method:
    """Return the exact search without an index: the kernel with every row."""

    def query(X: Any, Q: Any) -> Found:
        return list(np.argpartition(-pgmm_kernel(Q, X), TOP, axis=1)[:, :TOP])

    name = "pgmm_kernel with all rows"
    return Method(name, name, "pGMM", lambda X: X, lambda X: X, query, lambda X: getattr(X, "nbytes", X.data.nbytes))


def as_token_sets(X: Any) -> list[list[bytes]]:
    """Return the columns of each row that are not zero, as texts in bytes."""
    rows = sparse.csr_array(X)
    names = [str(column).encode() for column in rows.indices.tolist()]
    return [names[a:b] for a, b in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)]


def as_text_sets(X: Any) -> list[list[str]]:
    """Return the columns of each row that are not zero, as texts."""
    return [[one.decode() for one in row] for row in as_token_sets(X)]


def datasketch_forest(n_trees: int, permutations: int = PERMUTATIONS) -> Method:
    """Return datasketch's forest on sets; its candidates are compared by their hashes, as its documentation does."""
    from datasketch import MinHash, MinHashLSHForest

    def build(sets: list[list[bytes]]) -> Any:
        forest = MinHashLSHForest(num_perm=permutations, l=n_trees)
        hashes = MinHash.bulk(sets, num_perm=permutations)
        for row, one in enumerate(hashes):
            forest.add(row, one)
        forest.index()
        return forest

    def query(forest: Any, sets: list[list[bytes]]) -> Found:
        return [np.array(forest.query(one, TOP)) for one in MinHash.bulk(sets, num_perm=permutations)]

    name = f"datasketch MinHashLSHForest({permutations}, l={n_trees})"
    return Method(name, "datasketch MinHashLSHForest", "Jaccard of sets", as_token_sets, build, query)


def _datasketch_lsh(sets: list[list[bytes]], t: float, permutations: int) -> tuple[Any, list[Any]]:
    """Return datasketch's LSH on sets, and their hashes."""
    from datasketch import MinHash, MinHashLSH

    lsh, hashes = MinHashLSH(threshold=t, num_perm=permutations), MinHash.bulk(sets, num_perm=permutations)
    for row, one in enumerate(hashes):
        lsh.insert(row, one)
    return lsh, hashes


def datasketch_lsh(t: float, permutations: int = PERMUTATIONS) -> Method:
    """Return datasketch's LSH on sets: the rows that share a bucket."""
    from datasketch import MinHash

    def build(sets: list[list[bytes]]) -> Any:
        return _datasketch_lsh(sets, t, permutations)[0]

    def query(lsh: Any, sets: list[list[bytes]]) -> Found:
        return [np.array(lsh.query(one), dtype=np.int64) for one in MinHash.bulk(sets, num_perm=permutations)]

    name = f"datasketch MinHashLSH(threshold={t:g}, {permutations})"
    return Method(name, "datasketch MinHashLSH", "Jaccard of sets", as_token_sets, build, query)


def datasketch_lsh_top(t: float, permutations: int = PERMUTATIONS) -> Method:
    """Return the nearest of the rows that share a bucket of datasketch's LSH, by the hashes that agree."""
    from datasketch import MinHash

    def build(sets: list[list[bytes]]) -> Any:
        return _datasketch_lsh(sets, t, permutations)

    def query(index: Any, sets: list[list[bytes]]) -> Found:
        lsh, hashes = index
        found = []
        for one in MinHash.bulk(sets, num_perm=permutations):
            rows = sorted(lsh.query(one), key=lambda row: -one.jaccard(hashes[row]))
            found.append(np.array(rows[:TOP], dtype=np.int64))
        return found

    name = f"datasketch MinHashLSH(threshold={t:g}, {permutations}), ranked"
    return Method(name, "datasketch MinHashLSH, ranked", "Jaccard of sets", as_token_sets, build, query)


def datasketch_weighted(n_trees: int, permutations: int = PERMUTATIONS) -> Method:
    """Return datasketch's forest on weighted hashes of rows that are made non-negative as ours are."""
    from datasketch import MinHashLSHForest, WeightedMinHashGenerator

    def prepare(X: Any) -> NDArray[np.float64]:
        return (
            np.asarray(gmm_transform(X), dtype=np.float64)[:, ::2] if (X >= 0).all() else np.asarray(gmm_transform(X))
        )

    def hashes(X: NDArray[np.float64]) -> list[Any]:
        """Return the hashes of blocks of rows: datasketch holds a number for each column and hash of a block."""
        generator = WeightedMinHashGenerator(X.shape[1], sample_size=permutations, seed=1)
        step = max(1, BLOCK_NUMBERS // (X.shape[1] * permutations))
        return [one for start in range(0, len(X), step) for one in generator.minhash_many(X[start : start + step])]

    def build(X: NDArray[np.float64]) -> Any:
        forest = MinHashLSHForest(num_perm=permutations, l=n_trees)
        for row, one in enumerate(hashes(X)):
            forest.add(row, one)
        forest.index()
        return forest

    name = f"datasketch WeightedMinHash({permutations}), forest of {n_trees}"
    return Method(
        name,
        "datasketch WeightedMinHash",
        "pGMM",
        prepare,
        build,
        lambda forest, Q: [np.array(forest.query(one, TOP)) for one in hashes(Q)],
    )


def rensa_lsh(t: float, n_bands: int, permutations: int = PERMUTATIONS) -> Method:
    """Return rensa's LSH on sets: the rows that share a bucket."""
    from rensa import RMinHash, RMinHashLSH

    def hashes(sets: list[list[str]]) -> Any:
        return RMinHash.from_token_sets(sets, permutations, 42)

    def build(sets: list[list[str]]) -> Any:
        lsh = RMinHashLSH(t, permutations, n_bands)
        for row, one in enumerate(hashes(sets)):
            lsh.insert(row, one)
        return lsh

    return Method(
        f"rensa RMinHashLSH({permutations}, {n_bands} bands)",
        "rensa RMinHashLSH",
        "Jaccard of sets",
        as_text_sets,
        build,
        lambda lsh, sets: [np.array(lsh.query(one), dtype=np.int64) for one in hashes(sets)],
    )


def rensa_lsh_top(n_bands: int, permutations: int = PERMUTATIONS) -> Method:
    """Return the nearest of the rows that share a bucket of rensa's LSH, by the hashes that agree."""
    from rensa import RMinHash, RMinHashLSH

    def build(sets: list[list[str]]) -> Any:
        lsh = RMinHashLSH(0.5, permutations, n_bands)
        hashes = list(RMinHash.from_token_sets(sets, permutations, 42))
        for row, one in enumerate(hashes):
            lsh.insert(row, one)
        return lsh, hashes

    def query(index: Any, sets: list[list[str]]) -> Found:
        lsh, hashes = index
        found = []
        for one in RMinHash.from_token_sets(sets, permutations, 42):
            rows = sorted(lsh.query(one), key=lambda row: -one.jaccard(hashes[row]))
            found.append(np.array(rows[:TOP], dtype=np.int64))
        return found

    name = f"rensa RMinHashLSH({permutations}, {n_bands} bands), ranked"
    return Method(name, "rensa RMinHashLSH, ranked", "Jaccard of sets", as_text_sets, build, query)


def faiss_hnsw(ef: int) -> Method:
    """Return the graph of faiss on rows of length one: neighbours by cosine, which is another similarity."""
    import faiss

    def prepare(X: Any) -> NDArray[np.float32]:
        rows = np.ascontiguousarray(X, np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)

    def build(X: NDArray[np.float32]) -> Any:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexHNSWFlat(X.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = 40
        index.add(X)
        return index

    def query(index: Any, Q: NDArray[np.float32]) -> Found:
        index.hnsw.efSearch = ef
        return list(index.search(Q, TOP)[1])

    return Method(f"faiss HNSW(16), ef={ef}", "faiss HNSW, cosine", "cosine", prepare, build, query)
