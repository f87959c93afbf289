"""Ctrl-C, raised between two steps of training.

An exception that a signal raises anywhere may come up in a callback of another library, which drops it.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupt:
    """A context in which `check`, or the end, raises the first Ctrl-C; a second one is raised at once."""

    def __init__(self) -> None:
        self._noted = self._raised = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if error is None and not self._raised:
            self.check()

    def _note(self, _: int, __: FrameType | None) -> None:
        if self._noted:
            self._raised = True
            raise KeyboardInterrupt
        self._noted = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if there was a Ctrl-C."""
        if self._noted:
            self._raised = True
            raise KeyboardInterrupt
