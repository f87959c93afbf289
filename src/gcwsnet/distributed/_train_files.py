"""The engine of `gcwsnet train --engine dask`: workers hash the files, and learn from the folder of codes in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from gcwsnet._atomic import LOCK
from gcwsnet._paths import is_codes
from gcwsnet._threads import n_threads
from gcwsnet.distributed._cluster import ClusterRounds, map_on
from gcwsnet.distributed._hash import hash_on_cluster
from gcwsnet.distributed._rounds import RowNumbers, Sharding, row_order, train_in_rounds
from gcwsnet.estimators._gcwsnet import BaseGCWSNet
from gcwsnet.estimators._tensor_file import Arrays, Description
from gcwsnet.files._codes import HashedFile, Manifest, Part, check_part, hashed_files, remove_codes
from gcwsnet.files._hash import Failure, HashingOptions, attempt_each
from gcwsnet.files._learn import FileCoder, RunOptions, encoded
from gcwsnet.files._sources import find_sources
from gcwsnet.files._train import (
    Codes,
    Engine,
    RowSource,
    TrainingObserver,
    TrainingOptions,
    TrainingResult,
    codes_source,
    train_files,
)
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Observer, Plan
from gcwsnet.tables._batch import Batch

CODES = "codes"
"""The folder beside the model that has the codes of the files until the model is written."""


def train_on_cluster(
    options: TrainingOptions,
    observer: TrainingObserver,
    report: Callable[[str], None],
    client: Client,
    sharding: Sharding,
) -> TrainingResult:
    """Train a net as `gcwsnet train` does, by the workers of a cluster.

    The model follows from the options, the files and the sharding, and not from the cluster.

    Parameters
    ----------
    options : TrainingOptions
    observer : TrainingObserver
    report : function of a line
        It is called with lines for people.
    client : distributed.Client
    sharding : Sharding
    """
    if not is_codes(options.files) and not all(one.reusable for one in find_sources(options.files)):
        raise ValueError("workers read files, which standard input is not; give files, or leave --engine dask out")
    if options.classes is not None:
        raise ValueError("files show all their labels, and --classes is for a stream; leave --classes out")
    engine = ClusterEngine(client, report, sharding.check())
    if not options.checkpoint_rows:  # after each round, unless that would take more than a tenth of the time
        engine.least_pause = 9.0
        options = replace(options, checkpoint_rows=1)
    return train_files(options, observer, engine)


class ClusterEngine(Engine):
    """A cluster whose workers hash the files and learn from them in rounds."""

    def __init__(self, client: Client, report: Callable[[str], None], sharding: Sharding) -> None:
        self._client, self._report, self._sharding = client, report, sharding
        self._folder, self._hashed = Path(), list[HashedFile]()

    def settings(self) -> dict[str, Any]:
        return {"sharding": self._sharding._asdict()}

    def open(self, options: TrainingOptions) -> RowSource:
        if is_codes(options.files):
            self._folder = Path(options.files[0])
            source = codes_source(self._folder, options.training)
            self._hashed = hashed_files(self._folder, Manifest.read(self._folder))
            return source
        self._folder = options.out / CODES
        given = {one.name: getattr(options, one.name) for one in fields(RunOptions)}
        hashing = HashingOptions(**given | {"out": self._folder})
        file_coder, self._hashed, failures = hash_on_cluster(hashing, self._report, client=self._client)
        if failures:
            raise next(iter(failures.values()))
        n_rows = sum(n_positive(self._folder, part) for part in self._parts())
        skipped = sum(one.skipped for one in self._hashed)

        def not_here() -> Iterable[Batch]:
            raise AssertionError("the rows of a cluster are learned by its workers")

        return RowSource(replace(file_coder, n_rows=n_rows), not_here, lambda: (skipped, []))

    def reopen(self, options: TrainingOptions, arrays: Arrays, description: Description) -> RowSource:  # noqa: ARG002
        return self.open(options)

    def learn(
        self,
        options: TrainingOptions,
        estimator: BaseGCWSNet,
        plan: Plan,
        source: RowSource,
        held_out: Sequence[Codes],
        observer: Observer,
    ) -> None:
        assert plan.n_rows is not None  # noqa: S101
        trainer, folder = estimator.trainer_, self._folder.absolute()
        parts = self._verified_parts(folder, source.file_coder)
        rounds = ClusterRounds(self._client, trainer, parts, [n_positive(folder, stored.part) for stored in parts])
        epochs = partial(row_order, plan.n_rows, options.shuffle_rows or 0, estimator.seed_)
        n_jobs = n_threads(options.n_jobs)
        train_in_rounds(trainer, plan, epochs, rounds.learn, self._sharding, held_out, observer, n_jobs=n_jobs)

    def finish(self, options: TrainingOptions) -> None:
        folder = options.out / CODES
        if not is_codes(options.files) and folder.is_dir():
            remove_codes(folder)
            (folder / LOCK).unlink(missing_ok=True)
            with suppress(OSError):  # there are files of others in it
                folder.rmdir()

    def _parts(self) -> list[Part]:
        return [part for one in self._hashed for part in one.parts]

    def _verified_parts(self, folder: Path, file_coder: FileCoder) -> list[StoredPart]:
        """Return the parts of the folder of codes, once workers have verified each of them."""
        if any(name.endswith(".parquet") for part in self._parts() for name in part.files):
            raise ValueError(
                f"{folder} has codes in Parquet, of which single rows cannot be read; hash the files again with "
                "--codes-format npy, or train without --engine dask"
            )
        coder, targets = file_coder.coder, file_coder.targets
        check = partial(check_part, folder, n_codes=coder.n_codes, n_values=2**coder.code_bits)
        for _, result in attempt_each(map_on(self._client), check, self._parts()):
            if isinstance(result, Failure):
                raise result.error
        assert targets is not None  # noqa: S101
        return [StoredPart(folder, part, file_coder.label_type, targets) for part in self._parts()]


@dataclass(frozen=True)
class StoredPart:
    """A part of a folder of codes, of which workers read only the rows that they take.

    Attributes
    ----------
    folder : Path
        The same for all workers, as on a file system that they share.
    part : Part
    label_type : str
    targets : Targets
        How labels are encoded.
    """

    folder: Path
    part: Part
    label_type: str | None
    targets: Targets

    def take(self, rows: RowNumbers) -> Batch:
        """Return the codes, the encoded targets and the weights of rows, counted without those of weight 0."""
        positive = positive_rows(self.folder, self.part)
        rows = rows if positive is None else positive[rows]
        found = {_content(name): _open(self.folder / name)[rows] for name in self.part.files}
        y = encoded(self.targets, self.label_type, found["labels"])
        return Batch(np.ascontiguousarray(found["codes"]), y, found.get("weights"))


def positive_rows(folder: Path, part: Part) -> RowNumbers | None:
    """Return the numbers of the rows of a part whose weight is not 0, None if it has no weights."""
    weights = [name for name in part.files if _content(name) == "weights"]
    return np.flatnonzero(_open(folder / weights[0])) if weights else None


def n_positive(folder: Path, part: Part) -> int:
    """Return the number of rows of a part whose weight is not 0."""
    positive = positive_rows(folder, part)
    return part.rows if positive is None else len(positive)


def _content(name: str) -> str:
    """Return what a file of a part has: codes, labels or weights."""
    return name.split(".")[-2]


@lru_cache(maxsize=256)
def _open(path: Path) -> NDArray[Any]:
    opened: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return opened
