"""The client of a cluster: one that is given, one of a scheduler's address, or one of worker processes here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster

from gcwsnet._threads import n_threads
from gcwsnet._validation import check_integer

CONNECT_SECONDS = 30
MOST_WORKERS = 1024


@contextmanager
def connected(
    client: Client | None = None, *, scheduler: str | None = None, workers: int | None = None
) -> Iterator[Client]:
    """Yield a client of a cluster; what was started for it is stopped at the end.

    Parameters
    ----------
    client : distributed.Client, optional
        A client to use. It stays connected at the end.
    scheduler : str, optional
        The address of a scheduler, such as ``tcp://10.0.0.1:8786``. Its workers go on at the end.
    workers : int, optional
        The number of worker processes to start on this machine, with a thread each. By default one for each core. They
        are stopped at the end.

    Raises
    ------
    ConnectionError
        If there is no scheduler at the address, or no worker has come to it.
    """
    given = {"client": client, "scheduler": scheduler, "workers": workers}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(f"{' and '.join(names)} are given, and each names a cluster of its own; give one of them")
    if client is not None:
        yield client
    elif scheduler is not None:
        with _client_of(scheduler) as connection:
            yield connection
    else:
        number = check_integer("workers", n_threads(-1) if workers is None else workers, 1, MOST_WORKERS)
        with (
            LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as connection,
        ):
            yield connection


def _client_of(scheduler: str) -> Client:
    """Return a client of the scheduler at an address, which has a worker at least."""
    try:
        connection = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"there is no scheduler of Dask at {scheduler!r} ({error}); start one with `dask scheduler`, and give the "
            "address that it prints, such as tcp://10.0.0.1:8786"
        ) from error
    try:
        connection.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError:
        connection.close()
        raise ConnectionError(
            f"the scheduler at {scheduler} has no workers; start some with `dask worker {scheduler} --nthreads 1`"
        ) from None
    return connection
