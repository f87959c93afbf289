"""Work that takes turns with its caller, so that a long search can be spread over many short calls."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class _Abandoned(BaseException):
    """Raised in work that nobody waits for any more."""


class _Turns:
    """The two ends of a hand-over: whose turn it is, and whether the work was abandoned."""

    def __init__(self) -> None:
        self.worker, self.caller = threading.Semaphore(0), threading.Semaphore(0)
        self.is_abandoned = False

    def pause(self) -> None:
        """Give the turn back to the caller, and wait for the next one; called by the work."""
        self.caller.release()
        self.worker.acquire()
        if self.is_abandoned:
            raise _Abandoned

    def abandon(self) -> None:
        self.is_abandoned = True
        self.worker.release()


def _end(turns: _Turns, thread: threading.Thread) -> None:
    """Abandon work, and wait a moment until its thread has given back what it had."""
    turns.abandon()
    if thread is not threading.current_thread():
        thread.join(timeout=1.0)


class InTurns(Generic[Result]):
    """Work on a thread of its own that only runs while its caller waits for it.

    So its steps come in one order, whatever the machine, and nothing is shared between threads at the same time. Work
    that nobody waits for any more ends when this object is dropped.

    Parameters
    ----------
    work : callable
        Called with a function `pause`, which it is to call after each bounded part of it. It must not refer to this
        object, nor to what does: that would never be dropped.

    Attributes
    ----------
    n_turns : int
        The turns taken.
    is_done : bool
    """

    def __init__(self, work: Callable[[Callable[[], None]], Result]) -> None:
        self.n_turns, self.is_done = 0, False
        self._turns = turns = _Turns()
        self._outcome: list[Result | BaseException] = []
        outcome = self._outcome

        def run() -> None:
            turns.worker.acquire()
            try:
                if not turns.is_abandoned:
                    outcome.append(work(turns.pause))
            except _Abandoned:
                return
            except BaseException as error:
                outcome.append(error)
            turns.caller.release()

        self._thread = threading.Thread(target=run, name="gcwsnet search", daemon=True)
        self._thread.start()
        weakref.finalize(self, _end, turns, self._thread)

    def advance(self, n_turns: int) -> bool:
        """Let the work have turns; True once it is done. An error in it is raised here."""
        for _ in range(n_turns):
            if self.is_done:
                break
            self._turns.worker.release()
            self._turns.caller.acquire()
            self.n_turns += 1
            self.is_done = bool(self._outcome)
        if self.is_done and isinstance(self._outcome[0], BaseException):
            raise self._outcome[0]
        return self.is_done

    @property
    def result(self) -> Result:
        """What the work returned, once it is done."""
        found = self._outcome[0]
        if isinstance(found, BaseException):
            raise found
        return found
