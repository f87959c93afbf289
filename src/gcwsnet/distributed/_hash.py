"""Files hashed by the workers of a cluster: the same codes as in one process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from distributed import Client

from gcwsnet._validation import check_choice, check_integer
from gcwsnet.distributed._cluster import connected, map_on
from gcwsnet.files._hash import HashedFiles, HashingOptions, Map, hash_with
from gcwsnet.hashing._gcws import GCWSHasher
from gcwsnet.tables._coder import MISSING_WHEN_READ, Coder, CoderSettings


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
