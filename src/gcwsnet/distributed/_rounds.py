"""The changes of one net by shards that learned apart: what of them travels, and the net that they make together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet.net._history import Counts, Record
from gcwsnet.net._net import TABLE, Net
from gcwsnet.net._trainer import Coded, Observer, Plan, Run, Trainer
from gcwsnet.tables._batch import Batch

Arrays = dict[str, NDArray[Any]]

Floats = NDArray[np.float64]

WEIGHTS, SECOND, FIRST = "weights.", "second_moments.", "first_moments."

STEPS = "n_steps"

OUTER_RATE, MOMENTUM = 0.7, 0.7

"""The share of the combined changes of shards that a round makes, and that of what the last round made."""


class NewRows(NamedTuple):
    """The new values of some rows of an array, or of all of it where `rows` is None."""

    rows: NDArray[np.int64] | None
    values: NDArray[Any]


Update = dict[str, NewRows]

"""What has to be put into the arrays of a net, by name, so that they are those of the next round."""


class Change(NamedTuple):
    """What shards have made of one parameter, summed over the shards. Sums of changes are changes.

    Attributes
    ----------
    rows : int64 array of shape (m,) or None
        The rows that any of the shards has changed, ascending; None for a parameter that is not the table.
    total : float32 array of shape (m, H)
        The sum of the changes of weights.
    squares : float64 array of shape (m, 1)
        The sum of the squared lengths of these changes, row by row; of all of a parameter that is not the table.
    shards : int64 array of shape (m, 1)
        How many shards have changed the row.
    second : float64 array of shape (m, 1)
        The sum of the shards' second moments, each the mean of its row. Of a parameter that is not the table, the
        sum of the second moments themselves.
    first : float64 array of shape (m, H) or None
        The sum of the shards' first moments, where Adam has them.
    """

    rows: NDArray[np.int64] | None
    total: NDArray[np.float32]
    squares: Floats
    shards: NDArray[np.int64]
    second: Floats
    first: Floats | None


class ShardChange(NamedTuple):
    """The changes of all parameters by name, and the steps that were taken."""

    parameters: dict[str, Change]
    n_steps: int


def net_arrays(net: Net) -> Arrays:
    """Return all numbers that learning goes on from: views of weights and moments, and the number of steps."""
    net.make_moments()
    return {f"{WEIGHTS}{name}": value for name, value in net.weights().items()} | net.optimizer_state()


def load_arrays(net: Net, arrays: Arrays) -> None:
    """Put what `net_arrays` returned into a net of the same shape."""
    weights = {name.removeprefix(WEIGHTS): value for name, value in arrays.items() if name.startswith(WEIGHTS)}
    net.load(weights, {name: value for name, value in arrays.items() if not name.startswith(WEIGHTS)})


def values_now(net: Net, rows: Arrays) -> Update:
    """Return what a net is now, as an update: of its tables the given rows, and all of its other arrays.

    Parameters
    ----------
    net : Net
    rows : dict of int64 arrays
        What `Net.picked_rows` returns.
    """
    arrays = net_arrays(net)
    update = {name: NewRows(None, value.copy()) for name, value in arrays.items() if not name.endswith(TABLE)}
    for table, some in rows.items():
        paths = (WEIGHTS + table, _path(SECOND, table), _path(FIRST, table))
        update |= {path: NewRows(some, arrays[path][some]) for path in paths if path in arrays}
    return update


def put(update: Update, net: Net) -> None:
    """Put an update into a net."""
    arrays = net_arrays(net)
    for name, new in update.items():
        if name.endswith(STEPS):
            net.set_n_steps(int(new.values[0]))
        else:
            arrays[name][slice(None) if new.rows is None else new.rows] = new.values


def put_round(update: Update, net: Net, momentum: Arrays, rate: float | None) -> None:
    """Put what a round makes of a net into it, and what it changes into the momentum.

    Parameters
    ----------
    update : dict of NewRows
    net : Net
    momentum : dict of arrays
        By the names of weights, their last changes by rounds of several pieces, divided by the learning rate of the
        round; empty before the first one.
    rate : float or None
        See `Round.rate`. With None the momentum stays as it is.
    """
    if rate is not None:
        weights = net.weights()
        if not momentum:
            momentum |= {name: np.zeros_like(value) for name, value in weights.items()}
        for name, last in momentum.items():
            rows, values = update[WEIGHTS + name]
            some = slice(None) if rows is None else rows
            last[some] = (values - weights[name][some]) / np.float32(rate)
    put(update, net)


def shard_change(before: Update, after: Update) -> ShardChange:
    """Return what one of several shards has made of a net, from the values of what it may have changed."""
    changes = {}
    for name in (name.removeprefix(WEIGHTS) for name in before if name.startswith(WEIGHTS)):
        rows, new = after[WEIGHTS + name]
        second, first = after[_path(SECOND, name)].values, after.get(_path(FIRST, name))
        total = new - before[WEIGHTS + name].values
        changes[name] = Change(
            rows,
            total,
            row_sums(_squared(total)) if rows is not None else _sum(_squared(total)),
            np.ones((len(total) if rows is not None else 1, 1), np.int64),
            _row_means(second) if rows is not None else second.astype(np.float64),
            None if first is None else first.values.astype(np.float64),
        )
    return ShardChange(changes, _steps(after) - _steps(before))


def merged(changes: Iterable[ShardChange]) -> ShardChange:
    """Return the changes of several shards together, added up in the order in which they are given."""
    first, *others = changes
    parameters = dict(first.parameters)
    for other in others:
        parameters = {name: _merged(parameters[name], other.parameters[name]) for name in parameters}
    return ShardChange(parameters, max(first.n_steps, *(one.n_steps for one in others)) if others else first.n_steps)


def _merged(a: Change, b: Change) -> Change:
    if a.rows is None or b.rows is None:
        first = None if a.first is None or b.first is None else a.first + b.first
        return Change(None, a.total + b.total, a.squares + b.squares, a.shards + b.shards, a.second + b.second, first)
    rows = np.union1d(a.rows, b.rows)
    at_a, at_b = np.searchsorted(rows, a.rows), np.searchsorted(rows, b.rows)

    def together(of_a: NDArray[Any], of_b: NDArray[Any]) -> Any:
        out = np.zeros((len(rows), of_a.shape[1]), of_a.dtype)
        out[at_a] = of_a
        out[at_b] += of_b
        return out

    first = None if a.first is None or b.first is None else together(a.first, b.first)
    sums = {name: together(getattr(a, name), getattr(b, name)) for name in ("total", "squares", "shards", "second")}
    return Change(rows, **sums, first=first)


def combined(before: Arrays, momentum: Arrays, change: ShardChange, rate: float) -> Update:
    """Return what the changes of several shards make of a net whose arrays were `before`.

    The sum of the changes of a table row is multiplied by min(1, sum of |d|^2 / |sum of d|^2), where d is the change
    by one shard. Changes that are orthogonal are added, as if they had been learned one after the other. Changes that
    are the same, which all shards have made since all had to, become their mean. For a layer other than the table the
    same is done with the layer as one vector. Of this a row gets 0.7, and 0.7 of what the last round that changed it
    has made of it, at the learning rate of this one. Second moments become the mean of the shards that changed the row:
    a row of the table is multiplied by the number that its mean grows by.

    Parameters
    ----------
    before : dict of arrays
        See `net_arrays`.
    momentum : dict of arrays
        See `put_round`.
    change : ShardChange
    rate : float
        See `Round.rate`.
    """
    update: Update = {}
    for name, one in change.parameters.items():
        rows = slice(None) if one.rows is None else one.rows
        old, second = before[WEIGHTS + name][rows], before[_path(SECOND, name)][rows]
        length = row_sums(_squared(one.total)) if one.rows is not None else _sum(_squared(one.total))
        factor = np.divide(one.squares, length, out=np.ones_like(length), where=length > one.squares)
        if one.total.ndim == 1:
            factor = factor[0]
        new = old + OUTER_RATE * factor * one.total.astype(np.float64)
        if momentum:
            new += MOMENTUM * rate * momentum[name][rows].astype(np.float64)
        update[WEIGHTS + name] = NewRows(one.rows, new.astype(np.float32))
        moments = one.second / (one.shards if one.rows is not None else one.shards[0, 0])
        if one.rows is not None:
            mean = _row_means(second)
            grown = np.divide(moments, mean, out=np.ones_like(mean), where=mean > 0)
            moments = np.where(mean > 0, second * grown, moments)
        update[_path(SECOND, name)] = NewRows(one.rows, moments.astype(np.float32))
        if one.first is not None:
            means = one.first / (one.shards if one.rows is not None else one.shards[0, 0])
            update[_path(FIRST, name)] = NewRows(one.rows, means.astype(np.float32))
    for name in (name for name in before if name.endswith(STEPS)):
        update[name] = NewRows(None, before[name] + change.n_steps)
    return update


def n_bytes(sent: Update | ShardChange) -> int:
    """Return the bytes of all arrays of what is sent."""
    parts = sent.parameters.values() if isinstance(sent, ShardChange) else sent.values()
    return sum(array.nbytes for part in parts for array in part if array is not None)


def row_sums(numbers: Floats) -> Floats:
    """Return the sums of rows as a column, in an order that is the same on every machine: halves are added.

    Examples
    --------
    >>> row_sums(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).tolist()
    [[6.0], [15.0]]
    """
    while numbers.shape[1] > 1:
        half = numbers.shape[1] // 2
        pairs = numbers[:, :half] + numbers[:, half : 2 * half]
        numbers = np.concatenate([pairs, numbers[:, 2 * half :]], axis=1)
    return numbers


def _sum(numbers: Floats) -> Floats:
    return row_sums(numbers.reshape(1, -1))


def _squared(numbers: NDArray[Any]) -> Floats:
    exact = numbers.astype(np.float64)
    return exact * exact


def _row_means(numbers: NDArray[Any]) -> Floats:
    return row_sums(numbers.astype(np.float64)) / numbers.shape[1]


def _path(kind: str, name: str) -> str:
    """Return the name of a parameter's moments: in an ensemble the number of the net stands in front."""
    number, dot, rest = name.partition(".")
    return f"{number}.{kind}{rest}" if dot and number.isdigit() else f"{kind}{name}"


def _steps(values: Update) -> int:
    return max(int(new.values[0]) for name, new in values.items() if name.endswith(STEPS))


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
