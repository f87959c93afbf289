"""What tests do to a cluster: workers die, hang or hold, always at the same place, and a scheduler is killed.

Some functions run in the worker processes, where they replace the last step of a file, whose parts are written then
while the manifest that makes them count is not, or the training on a piece.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, WorkerPlugin
from numpy.typing import NDArray

from gcwsnet.distributed import _rounds
from gcwsnet.files import Batch
from gcwsnet.files._codes import HashedFile
from tests.net.learners import THREE_CLASSES, coded_rows

WRITE, TRAIN_PIECE = HashedFile.write, _rounds.train_piece
GO_ON = threading.Event()


def send_in_the_next_file(number: int) -> int:
    """Let this process get a signal in the middle of the next file, and return its id."""

    def write(self: HashedFile, folder: Path) -> None:
        HashedFile.write = WRITE  # type: ignore[method-assign]
        os.kill(os.getpid(), number)
        WRITE(self, folder)

    HashedFile.write = write  # type: ignore[method-assign]
    return os.getpid()


def hold_once_there_is(pattern: str) -> None:
    """Finish no file and train on no piece from the moment on that a file matches a pattern, until `go_on`."""
    GO_ON.clear()

    def holding(function: Callable[..., Any]) -> Callable[..., Any]:
        def held(*arguments: Any) -> Any:
            if glob(pattern):
                GO_ON.wait()
            return function(*arguments)

        return held

    HashedFile.write = holding(WRITE)  # type: ignore[method-assign]
    _rounds.train_piece = holding(TRAIN_PIECE)


def go_on() -> None:
    """Undo `hold_once_there_is`, and let go what it holds."""
    HashedFile.write = WRITE  # type: ignore[method-assign]
    _rounds.train_piece = TRAIN_PIECE
    GO_ON.set()


class DieOf(WorkerPlugin):
    """A plugin that kills every worker that comes to the file of a number, those that are started later too."""

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


def state_of(process: int) -> str:
    """Return the state of a process of this machine, such as S, T for stopped, or Z for its remains."""
    try:
        return Path(f"/proc/{process}/status").read_text().split("State:\t")[1][0]
    except FileNotFoundError:
        return "Z"


async def _give_up(dask_scheduler: Any, address: str) -> None:
    dask_scheduler.workers[address].last_seen = 0
    await dask_scheduler.check_worker_ttl()


@contextmanager
def given_up_once_stopped(client: Client) -> Iterator[None]:
    """Let the scheduler give up the first worker whose process is stopped, as if its time to live were over then."""
    addresses, over = client.run(os.getpid), threading.Event()

    def watch() -> None:
        while not over.is_set():
            stopped = [address for address, process in addresses.items() if state_of(process) == "T"]
            if stopped:
                client.run_on_scheduler(_give_up, address=stopped[0])
                return
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


N_ROWS, PART_ROWS = 800, [300, 0, 200, 300]
ROWS = coded_rows(THREE_CLASSES, N_ROWS, weighted=True)


@dataclass(frozen=True)
class Part:
    """Rows of a part, whose first reader sends its process a signal if there is a flag, which is then written."""

    first: int
    n_rows: int
    flag: Path | None = None
    sends: int = 0

    def take(self, rows: NDArray[np.int64]) -> Batch:
        if self.flag is not None and not self.flag.exists():
            self.flag.write_text(str(os.getpid()))
            os.kill(os.getpid(), self.sends)
        return ROWS.rows(self.first, self.first + self.n_rows).take(rows)


def parts(flag: Path | None = None, sends: int = 0) -> list[Part]:
    """Return all parts; the last one has the flag."""
    firsts = np.cumsum([0, *PART_ROWS]).tolist()
    flags = [None] * (len(PART_ROWS) - 1) + [flag]
    return [Part(*one, sends) for one in zip(firsts[:-1], PART_ROWS, flags, strict=True)]


class DeadlyPart:
    """Rows that nobody survives."""

    def take(self, rows: NDArray[np.int64]) -> Batch:
        os.kill(os.getpid(), signal.SIGKILL)
        return ROWS.take(rows)


class BadPart:
    """Rows whose weights are too large to learn from."""

    def take(self, rows: NDArray[np.int64]) -> Batch:
        return ROWS.take(rows)._replace(weight=np.full(len(rows), 1e30))


PRELOAD = "from tests.distributed import faults\n\n\ndef dask_setup(worker):\n    faults.hold_once_there_is({!r})\n"


def _start(*words: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dask", *map(str, words), "--no-dashboard"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def scheduler_killed_once_there_is(pattern: str, folder: Path) -> Iterator[list[str]]:
    """Yield the options of a command that name a scheduler, which is killed once a file matches a pattern.

    The scheduler and its worker are started by Dask's own commands, and the worker goes no further from then on.
    """
    (folder / "preload.py").write_text(PRELOAD.format(pattern))
    found, over = folder / "scheduler.json", threading.Event()
    scheduler = _start("scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", found)
    while not found.exists() or not found.read_text().rstrip().endswith("}"):  # it may be there and not written yet
        time.sleep(0.01)
    address = json.loads(found.read_text())["address"]
    preload = ("--preload", folder / "preload.py", "--local-directory", folder)
    worker = _start("worker", address, "--nthreads", 1, "--no-nanny", *preload)
    with Client(address) as client:
        client.wait_for_workers(1)

    def kill() -> None:
        while not glob(pattern) and not over.is_set():
            time.sleep(0.01)
        scheduler.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield ["--scheduler", address]
    finally:
        over.set()
        thread.join()
        worker.kill()
        for process in (scheduler, worker):
            process.wait()
