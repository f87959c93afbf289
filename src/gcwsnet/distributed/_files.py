"""Files hashed by the workers of a cluster, and `gcwsnet train` on one, which learns from these codes in rounds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from gcwsnet._atomic import LOCK
from gcwsnet._paths import is_codes
from gcwsnet._threads import n_threads
from gcwsnet._validation import check_choice, check_integer
from gcwsnet.distributed._cluster import ClusterRounds, connected, map_on
from gcwsnet.distributed._rounds import RowNumbers, Sharding, row_order, train_in_rounds
from gcwsnet.estimators._gcwsnet import BaseGCWSNet
from gcwsnet.files._codes import Manifest, Part, check_part, hashed_files, remove_codes
from gcwsnet.files._hash import Failure, HashedFiles, HashingOptions, Map, attempt_each, hash_with
from gcwsnet.files._learn import FilesOptions, known_labels
from gcwsnet.files._train import SHUFFLED_ROWS, Codes, TrainingOptions
from gcwsnet.hashing._gcws import GCWSHasher
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Observer, Plan
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._coder import MISSING_WHEN_READ, Coder, CoderSettings

CODES = "codes"
"""The folder beside the model that has the codes of the files until the model is written."""


def hash_files(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    coder: CoderSettings | Coder | GCWSHasher,
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    over: Map | None = None,
    task: str = "auto",
    random_state: int | None = None,
    resume: bool = False,
    restart: bool = False,
    n_jobs: int | None = 1,
    report: Callable[[str], None] = lambda line: None,  # noqa: ARG005
    **reading: Any,
) -> HashedFiles:
    """Write the codes of files into a folder, as ``gcwsnet hash`` does, by the workers of a cluster.

    Each task is a function of a file and of settings, so the folder has the same bytes for any number of workers, and
    whichever of them die. The workers see files and folder under the same paths as this process, and have the same
    version of gcwsnet.

    Parameters
    ----------
    files : path or list of paths
        Files, folders or patterns, as of `gcwsnet.files.read`.
    out : path
        The folder of the codes, from which ``gcwsnet train`` can learn.
    coder : CoderSettings, Coder or GCWSHasher
        How rows become codes: settings of a coder, which is learned from the files as the command does; a coder that
        was learned before, such as the `coder_` of an estimator; or a hasher, for rows as they are.
    client, scheduler, workers
        The cluster: a client of it, the address of its scheduler, or a number of worker processes to start here; by
        default as many as there are cores. Give one of them.
    over : function of a function and a list, optional
        Another way to do the tasks, in place of a cluster of Dask: it calls the function with each item of the list,
        wherever it likes, and yields the number of the item and what the function returned, in any order. Both can be
        pickled. `docs/dask.md` has such functions for Ray and Spark.
    task : {"auto", "classification", "regression"}, default="auto"
        What labels are for.
    random_state : int, optional
        The seed of the hashes and of the search, 0 by default. A coder and a hasher have their own.
    resume, restart : bool, default=False
        Whether to finish the codes that are in the folder, or to drop them.
    n_jobs : int, default=1
        The threads of a task.
    report : function of a line, optional
        It is called with lines for people, one for each file that is finished.
    **reading
        Settings of `gcwsnet.files.read`, such as ``label="price"``.

    Returns
    -------
    file_coder : FileCoder
        The coder, with what is known about the files.
    files : list of HashedFile
        The files that are finished, with their rows.
    failures : dict of str to Exception
        By name, why other files are not: a file that is damaged is left out, and the others are done. Correct it and
        call with ``resume=True``, and it is done too.

    Examples
    --------
    >>> from gcwsnet import GCWSHasher
    >>> from gcwsnet.distributed import hash_files
    >>> hasher = GCWSHasher(64, random_state=0)
    >>> done = hash_files("rows/*.npz", "codes", hasher, scheduler="tcp://10.0.0.1:8786")  # doctest: +SKIP
    >>> sum(file.rows for file in done.files), done.failures  # doctest: +SKIP
    (1000000, {})
    """
    check_choice("task", task, ("auto", "classification", "regression"))
    if resume and restart:
        raise ValueError("resume finishes the codes in the folder, and restart drops them; give one of them")
    if random_state is not None and not isinstance(coder, CoderSettings):
        raise ValueError(
            f"random_state has no effect: a {type(coder).__name__} has its own, got random_state={random_state!r}; "
            "leave it out"
        )
    params: dict[str, Any] = {"random_state": check_integer("random_state", random_state or 0, 0, 2**64 - 1)}
    if isinstance(coder, GCWSHasher):
        params |= _params_of(coder)
    elif isinstance(coder, Coder):
        n_nets = coder.n_codes // coder.settings.n_hashes
        params |= asdict(coder.settings) | {"ensemble": n_nets, "random_state": coder.seed}
    else:
        params |= asdict(coder)
    missing = MISSING_WHEN_READ[params["missing"]]
    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    options = HashingOptions(
        files=[os.fspath(path) for path in paths],
        out=Path(out),
        params=params | {"n_jobs": n_jobs},
        reading={"missing": missing} | reading if missing else reading,
        coder=coder if isinstance(coder, Coder) else None,
        task=task,
        resume=resume,
        restart=restart,
    )
    if over is None:
        return hash_on_cluster(options, report, client=client, scheduler=scheduler, workers=workers)
    if client is not None or scheduler is not None or workers is not None:
        raise ValueError("over does the tasks in place of a cluster of Dask; give it, or client, scheduler or workers")
    return hash_with(options, report, over)


def hash_on_cluster(
    options: HashingOptions,
    report: Callable[[str], None],
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
) -> HashedFiles:
    """Write the codes of files by the workers of a cluster, see `connected`."""
    with connected(client, scheduler=scheduler, workers=workers) as connection:
        report(f"{len(connection.nthreads())} workers at {connection.scheduler.address}")
        return hash_with(options, report, map_on(connection))


def _params_of(hasher: GCWSHasher) -> dict[str, Any]:
    """Return the parameters of an estimator that hashes rows as they are, as a hasher does."""
    given = hasher.get_params(deep=False)
    if hasattr(hasher, "_hasher"):
        given = vars(hasher._hasher) | {"output": hasher._output}
    for name, value in (("method", "gcws"), ("output", "codes")):
        if given[name] != value:
            raise ValueError(f"files are hashed with {name}={value!r}, got a hasher with {name}={given[name]!r}")
    seed = getattr(hasher, "seed_", hasher.random_state)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise ValueError(f"the hasher must be fitted or have an int as random_state, got random_state={seed!r}")
    params = {name: given[name] for name in ("n_hashes", "bits", "t_bits", "p", "encoding", "missing")}
    return params | {"scale": None, "relevance": 0.0, "search": "off", "ensemble": 1, "random_state": seed}


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
