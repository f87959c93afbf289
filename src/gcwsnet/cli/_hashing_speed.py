"""Rows hashed per second on this machine: by the hasher, by its full scan and by NumPy."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet import _core
from gcwsnet.cli._numpy_gcws import NumpyGCWS, make_table
from gcwsnet.hashing import GCWSHasher

N_HASHES = 256
OURS, FULL_SCAN, NUMPY = "gcwsnet", "full scan", "NumPy"
Work = Callable[[], object]


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


CASES = (
    Case("uniform-784", "uniform, D=784", lambda: uniform_rows(4000, 784)),
    Case("uniform-p80", "uniform^80, D=784", lambda: uniform_rows(4000, 784), p=80),
    Case("csr-10000", "CSR, nnz=100, D=10,000, lognormal", lambda: lognormal_rows(4000, 100, 10_000)),
    Case("zero-one", "0/1, 100 of 10,000 columns", lambda: binary_rows(4000, 100, 10_000)),
)


def measure(case: Case, repetitions: int) -> dict[str, float]:
    """Return the rows per second of the hasher, its full scan and NumPy, for a case without negative numbers."""
    X = case.rows()
    few = X[: max(64, X.shape[0] // 10)]
    numpy_gcws = NumpyGCWS(make_table(X, range(0, 2 * X.shape[1], 2), case.n_hashes), case.p)
    works = {
        OURS: hasher_call(case, X),
        FULL_SCAN: hasher_call(case, few, _core.Scan.FULL),
        NUMPY: lambda: numpy_gcws(few),
    }
    times = medians(works, repetitions)
    return {name: (X if name == OURS else few).shape[0] / times[name] for name in works}


def hasher_call(case: Case, X: Any, scan: _core.Scan = _core.Scan.AUTO, n_jobs: int = 1) -> Work:
    """Return the call of a hasher that is fitted to X."""
    hasher = GCWSHasher(case.n_hashes, p=case.p, random_state=0, n_jobs=n_jobs).fit(X[:1])
    hasher._make_core(scan)
    return lambda: hasher.transform(X)


def medians(works: Mapping[str, Work], repetitions: int) -> dict[str, float]:
    """Return median seconds; the works take turns, so that a slow moment of the machine meets all of them."""
    for work in works.values():
        work()
    rounds = [{name: seconds(work) for name, work in works.items()} for _ in range(repetitions)]
    return {name: statistics.median(one[name] for one in rounds) for name in works}


def seconds(work: Work) -> float:
    """Return the wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """Return the processor, the instruction set in use, the cores and the system, on one line."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    return f"{processor}, {_core.instruction_set()}, {n_cores()} cores, {platform.system()}"


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed."""
    found = {"Python": platform.python_version()}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
