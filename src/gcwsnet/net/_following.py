"""Which weights predict while a stream is followed: those with the lowest loss on recent rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.net._net import LAST, RECENT, Net

PIECE_ROWS, SCORED_ROWS = 256, 32
"""Rows are learned in pieces of at most 256; of each piece at most 32 rows are predicted before it is learned."""

COMPARED_SINGLE_ROWS = 4
"""Of rows that come one by one, one in 4 is predicted before it is learned, and counts 4 times."""

MEMORY_OF_SCORES = 500
"""Predicted rows after which a loss counts by a factor of e less when weights are compared."""

MAX_EVENTS = 1000


@dataclass
class Following:
    """What is known about a stream while it is followed.

    Attributes
    ----------
    scores : dict
        For the weights that may predict, the sum of their losses on rows that were not learned yet, older ones less.
    events : list of dict
        What happened, the latest 1,000: "rows" seen, "event" and more about it.
    """

    scores: dict[str, float] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    def begin(self, net: Net, rows_seen: int) -> None:
        """Average the weights of a net, and compare what may predict."""
        if net.averaging != RECENT:
            net.start_averaging(rows_seen, RECENT)
            net.predicts_with = LAST
        names = (LAST, RECENT) if net.averaging == RECENT else (LAST,)
        if tuple(self.scores) != names:
            self.scores = dict.fromkeys(names, 0.0)

    def compare(
        self, net: Net, codes: NDArray[Any], target: NDArray[Any], n_jobs: int
    ) -> tuple[NDArray[np.float32], list[float]]:
        """Predict rows before they are learned, and let the best weights predict from here on.

        Returns
        -------
        outputs : array of shape (n, n_outputs)
            By the weights that predicted so far.
        losses : list of float
            Of each row.
        """
        names = [*self.scores]
        number = names.index(net.predicts_with)
        outputs, losses = net.scored(codes, target, names, n_jobs=n_jobs)
        times = COMPARED_SINGLE_ROWS if len(codes) == 1 else 1
        share = 1.0  # (1 - 1 / MEMORY_OF_SCORES) ** n by multiplications, which are the same on every machine
        for _ in range(times * len(codes)):
            share *= 1 - 1 / MEMORY_OF_SCORES
        for name, of_rows in zip(names, losses, strict=True):
            self.scores[name] = self.scores[name] * share + times * sum(of_rows)
        net.predicts_with = min(self.scores, key=self.scores.__getitem__)
        return outputs[number], losses[number]

    def note(self, event: str, rows_seen: int, **more: Any) -> None:
        """Add an event, and write it to the log."""
        self.events.append({"rows": rows_seen, "event": event, **more})
        del self.events[:-MAX_EVENTS]
        shown = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in more.items()}
        words = ", ".join(f"{name} {value}" for name, value in shown.items())
        logging.getLogger("gcwsnet").debug("%s at row %d: %s", event, rows_seen, words)

    def state(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        return {"scores": self.scores, "events": self.events}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Following:
        """Return what a state was made of."""
        scores = {name: state["scores"][name] for name in (LAST, RECENT) if name in state["scores"]}
        return cls(scores, state["events"])
