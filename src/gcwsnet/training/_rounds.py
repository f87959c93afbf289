"""Training in rounds: several pieces of rows are learned apart, from the same weights, and combined."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch
from gcwsnet.training._changes import (
    Arrays,
    ShardChange,
    Update,
    combined,
    merged,
    n_bytes,
    net_arrays,
    put,
    put_round,
    shard_change,
    values_now,
)
from gcwsnet.training._history import Counts, Record
from gcwsnet.training._net import Net
from gcwsnet.training._run import Coded, Observer, Plan, Run
from gcwsnet.training._trainer import Trainer

GROWTH = 10
"""A round has at most a tenth of the rows that were learned before it, unless it has one piece."""

RowNumbers = NDArray[np.int64]
Item = TypeVar("Item")


class Round(NamedTuple):
    """The rows of each piece of a round, the learning rates of its steps, and the rows of a step."""

    pieces: list[RowNumbers]
    rates: NDArray[np.float64]
    batch_size: int

    @property
    def n_rows(self) -> int:
        """The rows of all pieces."""
        return sum(map(len, self.pieces))

    @property
    def rate(self) -> float | None:
        """The learning rate in the middle of a round of several pieces; None where nothing is combined."""
        return float(self.rates[0] + self.rates[-1]) / 2 if len(self.pieces) > 1 else None


class RoundLearned(NamedTuple):
    """A round, what is counted of each of its pieces, and what is summed up over rounds for the records."""

    round: Round
    counts: Sequence[Counts]
    totals: Record


class Rounds(Protocol):
    """How the rounds of a run are learned, in this process or by a cluster.

    Attributes
    ----------
    shards, sync_rows : int
        See `round_sizes`.
    """

    shards: int
    sync_rows: int

    def learn(self, rounds: Iterable[Round]) -> Generator[RoundLearned]:
        """Learn rounds one after the other, and yield each when the weights that it makes are in the net.

        Rounds may be taken from the iterable before earlier ones are yielded.
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
    net: Net, rows: Batch, rates: NDArray[np.float64], batch_size: int, *, alone: bool, with_auc: bool
) -> tuple[Update | ShardChange, Counts]:
    """Return what the steps on one piece make of a net, and what is counted of its rows; the net stays as it was.

    Parameters
    ----------
    net : Net
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
    assert rows.y is not None  # noqa: S101
    rates = rates[: -(-rows.n_rows // batch_size)]
    picked = net.picked_rows(rows.X)
    before = values_now(net, picked)
    try:
        losses, outputs = net.train(rows.X, rows.y, rows.weight, rates, batch_size=batch_size, n_jobs=1)
        after = values_now(net, picked)
    finally:
        put(before, net)
    change = after if alone else shard_change(before, after)
    return change, Counts.of(net.targets, outputs, rows.y, losses, with_auc)


def next_update(
    before: Arrays, momentum: Arrays, changes: Sequence[Update | ShardChange], rate: float | None
) -> Update:
    """Return the update that all pieces of a round make together: that of the only piece, or their combined changes."""
    if rate is None:
        (update,) = (one for one in changes if isinstance(one, dict))
        return update
    return combined(before, momentum, merged([one for one in changes if isinstance(one, ShardChange)]), rate)


def in_tree(items: Sequence[Item], add: Callable[[list[Any]], Item]) -> list[Item]:
    """Return one or two items that sum up to all: they are added two by two, in a tree that follows from their number.

    Examples
    --------
    >>> in_tree(["a", "b", "c", "d", "e"], lambda pair: f"({pair[0]}{pair[1]})")
    ['((ab)(cd))', 'e']
    """
    items = list(items)
    while len(items) > 2:
        pairs = [items[first : first + 2] for first in range(0, len(items), 2)]
        items = [add(pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return items


def totals_of_round(n_pieces: int, bytes_sent: int, dense_bytes: int) -> Record:
    """Return what is summed up over rounds: the bytes that were sent, and those of an exchange of all weights."""
    exchanges = n_pieces + 1 if n_pieces > 1 else 1  # the change of a single piece is the update
    return {"rounds": 1.0, "sent_bytes": float(bytes_sent), "dense_bytes": float(exchanges * dense_bytes)}


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

    def learn(self, rounds: Iterable[Round]) -> Generator[RoundLearned]:
        """Learn rounds one after the other."""
        net, momentum = self._trainer.net, self._trainer.momentum
        for one in rounds:
            pieces, rates, batch_size = one
            alone = len(pieces) == 1
            how = {"alone": alone, "with_auc": self._trainer.since_record.auc is not None}
            learned = [learn_piece(net, self._rows.take(rows), rates, batch_size, **how) for rows in pieces]
            changes: list[Any] = [change for change, _ in learned]
            arrays = net_arrays(net)
            update = next_update(arrays, momentum, in_tree(changes, merged), one.rate)
            put_round(update, net, momentum, one.rate)
            sent = n_bytes(update) + (0 if alone else sum(map(n_bytes, changes)))
            totals = totals_of_round(len(pieces), sent, sum(array.nbytes for array in arrays.values()))
            yield RoundLearned(one, [counts for _, counts in learned], totals)


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
    run.go_over_epochs(lambda number: _is_over_after(run, epochs(number), rounds))
    trainer.momentum.clear()


def _is_over_after(run: Run, batches: Iterable[RowNumbers], rounds: Rounds) -> bool:
    """Learn what is left of an epoch; True if the run is to end."""
    trainer, plan = run.trainer, run.plan
    run.average()
    with closing(rounds.learn(_rounds_left(run, batches, rounds))) as learned:
        for one, counts, totals in learned:
            before = trainer.rows_of_epoch
            for name, value in totals.items():
                trainer.totals[name] = trainer.totals.get(name, 0.0) + value
            for of_piece in counts:
                trainer.since_record.count(of_piece)
                if plan.doubling and trainer.epoch == 0:
                    trainer.first_epoch.count(of_piece)
            trainer.last_rate = float(one.rates[-1])
            run.count(one.n_rows)
            run.observer.advance(one.n_rows, sum(float(of_piece.losses.sum()) for of_piece in counts) / one.n_rows)
            run.interrupt.check()
            if run.is_over_now(before):
                return True
    return False


def _rounds_left(run: Run, batches: Iterable[RowNumbers], rounds: Rounds) -> Iterator[Round]:
    """Yield the rounds of an epoch that are left. They follow from the settings and from where the epoch stands now."""
    trainer, plan = run.trainer, run.plan
    assert plan.n_rows is not None  # noqa: S101
    first = trainer.rows_of_epoch
    of_earlier_epochs = trainer.epoch * plan.n_rows
    rows = _NextRows(batches)
    rows.drop(first)
    while first < plan.n_rows:
        done, left = of_earlier_epochs + first, plan.n_rows - first
        sizes = round_sizes(done, left, rounds.shards, rounds.sync_rows, run.batch_size)
        rates = run.rates(sizes[0], first, side_by_side=len(sizes))
        yield Round([rows.take(size) for size in sizes], rates, run.batch_size)
        first += sum(sizes)


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
