"""What tests do to workers: they die, hang or take their time in the middle of a file, always at the same place.

The functions run in the worker processes, where they replace the last step of a file: its parts are written then, and
the manifest that makes them count is not.
"""

import os
import signal
import time
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin

from gcwsnet.coding._codes_folder import HashedFile
from gcwsnet.training import _rounds

WRITE = HashedFile.write


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


def be_slow_in_pieces() -> None:
    """Take a while for each piece that is learned."""
    learn = _rounds.learn_piece

    def learn_slowly(*arguments: Any, **more: Any) -> Any:
        time.sleep(0.2)
        return learn(*arguments, **more)

    _rounds.learn_piece = learn_slowly


def be_as_before() -> None:
    """Take no notice of what the functions above have done."""
    HashedFile.write = WRITE  # type: ignore[method-assign]


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
