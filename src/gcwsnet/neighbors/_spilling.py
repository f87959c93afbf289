"""An index that grows beyond the memory: segments are written to files when they have filled a bound."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gcwsnet._threads import n_threads
from gcwsnet.neighbors._files import read_store, write_store
from gcwsnet.neighbors._index import GCWSIndex
from gcwsnet.neighbors._segments import Segment
from gcwsnet.neighbors._store import Store

SEGMENTS = ".segments"


class Spilling:
    """Rows of an index that go to files beside it when they have filled a bound.

    Parameters
    ----------
    index : GCWSIndex
    folder : Path
        Where segments are written, each in a folder of its own.
    memory : int
        The bytes of codes, buckets, ids and kept rows from which on they are written.
    """

    def __init__(self, index: GCWSIndex, folder: Path, memory: int) -> None:
        self.index, self.folder, self.memory = index, folder, memory
        self.n_written = 0

    def write_if_full(self) -> None:
        """Write the rows that are in memory, and map them, if they have filled the bound."""
        store = self.index._filled()
        fresh = [one for one in store.segments if not one.mapped]
        bands = store.settings.bands
        if sum(one.nbytes_with(bands) for one in fresh) < self.memory:
            return
        path = self.folder / str(self.n_written)
        described: dict[str, Any] = {"n_features": None, "feature_names": None, "metadata": {}}
        write_store(path, Store(store.settings, fresh), described, n_threads(self.index.n_jobs))
        mapped: list[Segment] = [one for one in store.segments if one.mapped]
        store.segments[:] = mapped + read_store(path, verify=False)[0].segments
        self.n_written += 1


@contextlib.contextmanager
def spilling(index: GCWSIndex, out: Path, memory: int) -> Iterator[Spilling]:
    """Yield the way to files for the rows of an index that will be saved to `out`; the files are removed at the end.

    What an earlier process left behind when it was killed is removed first.
    """
    folder = out / SEGMENTS
    new = not out.exists()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield Spilling(index, folder, memory)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if new and out.exists() and not any(out.iterdir()):
            out.rmdir()
