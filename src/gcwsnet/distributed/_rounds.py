"""Training in rounds: shards train the same net on pieces of the rows, and their changes are combined.

`combine` is the rule, `learn_here` trains all pieces of a round in this process and is the reference for clusters, and
`train_in_rounds` is the loop over epochs and rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet._validation import check_integer
from gcwsnet.files._reader import shuffled
from gcwsnet.files._train import epoch_seed
from gcwsnet.net._history import Counts
from gcwsnet.net._net import Net
from gcwsnet.net._packed import TABLE
from gcwsnet.net._trainer import Coded, Observer, Plan, Run, Trainer
from gcwsnet.tables._batch import Batch

Arrays = dict[str, NDArray[Any]]

Floats = NDArray[np.float64]

RowNumbers = NDArray[np.int64]

OUTER_RATE, MOMENTUM = 0.7, 0.7
"""The share of the combined changes that a round applies, and the share of the last round's change that it repeats."""

WHOLE = slice(None)


class Values(NamedTuple):
    """Weights and moments of a parameter: of some rows of the table, or of a whole layer."""

    rows: RowNumbers | slice
    weights: NDArray[np.float32]
    second: NDArray[np.float32]
    first: NDArray[np.float32] | None  # only where Adam has first moments


class Update(NamedTuple):
    """The net after a round: the new values of all that the round may have changed."""

    parameters: dict[str, Values]
    n_steps: int
    rate: float | None = None  # in the middle of a round of several pieces; None if nothing was combined


class Change(NamedTuple):
    """The changes of a parameter by some shards, summed over the shards."""

    rows: RowNumbers | slice  # of the table that any of the shards has changed, ascending
    total: NDArray[np.float32]  # of the changes of weights
    squares: Any  # of the lengths of these changes: a column for the rows of the table, a number for a layer
    shards: Any  # that have changed the row, likewise
    second: Floats  # the second moments: of the table the mean of each row, as a column
    first: Floats | None


class NetChange(NamedTuple):
    """The changes of all parameters by name, and the steps that were taken."""

    parameters: dict[str, Change]
    n_steps: int


class Trained(NamedTuple):
    """The update of a whole round, or the change by some of its pieces, with the metrics of their rows."""

    change: Any
    counts: list[Counts]
    sent_bytes: int


class Sharding(NamedTuple):
    """The most pieces of a round, and the rows of each, see `round_sizes`."""

    shards: int = 4
    sync_rows: int = 8192

    def check(self) -> Sharding:
        """Return it, if both are in their ranges."""
        shards = check_integer("shards", self.shards, 1, 4096)
        return Sharding(shards, check_integer("sync_rows", self.sync_rows, 1, 1 << 24))


class Steps(NamedTuple):
    """How the pieces of a round are learned."""

    rates: Floats  # a short piece takes the first ones
    batch_size: int
    alone: bool  # a single piece, with nothing to be combined
    with_auc: bool

    @property
    def rate(self) -> float | None:
        """The learning rate in the middle of a round of several pieces."""
        return None if self.alone else float(self.rates[0] + self.rates[-1]) / 2


class Round(NamedTuple):
    """The rows of each piece of a round, and how they are learned."""

    pieces: list[RowNumbers]
    steps: Steps


def native_nets(net: Net) -> dict[str, _core.Net]:
    """Return the native nets that a net consists of, by the prefix of the names of their weights."""
    if len(net.cores) == 1:
        return {"": net.cores[0]}
    return {f"{number}.": core for number, core in enumerate(net.cores)}


def values_of(net: Net) -> dict[str, Values]:
    """Return views of all weights and moments by the names of the weights; moments are made where there are none."""
    values = {}
    for prefix, core in native_nets(net).items():
        second = core.second_moments()
        first = core.first_moments() if net.settings.betas[0] > 0 else {}
        for name, weights in core.weights().items():
            values[prefix + name] = Values(WHOLE, weights, second[name], first.get(name))
    return values


def picked_rows(net: Net, codes: NDArray[Any]) -> dict[str, RowNumbers]:
    """Return the rows of tables that steps on codes may change, ascending, by the names of the tables."""
    rows = {}
    for number, (prefix, core) in enumerate(native_nets(net).items()):
        own = codes[:, number * net.n_hashes : (number + 1) * net.n_hashes]
        is_lazy = net.settings.optimizer == "lazy"
        picked = core.rows_used(np.ascontiguousarray(own)) if is_lazy else np.arange(core.n_table_rows)
        rows[prefix + TABLE] = picked
    return rows


def read_values(net: Net, rows: dict[str, RowNumbers] | None = None) -> Update:
    """Return a copy of the values of a net, of the tables in `rows` only these rows."""
    parameters = {}
    for name, (_, weights, second, first) in values_of(net).items():
        if rows is not None and name in rows:  # whose choice is a copy
            some = rows[name]
            parameters[name] = Values(some, weights[some], second[some], None if first is None else first[some])
        else:
            parameters[name] = Values(WHOLE, weights.copy(), second.copy(), None if first is None else first.copy())
    return Update(parameters, net.n_steps)


def apply_update(update: Update, net: Net, momentum: Arrays) -> None:
    """Set the values of a net to those of an update, and the momentum to what the round has changed.

    The momentum has, by the names of weights, their last changes by rounds of several pieces, divided by the learning
    rate of the round; it is empty before the first one.
    """
    for name, old in values_of(net).items():
        new = update.parameters[name]
        if update.rate is not None:
            if name not in momentum:
                momentum[name] = np.zeros(old.weights.shape, np.float32)
            momentum[name][new.rows] = (new.weights - old.weights[new.rows]) / np.float32(update.rate)
        for view, values in zip(old[1:], new[1:], strict=True):
            if view is not None:
                view[new.rows] = values
    for core in native_nets(net).values():
        core.n_steps = update.n_steps


def change_of(before: Values, after: Values) -> Change:
    """Return the change of a parameter by one shard."""
    rows, total = after.rows, after.weights - before.weights
    squares = squared_lengths(total, rows)
    second = after.second.astype(np.float64) if isinstance(rows, slice) else _row_means(after.second)
    first = None if after.first is None else after.first.astype(np.float64)
    return Change(rows, total, squares, np.ones(squares.shape, np.int64), second, first)


def add_changes(a: Change, b: Change) -> Change:
    """Return the changes of a parameter by the shards of both."""
    if isinstance(a.rows, slice) or isinstance(b.rows, slice):
        first = None if a.first is None or b.first is None else a.first + b.first
        return Change(WHOLE, a.total + b.total, a.squares + b.squares, a.shards + b.shards, a.second + b.second, first)
    rows = np.union1d(a.rows, b.rows)
    at_a, at_b = np.searchsorted(rows, a.rows), np.searchsorted(rows, b.rows)

    def add(of_a: NDArray[Any] | None, of_b: NDArray[Any] | None) -> Any:
        if of_a is None or of_b is None:
            return None
        out = np.zeros((len(rows), of_a.shape[1]), of_a.dtype)
        out[at_a] = of_a
        out[at_b] += of_b
        return out

    return Change(rows, *map(add, a[1:], b[1:]))


def combine(old: Values, momentum: NDArray[np.float32] | None, change: Change, rate: float) -> Values:
    """Return the weights and moments of a parameter after a round of several shards.

    With d_s for the change of a row of the table by shard s, D for the sum of all d_s, r for the learning rate of the
    round, and D' and r' for what the last round has changed of the row and its rate, the weights w of a row become

        w + 0.7 min(1, sum of |d_s|^2 / |D|^2) D + 0.7 r D' / r'

    So orthogonal changes are added, as if they had been learned one after the other, and equal ones, which all shards
    have made since all had to, are averaged. A layer other than the table is treated as one row. Moments become the
    means over the shards that changed the row; of the second moments of a row of the table only the mean is known, by
    which the row is scaled. `momentum` is D' / r' of all rows, None before the first round of several shards.
    """
    rows, total = change.rows, change.total.astype(np.float64)
    length = squared_lengths(change.total, rows)
    factor = np.divide(change.squares, length, out=np.ones_like(length), where=length > change.squares)
    weights = old.weights[rows] + OUTER_RATE * factor * total
    if momentum is not None:
        weights += MOMENTUM * rate * momentum[rows].astype(np.float64)
    second = change.second / change.shards
    if not isinstance(rows, slice):
        of_row = old.second[rows]
        mean = _row_means(of_row)
        growth = np.divide(second, mean, out=np.ones_like(mean), where=mean > 0)
        second = np.where(mean > 0, of_row * growth, second)
    first = None if change.first is None else (change.first / change.shards).astype(np.float32)
    return Values(rows, weights.astype(np.float32), second.astype(np.float32), first)


def squared_lengths(change: NDArray[Any], rows: RowNumbers | slice) -> Floats:
    """Return the squared length of each row of the table as a column, or that of a layer as an array of one number."""
    squares = np.square(change.astype(np.float64))
    return row_sums(squares.reshape(1, -1))[0] if isinstance(rows, slice) else row_sums(squares)


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


def _row_means(numbers: NDArray[Any]) -> Floats:
    return row_sums(numbers.astype(np.float64)) / numbers.shape[1]


def n_bytes(sent: Update | NetChange) -> int:
    """Return the bytes of all arrays of what is sent."""
    parts = [part for one in sent.parameters.values() for part in one]
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray | np.generic))


def train_piece(net: Net, rows: Batch, steps: Steps) -> Trained:
    """Return what the steps on one piece, of codes and encoded targets, make of a net; the net stays as it was."""
    assert rows.y is not None  # noqa: S101
    rates = steps.rates[: -(-rows.n_rows // steps.batch_size)]
    picked = picked_rows(net, rows.X)
    before = read_values(net, picked)
    try:
        losses, outputs = net.train(rows.X, rows.y, rows.weight, rates, batch_size=steps.batch_size, n_jobs=1)
        after = read_values(net, picked)
    finally:
        apply_update(before, net, {})
    counts = Counts.of(net.targets, outputs, rows.y, losses, steps.with_auc)
    change: Update | NetChange = after
    if not steps.alone:
        changes = {name: change_of(values, after.parameters[name]) for name, values in before.parameters.items()}
        change = NetChange(changes, after.n_steps - before.n_steps)
    return Trained(change, [counts], n_bytes(change))


def add_pieces(pieces: Sequence[Trained]) -> Trained:
    """Return the changes of pieces together, added up in the order in which they are given."""
    total: NetChange = pieces[0].change
    for piece in pieces[1:]:
        added = {name: add_changes(one, piece.change.parameters[name]) for name, one in total.parameters.items()}
        total = NetChange(added, max(total.n_steps, piece.change.n_steps))
    counts = [one for piece in pieces for one in piece.counts]
    return Trained(total, counts, sum(piece.sent_bytes for piece in pieces))


def combine_pieces(net: Net, momentum: Arrays, pieces: Sequence[Trained], rate: float) -> Trained:
    """Return the update that several pieces make together, see `combine`; the net stays as it was."""
    change, counts, sent_bytes = add_pieces(pieces)
    old = values_of(net)
    new = {name: combine(old[name], momentum.get(name), one, rate) for name, one in change.parameters.items()}
    update = Update(new, net.n_steps + change.n_steps, rate)
    return Trained(update, counts, sent_bytes + n_bytes(update))


Item = TypeVar("Item")


def add_in_tree(items: Sequence[Item], add: Callable[[list[Item]], Item]) -> list[Item]:
    """Return one or two items that sum up to all: they are added two by two, in a tree that follows from their number.

    Examples
    --------
    >>> add_in_tree(["a", "b", "c", "d", "e"], lambda pair: f"({pair[0]}{pair[1]})")
    ['((ab)(cd))', 'e']
    """
    items = list(items)
    while len(items) > 2:
        pairs = [items[first : first + 2] for first in range(0, len(items), 2)]
        items = [add(pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return items


Learn = Callable[[Iterable[Round]], Generator[tuple[Round, Trained]]]
"""A way to learn rounds one after the other, which yields each round when its update has been applied to the net.

It may take rounds from the iterable before it has yielded earlier ones.
"""


def learn_here(trainer: Trainer, rows: Batch, rounds: Iterable[Round]) -> Generator[tuple[Round, Trained]]:
    """Learn rounds in this process, of codes and encoded targets: the reference for clusters."""
    net, momentum = trainer.net, trainer.momentum
    for one in rounds:
        pieces = [train_piece(net, rows.take(numbers), one.steps) for numbers in one.pieces]
        rate = one.steps.rate
        trained = pieces[0] if rate is None else combine_pieces(net, momentum, add_in_tree(pieces, add_pieces), rate)
        apply_update(trained.change, net, momentum)
        yield one, trained


def round_sizes(rows_done: int, rows_left: int, shards: int, sync_rows: int, batch_size: int) -> list[int]:
    """Return the number of rows of each piece of the next round.

    Pieces have `sync_rows` rows, rounded up to whole steps. The first rounds have one piece. Later ones have more and
    more, up to `shards`: a round has at most a tenth of the rows that were learned before it, since weights that are
    far from good change fast, and pieces do not know of each other. The last round of an epoch has the rows that are
    left, in pieces of about the same size.

    Examples
    --------
    >>> round_sizes(0, 100_000, 8, 1000, 32)
    [1024]
    >>> round_sizes(40_960, 59_040, 8, 1000, 32)
    [1024, 1024, 1024, 1024]
    """
    piece = -(-sync_rows // batch_size) * batch_size
    n_pieces = max(1, min(shards, rows_done // (10 * piece)))
    if rows_left < n_pieces * piece:
        piece = -(-rows_left // (n_pieces * batch_size)) * batch_size
    return [min(piece, rows_left - first) for first in range(0, min(n_pieces * piece, rows_left), piece)]


def row_order(n_rows: int, buffer_rows: int, seed: int, epoch: int) -> Iterator[RowNumbers]:
    """Yield the numbers of the rows of an epoch in the order of `gcwsnet train`: shuffled in a buffer of some rows."""
    step = max(buffer_rows, 1 << 16)
    batches = (Batch(np.arange(first, min(first + step, n_rows)).reshape(-1, 1)) for first in range(0, n_rows, step))
    for batch in shuffled(batches, buffer_rows, epoch_seed(seed, epoch)) if buffer_rows else batches:
        yield batch.X[:, 0]


def train_in_rounds(
    trainer: Trainer,
    plan: Plan,
    epochs: Callable[[int], Iterable[RowNumbers]],
    learn: Learn,
    sharding: Sharding,
    held_out: Sequence[Callable[[], Coded]] = (),
    observer: Observer | None = None,
    *,
    n_jobs: int = 1,
) -> None:
    """Train as `Trainer.run` does, in rounds of pieces that are learned apart and then combined.

    `epochs` gives the numbers of the rows of an epoch in their order. With one shard the weights are those of
    `Trainer.run`, bit for bit. Records and checkpoints are made between rounds.
    """
    run = Run(trainer, plan, held_out, observer, n_jobs)
    dense_bytes = n_bytes(Update(values_of(trainer.net), 0))
    with run.interrupt:
        for number in run.epochs_left():
            run.average()
            with closing(learn(_rounds_left(run, epochs(number), sharding))) as learned:
                for one, trained in learned:
                    _finish_round(run, one, trained, dense_bytes)
                    if run.is_over:
                        break
    run.finish()
    trainer.momentum.clear()


def _rounds_left(run: Run, batches: Iterable[RowNumbers], sharding: Sharding) -> Iterator[Round]:
    """Yield the rounds of an epoch that are left. They follow from the settings and from where the epoch stands now."""
    trainer, n_rows = run.trainer, run.plan.n_rows
    assert n_rows is not None  # noqa: S101
    first, batch_size = trainer.rows_of_epoch, run.batch_size
    of_earlier_epochs = trainer.epoch * n_rows
    rows = _NextRows(batches)
    rows.skip(first)
    while first < n_rows:
        sizes = round_sizes(of_earlier_epochs + first, n_rows - first, *sharding, batch_size)
        rates = run.rates(sizes[0], first, side_by_side=len(sizes))
        steps = Steps(rates, batch_size, alone=len(sizes) == 1, with_auc=trainer.since_record.auc is not None)
        yield Round([rows.take(size) for size in sizes], steps)
        first += sum(sizes)


def _finish_round(run: Run, one: Round, trained: Trained, dense_bytes: int) -> None:
    """Count the rows and bytes of a round, and make the record and the checkpoint that are due."""
    trainer, before = run.trainer, run.trainer.rows_of_epoch
    exchanges = 1 if one.steps.alone else len(one.pieces) + 1  # the change of a single piece is the update
    sums = {"rounds": 1, "sent_bytes": trained.sent_bytes, "dense_bytes": exchanges * dense_bytes}
    for name, value in sums.items():
        trainer.totals[name] = trainer.totals.get(name, 0.0) + float(value)
    for counts in trained.counts:
        trainer.since_record.count(counts)
        if run.plan.doubling and trainer.epoch == 0:
            trainer.first_epoch.count(counts)
    n_rows = sum(map(len, one.pieces))
    trainer.last_rate = float(one.steps.rates[-1])
    trainer.count(n_rows)
    run.observer.advance(n_rows, sum(float(counts.losses.sum()) for counts in trained.counts) / n_rows)
    run.make_due(before)


class _NextRows:
    """A reader of row numbers that come in batches of any size."""

    def __init__(self, batches: Iterable[RowNumbers]) -> None:
        self._batches, self._waiting = iter(batches), np.empty(0, np.int64)

    def take(self, n: int) -> RowNumbers:
        """Return the next n numbers."""
        while len(self._waiting) < n:
            self._waiting = np.concatenate([self._waiting, next(self._batches)])
        taken, self._waiting = np.split(self._waiting, [n])
        return taken

    def skip(self, n: int) -> None:
        """Pass over the next n numbers, in memory that does not grow with n."""
        while n > 0:
            n -= len(self.take(min(n, 1 << 16)))
