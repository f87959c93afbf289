"""Weights of a net averaged over the last half of a stream, or somewhat more, without knowing where it ends."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch

from gcwsnet.nn import GCWSNet

STEP = 1 / 32
"""Weights are taken into the means whenever the rows seen have grown by this share."""


@dataclass
class Mean:
    """The mean of a net's weights over a part of a stream.

    Attributes
    ----------
    net : GCWSNet
        A net with the mean weights.
    rows : int
        The rows that the mean is taken over.
    start : int
        The rows that had been seen before them.
    """

    net: GCWSNet
    rows: int
    start: int

    def add(self, net: GCWSNet, rows: int) -> None:
        """Take the present weights into the mean, with the weight of this many rows."""
        self.rows += rows
        with torch.no_grad():
            for mean, now in zip(self.net.parameters(), net.parameters(), strict=True):
                mean.lerp_(now, rows / self.rows)


class Averages:
    """Two means. When the second covers half of the stream, it becomes the first, and a new second one begins.

    So the first one always covers the last half to three quarters of what has been seen. Weights are taken at moments
    further and further apart: averaging takes next to no time of a long stream.

    Parameters
    ----------
    net : GCWSNet
        The net when the averaging begins.
    rows_seen : int
        The rows seen by then. The weights that they gave count as the mean over their second half.

    Attributes
    ----------
    older, newer : Mean
        The net of `older` is the one to predict with.
    """

    def __init__(self, net: GCWSNet, rows_seen: int) -> None:
        self.older = Mean(copy.deepcopy(net), rows_seen - rows_seen // 2, rows_seen // 2)
        self.newer = Mean(copy.deepcopy(net), 0, rows_seen)

    @property
    def last(self) -> int:
        """The rows seen when weights were last taken into the means."""
        return self.newer.start + self.newer.rows

    def note(self, rows_seen: int, net: GCWSNet) -> None:
        """Take the weights in if it is time; to be called after each step."""
        if rows_seen < (1 + STEP) * self.last:
            return
        rows = rows_seen - self.last
        self.older.add(net, rows)
        self.newer.add(net, rows)
        if rows_seen >= 2 * self.newer.start:
            self.older = self.newer
            self.newer = Mean(copy.deepcopy(net), 0, rows_seen)
