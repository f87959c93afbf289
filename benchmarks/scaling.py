"""Work on a cluster of Dask next to the same work in one process, and what that means for 64 machines.

Hashing: files of 50 numbers a row are hashed into folders by the local command and by clusters of one and of two worker
processes, which are running already. The folders must be equal byte for byte. Tasks and results are counted as they are
serialized, which is all that travels between processes besides the messages of Dask itself: rows are read from and
written to files by the workers.

All take turns within one run, and medians count. CPU seconds are those of all processes that take part; other work of
the machine does not change them as it changes the rates.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.subject import Section, add_count, add_names, environment, log, markdown_table
from benchmarks.timing import HighestLoad, n_cores
from gcwsnet.distributed._cluster import connected, map_on
from gcwsnet.files import Batch
from gcwsnet.files._hash import HashingOptions, Map, hash_with, one_by_one
from gcwsnet.files._learn import SAMPLE_BYTES

COLUMNS, HASHES = 50, 256


@dataclass
class Measured:
    """One run: seconds, CPU seconds of all processes, the bytes of tasks and results, and those of the drawn rows."""

    seconds: float
    cpu: float
    exchanged: int
    sample: int


class Counted:
    """A map that counts the tasks of another one, and the bytes of tasks and results; rows count apart."""

    def __init__(self, over: Map) -> None:
        self._over = over
        self.exchanged = self.sample = self.tasks = 0

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield what the other one does."""
        self.exchanged += sum(len(pickle.dumps((function, item))) for item in items)
        self.tasks += len(items)
        for number, result in self._over(function, items):
            n_bytes = len(pickle.dumps(result))
            self.sample += n_bytes if isinstance(result, Batch) else 0
            self.exchanged += 0 if isinstance(result, Batch) else n_bytes
            yield number, result


def write_files(folder: Path, n_files: int, n_rows: int) -> list[str]:
    """Write npz files of normal numbers with two classes."""
    names = []
    for number in range(n_files):
        rng = np.random.default_rng(number)
        X = rng.standard_normal((n_rows, COLUMNS), dtype=np.float32)
        names.append(str(folder / f"{number:05d}.npz"))
        np.savez(names[-1], X=X, y=X[:, 0] > X[:, 1])
    return names


def hash_once(names: list[str], out: Path, over: Map, cpu_seconds: Callable[[], float]) -> tuple[Measured, int]:
    """Hash files once; return what it took, and the number of tasks."""
    params = {"n_hashes": HASHES, "p": 1.0, "scale": "numeric", "relevance": 0.0, "search": "off"}
    options = HashingOptions(files=names, out=out, reading={"missing": "nan"}, params=params, restart=True)
    counted = Counted(over)
    begin, cpu = time.perf_counter(), cpu_seconds()
    hash_with(options, lambda line: None, counted)  # noqa: ARG005
    took = Measured(time.perf_counter() - begin, cpu_seconds() - cpu, counted.exchanged, counted.sample)
    return took, counted.tasks


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def hashing(options: argparse.Namespace) -> str:
    """Return a table of hashing, in this process and on clusters, and the model for many machines."""
    n_rows = options.files * options.rows
    runs: dict[str, list[Measured]] = {}
    with TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        names = write_files(folder, options.files, options.rows)
        ways: dict[str, tuple[Map, Callable[[], float]]] = {"local": (one_by_one, time.process_time)}
        for workers in (1, 2):
            client = stack.enter_context(connected(workers=workers))

            def cpu_seconds(client: Any = client) -> float:
                return time.process_time() + sum(client.run(time.process_time).values())

            ways[f"dask, {workers} worker{'s' * (workers > 1)}"] = map_on(client), cpu_seconds
        expected: dict[str, bytes] | None = None
        tasks = 0
        for _ in range(options.repetitions + 1):  # the first one imports and is not counted
            for name, (over, cpu) in ways.items():
                out = folder / name
                took, tasks = hash_once(names, out, over, cpu)
                runs.setdefault(name, []).append(took)
                expected = expected or contents(out)
                if contents(out) != expected:
                    raise AssertionError(f"{name} must give the bytes of the local command")
                log(f"{name}: {took}")
    middle = {
        name: Measured(*(median(getattr(one, field) for one in found[1:]) for field in vars(found[0])))
        for name, found in runs.items()
    }
    local = middle["local"]
    rows = [
        [
            name,
            f"{n_rows / one.seconds:,.0f} ({local.seconds / one.seconds:.2f})",
            f"{1e6 * one.cpu / n_rows:.1f} ({one.cpu / local.cpu:.2f})",
            f"{one.exchanged / tasks:,.0f}",
            f"{one.sample:,}",
        ]
        for name, one in middle.items()
    ]
    head = [
        "hashing",
        "rows/s",
        "CPU seconds for a million rows",
        "bytes of a task and its result",
        "bytes of the drawn rows",
    ]
    two = middle["dask, 2 workers"]
    model = HashingModel(cpu_of_a_row=local.cpu / n_rows, bytes_of_a_task=two.exchanged / tasks)
    about = (
        f"{options.files} files of {options.rows:,} rows, {COLUMNS} columns, k = {HASHES}: {tasks} tasks. In brackets "
        f"as a multiple of the local command. {n_cores()} cores."
    )
    return "\n".join([about, "", markdown_table(head, rows), "", *model.text()])


@dataclass(frozen=True)
class HashingModel:
    """How long hashing takes on many machines, from what was measured on one.

    The time is that of the slowest of what happens at once (the workers' CPU time, shared evenly, and the storage's
    bytes), and of what happens before or after: the search of the client, the scheduler's work for each task, and the
    last files, when some workers have nothing left to do.

    Attributes
    ----------
    cpu_of_a_row : float
        The CPU seconds of a row in one process, in all passes together; measured. A worker calls the same functions.
    bytes_of_a_task : float
        The bytes of a task with its result; measured.
    cores : int
        Workers of a machine; assumed.
    rows_of_a_file : int
        Assumed.
    storage : float
        The bytes that the shared storage reads or writes in a second, for all machines together; assumed.
    seconds_of_a_task : float
        The time of the scheduler for a task; assumed, from what Dask's documentation says.
    seconds_of_the_search : float
        The time that the client takes to learn the coder from at most 20,000 rows; assumed.
    """

    cpu_of_a_row: float
    bytes_of_a_task: float
    cores: int = 16
    rows_of_a_file: int = 1_000_000
    storage: float = 10e9
    seconds_of_a_task: float = 1e-3
    seconds_of_the_search: float = 60.0

    def parts(self, n_rows: int, machines: int) -> dict[str, float]:
        """Return the seconds of each part."""
        files = -(-n_rows // self.rows_of_a_file)
        workers = machines * self.cores
        turns = -(-files // workers)
        return {
            "workers": turns * self.rows_of_a_file * self.cpu_of_a_row,
            "storage": self.storage_bytes(n_rows) / self.storage,
            "scheduler": 3 * files * self.seconds_of_a_task,
            "search": self.seconds_of_the_search,
        }

    def seconds(self, n_rows: int, machines: int) -> float:
        """Return the seconds of a run."""
        parts = self.parts(n_rows, machines)
        return max(parts["workers"], parts["storage"]) + parts["scheduler"] + parts["search"]

    def storage_bytes(self, n_rows: int) -> float:
        """Return the bytes that are read, in five passes over float32 rows, and written."""
        return n_rows * (5 * 4 * COLUMNS + HASHES)

    def exchanged(self, n_rows: int) -> float:
        """Return the most bytes of all tasks and results."""
        return 3 * -(-n_rows // self.rows_of_a_file) * self.bytes_of_a_task + SAMPLE_BYTES

    def text(self, n_rows: int = 10**9) -> list[str]:
        """Return the model in words and as a table."""
        rows = []
        for machines in (1, 8, 64, 256):
            parts = self.parts(n_rows, machines)
            total = self.seconds(n_rows, machines)
            rows.append(
                [
                    f"{machines}",
                    f"{total / 3600:.2f}",
                    f"{self.seconds(n_rows, 1) / total:.1f}",
                    *(f"{parts[name]:,.0f}" for name in ("workers", "storage", "scheduler", "search")),
                ]
            )
        about = (
            f"The model for {n_rows:,} rows: the measured CPU time of a row shared by {self.cores} workers on each "
            f"machine, files of {self.rows_of_a_file:,} rows, a storage that gives all machines together "
            f"{self.storage / 1e9:.0f} GB/s, {1e3 * self.seconds_of_a_task:.0f} ms of the scheduler for each of three "
            f"tasks of a file, and {self.seconds_of_the_search:.0f} s of the client for the coder. Workers and storage "
            f"work at once; the rest is added. {self.storage_bytes(n_rows) / 1e12:.2f} TB are read and written, and "
            f"{self.exchanged(n_rows) / 1e6:.0f} MB are exchanged, 64 MB of them at most for the drawn rows."
        )
        bound = n_rows * self.cpu_of_a_row / self.cores / (self.storage_bytes(n_rows) / self.storage)
        about += f" The storage is the bound from {max(1, round(bound))} machines on."
        head = ["machines", "hours", "times as fast", "workers, s", "storage, s", "scheduler, s", "client, s"]
        return [about, "", markdown_table(head, rows)]


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {"hashing": hashing}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_names(parser, "--parts", PARTS, "measure these alone")
    add_count(parser, "--repetitions", 3, "timed runs of each kind")
    add_count(parser, "--files", 8, "files that are hashed")
    add_count(parser, "--rows", 20_000, "rows of a file")


def run(options: argparse.Namespace) -> Section:
    """Measure the parts."""
    load = HighestLoad()
    texts = [PARTS[name](options) for name in options.parts or PARTS]
    load.update()
    lines = [*environment("dask", "distributed"), f"The load of the machine was up to {load.value:.1f}."]
    return Section("\n\n".join(["\n".join(lines), *texts]))
