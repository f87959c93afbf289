"""Files hashed into a folder of codes by the workers of a cluster: the same bytes as in one process."""

from __future__ import annotations

from collections.abc import Callable

from distributed import Client

from gcwsnet.distributed._client import connected
from gcwsnet.distributed._map import map_on
from gcwsnet.estimators._hash_files import HashedFiles, HashingOptions
from gcwsnet.estimators._hash_files import hash_files as hash_files_with


def hash_on_cluster(
    options: HashingOptions,
    report: Callable[[str], None],
    *,
    client: Client | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
) -> HashedFiles:
    """Write the codes of files as `gcwsnet hash` does; see `connected` for the cluster."""
    with connected(client, scheduler=scheduler, workers=workers) as connection:
        report(f"{len(connection.nthreads())} workers at {connection.scheduler.address}")
        return hash_files_with(options, report, map_on(connection))
