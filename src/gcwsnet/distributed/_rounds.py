"""The rounds of a training on a cluster: pieces to the workers, changes added up in a tree, and the next weights."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from distributed import Client, Future, KilledWorker
from distributed.comm import CommClosedError

from gcwsnet._validation import check_integer
from gcwsnet.data import Batch
from gcwsnet.data._batches import shuffled
from gcwsnet.distributed._pieces import (
    Base,
    Learned,
    Lesson,
    NetMade,
    add_pieces,
    finish_round,
    given_base,
    learn_piece,
)
from gcwsnet.estimators._train_files import epoch_seed
from gcwsnet.training import Trainer
from gcwsnet.training._changes import n_bytes, net_arrays, put_round
from gcwsnet.training._rounds import Round, RoundLearned, RowNumbers, in_tree, totals_of_round

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
