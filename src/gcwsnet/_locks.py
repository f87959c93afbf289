"""Locks that keep methods which read a model apart from those which change it, in threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Method = TypeVar("Method", bound=Callable[..., Any])


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
