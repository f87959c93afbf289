"""`gcwsnet train` on a cluster: workers hash the files, and learn from the folder of codes in rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
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
from gcwsnet.files._codes import Manifest, Part, check_part, hashed_files, remove_codes
from gcwsnet.files._hash import Failure, HashingOptions, attempt_each
from gcwsnet.files._learn import FilesOptions, known_labels
from gcwsnet.files._train import SHUFFLED_ROWS, Codes, TrainingOptions
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Observer, Plan
from gcwsnet.tables._batch import Batch

CODES = "codes"
"""The folder beside the model that has the codes of the files until the model is written."""


class TrainingCluster:
    """A cluster whose workers hash the files of a run, and learn from the folder of codes in rounds.

    The model follows from the options, the files and the sharding, and not from the cluster.

    Parameters
    ----------
    client : distributed.Client
    report : function of a line
        It is called with lines for people.
    sharding : Sharding
    """

    def __init__(self, client: Client, report: Callable[[str], None], sharding: Sharding) -> None:
        self._client, self._report, self._sharding = client, report, sharding.check()
        self.settings: dict[str, Any] = {"sharding": self._sharding._asdict()}
        self._folder, self._is_temporary = Path(), False

    def hash(self, options: TrainingOptions) -> Path:
        """Return the folder with the codes of the files, which is hashed unless it was given."""
        self._is_temporary = not is_codes(options.files)
        self._folder = options.out / CODES if self._is_temporary else Path(options.files[0])
        if self._is_temporary:
            given = {one.name: getattr(options, one.name) for one in fields(FilesOptions)}
            hashing = HashingOptions(**given | {"out": self._folder})
            failures = hash_on_cluster(hashing, self._report, client=self._client).failures
            if failures:
                raise next(iter(failures.values()))
        return self._folder

    def run(self, estimator: BaseGCWSNet, plan: Plan, held_out: Sequence[Codes], observer: Observer) -> None:
        """Learn from the rows that are left."""
        assert plan.n_rows is not None  # noqa: S101
        trainer, folder = estimator.trainer_, self._folder.absolute()
        parts = self._verified_parts(folder, estimator)
        rounds = ClusterRounds(self._client, trainer, parts, [n_positive(folder, stored.part) for stored in parts])
        epochs = partial(row_order, plan.n_rows, SHUFFLED_ROWS, estimator.seed_)
        n_jobs = n_threads(estimator.n_jobs)
        train_in_rounds(trainer, plan, epochs, rounds.learn, self._sharding, held_out, observer, n_jobs=n_jobs)

    def finish(self) -> None:
        """Remove the codes, unless they were given."""
        if self._is_temporary and self._folder.is_dir():
            remove_codes(self._folder)
            (self._folder / LOCK).unlink(missing_ok=True)
            with suppress(OSError):  # there are files of others in it
                self._folder.rmdir()

    def _verified_parts(self, folder: Path, estimator: BaseGCWSNet) -> list[StoredPart]:
        """Return the parts of the folder of codes, once workers have verified each of them."""
        found = [part for one in hashed_files(folder, Manifest.read(folder)) for part in one.parts]
        coder = estimator.coder_
        check = partial(check_part, folder, n_codes=coder.n_codes, n_values=2**coder.code_bits)
        for _, result in attempt_each(map_on(self._client), check, found):
            if isinstance(result, Failure):
                raise result.error
        return [StoredPart(folder, part, estimator.trainer_.targets) for part in found]


@dataclass(frozen=True)
class StoredPart:
    """A part of a folder of codes, of which workers read only the rows that they take.

    Attributes
    ----------
    folder : Path
        The same for all workers, as on a file system that they share.
    part : Part
    targets : Targets
        How labels are encoded.
    """

    folder: Path
    part: Part
    targets: Targets

    def take(self, rows: RowNumbers) -> Batch:
        """Return the codes, the encoded targets and the weights of rows, counted without those of weight 0."""
        positive = positive_rows(self.folder, self.part)
        rows = rows if positive is None else positive[rows]
        found = {_content(name): _open(self.folder / name)[rows] for name in self.part.files}
        y = self.targets.encode(known_labels(found["labels"], self.targets))
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
