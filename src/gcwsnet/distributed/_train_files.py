"""Rows of a folder of codes that workers read where they need them, by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from gcwsnet._atomic import LOCK
from gcwsnet._threads import n_threads
from gcwsnet.distributed._client import map_on
from gcwsnet.distributed._cluster_rounds import ClusterRounds, check_sharding, row_order
from gcwsnet.distributed._hash_files import hash_on_cluster
from gcwsnet.distributed._rounds import run_in_rounds
from gcwsnet.estimators._base import BaseGCWSNet
from gcwsnet.estimators._tensor_file import Arrays, Description
from gcwsnet.files._codes import HashedFile, Manifest, Part, check_part, hashed_files, remove_codes
from gcwsnet.files._hash import HashingOptions
from gcwsnet.files._learn import Failure, FileCoder, attempt_each, encoded
from gcwsnet.files._sources import find_sources
from gcwsnet.files._train import (
    Engine,
    RowSource,
    TrainingObserver,
    TrainingOptions,
    TrainingResult,
    codes_source,
    is_codes,
    train_files,
)
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Observer, Plan
from gcwsnet.tables._batch import Batch


@dataclass(frozen=True)
class StoredPart:
    """A part of a folder of codes; only the rows that are taken are read.

    Attributes
    ----------
    folder : Path
        It is the same for all workers, as on a file system that they share.
    part : Part
    label_type : str
    targets : Targets
        How labels become what is learned.
    """

    folder: Path
    part: Part
    label_type: str | None
    targets: Targets

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """Return the codes, the encoded targets and the weights of rows, counted without those of weight 0."""
        positive = positive_rows(self.folder, self.part)
        rows = rows if positive is None else positive[rows]
        found = {name.split(".")[-2]: _opened(self.folder / name)[rows] for name in self.part.files}
        y = encoded(self.targets, self.label_type, found["labels"])
        return Batch(np.ascontiguousarray(found["codes"]), y, found.get("weights"))


@lru_cache(maxsize=256)
def _opened(path: Path) -> NDArray[Any]:
    opened: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return opened


def positive_rows(folder: Path, part: Part) -> NDArray[np.int64] | None:
    """Return the numbers of the rows of a part whose weight is not 0, None if it has no weights."""
    name = next((name for name in part.files if name.split(".")[-2] == "weights"), None)
    return None if name is None else np.flatnonzero(_opened(folder / name))


def n_positive(folder: Path, part: Part) -> int:
    """Return the number of rows of a part whose weight is not 0."""
    positive = positive_rows(folder, part)
    return part.rows if positive is None else len(positive)


def stored_parts(
    client: Client, folder: Path, hashed: list[HashedFile], file_coder: FileCoder
) -> tuple[list[StoredPart], list[int]]:
    """Return the parts of a folder of codes and their rows, once workers have verified each of them.

    Parameters
    ----------
    client : distributed.Client
    folder : Path
    hashed : list of HashedFile
        What the folder has.
    file_coder : FileCoder
        How labels are encoded.
    """
    folder = folder.absolute()
    parts = [part for one in hashed for part in one.parts]
    if any(name.endswith(".parquet") for part in parts for name in part.files):
        raise ValueError(
            f"{folder} has codes in Parquet, of which single rows cannot be read; hash the files again with "
            "--codes-format npy, or train without --engine dask"
        )
    coder = file_coder.coder
    check = partial(check_part, folder, n_codes=coder.n_codes, n_values=2**coder.code_bits)
    for _, result in attempt_each(map_on(client), check, parts):
        if isinstance(result, Failure):
            raise result.error
    assert file_coder.targets is not None  # noqa: S101
    rows = [StoredPart(folder, part, file_coder.label_type, file_coder.targets) for part in parts]
    return rows, [n_positive(folder, part) for part in parts]


CODES = "codes"

"""The folder in that of the model which has the codes of the files until the model is there."""

LEAST_PAUSE = 9.0

"""A checkpoint after each round, unless these would take more than a tenth of the time: then not after each."""


def train_on_cluster(
    options: TrainingOptions,
    observer: TrainingObserver,
    report: Callable[[str], None],
    client: Client,
    *,
    shards: int,
    sync_rows: int,
) -> TrainingResult:
    """Train a net as `gcwsnet train` does, by the workers of a cluster.

    The model follows from the options, the files, `shards` and `sync_rows`, and not from the cluster.

    Parameters
    ----------
    options : TrainingOptions
    observer : TrainingObserver
    report : function of a line
        It is called with lines for people.
    client : distributed.Client
    shards, sync_rows : int
        See `round_sizes`.
    """
    if not is_codes(options.files) and not all(one.reusable for one in find_sources(options.files)):
        raise ValueError("workers read files, which standard input is not; give files, or leave --engine dask out")
    if options.classes is not None:
        raise ValueError("files show all their labels, and --classes is for a stream; leave --classes out")
    engine = ClusterEngine(client, report, **check_sharding(shards, sync_rows))
    if not options.checkpoint_rows:
        engine.least_pause = LEAST_PAUSE
        options = replace(options, checkpoint_rows=1)
    return train_files(options, observer, engine)


class ClusterEngine(Engine):
    """A cluster whose workers hash the files and learn from them in rounds."""

    def __init__(self, client: Client, report: Callable[[str], None], *, shards: int, sync_rows: int) -> None:
        self._client, self._report = client, report
        self._sharding = {"shards": shards, "sync_rows": sync_rows}
        self._codes: tuple[Path, list[HashedFile]] | None = None

    def settings(self) -> dict[str, Any]:
        return {"sharding": self._sharding}

    def open(self, options: TrainingOptions) -> RowSource:
        if is_codes(options.files):
            folder = Path(options.files[0])
            source = codes_source(folder, options.training)
            self._codes = folder, hashed_files(folder, Manifest.read(folder))
            return source
        names = ("files", "reading", "coder", "training", "task", "seed", "resume", "restart", "n_jobs")
        given = {name: getattr(options, name) for name in names}
        folder = options.out / CODES
        hashing = HashingOptions(out=folder, format="npy", **given)
        file_coder, hashed, failures = hash_on_cluster(hashing, self._report, client=self._client)
        if failures:
            raise next(iter(failures.values()))
        self._codes = folder, hashed
        n_rows = sum(n_positive(folder, part) for one in hashed for part in one.parts)
        file_coder = replace(file_coder, n_rows=n_rows)
        skipped = sum(one.skipped for one in hashed)

        def not_here() -> Iterable[Batch]:
            raise AssertionError("the rows of a cluster are learned by its workers")

        return RowSource(file_coder, not_here, lambda: (skipped, []))

    def reopen(self, options: TrainingOptions, arrays: Arrays, description: Description) -> RowSource:  # noqa: ARG002
        return self.open(options)

    def learn(
        self,
        options: TrainingOptions,
        estimator: BaseGCWSNet,
        plan: Plan,
        source: RowSource,
        held_out: Sequence[Callable[[], Iterable[Batch]]],
        observer: Observer,
    ) -> None:
        assert self._codes is not None  # noqa: S101
        assert plan.n_rows is not None  # noqa: S101
        parts, rows = stored_parts(self._client, *self._codes, source.file_coder)
        trainer = estimator.trainer_
        rounds = ClusterRounds(self._client, trainer, parts, rows, **self._sharding)
        epochs = partial(row_order, plan.n_rows, options.shuffle_rows or 0, estimator.seed_)
        run_in_rounds(trainer, plan, epochs, rounds, held_out, observer, n_jobs=n_threads(options.n_jobs))

    def finish(self, options: TrainingOptions) -> None:
        folder = options.out / CODES
        if not is_codes(options.files) and folder.is_dir():
            remove_codes(folder)
            (folder / LOCK).unlink(missing_ok=True)
            with suppress(OSError):  # there are files of others in it
                folder.rmdir()
