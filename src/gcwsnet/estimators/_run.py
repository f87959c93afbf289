"""One call of `fit` or `partial_fit`: batches are learned, and records are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from gcwsnet.estimators._averaging import Averages
from gcwsnet.estimators._history import Clock, History, Progressive, Record, append
from gcwsnet.estimators._learner import EarlyStopping, Learner
from gcwsnet.estimators._progress import Progress


class HeldOut(NamedTuple):
    """Codes and targets of held-out rows."""

    codes: Tensor
    target: Tensor


@dataclass
class Run:
    """A run over some epochs, with what it needs and how far it is.

    Attributes
    ----------
    learner : Learner
    target, weight : tensors with a row for each row that is learned from; a weight may be None
    held_out : list of HeldOut
    epochs : int
    rate : callable
        Returns the learning rate when this share of the run is done.
    fractions : list of float
        The fractions of an epoch after which there is a record; the last is 1.
    stopping : EarlyStopping or None
    averages : Averages or None
        They take in the weights after each step.
    is_enough : callable
        Returns whether to stop; called with each record.
    history : dict of lists
        Records are added to it.
    rows_seen, epochs_seen : int
        What the net has learned from, this run included.
    """

    learner: Learner
    target: Tensor
    weight: Tensor | None
    held_out: list[HeldOut]
    epochs: int
    rate: Callable[[float], float]
    fractions: list[float]
    stopping: EarlyStopping | None
    averages: Averages | None
    is_enough: Callable[[Record], bool]
    history: History
    rows_seen: int
    epochs_seen: int
    _seen: Progressive = field(default_factory=Progressive)

    def through(self, epochs: Iterable[Iterable[tuple[Tensor, Tensor]]], display: Progress) -> None:
        """Learn from epochs of batches, each with the numbers of its rows and their codes."""
        clock = Clock(self.history)
        for number, batches in enumerate(epochs):
            if self._is_over_after(batches, number, clock, display):
                break
            self.epochs_seen += 1
        if self.stopping is not None:
            self.stopping.restore(self.learner.net)

    def _is_over_after(
        self, batches: Iterable[tuple[Tensor, Tensor]], epoch: int, clock: Clock, display: Progress
    ) -> bool:
        n, done = len(self.target), 0
        ends = [math.ceil(fraction * n) for fraction in self.fractions]
        for rows, codes in batches:
            rate = self.rate((epoch + done / n) / self.epochs)
            self.learner.set_rate(rate)
            weight = None if self.weight is None else self.weight[rows]
            loss, success, _ = self.learner.learn(codes, self.target[rows], weight)
            self._seen.add(len(rows), loss, success)
            self.rows_seen += len(rows)
            if self.averages is not None:
                self.averages.note(self.rows_seen, self.learner.net)
            done += len(rows)
            display.advance(len(rows), loss / len(rows))
            if done < ends[0]:
                continue
            ends = [end for end in ends if end > done]
            record = self._record(self.epochs_seen + done / n, rate, clock)
            display.record(record)
            over = self.stopping is not None and self.stopping.is_over(record["eval_loss"], self.learner.net)
            if self.is_enough(record) or over:
                return True
        return False

    def _record(self, epoch: float, rate: float, clock: Clock) -> Record:
        targets = self.learner.targets
        loss, success = self._seen.means()
        record = {
            "epoch": epoch,
            "rows": float(self.rows_seen),
            "seconds": clock.seconds(),
            "learning_rate": rate,
            "loss": loss,
            targets.measure: targets.measured(success),
        }
        for number, (codes, target) in enumerate(self.held_out):
            loss, success = self.learner.mean_loss_and_success(codes, target)
            prefix = f"eval_{number}_" if number else "eval_"
            record |= {f"{prefix}loss": loss, f"{prefix}{targets.measure}": targets.measured(success)}
        append(self.history, record)
        return record
