"""Training in rounds: several pieces of rows are learned apart, from the same weights, and combined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch
from gcwsnet.training._changes import (
    Arrays,
    ShardChange,
    Update,
    apply,
    combined,
    load_arrays,
    merged,
    n_bytes,
    net_arrays,
    shard_change,
    whole_update,
)
from gcwsnet.training._history import Counts, Record
from gcwsnet.training._net import Net
from gcwsnet.training._trainer import Coded, Observer, Plan, Run, Trainer

GROWTH = 10
"""A round has at most a tenth of the rows that were learned before it, unless it has one piece."""

RowNumbers = NDArray[np.int64]
Item = TypeVar("Item")


class Rounds(Protocol):
    """How the rounds of a run are learned, in this process or by a cluster.

    Attributes
    ----------
    shards, sync_rows : int
        See `round_sizes`.
    """

    shards: int
    sync_rows: int

    def learn(
        self, pieces: Sequence[RowNumbers], rates: NDArray[np.float64], batch_size: int
    ) -> tuple[Sequence[Counts], Record]:
        """Learn the pieces of a round, and put the weights that they make together into the net.

        Returns
        -------
        counts : sequence of Counts
            Of each piece.
        totals : dict
            What is to be summed up over the rounds and noted in the records.
        """
        ...


def round_sizes(rows_done: int, rows_left: int, shards: int, sync_rows: int, batch_size: int) -> list[int]:
    """Return the rows of each piece of the next round.

    Pieces have `sync_rows` rows, rounded up to whole steps. At first there is one. With more and more rows behind it,
    a round has more and more pieces, up to `shards`: it never has more than a tenth of the rows that were learned
    before it, since pieces do not know of each other, and weights that are far from good change fast. The last round
    has what is left in pieces of about the same size.

    Parameters
    ----------
    rows_done : int
        The rows of the run that have been learned.
    rows_left : int
        The rows of the epoch that have not.
    shards, sync_rows : int
    batch_size : int
        The rows of a step.

    Examples
    --------
    >>> round_sizes(0, 100_000, 8, 1000, 32)
    [1024]
    >>> round_sizes(40_960, 59_040, 8, 1000, 32)
    [1024, 1024, 1024, 1024]
    >>> round_sizes(98_000, 2000, 8, 1000, 32)
    [256, 256, 256, 256, 256, 256, 256, 208]
    """
    of_a_piece = -(-sync_rows // batch_size) * batch_size
    pieces = max(1, min(shards, rows_done // (GROWTH * of_a_piece)))
    if rows_left < pieces * of_a_piece:
        of_a_piece = -(-rows_left // (pieces * batch_size)) * batch_size
    return [min(of_a_piece, rows_left - first) for first in range(0, min(pieces * of_a_piece, rows_left), of_a_piece)]


def learn_piece(
    net: Net, before: Arrays, rows: Batch, rates: NDArray[np.float64], batch_size: int, *, alone: bool, with_auc: bool
) -> tuple[Update | ShardChange, Counts]:
    """Return what the steps on one piece make of a net, and what is counted of its rows.

    Parameters
    ----------
    net : Net
        A net of the right shape. It gets the arrays `before` first.
    before : dict of arrays
        What all pieces of the round begin with.
    rows : Batch
        Codes and encoded targets, in their order.
    rates : float64 array
        Of the steps; a short piece takes the first ones.
    batch_size : int
    alone : bool
        Whether the round has no other piece, so that nothing has to be combined.
    with_auc : bool
    """
    load_arrays(net, before)
    assert rows.y is not None  # noqa: S101
    rates = rates[: -(-rows.n_rows // batch_size)]
    losses, outputs = net.train(rows.X, rows.y, rows.weight, rates, batch_size=batch_size, n_jobs=1)
    change = (whole_update if alone else shard_change)(before, net_arrays(net))
    return change, Counts.of(net.targets, outputs, rows.y, losses, with_auc)


def next_update(before: Arrays, change: Update | ShardChange) -> Update:
    """Return the update that all pieces of a round make together."""
    return combined(before, change) if isinstance(change, ShardChange) else change


def in_tree(items: Sequence[Item], add: Callable[[list[Item]], Item]) -> Item:
    """Return the sum of items, added up two by two in a tree whose shape follows from their number.

    Examples
    --------
    >>> in_tree(["a", "b", "c", "d", "e"], lambda pair: f"({pair[0]}{pair[1]})")
    '(((ab)(cd))e)'
    """
    items = list(items)
    while len(items) > 1:
        pairs = [items[first : first + 2] for first in range(0, len(items), 2)]
        items = [add(pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return items[0]


def totals_of_round(n_pieces: int, bytes_sent: int, dense_bytes: int) -> Record:
    """Return what is summed up over rounds: the bytes that were sent, and those of an exchange of all weights."""
    return {"rounds": 1.0, "sent_bytes": float(bytes_sent), "dense_bytes": float((n_pieces + 1) * dense_bytes)}


class RoundsHere:
    """Rounds whose pieces are learned one after the other, by this process: the judge of those on a cluster.

    Parameters
    ----------
    trainer : Trainer
    rows : Batch
        Codes and encoded targets of all rows.
    shards, sync_rows : int
        See `round_sizes`.
    """

    def __init__(self, trainer: Trainer, rows: Batch, *, shards: int, sync_rows: int) -> None:
        self.shards, self.sync_rows = shards, sync_rows
        self._trainer, self._rows = trainer, rows

    def learn(
        self, pieces: Sequence[RowNumbers], rates: NDArray[np.float64], batch_size: int
    ) -> tuple[list[Counts], Record]:
        """Learn the pieces of a round."""
        net, metrics = self._trainer.net, self._trainer.since_record
        before = {name: value.copy() for name, value in net_arrays(net).items()}
        how = {"alone": len(pieces) == 1, "with_auc": metrics.auc is not None}
        learned = [learn_piece(net, before, self._rows.take(rows), rates, batch_size, **how) for rows in pieces]
        changes: list[Any] = [change for change, _ in learned]
        update = next_update(before, in_tree(changes, merged))
        apply(update, before)
        load_arrays(net, before)
        sent = sum(map(n_bytes, [*changes, update]))
        dense = sum(array.nbytes for array in before.values())
        return [counts for _, counts in learned], totals_of_round(len(pieces), sent, dense)


def run_in_rounds(
    trainer: Trainer,
    plan: Plan,
    epochs: Callable[[int], Iterable[RowNumbers]],
    rounds: Rounds,
    held_out: Sequence[Callable[[], Coded]] = (),
    observer: Observer | None = None,
    *,
    n_jobs: int = 1,
) -> None:
    """Learn as `Trainer.run` does, in rounds of pieces that are learned apart and then combined.

    Rows come in the same order. With one shard the weights are those of `Trainer.run`, bit for bit.

    Parameters
    ----------
    trainer : Trainer
    plan : Plan
        Its rows must be known.
    epochs : callable
        From the number of an epoch, counted over all runs, to the numbers of its rows in their order.
    rounds : Rounds
    held_out, observer
        See `Trainer.run`. Records and checkpoints are made between rounds.
    n_jobs : int, default=1
        Threads, to predict held-out rows.
    """
    run = Run(trainer, plan, held_out, observer, n_jobs)
    trainer.go_over_epochs(run, lambda number: _is_over_after(run, epochs(number), rounds))


def _is_over_after(run: Run, batches: Iterable[RowNumbers], rounds: Rounds) -> bool:
    """Learn what is left of an epoch; True if the run is to end."""
    trainer, plan = run.trainer, run.plan
    assert plan.n_rows is not None  # noqa: S101
    rows = _NextRows(batches)
    rows.drop(trainer.rows_of_epoch)
    run.average()
    while (left := plan.n_rows - trainer.rows_of_epoch) > 0:
        before = trainer.rows_of_epoch
        done = trainer.epoch * plan.n_rows + before
        sizes = round_sizes(done, left, rounds.shards, rounds.sync_rows, run.batch_size)
        rates = run.rates(sizes[0], side_by_side=len(sizes))
        counts, totals = rounds.learn([rows.take(size) for size in sizes], rates, run.batch_size)
        for name, value in totals.items():
            trainer.totals[name] = trainer.totals.get(name, 0.0) + value
        for one in counts:
            trainer.since_record.count(one)
            if plan.doubling and trainer.epoch == 0:
                trainer.first_epoch.count(one)
        run.last_rate = float(rates[-1])
        run.count(sum(sizes))
        run.observer.advance(sum(sizes), sum(float(one.losses.sum()) for one in counts) / sum(sizes))
        run.interrupt.check()
        if run.is_over_now(before):
            return True
    return False


class _NextRows:
    """The next ones of row numbers that come in batches of any size."""

    def __init__(self, batches: Iterable[RowNumbers]) -> None:
        self._batches, self._waiting = iter(batches), np.empty(0, np.int64)

    def take(self, n: int) -> RowNumbers:
        """Return the next n numbers; fewer at the end."""
        parts, missing = [self._waiting], n - len(self._waiting)
        while missing > 0 and (batch := next(self._batches, None)) is not None:
            parts.append(batch)
            missing -= len(batch)
        together = np.concatenate(parts)
        self._waiting = together[n:]
        return together[:n]

    def drop(self, n: int) -> None:
        """Pass over the next n numbers, in memory that does not grow with n."""
        while n > 0:
            taken = len(self.take(min(n, 1 << 20)))
            n = n - taken if taken else 0
