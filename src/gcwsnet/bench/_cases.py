"""Rows to hash: such as anyone can make, and of real datasets where they are at hand.

Real datasets are those that `gcwsnet.datasets.load` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.datasets import load

N_HASHES = 256
Floats = NDArray[np.float32]


class Case(NamedTuple):
    """Rows under a name, and the power they are hashed with."""

    name: str
    title: str
    rows: Callable[[], Any]
    p: float = 1
    n_hashes: int = N_HASHES
    quick: bool = False


def uniform(n: int, n_columns: int) -> Floats:
    """Dense rows of uniform numbers, none of them zero."""
    U = np.random.default_rng(0).random((n, n_columns), dtype=np.float32)
    return np.maximum(U, np.float32(2**-24), out=U)


def sparse_rows(n: int, nnz: int, n_columns: int) -> sparse.csr_matrix:
    """CSR rows of lognormal numbers, `nnz` in each."""
    rng = np.random.default_rng(0)
    spread = n_columns // nnz
    columns = rng.integers(0, spread, (n, nnz)) + np.arange(nnz) * spread
    data = rng.lognormal(size=n * nnz).astype(np.float32)
    return sparse.csr_matrix((data, columns.ravel(), np.arange(n + 1) * nnz), shape=(n, n_columns))


def zero_one(n: int, ones: int, n_columns: int) -> sparse.csr_matrix:
    """CSR rows of zeros and ones."""
    X = sparse_rows(n, ones, n_columns)
    X.data[:] = 1
    return X


@lru_cache
def dataset(name: str, n: int) -> Floats:
    """The first rows of a dataset; FileNotFoundError or ValueError where its file is not at hand or is damaged."""
    X: Floats = load(name, download=False).X_train
    return X[:n].copy()


def standardised(X: Floats) -> Floats:
    """Columns of mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), np.float32(1e-9))


CASES = (
    Case("uniform-784", "uniform, D=784", lambda: uniform(4000, 784), quick=True),
    Case("uniform-2500", "uniform, D=2500", lambda: uniform(1500, 2500)),
    Case("uniform-p80", "uniform^80, D=784", lambda: uniform(4000, 784), p=80, quick=True),
    Case("csr", "CSR, nnz=100, D=1e6, lognormal", lambda: sparse_rows(2000, 100, 10**6)),
    Case("mnist", "MNIST", lambda: dataset("mnist", 4000)),
    Case("m-noise1", "rebuilt M-Noise1", lambda: dataset("m-noise1", 4000), p=80),
    Case("dailysports", "DailySports", lambda: dataset("dailysports", 1000)),
    Case("dailysports-p2", "DailySports", lambda: dataset("dailysports", 1000), p=2),
    Case("semg", "SEMG (derived)", lambda: dataset("semg", 900)),
    Case("semg-p2", "SEMG (derived)", lambda: dataset("semg", 900), p=2),
    Case("covtype", "Covtype, standardised", lambda: standardised(dataset("covtype", 20_000))),
    Case("zero-one", "0/1, 100 of 10,000 columns", lambda: zero_one(4000, 100, 10_000), quick=True),
)


def growing(quick: bool) -> dict[str, list[Case]]:
    """Uniform rows of more and more columns (k = 256), and with more and more hashes (D = 784)."""

    def case(n_columns: int, n_hashes: int) -> Case:
        n = int(np.clip(8e8 / (n_columns * n_hashes), 500, 20_000))
        return Case("", f"D={n_columns}, k={n_hashes}", lambda: uniform(n, n_columns), n_hashes=n_hashes)

    columns, hashes = ((64, 1024), (64, 1024)) if quick else (2 ** np.arange(5, 15, 2), 4 ** np.arange(2, 7))
    return {"D": [case(int(D), N_HASHES) for D in columns], "k": [case(784, int(k)) for k in hashes]}
