"""What a worker does in a round: learn a piece of the rows, add up changes, and make the next weights.

Each function is a pure function of its arguments. A thread of a worker keeps the net that it had last, which only saves
the work to make it again.
"""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from distributed import Client, Future, KilledWorker
from distributed.comm import CommClosedError
from numpy.typing import NDArray

from gcwsnet._validation import check_integer
from gcwsnet.distributed import _rounds
from gcwsnet.distributed._rounds import (
    Arrays,
    Round,
    RoundLearned,
    RowNumbers,
    ShardChange,
    Update,
    in_tree,
    load_arrays,
    merged,
    n_bytes,
    net_arrays,
    put_round,
    totals_of_round,
)
from gcwsnet.files._batches import shuffled
from gcwsnet.files._train import epoch_seed
from gcwsnet.net._history import Counts
from gcwsnet.net._net import Net, make_net
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Targets
from gcwsnet.net._trainer import Trainer
from gcwsnet.tables._batch import Batch, joined


@dataclass(frozen=True)
class NetMade:
    """What a net is made with; see `Net`."""

    settings: TrainingSettings
    targets: Targets
    description: dict[str, Any]

    @classmethod
    def of(cls, net: Net) -> NetMade:
        """Return what a net was made with."""
        return cls(net.settings, net.targets, net.description())

    def make(self, *, initialize: bool) -> Net:
        """Return such a net, with weights that follow from its seed, or that are all zero."""
        return make_net(self.settings, self.targets, **self.description, initialize=initialize)


@dataclass(frozen=True, eq=False)
class Base:
    """All numbers that learning goes on from: those of a net, and the momentum. With rounds they are later ones.

    Attributes
    ----------
    made : NetMade
    arrays : dict of arrays or None
        None for a net that has learned nothing: its weights follow from its seed, and do not travel.
    momentum : dict of arrays
    """

    made: NetMade
    arrays: Arrays | None
    momentum: Arrays

    def net(self) -> Net:
        """Return a net with these numbers."""
        net = self.made.make(initialize=self.arrays is None)
        if self.arrays is not None:
            load_arrays(net, self.arrays)
        return net


@dataclass(frozen=True)
class Lesson:
    """How a piece is learned.

    Attributes
    ----------
    places : list of arrays
        The rows of the piece in each of its parts.
    order : int64 array
        The order in which the rows of all its parts are learned.
    rates : float64 array
        Of the steps; a short piece takes the first ones.
    batch_size : int
    with_auc : bool
    alone : bool
        Whether the round has no other piece.
    """

    places: list[NDArray[np.int64]]
    order: NDArray[np.int64]
    rates: NDArray[np.float64]
    batch_size: int
    with_auc: bool
    alone: bool


class Learned(NamedTuple):
    """What pieces have made of a net.

    Attributes
    ----------
    change : Update or ShardChange
        The update of a whole round, or the change by some of its pieces.
    counts : list of Counts
        What is counted of their rows, in the order of the pieces.
    bytes_sent : int
    rate : float or None
        Of a whole round, see `Round.rate`.
    """

    change: Update | ShardChange
    counts: list[Counts]
    bytes_sent: int
    rate: float | None = None


class _Kept(NamedTuple):
    n_rounds: int
    net: Net
    momentum: Arrays


_kept: WeakKeyDictionary[Base, dict[int, _Kept]] = WeakKeyDictionary()

"""For a base, as long as the worker has it, the net that each thread had last."""


def given_base(base: Base) -> Base:
    """Return a base that is sent with its task."""
    return base


def learn_piece(lesson: Lesson, base: Base, rounds: Sequence[Learned], parts: list[Any]) -> Learned:
    """Return what the steps on one piece make of the net that a base and the rounds since then give.

    The rows of `parts` are taken by their method `take`, which a batch has.
    """
    taken = [part.take(places) for part, places in zip(parts, lesson.places, strict=True)]
    rows: Batch = joined(taken).take(lesson.order)
    how = {"alone": lesson.alone, "with_auc": lesson.with_auc}
    net = _current(base, rounds).net
    change, counts = _rounds.learn_piece(net, rows, lesson.rates, lesson.batch_size, **how)
    return Learned(change, [counts], n_bytes(change))


def add_pieces(pieces: Sequence[Learned]) -> Learned:
    """Return the changes of pieces of one round together."""
    changes = [piece.change for piece in pieces if isinstance(piece.change, ShardChange)]
    return _together(merged(changes), pieces)


def finish_round(base: Base, rounds: Sequence[Learned], pieces: Sequence[Learned], rate: float) -> Learned:
    """Return the update that the pieces of a round make together."""
    kept = _current(base, rounds)
    changes = [piece.change for piece in pieces]
    update = _rounds.next_update(net_arrays(kept.net), kept.momentum, changes, rate)
    together = _together(update, pieces)
    return together._replace(bytes_sent=together.bytes_sent + n_bytes(update), rate=rate)


def _together(change: Update | ShardChange, pieces: Sequence[Learned]) -> Learned:
    counts = [one for piece in pieces for one in piece.counts]
    return Learned(change, counts, sum(piece.bytes_sent for piece in pieces))


def _current(base: Base, rounds: Sequence[Learned]) -> _Kept:
    """Return the net that a base and rounds give, made of the one that this thread has kept if that is older."""
    of_threads = _kept.setdefault(base, {})
    kept = of_threads.pop(threading.get_ident(), None)
    if kept is None or kept.n_rounds > len(rounds):
        kept = _Kept(0, base.net(), {name: value.copy() for name, value in base.momentum.items()})
    for one in rounds[kept.n_rounds :]:
        assert isinstance(one.change, dict)  # noqa: S101
        put_round(one.change, kept.net, kept.momentum, one.rate)
    kept = of_threads[threading.get_ident()] = kept._replace(n_rounds=len(rounds))
    return kept


SHARDS, SYNC_ROWS = 4, 8192

MOST_SHARDS, MOST_SYNC_ROWS = 4096, 1 << 24

UPDATES_OF_A_BASE = 4

"""A new base is sent when the updates since the last one have this many times its bytes."""

MOST_ROUNDS_OF_A_BASE = 64


class _Begun(NamedTuple):
    round: Round
    future: Future


class ClusterRounds:
    """Rounds whose pieces are learned by the workers of a cluster.

    The workers have a base, which is all weights, and the updates since then; from round to round only the next update
    travels. The tasks of a round are sent before the one before it has ended, so that workers do not wait for the
    client. All tasks can be done again from what the scheduler knows, so a worker may die at any time. Which worker
    does what, and how many there are, changes no bit: the tree in which changes are added up follows from the numbers
    of the pieces.

    Parameters
    ----------
    client : distributed.Client
    trainer : Trainer
    parts : list
        The rows: batches of codes and encoded targets as futures, or objects that read them.
    part_rows : sequence of int
        The rows of each part.
    shards, sync_rows : int
        See `round_sizes`.
    """

    def __init__(
        self,
        client: Client,
        trainer: Trainer,
        parts: list[Any],
        part_rows: Sequence[int],
        *,
        shards: int,
        sync_rows: int,
    ) -> None:
        self.shards, self.sync_rows = shards, sync_rows
        self._client, self._trainer, self._parts = client, trainer, parts
        self._ends = np.cumsum(part_rows, dtype=np.int64)
        self._made = NetMade.of(trainer.net)
        self._dense_bytes = sum(array.nbytes for array in net_arrays(trainer.net).values())
        self._run, self._names = uuid.uuid4().hex, count()
        self._since_base: list[Future] = []
        self._bytes_since_base = 0
        self._base: Future | None = None

    def learn(self, rounds: Iterable[Round]) -> Generator[RoundLearned]:
        """Learn rounds one after the other, and yield each when the weights that it makes are in the net."""
        begun: _Begun | None = None
        for one in rounds:
            if begun is not None and self._needs_base():
                yield self._finish(begun)
                begun = None
            following = self._begin(one)
            if begun is not None:
                yield self._finish(begun)
            begun = following
        if begun is not None:
            yield self._finish(begun)

    def _begin(self, one: Round) -> _Begun:
        """Send the tasks of a round to the cluster."""
        with cluster_errors(self._client):
            if self._needs_base():
                self._send_base()
            weights = self._base, list(self._since_base)
            with_auc = self._trainer.since_record.auc is not None
            alone = len(one.pieces) == 1
            learned = []
            for rows in one.pieces:
                used, places, order = self._places(rows)
                lesson = Lesson(places, order, one.rates, one.batch_size, with_auc, alone)
                learned.append(self._submit(learn_piece, lesson, *weights, [self._parts[part] for part in used]))
            last = in_tree(learned, lambda pair: self._submit(add_pieces, pair))
            future = last[0] if alone else self._submit(finish_round, *weights, last, one.rate)
        self._since_base.append(future)
        return _Begun(one, future)

    def _finish(self, begun: _Begun) -> RoundLearned:
        """Wait for a round, and put its update into the net."""
        with cluster_errors(self._client):
            learned: Learned = self._client.gather(begun.future)
        assert isinstance(learned.change, dict)  # noqa: S101
        put_round(learned.change, self._trainer.net, self._trainer.momentum, begun.round.rate)
        self._bytes_since_base += n_bytes(learned.change)
        totals = totals_of_round(len(begun.round.pieces), learned.bytes_sent, self._dense_bytes)
        return RoundLearned(begun.round, learned.counts, totals)

    def _needs_base(self) -> bool:
        """Return whether workers have no base, or the updates since then have become more than it."""
        too_many = self._bytes_since_base > UPDATES_OF_A_BASE * self._dense_bytes
        return self._base is None or too_many or len(self._since_base) >= MOST_ROUNDS_OF_A_BASE

    def _send_base(self) -> None:
        """Give the workers the weights as they are now."""
        base = Base(self._made, None, {})
        if self._trainer.rows_seen > 0:
            now = (net_arrays(self._trainer.net), self._trainer.momentum)
            base = Base(self._made, *({name: value.copy() for name, value in arrays.items()} for arrays in now))
        with warnings.catch_warnings():  # of a large graph, which is the base
            warnings.filterwarnings("ignore", category=UserWarning, module="distributed")
            self._base = self._submit(given_base, base)
        self._since_base, self._bytes_since_base = [], 0

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        key = f"gcwsnet-{function.__name__.strip('_')}-{self._run}-{next(self._names)}"
        return self._client.submit(function, *arguments, key=key)

    def _places(self, rows: RowNumbers) -> tuple[list[int], list[RowNumbers], RowNumbers]:
        """Return the parts that rows are in, their places in these, and the order to put them back into."""
        part = np.searchsorted(self._ends, rows, side="right")
        by_part = np.argsort(part, kind="stable")
        order = np.empty_like(by_part)
        order[by_part] = np.arange(len(rows))
        used = np.unique(part)
        starts = np.concatenate([[0], self._ends])
        return used.tolist(), [rows[part == one] - starts[one] for one in used], order


def check_sharding(shards: Any, sync_rows: Any) -> dict[str, int]:
    """Return the settings of rounds, if they make sense."""
    return {
        "shards": check_integer("shards", shards, 1, MOST_SHARDS),
        "sync_rows": check_integer("sync_rows", sync_rows, 1, MOST_SYNC_ROWS),
    }


def row_order(n_rows: int, buffer_rows: int, seed: int, epoch: int) -> Iterator[RowNumbers]:
    """Yield the numbers of the rows of an epoch in the order of `gcwsnet train`: shuffled in a buffer of some rows."""
    step = max(buffer_rows, 1 << 16)
    batches = (Batch(np.arange(first, min(first + step, n_rows)).reshape(-1, 1)) for first in range(0, n_rows, step))
    if not buffer_rows:
        yield from (batch.X[:, 0] for batch in batches)
        return
    for batch in shuffled(batches, buffer_rows, epoch_seed(seed, epoch)):
        yield batch.X[:, 0]


@contextmanager
def cluster_errors(client: Client) -> Iterator[None]:
    """Turn the errors of a cluster that is lost into one that says what to do."""
    address = client.scheduler.address if client.scheduler is not None else "?"
    try:
        yield
    except KilledWorker as error:
        raise OSError(
            f"{error.allowed_failures + 1} workers died one after the other while they learned the same rows, the last "
            f"at {error.last_worker.address}; look at their logs, and give workers more memory if it was too little"
        ) from error
    except (CancelledError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, CommClosedError) and client.status == "running":
            raise
        raise ConnectionError(
            f"the scheduler at {address} was lost; start it again, and continue the command with --resume"
        ) from error
