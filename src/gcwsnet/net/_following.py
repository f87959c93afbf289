"""How a stream is followed: which weights predict, when the stream has changed, and how fast is learned after that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.net._net import AVERAGE, LAST, MAX_LOSS, RECENT, Net

PIECE_ROWS, SCORED_ROWS = 256, 32

"""Rows are learned in pieces of at most 256; of each piece at most 32 rows are predicted before it is learned."""

COMPARED_SINGLE_ROWS = 4

"""Of rows that come one by one, one in 4 is predicted before it is learned, and counts 4 times."""

MEMORY_OF_SCORES = 500

"""Predicted rows after which a loss counts by a factor of e less when weights are compared."""

MEMORY_OF_TEST = 2000

"""The same for the mean loss and its deviation in the drift test."""

LEAST_ROWS_OF_TEST = 100

ALLOWANCE, ALARM, LARGEST = 0.25, 50.0, 4.0

"""Of the drift test, in standard deviations of a row's loss: the allowance, the alarm, and the most of one row."""

RATE_AFTER_CHANGE, ROWS_OF_HIGH_RATE = 2.0, 1000

MOST_EVENTS = 1000

Event = dict[str, Any]

Floats = NDArray[np.float64]


def kept(memory: int, n: int) -> float:
    """Return (1 - 1 / memory) ** n by multiplications alone, which are the same on every machine.

    Examples
    --------
    >>> kept(2, 3)
    0.125
    """
    share = 1.0
    for _ in range(n):
        share *= 1 - 1 / memory
    return share


@dataclass
class DriftTest:
    """Page's cumulative sum test (1954) of losses that rise: the test that is also named after Page and Hinkley.

    A loss is compared with the mean of the losses before it, in their standard deviations; at most 4 of them count.
    What is above an allowance of 0.25 is summed up; the sum does not fall below 0. The stream has changed when it is
    above 50: losses that rise by s deviations are noticed after about 50 / (s - 0.25) rows.

    Attributes
    ----------
    rows : int
        Rows since the last change.
    weight, mean, square : float
        The sum of the forgotten weights of losses, their mean, and the mean of their squares.
    total : float
        The cumulative sum.
    """

    rows: int = 0
    weight: float = 0.0
    mean: float = 0.0
    square: float = 0.0
    total: float = 0.0

    def add(self, losses: Sequence[float]) -> bool:
        """Take note of losses in their order; True if they say that the stream has changed."""
        for loss in losses:
            if self.rows >= LEAST_ROWS_OF_TEST:
                deviation = math.sqrt(max(self.square - self.mean * self.mean, 1e-12))
                above = min((loss - self.mean) / deviation, LARGEST)
                self.total = max(0.0, self.total + above - ALLOWANCE)
            self.rows += 1
            self.weight = self.weight * (1 - 1 / MEMORY_OF_TEST) + 1
            self.mean += (loss - self.mean) / self.weight
            self.square += (loss * loss - self.square) / self.weight
        return self.total > ALARM


@dataclass
class Following:
    """What is known about a stream while it is followed.

    Attributes
    ----------
    scores : dict
        For the weights that may predict, the sum of their losses on rows that were not learned yet, older ones less.
    test : DriftTest
        Of the losses of the weights that predicted.
    changed_at : int or None
        The rows seen at the last change.
    events : list of dict
        What happened, the latest 1,000: "rows" seen, "event" and more about it.
    """

    scores: dict[str, float] = field(default_factory=dict)
    test: DriftTest = field(default_factory=DriftTest)
    changed_at: int | None = None
    events: list[Event] = field(default_factory=list)

    def begin(self, net: Net, rows_seen: int) -> None:
        """Average the weights of a net, if its settings say so, and compare what may predict."""
        if net.settings.average and not net.is_averaging:
            net.start_averaging(rows_seen, recent=True)
            net.predicts_with = LAST
        names = (LAST, RECENT, AVERAGE) if net.is_averaging else (LAST,)
        if tuple(self.scores) != names:
            self.scores = dict.fromkeys(names, 0.0)

    def look_at(
        self, net: Net, codes: NDArray[Any], target: NDArray[Any], rows_seen: int, n_jobs: int
    ) -> tuple[NDArray[np.float32], list[float], Event | None]:
        """Predict rows before they are learned, and let the best weights predict from here on.

        Returns
        -------
        outputs : array of shape (n, n_outputs)
            By the weights that predicted so far.
        losses : list of float
            Of each row.
        event : dict or None
            The event, if the stream has changed.
        """
        names = [*self.scores]
        number = names.index(net.predicts_with)
        outputs, losses = net.scored(codes, target, names, n_jobs=n_jobs)
        single = len(codes) == 1
        times = COMPARED_SINGLE_ROWS if single else 1
        share = kept(MEMORY_OF_SCORES, times * len(codes))
        for name, of_rows in zip(names, losses, strict=True):
            self.scores[name] = self.scores[name] * share + times * sum(of_rows)
        net.predicts_with = min(self.scores, key=self.scores.__getitem__)
        event = None if single else self._tested(net, losses[number], rows_seen)
        return outputs[number], losses[number], event

    def is_compared(self, rows_seen: int) -> bool:
        """Return whether a row that comes alone is predicted before it is learned."""
        return rows_seen % COMPARED_SINGLE_ROWS == 0

    def take_loss(self, net: Net, loss: float, rows_seen: int) -> Event | None:
        """Take note of the loss of a row that came alone, by the last weights before its step; return an event.

        That loss is computed for the step anyway, so that the test sees every row.
        """
        return self._tested(net, [min(loss, MAX_LOSS)], rows_seen)

    def _tested(self, net: Net, losses: list[float], rows_seen: int) -> Event | None:
        before = self.test.mean
        if not self.test.add(losses):
            return None
        event = self.note("drift", rows_seen, loss_before=before, loss=sum(losses) / len(losses))
        self.restart(net, rows_seen)
        return event

    def restart(self, net: Net, rows_seen: int) -> None:
        """Begin again to average, to compare and to test: what was is over."""
        self.test, self.changed_at = DriftTest(), rows_seen
        self.scores = dict.fromkeys(self.scores, 0.0)
        if net.is_averaging:
            net.start_averaging(rows_seen, from_now=True)
        net.predicts_with = LAST

    def note(self, event: str, rows_seen: int, **more: Any) -> Event:
        """Add an event and return it."""
        made = {"rows": rows_seen, "event": event, **more}
        self.events.append(made)
        del self.events[:-MOST_EVENTS]
        return made

    def rates(self, rate: float, firsts: range) -> Floats:
        """Return the learning rates of steps, of which the rows seen before are known: higher after a change."""
        return np.array([rate * self._rate_factor(first) for first in firsts])

    def _rate_factor(self, rows: int) -> float:
        """Return the factor of the learning rate at a number of rows seen: 2 after a change, then less, then 1."""
        if self.changed_at is None:
            return 1.0
        left = max(1 - (rows - self.changed_at) / ROWS_OF_HIGH_RATE, 0.0)
        return 1 + (RATE_AFTER_CHANGE - 1) * left

    def state(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        return {
            "scores": self.scores,
            "test": vars(self.test),
            "changed_at": self.changed_at,
            "events": self.events,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Following:
        """Return what a state was made of."""
        order = (LAST, RECENT, AVERAGE)
        scores = {name: state["scores"][name] for name in order if name in state["scores"]}
        return cls(scores, DriftTest(**state["test"]), state["changed_at"], state["events"])
