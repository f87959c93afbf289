"""What a worker does in a round: learn a piece of the rows, add up changes, and make the next weights.

Each function is a pure function of its arguments. A thread of a worker keeps the weights that it had last, which only
saves the work to make them again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch
from gcwsnet.data._batch import joined
from gcwsnet.training import Net, Targets, TrainingSettings, _rounds
from gcwsnet.training._changes import Arrays, ShardChange, Update, apply, merged, n_bytes, net_arrays
from gcwsnet.training._history import Counts
from gcwsnet.training._net import make_net


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

    def make(self, *, initialize: bool = False) -> Net:
        """Return such a net, by default with weights that are all zero."""
        return make_net(self.settings, self.targets, **self.description, initialize=initialize)


@dataclass(frozen=True, eq=False)
class Base:
    """All numbers of a net that learning goes on from. With updates they are those of later rounds."""

    made: NetMade
    arrays: Arrays


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
    """What pieces have made of a net, what is counted of their rows in the order of the pieces, and the bytes sent."""

    change: Update | ShardChange
    counts: list[Counts]
    bytes_sent: int


class _Kept(NamedTuple):
    n_updates: int
    arrays: Arrays
    net: Net


_kept: WeakKeyDictionary[Base, dict[int, _Kept]] = WeakKeyDictionary()
"""For a base, as long as the worker has it, the weights that each thread had last."""


def initial_base(made: NetMade) -> Base:
    """Return the base of a net that has learned nothing."""
    return Base(made, {name: value.copy() for name, value in net_arrays(made.make(initialize=True)).items()})


def given_base(base: Base) -> Base:
    """Return a base that is sent with its task."""
    return base


def learn_piece(lesson: Lesson, base: Base, updates: Sequence[Update], parts: list[Any]) -> Learned:
    """Return what the steps on one piece make of the weights that a base and updates give.

    The rows of `parts` are taken by their method `take`, which a batch has.
    """
    kept = _current(base, updates)
    taken = [part.take(places) for part, places in zip(parts, lesson.places, strict=True)]
    rows: Batch = joined(taken).take(lesson.order)
    how = {"alone": lesson.alone, "with_auc": lesson.with_auc}
    change, counts = _rounds.learn_piece(kept.net, kept.arrays, rows, lesson.rates, lesson.batch_size, **how)
    return Learned(change, [counts], n_bytes(change))


def add_pieces(pieces: Sequence[Learned]) -> Learned:
    """Return the changes of pieces of one round together."""
    changes = [piece.change for piece in pieces if isinstance(piece.change, ShardChange)]
    counts = [one for piece in pieces for one in piece.counts]
    return Learned(merged(changes), counts, sum(piece.bytes_sent for piece in pieces))


def next_update(base: Base, updates: Sequence[Update], all_pieces: Learned) -> Update:
    """Return the update that the pieces of a round make together."""
    return _rounds.next_update(_current(base, updates).arrays, all_pieces.change)


def counted(all_pieces: Learned) -> tuple[list[Counts], int]:
    """Return what is counted of a round."""
    return all_pieces.counts, all_pieces.bytes_sent


def _current(base: Base, updates: Sequence[Update]) -> _Kept:
    """Return the weights that a base and updates give, made of those that this thread has kept if they are older."""
    of_threads = _kept.setdefault(base, {})
    kept = of_threads.pop(threading.get_ident(), None)
    if kept is None or kept.n_updates > len(updates):
        kept = _Kept(0, {name: value.copy() for name, value in base.arrays.items()}, base.made.make())
    for update in updates[kept.n_updates :]:
        apply(update, kept.arrays)
    kept = of_threads[threading.get_ident()] = kept._replace(n_updates=len(updates))
    return kept
