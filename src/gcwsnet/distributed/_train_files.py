"""`gcwsnet train` on a cluster: files become codes in a folder, from which workers learn in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from distributed import Client

from gcwsnet._atomic import LOCK
from gcwsnet._threads import n_threads
from gcwsnet.coding._codes_folder import HashedFile, Manifest, hashed_files, remove_codes
from gcwsnet.coding._tensor_file import Arrays, Description
from gcwsnet.data import Batch
from gcwsnet.data._sources import find_sources
from gcwsnet.distributed._hash_files import hash_on_cluster
from gcwsnet.distributed._rounds import ClusterRounds, check_sharding, row_order
from gcwsnet.distributed._stored_rows import n_positive, stored_parts
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._hash_files import HashingOptions
from gcwsnet.estimators._train_files import Engine, TrainingObserver, TrainingResult, train_files
from gcwsnet.estimators._training_options import TrainingOptions
from gcwsnet.estimators._training_rows import RowSource, codes_source, is_codes
from gcwsnet.training import Observer, Plan
from gcwsnet.training._rounds import run_in_rounds

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
        estimator: GCWSNetEstimator,
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
