"""Rows that workers take part by part, some of which do harm to the process that takes them."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gcwsnet.files import Batch
from tests.net.learners import THREE_CLASSES, coded_rows

N_ROWS, PARTS = 800, [300, 0, 200, 300]
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


class DeadlyPart:
    """Rows that nobody survives."""

    def take(self, rows: NDArray[np.int64]) -> Batch:
        os.kill(os.getpid(), signal.SIGKILL)
        return ROWS.take(rows)


class BadPart:
    """Rows whose weights are too large to learn from."""

    def take(self, rows: NDArray[np.int64]) -> Batch:
        return ROWS.take(rows)._replace(weight=np.full(len(rows), 1e30))


def parts(flag: Path | None = None, sends: int = 0) -> list[Part]:
    """Return all parts; the last one has the flag."""
    firsts = np.cumsum([0, *PARTS]).tolist()
    flags = [None] * (len(PARTS) - 1) + [flag]
    return [Part(*one, sends) for one in zip(firsts[:-1], PARTS, flags, strict=True)]
