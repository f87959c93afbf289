"""A scheduler and a worker as processes of their own, of which the scheduler is killed in the middle of a run."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

from distributed import Client

PRELOAD = "from tests.distributed import workers\n\n\ndef dask_setup(worker):\n    workers.hold_once_there_is({!r})\n"


class Cluster:
    """A scheduler and a worker of Dask as processes, started by Dask's own commands.

    Parameters
    ----------
    folder : Path
    pattern : str
        The worker goes no further once a file matches it.
    """

    def __init__(self, folder: Path, pattern: str) -> None:
        (folder / "preload.py").write_text(PRELOAD.format(pattern))
        found = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", found)
        while not found.exists() or not found.read_text().rstrip().endswith("}"):  # it may be there and not written yet
            time.sleep(0.01)
        self.address = json.loads(found.read_text())["address"]
        preload = ("--preload", folder / "preload.py", "--local-directory", folder)
        self.worker = self._start("worker", self.address, "--nthreads", 1, "--no-nanny", *preload)
        with Client(self.address) as client:
            client.wait_for_workers(1)

    @staticmethod
    def _start(*words: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *map(str, words), "--no-dashboard"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self) -> None:
        for process in (self.scheduler, self.worker):
            process.kill()
            process.wait()


@contextmanager
def killed_once_there_is(pattern: str, folder: Path) -> Iterator[list[str]]:
    """Yield the options of a command that name a scheduler, which is killed once a file matches a pattern."""
    cluster, over = Cluster(folder, pattern), threading.Event()

    def kill() -> None:
        while not glob(pattern) and not over.is_set():
            time.sleep(0.01)
        cluster.scheduler.send_signal(signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield ["--engine", "dask", "--scheduler", cluster.address]
    finally:
        over.set()
        thread.join()
        cluster.end()
