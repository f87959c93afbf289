"""A map over items whose tasks the workers of a cluster do, and which survives workers that die."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed
from distributed.comm import CommClosedError

from gcwsnet.estimators._map_files import Failure, Map


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
