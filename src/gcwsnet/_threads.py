"""The number of threads that an `n_jobs` stands for, the one thread of BLAS, and locks for models in threads."""

from __future__ import annotations

import numbers
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

MAX_THREADS = 1024

Method = TypeVar("Method", bound=Callable[..., Any])


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


class ReadWriteLock:
    """A lock that many threads hold for reading, or one for writing, each in its turn.

    A thread that holds it may take it again. New readers wait for a writer that waits, and after it the readers that
    have waited come before the next writer, so that none waits forever.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers: dict[int, int] = {}
        self._writer: int | None = None
        self._waiting_readers = self._waiting_writers = self._admitted = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Wait until no other thread writes, and keep others from writing."""
        me = threading.get_ident()
        if self._writer == me:
            yield
            return
        with self._condition:
            if me not in self._readers:
                self._waiting_readers += 1
                try:
                    self._condition.wait_for(self._may_read)
                finally:
                    self._waiting_readers -= 1
                    self._admitted = max(0, self._admitted - 1)
            self._readers[me] = self._readers.get(me, 0) + 1
        try:
            yield
        finally:
            with self._condition:
                self._readers[me] -= 1
                if not self._readers[me]:
                    del self._readers[me]
                self._condition.notify_all()

    def _may_read(self) -> bool:
        return self._writer is None and (not self._waiting_writers or self._admitted > 0)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wait until no other thread reads or writes, and keep others from both."""
        me = threading.get_ident()
        if self._writer == me:
            yield
            return
        with self._condition:
            self._waiting_writers += 1
            try:
                self._condition.wait_for(
                    lambda: self._writer is None and not self._admitted and self._readers.keys() <= {me}
                )
            finally:
                self._waiting_writers -= 1
            self._writer = me
        try:
            yield
        finally:
            with self._condition:
                self._writer = None
                self._admitted = self._waiting_readers
                self._condition.notify_all()


_LOCKS: WeakKeyDictionary[Any, ReadWriteLock] = WeakKeyDictionary()
_NEW = threading.Lock()


def _forget() -> None:
    """Let the child of a fork begin without the locks that other threads of its parent hold."""
    global _LOCKS, _NEW
    _LOCKS, _NEW = WeakKeyDictionary(), threading.Lock()


os.register_at_fork(after_in_child=_forget)


def lock_of(model: Any) -> ReadWriteLock:
    """Return the lock of an object, which is no part of its state."""
    with _NEW:
        lock = _LOCKS.get(model)
        if lock is None:
            lock = _LOCKS[model] = ReadWriteLock()
        return lock


def reads(method: Method) -> Method:
    """Return a method that waits while another thread is in a method that `writes`."""

    @wraps(method)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self).reading():
            return method(self, *args, **kwargs)

    return read  # type: ignore[return-value]


def writes(method: Method) -> Method:
    """Return a method that no other thread is in together with one that `reads` or `writes`."""

    @wraps(method)
    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock_of(self).writing():
            return method(self, *args, **kwargs)

    return write  # type: ignore[return-value]
