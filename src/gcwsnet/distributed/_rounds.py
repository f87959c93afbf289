"""The rounds of a training on a cluster: pieces to the workers, changes added up in a tree, and the next weights."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker
from numpy.typing import NDArray

from gcwsnet._validation import check_integer
from gcwsnet.data import Batch
from gcwsnet.data._batches import shuffled
from gcwsnet.distributed._pieces import (
    Base,
    Lesson,
    NetMade,
    add_pieces,
    counted,
    given_base,
    initial_base,
    learn_piece,
    next_update,
)
from gcwsnet.estimators._train_files import epoch_seed
from gcwsnet.training import Trainer
from gcwsnet.training._changes import Update, apply, load_arrays, n_bytes, net_arrays
from gcwsnet.training._history import Counts, Record
from gcwsnet.training._rounds import RowNumbers, in_tree, totals_of_round

SHARDS, SYNC_ROWS = 4, 8192
MOST_SHARDS, MOST_SYNC_ROWS = 4096, 1 << 24
UPDATES_OF_A_BASE = 4
"""A new base is sent when the updates since the last one have this many times its bytes."""
MOST_ROUNDS_OF_A_BASE = 64


class ClusterRounds:
    """Rounds whose pieces are learned by the workers of a cluster.

    The workers have a base, which is all weights, and the updates since then; from round to round only the next update
    travels. All tasks can be done again from what the scheduler knows, so a worker may die at any time. Which worker
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
        self._arrays = {name: value.copy() for name, value in net_arrays(trainer.net).items()}
        self._run, self._names = uuid.uuid4().hex, count()
        self._updates: list[Future] = []
        self._bytes_of_updates = 0
        self._base: Future | None = None

    def learn(
        self, pieces: Sequence[RowNumbers], rates: NDArray[np.float64], batch_size: int
    ) -> tuple[list[Counts], Record]:
        """Learn the pieces of a round, and put the weights that they make together into the net."""
        with cluster_errors(self._client):
            self._begin_base()
            weights = self._base, list(self._updates)
            with_auc = self._trainer.since_record.auc is not None
            learned = []
            for rows in pieces:
                used, places, order = self._places(rows)
                lesson = Lesson(places, order, rates, batch_size, with_auc, len(pieces) == 1)
                learned.append(self._submit(learn_piece, lesson, *weights, [self._parts[part] for part in used]))
            together = in_tree(learned, lambda pair: self._submit(add_pieces, pair))
            update = self._submit(next_update, *weights, together)
            counts = self._submit(counted, together)
            made, (counts_of_pieces, n_sent) = self._client.gather([update, counts])
        self._take(update, made)
        dense = sum(array.nbytes for array in self._arrays.values())
        return counts_of_pieces, totals_of_round(len(pieces), n_sent + n_bytes(made), dense)

    def _begin_base(self) -> None:
        """Give the workers a base if they have none, or if the updates have become more than it."""
        dense = sum(array.nbytes for array in self._arrays.values())
        few = self._bytes_of_updates <= UPDATES_OF_A_BASE * dense and len(self._updates) < MOST_ROUNDS_OF_A_BASE
        if self._base is not None and few:
            return
        if self._trainer.rows_seen == 0:
            self._base = self._submit(initial_base, self._made)
        else:
            with warnings.catch_warnings():  # of a large graph, which is the base
                warnings.filterwarnings("ignore", category=UserWarning, module="distributed")
                copies = {name: value.copy() for name, value in self._arrays.items()}
                self._base = self._submit(given_base, Base(self._made, copies))
        self._updates, self._bytes_of_updates = [], 0

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

    def _take(self, future: Future, update: Update) -> None:
        """Put an update into the net."""
        apply(update, self._arrays)
        load_arrays(self._trainer.net, self._arrays)
        self._updates.append(future)
        self._bytes_of_updates += n_bytes(update)


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
        if isinstance(error, OSError) and client.status == "running":
            raise
        raise ConnectionError(
            f"the scheduler at {address} was lost; start it again, and continue the command with --resume"
        ) from error
