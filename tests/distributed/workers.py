"""What tests do to workers: they die, hang or hold in the middle of a file, always at the same place.

The functions run in the worker processes, where they replace the last step of a file: its parts are written then, and
the manifest that makes them count is not.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from glob import glob
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin

from gcwsnet.distributed import _rounds
from gcwsnet.files._codes import HashedFile

WRITE, LEARN_PIECE = HashedFile.write, _rounds.learn_piece
GO_ON = threading.Event()


def disturb(number: int) -> None:
    """Send this process a signal in the middle of the next file."""

    def write(self: HashedFile, folder: Path) -> None:
        HashedFile.write = WRITE  # type: ignore[method-assign]
        os.kill(os.getpid(), number)
        WRITE(self, folder)

    HashedFile.write = write  # type: ignore[method-assign]


def die_in_the_next_file() -> int:
    """Let this process be killed in the middle of the next file, and return its number."""
    disturb(signal.SIGKILL)
    return os.getpid()


def hang_in_the_next_file() -> int:
    """Let this process be stopped in the middle of the next file, and return its number."""
    disturb(signal.SIGSTOP)
    return os.getpid()


def be_slow() -> None:
    """Take a while for each file."""

    def write(self: HashedFile, folder: Path) -> None:
        time.sleep(0.5)
        WRITE(self, folder)

    HashedFile.write = write  # type: ignore[method-assign]


def hold_once_there_is(pattern: str) -> None:
    """Finish no file and learn no piece from the moment on that a file matches a pattern, until `be_as_before`."""
    GO_ON.clear()

    def holding(function: Callable[..., Any]) -> Callable[..., Any]:
        def held(*arguments: Any, **more: Any) -> Any:
            if glob(pattern):
                GO_ON.wait()
            return function(*arguments, **more)

        return held

    HashedFile.write = holding(WRITE)  # type: ignore[method-assign]
    _rounds.learn_piece = holding(LEARN_PIECE)


def be_as_before() -> None:
    """Undo the functions above, and let go what they hold."""
    HashedFile.write = WRITE  # type: ignore[method-assign]
    _rounds.learn_piece = LEARN_PIECE
    GO_ON.set()


class DieOf(WorkerPlugin):
    """Kills every worker that comes to the file of a number, those that are started later too."""

    def __init__(self, number: int) -> None:
        self.number = number

    def setup(self, worker: Any) -> None:
        del worker
        fatal = self.number

        def write(self: HashedFile, folder: Path) -> None:
            if self.number == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            WRITE(self, folder)

        HashedFile.write = write  # type: ignore[method-assign]


def is_alive(process: int) -> bool:
    """Return whether a process of this machine is there, and not only its remains."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
