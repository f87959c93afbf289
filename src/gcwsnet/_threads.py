"""The number of threads that a scikit-learn `n_jobs` stands for, and the one thread of BLAS."""

from __future__ import annotations

import numbers
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

MAX_THREADS = 1024


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for an `n_jobs`: None is 1 unless a joblib context says otherwise, -1 is all.

    "All" is never more than the environment variable OMP_NUM_THREADS says. joblib and Dask set it in their workers,
    so that workers which each use all threads do not use more than there are.

    Examples
    --------
    >>> n_threads(None), n_threads(3)
    (1, 3)
    """
    if n_jobs is None and not _may_be_in_joblib_context():
        return 1
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool)):
        raise TypeError(f"n_jobs must be an integer or None, got n_jobs={n_jobs!r}")
    if n_jobs == 1:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: None or 1 is one thread, -1 is all processors, got n_jobs=0")
    from joblib import effective_n_jobs  # noqa: PLC0415 - it takes long to import

    threads = min(int(effective_n_jobs(n_jobs)), MAX_THREADS)
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if (n_jobs is None or n_jobs < 0) and limit.isdecimal() and int(limit) > 0:
        threads = min(threads, int(limit))
    return threads


def _may_be_in_joblib_context() -> bool:
    """Return whether a joblib context of this thread may say how many threads there are.

    joblib tells that itself, but in a time in which a row can be hashed.
    """
    parallel = sys.modules.get("joblib.parallel")
    if not hasattr(parallel, "default_parallel_config"):  # not imported, or so old that it keeps contexts elsewhere
        return parallel is not None
    contexts = getattr(parallel, "_backend", None)
    return not isinstance(contexts, threading.local) or hasattr(contexts, "config")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread: with several, the bits of its results would depend on how many there are."""
    with _blas("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@cache
def _blas(with_scipy: bool) -> Any:  # noqa: ARG001 - SciPy has a BLAS of its own, which is found once it is imported
    """Return what limits the threads of the BLAS libraries that are loaded."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - not needed by most

    return ThreadpoolController()
