"""A process that does runs, so that one that takes too long can be ended."""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Literal

Outcome = tuple[Literal["run", "missing", "failed", "stopped"], Any]
Work = Callable[[Any, Callable[[], None]], Outcome]


class Worker:
    """A process that does one run after another, and is started again after a run that took too long.

    Parameters
    ----------
    work : callable
        From the key of a run and a function, which gives the run all its processor time from then on, to what became
        of the run: "run" and the run (None if there is none), or "missing" and what is not installed or not there. An
        error is "failed" and its text.
    most_seconds : float
        The processor time of a run, after which the system ends the process: the run is "stopped".
    """

    def __init__(self, work: Work, most_seconds: float) -> None:
        self.work, self.most_seconds = work, most_seconds
        self._process: Any = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def run(self, key: Any) -> Outcome:
        """Return what became of a run."""
        if self._process is None:
            context = multiprocessing.get_context("fork")  # datasets and learners have functions, which are not pickled
            self._connection, child = context.Pipe()
            self._process = context.Process(target=self._serve, args=(child,), daemon=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries wait, and hold no lock
                self._process.start()
            child.close()
        self._connection.send(key)
        try:
            return self._connection.recv()
        except EOFError:
            exit_code = self._end()
        if exit_code == -signal.SIGXCPU:
            return "stopped", self.most_seconds
        return "failed", f"the process ended with {exit_code}"

    def _end(self) -> int | None:
        if self._process is None:
            return None
        self._connection.close()
        self._process.join()
        exit_code: int = self._process.exitcode
        self._process = None
        return exit_code

    def _serve(self, connection: Connection) -> None:
        self._connection.close()  # the other end, which would keep this process waiting after the first one has ended
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        while True:
            _limit_processor_time(math.inf)
            try:
                key = connection.recv()
            except EOFError:
                return
            try:
                connection.send(self.work(key, lambda: _limit_processor_time(self.most_seconds)))
            except Exception as error:
                connection.send(("failed", f"{type(error).__name__}: {error}"))


def _limit_processor_time(seconds: float) -> None:
    """Let the system end this process after that many more seconds of processor time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time() + seconds) if math.isfinite(seconds) else most
    resource.setrlimit(resource.RLIMIT_CPU, (limit, most))
