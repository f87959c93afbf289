"""A cluster of Dask: its client, a map over tasks that survives dying workers, and rounds that its workers learn."""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.comm import CommClosedError

from gcwsnet._threads import n_threads
from gcwsnet._validation import check_integer
from gcwsnet.distributed import _rounds
from gcwsnet.distributed._rounds import Arrays, Round, RowNumbers, Steps, Trained, Update
from gcwsnet.files._hash import Failure, Map
from gcwsnet.net._net import Net, make_net
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Trainer
from gcwsnet.tables._batch import joined

CONNECT_TIMEOUT = 30

MAX_ROUNDS_SINCE_SNAPSHOT = 64


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
        number = check_integer("workers", n_threads(-1) if workers is None else workers, 1, 1024)
        with (
            LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as connection,
        ):
            yield connection


def _client_of(scheduler: str) -> Client:
    """Return a client of the scheduler at an address, which has at least one worker."""
    try:
        connection = Client(scheduler, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"there is no scheduler of Dask at {scheduler!r} ({error}); start one with `dask scheduler`, and give the "
            "address that it prints, such as tcp://10.0.0.1:8786"
        ) from error
    try:
        connection.wait_for_workers(1, timeout=CONNECT_TIMEOUT)
    except TimeoutError:
        connection.close()
        raise ConnectionError(
            f"the scheduler at {scheduler} has no workers; start some with `dask worker {scheduler} --nthreads 1`"
        ) from None
    return connection


@contextmanager
def cluster_errors(client: Client) -> Iterator[None]:
    """Turn the errors of a cluster that is lost into ones that say what to do."""
    address = client.scheduler.address if client.scheduler is not None else "?"
    try:
        yield
    except KilledWorker as error:
        raise _workers_died(error) from error
    except (CancelledError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, CommClosedError) and client.status == "running":
            raise
        raise ConnectionError(
            f"the scheduler at {address} was lost; start it again, and continue the command with --resume"
        ) from error


def _workers_died(error: KilledWorker) -> OSError:
    return OSError(
        f"{error.allowed_failures + 1} workers died one after the other while they worked on the same rows, the last "
        f"at {error.last_worker.address}; look at their logs, and give workers more memory if it was too little"
    )


def map_on(client: Client) -> Map:
    """Return a map whose tasks the workers of a cluster do.

    A task whose worker dies, or is not heard of for the time that the scheduler allows, is repeated by another one.
    If that happens to a task more often than the scheduler allows, by default three times, it is put aside: the
    scheduler blames all tasks that a dead worker had been given. Those that were put aside are done one by one at the
    end, and a task whose workers die then, too, has failed.
    """

    def over(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        futures = client.map(function, items, pure=False)
        unfinished = {future.key: (number, future) for number, future in enumerate(futures)}
        completed = as_completed(futures)
        del futures  # so that the workers forget a result that was fetched
        aside = []
        try:
            for future in completed:
                number, _ = unfinished.pop(future.key)
                if future.status == "error" and isinstance(future.exception(), KilledWorker):
                    aside.append(number)
                else:
                    yield number, _result(client, future)
            for number in aside:
                yield number, _result(client, client.submit(function, items[number], pure=False))
        finally:
            if client.status == "running":  # a scheduler that was lost has nothing to cancel
                with suppress(CommClosedError):  # it may be lost right now
                    client.cancel([future for _, future in unfinished.values()])

    return over


def _result(client: Client, future: Future) -> Any:
    """Return the result of a task, or a failure if its workers have died of it; other errors are raised."""
    try:
        with cluster_errors(client):
            try:
                return future.result()
            except KilledWorker as error:
                return Failure(_workers_died(error))
    except (ImportError, AttributeError, RuntimeError) as error:
        raise ImportError(
            f"a task could not be run by the workers of {client.scheduler.address} ({type(error).__name__}: {error}); "
            "the scheduler and the workers need the same packages as this process: pip install 'gcwsnet[distributed]'"
        ) from error


class ClusterRounds:
    """Rounds whose pieces are learned by the workers of a cluster.

    The workers have a snapshot of all weights, and the updates since then; from round to round only the next update
    travels. The tasks of a round are sent before the last round has ended, so that workers do not wait for the client.
    All tasks can be repeated from what the scheduler knows, so a worker may die at any time. The bytes of the net do
    not depend on the number of workers or on which does what: the tree in which changes are added up follows from the
    number of pieces. Parts of the rows are futures of batches, or objects that read them by a method `take`.
    """

    def __init__(self, client: Client, trainer: Trainer, parts: list[Any], part_rows: Sequence[int]) -> None:
        self._client, self._trainer, self._parts = client, trainer, parts
        self._ends = np.cumsum(part_rows, dtype=np.int64)
        self._max_bytes = 4 * _rounds.n_bytes(Update(_rounds.values_of(trainer.net), 0))
        self._run, self._names = uuid.uuid4().hex, count()
        self._snapshot: Future | None = None
        self._updates: list[Future] = []
        self._bytes_since_snapshot = 0

    def learn(self, rounds: Iterable[Round]) -> Generator[tuple[Round, Trained]]:
        """Learn rounds one after the other, and yield each when its update has been applied to the net."""
        with cluster_errors(self._client):
            running: tuple[Round, Future] | None = None
            for one in rounds:
                if running is not None and self._needs_snapshot():
                    yield self._finish(*running)
                    running = None
                following = one, self._begin(one)
                if running is not None:
                    yield self._finish(*running)
                running = following
            if running is not None:
                yield self._finish(*running)

    def _begin(self, one: Round) -> Future:
        """Send the tasks of a round to the cluster, and return the last one."""
        if self._needs_snapshot():
            self._send_snapshot()
        weights = self._snapshot, list(self._updates)
        pieces = []
        for rows in one.pieces:
            used, places, order = self._places(rows)
            parts = [self._parts[part] for part in used]
            pieces.append(self._submit(train_piece, *weights, parts, places, order, one.steps))
        last = _rounds.add_in_tree(pieces, lambda pair: self._submit(_rounds.add_pieces, pair))
        future = last[0] if one.steps.alone else self._submit(combine_pieces, *weights, last, one.steps.rate)
        self._updates.append(future)
        return future

    def _finish(self, one: Round, future: Future) -> tuple[Round, Trained]:
        """Wait for a round, and apply its update to the net."""
        trained: Trained = self._client.gather(future)
        _rounds.apply_update(trained.change, self._trainer.net, self._trainer.momentum)
        self._bytes_since_snapshot += _rounds.n_bytes(trained.change)
        return one, trained

    def _needs_snapshot(self) -> bool:
        """Return whether workers have no snapshot, or the updates since then have become too large or too many."""
        too_many = len(self._updates) >= MAX_ROUNDS_SINCE_SNAPSHOT
        return self._snapshot is None or too_many or self._bytes_since_snapshot > self._max_bytes

    def _send_snapshot(self) -> None:
        """Give the workers the weights as they are now."""
        net, momentum = self._trainer.net, {name: value.copy() for name, value in self._trainer.momentum.items()}
        snapshot = Snapshot(net.settings, net.targets, net.description(), _rounds.read_values(net), momentum)
        with warnings.catch_warnings():  # of a large graph, which is the snapshot
            warnings.filterwarnings("ignore", category=UserWarning, module="distributed")
            self._snapshot = self._submit(keep, snapshot)
        self._updates, self._bytes_since_snapshot = [], 0

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        key = f"gcwsnet-{function.__name__}-{self._run}-{next(self._names)}"
        return self._client.submit(function, *arguments, key=key)

    def _places(self, rows: RowNumbers) -> tuple[list[int], list[RowNumbers], RowNumbers]:
        """Return the parts that rows are in, their places in these, and the order to put them back into."""
        part = np.searchsorted(self._ends, rows, side="right")
        order = np.empty_like(part)
        order[np.argsort(part, kind="stable")] = np.arange(len(rows))
        used = np.unique(part)
        starts = np.concatenate([[0], self._ends])
        return used.tolist(), [rows[part == one] - starts[one] for one in used], order


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A net between two rounds, as it is sent to workers: what `make_net` needs, all values, and the momentum."""

    settings: TrainingSettings
    targets: Targets
    description: dict[str, Any]
    values: Update
    momentum: Arrays


@dataclass
class Replica:
    """The net of a worker's thread, with the momentum: that of a snapshot and some updates."""

    net: Net
    momentum: Arrays
    n_updates: int = 0


_replicas: WeakKeyDictionary[Snapshot, dict[int, Replica]] = WeakKeyDictionary()

"""The last replica of each thread, for as long as the worker has the snapshot: it saves making the net again."""


def keep(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot, which the worker then has."""
    return snapshot


def train_piece(
    snapshot: Snapshot,
    updates: Sequence[Trained],
    parts: Sequence[Any],
    places: Sequence[RowNumbers],
    order: RowNumbers,
    steps: Steps,
) -> Trained:
    """Return what the steps on a piece make of a net; its rows are some of each part, in an order."""
    rows = joined([part.take(some) for part, some in zip(parts, places, strict=True)]).take(order)
    return _rounds.train_piece(_replica(snapshot, updates).net, rows, steps)


def combine_pieces(snapshot: Snapshot, updates: Sequence[Trained], pieces: Sequence[Trained], rate: float) -> Trained:
    """Return the update that the pieces of a round make together."""
    replica = _replica(snapshot, updates)
    return _rounds.combine_pieces(replica.net, replica.momentum, pieces, rate)


def _replica(snapshot: Snapshot, updates: Sequence[Trained]) -> Replica:
    """Return the net after a snapshot and updates; the last one of this thread, if it is not further."""
    of_threads = _replicas.setdefault(snapshot, {})
    replica = of_threads.pop(threading.get_ident(), None)
    if replica is None or replica.n_updates > len(updates):
        net = make_net(snapshot.settings, snapshot.targets, **snapshot.description, initialize=False)
        _rounds.apply_update(snapshot.values, net, {})
        replica = Replica(net, {name: value.copy() for name, value in snapshot.momentum.items()})
    for trained in updates[replica.n_updates :]:
        _rounds.apply_update(trained.change, replica.net, replica.momentum)
        replica.n_updates += 1
    of_threads[threading.get_ident()] = replica
    return replica
