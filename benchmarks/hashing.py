"""Rows hashed per second, against peers: `python benchmarks/hashing.py` (peers: `pip install '.[bench]'`).

Whole calls on one thread, logarithms and encoding included, k = 256. Works take turns within one run and the median
counts. Peers do other things too: datasketch samples the same kernel for p = 1 (non-negative data, no zero
rows); RBFSampler approximates another kernel with as many components; rensa hashes sets of 0/1 data.
Real datasets are read from the folder that GCWSNET_DATA names, as NAME.npz, and left out where they are not there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _measure import machine, medians, versions
from datasketch import WeightedMinHashGenerator
from numpy.typing import NDArray
from rensa import RMinHash
from scipy import sparse, stats
from sklearn.kernel_approximation import RBFSampler
from threadpoolctl import threadpool_limits

from gcwsnet import GCWSHasher, _core
from gcwsnet.hashing import _gcws

K = 256
Floats = NDArray[np.float32]
Hash = Callable[[Any], object]


class Case(NamedTuple):
    """Rows and their power; the fewer rows that slow peers get."""

    name: str
    X: Any
    p: float
    few: int


class BlockedNumpy:
    """Algorithm 1 in NumPy, float32, for non-negative rows: one row against all parameters at a time, in place."""

    def __init__(self, n_columns: int, p: float) -> None:
        rng = np.random.default_rng(0)
        shape = (n_columns, K)
        self.p = np.float32(p)
        self.r, c = (rng.standard_gamma(2, shape, dtype=np.float32) for _ in range(2))
        self.log_c, self.beta = np.log(c, out=c), rng.random(shape, dtype=np.float32)

    def __call__(self, X: Any) -> NDArray[np.uint8]:
        codes = np.empty((X.shape[0], K), dtype=np.uint8)
        for row in range(X.shape[0]):
            if sparse.issparse(X):
                entry = slice(X.indptr[row], X.indptr[row + 1])
                i, u = X.indices[entry], X.data[entry]
            else:
                i, u = slice(None), X[row]
            r, beta = self.r[i], self.beta[i]
            with np.errstate(divide="ignore"):
                L = self.p * np.log(u)[:, np.newaxis]
            t = L / r
            t += beta
            np.floor(t, out=t)
            t += 1
            t -= beta
            t *= r
            np.subtract(self.log_c[i], t, out=t)
            codes[row] = np.argmin(t, axis=0)
        return codes


def gcws(X: Any, p: float, scan: _core.Scan = _core.Scan.AUTO) -> Hash:
    """The project's own hasher, made ready as it is after the first rows of a stream."""
    _gcws.SCAN = scan
    hasher = GCWSHasher(K, p=p, random_state=0).fit(X[:1])
    hasher.transform(X[:128])
    return hasher.transform


def synthetic(rng: np.random.Generator) -> Iterator[Case]:
    """Rows that anyone can make."""
    for n_columns, n, few in ((784, 4000, 20), (2500, 1500, 8)):
        yield Case(f"uniform, D={n_columns}", rng.random((n, n_columns), dtype=np.float32), 1, few)
    yield Case("uniform^80, D=784", rng.random((4000, 784), dtype=np.float32), 80, 20)
    n, nnz, n_columns = 2000, 100, 10**6
    columns = np.sort(rng.integers(0, n_columns // nnz, (n, nnz)) + np.arange(nnz) * (n_columns // nnz), axis=1)
    data = rng.lognormal(size=(n, nnz)).astype(np.float32)
    X = sparse.csr_matrix((data.ravel(), columns.ravel(), np.arange(n + 1) * nnz), shape=(n, n_columns))
    yield Case("CSR, nnz=100, D=1e6, lognormal", X, 1, 8)


def real(folder: Path) -> Iterator[Case]:
    """Rows of real datasets, as far as they are there."""

    def load(name: str) -> Floats | None:
        path = folder / f"{name}.npz"
        return np.load(path)["X_train"].astype(np.float32) if path.exists() else None

    if (X := load("mnist")) is not None:
        X = X.reshape(len(X), -1)[:4000]
        yield Case("MNIST", X, 1, 20)
        yield Case("rebuilt M-Noise1", with_noise(X), 80, 20)
    for name, title in (("dailysports", "DailySports"), ("semg_db2_diff", "SEMG (derived)")):
        if (X := load(name)) is not None:
            for p in (1, 2):
                yield Case(title, X[:1000], p, 4)
    if (X := load("covtype")) is not None:
        X = X[:20_000]
        yield Case("Covtype, standardised", (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9), 1, 20)


def with_noise(digits: Floats) -> Floats:
    """Digits before a correlated background, as Larochelle's noise sets are made (level 1)."""
    y, x = np.divmod(np.arange(784), 28)
    covariance = np.exp(-((y[:, None] - y) ** 2 + (x[:, None] - x) ** 2) / 12)
    root = np.linalg.cholesky(covariance + 1e-6 * np.eye(784))
    noise = stats.norm.cdf(np.random.default_rng(0).normal(size=(len(digits), 784)) @ root.T)
    return np.maximum(digits / 256, noise).astype(np.float32)


def weighted_peers(case: Case) -> dict[str, tuple[Hash, Any]]:
    """What can hash the rows of a case, with as many of the rows as it gets."""
    X, p, few = case.X, case.p, case.few
    works: dict[str, tuple[Hash, Any]] = {
        "gcwsnet": (gcws(X, p), X),
        "full scan": (gcws(X, p, _core.Scan.FULL), X[: max(64, X.shape[0] // 10)]),
    }
    if (X.data if sparse.issparse(X) else X).min() < 0:
        return works
    works["NumPy"] = (BlockedNumpy(X.shape[1], p), X[: 4 * few])
    if p == 1:
        works["datasketch"] = (WeightedMinHashGenerator(X.shape[1], K, seed=0).minhash_many, X[:few])
    if not sparse.issparse(X):
        works["RBFSampler"] = (RBFSampler(n_components=K, random_state=0).fit(X[:2]).transform, X)
    return works


def binary_works(rng: np.random.Generator) -> dict[str, tuple[Hash, Any]]:
    """0/1 rows with 100 ones among 10,000 columns."""
    n, ones, n_columns = 4000, 100, 10_000
    columns = np.sort(rng.integers(0, n_columns // ones, (n, ones)) + np.arange(ones) * (n_columns // ones), axis=1)
    X = sparse.csr_matrix(
        (np.ones(n * ones, dtype=np.float32), columns.ravel(), np.arange(n + 1) * ones), shape=(n, n_columns)
    )
    tokens = [[int(c) for c in row] for row in columns]
    return {
        "gcwsnet": (gcws(X, 1), X),
        "full scan": (gcws(X, 1, _core.Scan.FULL), X[:400]),
        "rensa": (lambda sets: RMinHash.digest_matrix_from_token_hash_sets(sets, K, 42), tokens),
    }


def rows_per_second(works: dict[str, tuple[Hash, Any]], repetitions: int) -> dict[str, float]:
    """Median rows per second of each work."""

    def bind(work: Hash, rows: Any) -> Callable[[], object]:
        return lambda: work(rows)

    times = medians({name: bind(work, rows) for name, (work, rows) in works.items()}, repetitions)
    return {
        name: (len(rows) if isinstance(rows, list) else rows.shape[0]) / times[name]
        for name, (_, rows) in works.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    print(machine())
    print(versions("gcwsnet", "numpy", "scipy", "scikit-learn", "datasketch", "rensa"))
    print(
        f"\nRows per second, one thread, k = {K}, medians of {given.repetitions}; in brackets how many times as many "
        "gcwsnet hashes:\n"
    )
    peers = ["full scan", "NumPy", "datasketch", "RBFSampler", "rensa"]
    print("| rows | p | gcwsnet | " + " | ".join(peers) + " |")
    print("| :-- | --: | --: |" + " --: |" * len(peers))
    rng = np.random.default_rng(0)
    folder = os.environ.get("GCWSNET_DATA")
    cases = [*synthetic(rng), *(real(Path(folder)) if folder else ())]
    with threadpool_limits(1):
        for case in cases:
            show(case.name, case.p, rows_per_second(weighted_peers(case), given.repetitions), peers)
        show("0/1, 100 of 10,000 columns", 1, rows_per_second(binary_works(rng), given.repetitions), peers)


def show(name: str, p: float, rates: dict[str, float], peers: list[str]) -> None:
    """One line of the table."""
    ours = rates["gcwsnet"]
    cells = [f"{rates[peer]:,.0f} ({ours / rates[peer]:,.1f})" if peer in rates else "" for peer in peers]
    print(f"| {name} | {p:g} | {ours:,.0f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
