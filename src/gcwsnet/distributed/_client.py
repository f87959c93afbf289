"""The client of a cluster: one that is given, one of a scheduler's address, or one of worker processes here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.comm import CommClosedError

from gcwsnet._threads import n_threads
from gcwsnet._validation import check_integer
from gcwsnet.files._learn import Failure, Map

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


def map_on(client: Client) -> Map:
    """Return a map whose tasks the workers of a cluster do.

    A task whose worker dies, or is not heard of for the time that the scheduler allows, is repeated by another one.
    If that happens to a task more often than the scheduler allows, by default three times, it is put aside: the
    scheduler blames all tasks that a dead worker had been given. Those that were put aside are done one by one at the
    end, and a task whose workers die then, too, has failed.
    """
    address = client.scheduler.address

    def over(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        futures = client.map(function, items, pure=False)
        unsettled = {future.key: (number, future) for number, future in enumerate(futures)}
        done = as_completed(futures)
        del futures  # so that the workers forget a result that was fetched
        aside = []
        try:
            for future in done:
                number, _ = unsettled.pop(future.key)
                if future.status == "error" and isinstance(future.exception(), KilledWorker):
                    aside.append(number)
                else:
                    yield number, _settled(future, address)
            for number in aside:
                yield number, _settled(client.submit(function, items[number], pure=False), address)
        finally:
            if client.status == "running":  # a scheduler that was lost has nothing to cancel
                with suppress(CommClosedError):  # it may be lost right now
                    client.cancel([future for _, future in unsettled.values()])

    return over


def _settled(future: Future, address: str) -> Any:
    """Return the result of a task that has ended, or the failure of its item; other errors are raised."""
    try:
        return future.result()
    except KilledWorker as error:
        times = error.allowed_failures + 1
        return Failure(
            OSError(
                f"{times} workers died one after the other while they worked on it, the last at "
                f"{error.last_worker.address}; look at their logs, and give workers more memory if it was too little"
            )
        )
    except (CancelledError, CommClosedError) as error:
        raise ConnectionError(
            f"the scheduler at {address} was lost, or has dropped a task; start it again and continue with --resume"
        ) from error
    except (ImportError, AttributeError, RuntimeError) as error:
        raise ImportError(
            f"a task could not be run by the workers of {address} ({type(error).__name__}: {error}); the scheduler and "
            "the workers need the same packages as this process: pip install 'gcwsnet[distributed]'"
        ) from error
