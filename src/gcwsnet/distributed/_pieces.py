"""What a worker does in a round: learn a piece of the rows, add up changes, and make the next weights.

Each function is a pure function of its arguments. A worker keeps the weights that it had last, and only saves the work
to make them again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch
from gcwsnet.data._batch import joined
from gcwsnet.training import Net, Targets, TrainingSettings, _rounds
from gcwsnet.training._changes import Arrays, ShardChange, Update, apply, merged, n_bytes, net_arrays
from gcwsnet.training._history import Counts
from gcwsnet.training._net import make_net

MOST_KEPT = 8
"""Weights that a process keeps: one for each thread of it and each run, the latest ones."""


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


class Version(NamedTuple):
    """Weights of a run: those of a base, with updates.

    Attributes
    ----------
    run : str
        A name that no other run has.
    number : int
        The rounds that made the base.
    """

    run: str
    number: int


@dataclass(frozen=True)
class Lesson:
    """How a piece is learned.

    Attributes
    ----------
    made : NetMade
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

    made: NetMade
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
    version: int
    arrays: Arrays
    net: Net


_kept: dict[tuple[str, int], _Kept] = {}


def initial_arrays(made: NetMade) -> Arrays:
    """Return the arrays of a net that has learned nothing."""
    return {name: value.copy() for name, value in net_arrays(made.make(initialize=True)).items()}


def learn_piece(lesson: Lesson, version: Version, base: Arrays, updates: Sequence[Update], parts: list[Any]) -> Learned:
    """Return what the steps on one piece make of the weights of a version.

    Parameters
    ----------
    lesson : Lesson
    version, base, updates
        The weights to begin with.
    parts : list
        Objects with a method `take` that returns rows by their numbers, such as batches.
    """
    kept = _current(lesson.made, version, base, updates)
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


def next_update(
    made: NetMade, version: Version, base: Arrays, updates: Sequence[Update], all_pieces: Learned
) -> Update:
    """Return the update that the pieces of a round make together."""
    return _rounds.next_update(_current(made, version, base, updates).arrays, all_pieces.change)


def counted(all_pieces: Learned) -> tuple[list[Counts], int]:
    """Return what is counted of a round."""
    return all_pieces.counts, all_pieces.bytes_sent


def forget(run: str) -> None:
    """Drop the weights of a run that this process has kept."""
    for key in [key for key in list(_kept) if key[0] == run]:
        _kept.pop(key, None)


def _current(made: NetMade, version: Version, base: Arrays, updates: Sequence[Update]) -> _Kept:
    """Return the weights of a version, made of those that this thread has kept if they are not newer."""
    key = version.run, threading.get_ident()
    kept = _kept.pop(key, None)
    if kept is None or not version.number <= kept.version <= version.number + len(updates):
        arrays = {name: value.copy() for name, value in base.items()}
        kept = _Kept(version.number, arrays, made.make() if kept is None else kept.net)
    for update in updates[kept.version - version.number :]:
        apply(update, kept.arrays)
    _kept[key] = kept = kept._replace(version=version.number + len(updates))
    while len(_kept) > MOST_KEPT:
        _kept.pop(next(iter(_kept)), None)
    return kept
