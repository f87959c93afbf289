"""The rows that are hashed: generated ones, and those of real datasets that `reproduction.datasets.load` finds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.hashing.numpy_gcws import make_table
from benchmarks.timing import Work
from gcwsnet import GCWSHasher, _core
from gcwsnet.kernels import gmm_transform
from reproduction.datasets import load

Floats = NDArray[np.float32]
N_HASHES = 256
OURS, FULL_SCAN, NUMPY = "gcwsnet", "full scan", "NumPy"


class Case(NamedTuple):
    """Rows under a name, and the power they are hashed with."""

    name: str
    title: str
    rows: Callable[[], Any]
    p: float = 1
    n_hashes: int = N_HASHES


def uniform_rows(n: int, n_columns: int) -> NDArray[np.float32]:
    """Return dense rows of uniform numbers without zeros."""
    U = np.random.default_rng(0).random((n, n_columns), dtype=np.float32)
    return np.maximum(U, np.float32(2**-24), out=U)


def lognormal_rows(n: int, nnz: int, n_columns: int) -> sparse.csr_matrix:
    """Return CSR rows with `nnz` lognormal numbers each."""
    rng = np.random.default_rng(0)
    step = n_columns // nnz
    columns = rng.integers(0, step, (n, nnz)) + np.arange(nnz) * step
    data = rng.lognormal(size=n * nnz).astype(np.float32)
    return sparse.csr_matrix((data, columns.ravel(), np.arange(n + 1) * nnz), shape=(n, n_columns))


def binary_rows(n: int, nnz: int, n_columns: int) -> sparse.csr_matrix:
    """Return CSR rows with `nnz` ones each."""
    X = lognormal_rows(n, nnz, n_columns)
    X.data[:] = 1
    return X


@lru_cache
def dataset(name: str, n: int) -> Floats:
    """Return the first rows of a dataset; FileNotFoundError or ValueError where its file is missing or damaged."""
    X: Floats = load(name, download=False).X_train
    return X[:n].copy()


def standardised(X: Floats) -> Floats:
    """Return columns with mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), np.float32(1e-9))


def absolute_normal_rows(n: int, n_columns: int) -> Floats:
    """Return dense rows of absolute values of standard normal numbers."""
    return np.abs(np.random.default_rng(0).standard_normal((n, n_columns), dtype=np.float32))


CASES = {
    case.name: case
    for case in (
        Case("uniform-784", "uniform, D=784", lambda: uniform_rows(4000, 784)),
        Case("uniform-2500", "uniform, D=2500", lambda: uniform_rows(1500, 2500)),
        Case("normal-2500", "abs normal, D=2500", lambda: absolute_normal_rows(1500, 2500)),
        Case("uniform-p80", "uniform^80, D=784", lambda: uniform_rows(4000, 784), p=80),
        Case("csr", "CSR, nnz=100, D=1e6, lognormal", lambda: lognormal_rows(2000, 100, 10**6)),
        Case("mnist", "MNIST", lambda: dataset("mnist", 4000)),
        Case("m-noise1", "rebuilt M-Noise1", lambda: dataset("m-noise1", 4000), p=80),
        Case("dailysports", "DailySports", lambda: dataset("dailysports", 1000)),
        Case("dailysports-p2", "DailySports", lambda: dataset("dailysports", 1000), p=2),
        Case("semg", "SEMG (derived)", lambda: dataset("semg", 900)),
        Case("semg-p2", "SEMG (derived)", lambda: dataset("semg", 900), p=2),
        Case("covtype", "Covtype, standardised", lambda: standardised(dataset("covtype", 20_000))),
        Case("zero-one", "0/1, 100 of 10,000 columns", lambda: binary_rows(4000, 100, 10_000)),
        Case("zero-one-1e5", "0/1, 100 of 100,000 columns", lambda: binary_rows(4000, 100, 100_000)),
        Case("zero-one-1e6", "0/1, 100 of 1,000,000 columns", lambda: binary_rows(10_000, 100, 10**6)),
        # So few that a run ends before the table is made.
        Case("zero-one-first", "0/1, 100 of 1,000,000 columns, the first rows", lambda: binary_rows(1500, 100, 10**6)),
    )
}
QUICK = ("uniform-784", "uniform-p80", "zero-one")


def growing_cases(quick: bool) -> dict[str, list[Case]]:
    """Return uniform rows with a growing number of columns (k = 256), and with a growing number of hashes (D = 784)."""

    def case(n_columns: int, n_hashes: int) -> Case:
        n = int(np.clip(8e8 / (n_columns * n_hashes), 500, 20_000))
        return Case("", f"D={n_columns}, k={n_hashes}", lambda: uniform_rows(n, n_columns), n_hashes=n_hashes)

    columns, hashes = ((64, 1024), (64, 1024)) if quick else (2 ** np.arange(5, 15, 2), 4 ** np.arange(2, 7))
    return {"D": [case(int(D), N_HASHES) for D in columns], "k": [case(784, int(k)) for k in hashes]}


class Problem:
    """Rows X of a case, and what the peers share: their features, their weights and a table of parameters."""

    def __init__(self, X: Any, p: float, n_hashes: int) -> None:
        self.X, self.p, self.n_hashes = X, p, n_hashes
        self.is_sparse = bool(sparse.issparse(X))
        self.is_signed = bool((X.data if self.is_sparse else X).min() < 0)
        self.is_zero_one = bool(((X.data if self.is_sparse else X) == 1).all())

    @property
    def features(self) -> range:
        """The features that can have a weight: all, or only the positive parts of the columns."""
        return range(0, 2 * self.X.shape[1], 1 if self.is_signed else 2)

    @property
    def entries(self) -> int:
        """The features of a row that a full scan evaluates."""
        return max(1, self.X.nnz // self.X.shape[0]) if self.is_sparse else len(self.features)

    @cached_property
    def table(self) -> Any:
        """The parameters of Algorithm 1, for peers that hold them in memory."""
        return make_table(self.X, self.features, self.n_hashes)

    def weights(self, X: Any) -> Any:
        """Return non-negative weights of rows of X, for peers that take no negative numbers."""
        return gmm_transform(X) if self.is_signed else X


def hasher_call(case: Case, X: Any, scan: _core.Scan = _core.Scan.AUTO, n_jobs: int = 1) -> Work:
    """Return the call of a hasher that is fitted to X."""
    hasher = GCWSHasher(case.n_hashes, p=case.p, random_state=0, n_jobs=n_jobs).fit(X[:1])
    hasher._hasher = hasher._hasher.replace(scan=scan)
    return lambda: hasher.transform(X)
