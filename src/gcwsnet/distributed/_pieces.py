"""What a worker does in a round: learn a piece of the rows, add up changes, and make the next weights.

Each function is a pure function of its arguments. A thread of a worker keeps the net that it had last, which only saves
the work to make it again.
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
from gcwsnet.training._changes import Arrays, ShardChange, Update, load_arrays, merged, n_bytes, net_arrays, put_round
from gcwsnet.training._history import Counts
from gcwsnet.training._make_net import make_net


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
