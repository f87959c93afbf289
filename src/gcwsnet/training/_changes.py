"""The changes of one net by shards that learned apart: what of them travels, and the net that they make together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.training._net import TABLE, Net

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
