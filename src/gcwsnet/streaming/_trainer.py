"""One net, trained on codes as they come: records, checkpoints, and going on after them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gcwsnet._threads import n_threads
from gcwsnet.data import Batch
from gcwsnet.data._batch import rebatched
from gcwsnet.data._batches import shuffled
from gcwsnet.estimators._averaging import Averages
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._history import Record, append
from gcwsnet.estimators._learner import SCHEDULES, Learner, torch_threads
from gcwsnet.estimators._saving import save_model
from gcwsnet.streaming._interrupt import Interrupt
from gcwsnet.streaming._judge import Judge
from gcwsnet.streaming._progressive import Progressive

FIRST_RECORD = 1000
"""Rows; the next records are at two, four, eight thousand and so on."""
Epoch = Callable[[], Iterable[Batch]]


@dataclass
class Plan:
    """How a net is trained.

    Attributes
    ----------
    epochs : int
    n_rows : int or None
        Of an epoch; None where nobody knows.
    shuffle_rows : int
        Of the buffer that mixes the rows; 0 takes them as they come.
    fractions : list of float
        Of an epoch, where a judge is asked and a record is made; the last is 1.
    checkpoint : Path or None
        The file of checkpoints.
    checkpoint_rows : int
        Rows from one to the next.
    kept : dict
        What is written into each checkpoint beside the model.
    """

    epochs: int
    n_rows: int | None
    shuffle_rows: int
    fractions: list[float]
    checkpoint: Path | None = None
    checkpoint_rows: int = 0
    kept: dict[str, Any] = field(default_factory=dict)


class Trainer:
    """An estimator with a net, and where it is in its plan.

    Parameters
    ----------
    estimator : GCWSNetEstimator
    plan : Plan
    judge : Judge or None
    told : callable
        Called with each record.
    advanced : callable
        Called after each step with the rows of the batch and their mean loss.
    """

    def __init__(
        self,
        estimator: GCWSNetEstimator,
        plan: Plan,
        judge: Judge | None,
        told: Callable[[Record], None],
        advanced: Callable[[int, float], None],
    ) -> None:
        self.estimator, self.plan, self.judge = estimator, plan, judge
        self.told, self.advanced = told, advanced
        self.interrupt = Interrupt()
        self.epoch = self.rows_of_epoch = 0
        # since the last record, and over the whole first epoch
        self.since, self.all = Progressive(estimator._targets), Progressive(estimator._targets)
        self.learner = Learner(estimator.net_, estimator.optimizer_, estimator._targets)
        if plan.n_rows is None and estimator.average and estimator.averages_ is None:
            estimator.averages_ = Averages(estimator.net_, estimator.n_rows_seen_)

    def run(self, codes: Epoch) -> None:
        """Learn from all epochs, or from what is left of them; codes come in the order of the files."""
        with torch_threads(n_threads(self.estimator.n_jobs)), self.interrupt:
            while self.epoch < self.plan.epochs:
                self._learn_epoch(codes())
                self.epoch += 1
                self.rows_of_epoch = 0
                self.estimator.n_epochs_seen_ = self.epoch

    def _learn_epoch(self, codes: Iterable[Batch]) -> None:
        next_checkpoint = self._next_checkpoint()
        for batch in self._mixed(codes):
            self._learn(batch)
            self.interrupt.check()
            self._record_if_it_is_time(batch.n_rows)
            if self.estimator.n_rows_seen_ >= next_checkpoint:
                self.save_checkpoint()
                next_checkpoint = self._next_checkpoint()
        if self.plan.n_rows is None and self.since.rows:
            self._record(judged=True)

    def _mixed(self, codes: Iterable[Batch]) -> Iterator[Batch]:
        """Batches of an epoch in a random order, from where it is."""
        if self.plan.shuffle_rows:
            seed = np.random.SeedSequence([self.estimator.seed_, self.epoch]).generate_state(1, np.uint64)[0]
            codes = shuffled(codes, self.plan.shuffle_rows, int(seed))
        batches = rebatched(codes, int(self.estimator.batch_size))
        skipped = 0
        while skipped < self.rows_of_epoch:
            skipped += next(batches).n_rows
        return batches

    def _learn(self, batch: Batch) -> None:
        estimator, target = self.estimator, torch.from_numpy(batch.y)
        self.learner.set_rate(self._rate())
        weight = None if batch.weight is None else torch.from_numpy(batch.weight.astype(np.float32))
        step = self.learner.learn(torch.from_numpy(batch.X), target, estimator._weights(weight, target))
        for seen in (self.since, self.all) if self.epoch == 0 else (self.since,):
            seen.add(step.outputs, target, step.loss, step.success)
        self.rows_of_epoch += batch.n_rows
        estimator.n_rows_seen_ += batch.n_rows
        if estimator.averages_ is not None:
            estimator.averages_.note(estimator.n_rows_seen_, estimator.net_)
        self.advanced(batch.n_rows, step.loss / batch.n_rows)

    def _rate(self) -> float:
        n = self.plan.n_rows
        if n is None:
            return self.estimator._rate()
        steps = self.plan.epochs * math.ceil(n / int(self.estimator.batch_size))
        done = min(1.0, (self.epoch + self.rows_of_epoch / n) / self.plan.epochs)
        return self.estimator._rate(steps) * SCHEDULES[self.estimator.schedule](done)

    def _record_if_it_is_time(self, n_new: int) -> None:
        """At 1, 2, 4, 8, ... thousand rows, and at fractions of an epoch with the judge."""
        n, after = self.plan.n_rows, self.rows_of_epoch
        seen = self.estimator.n_rows_seen_
        doubled = FIRST_RECORD << max(0, (seen // FIRST_RECORD).bit_length() - 1)
        if n is not None and any(after - n_new < math.ceil(part * n) <= after for part in self.plan.fractions):
            self._record(judged=True)
        elif seen - n_new < doubled <= seen:
            self._record(judged=n is None)

    def _record(self, *, judged: bool) -> None:
        estimator = self.estimator
        n = self.plan.n_rows
        record: Record = {
            "epoch": self.epoch + self.rows_of_epoch / n if n else float(self.epoch),
            "rows": float(estimator.n_rows_seen_),
            "learning_rate": self.learner.optimizer.param_groups[0]["lr"],
            **self.since.means(),
        }
        if self.epoch == 0:
            record |= {f"mean_{name}": value for name, value in self.all.means().items()}
        if judged and self.judge is not None:
            learner = self.learner
            if estimator.averages_ is not None:
                learner = Learner(estimator.averages_.older.net, estimator.optimizer_, estimator._targets)
            record |= {
                f"eval_{name}": value for name, value in self.judge.measures(learner, self.interrupt.check).items()
            }
        append(estimator.history_, record)
        self.since = Progressive(estimator._targets)
        self.told(record)

    def _next_checkpoint(self) -> float:
        every = self.plan.checkpoint_rows
        return (self.estimator.n_rows_seen_ // every + 1) * every if every else math.inf

    def save_checkpoint(self) -> None:
        """Write all that is needed to go on from here."""
        if self.plan.checkpoint is None:
            return
        tensors: dict[str, Any] = {}
        described: dict[str, Any] = {"epoch": self.epoch, "rows_of_epoch": self.rows_of_epoch}
        for name, seen in (("since", self.since), ("all", self.all)):
            of_seen, described[name] = seen.state()
            tensors |= {f"progressive.{name}.{key}": value for key, value in of_seen.items()}
        more = tensors, {**self.plan.kept, "position": described}
        save_model(self.estimator, self.plan.checkpoint, with_optimizer=True, timings=False, more=more)

    def go_on(self, tensors: dict[str, Any], position: dict[str, Any]) -> None:
        """Take the position from a checkpoint that the estimator was loaded from."""
        self.epoch, self.rows_of_epoch = position["epoch"], position["rows_of_epoch"]
        for name in ("since", "all"):
            start = f"progressive.{name}."
            of_seen = {key.removeprefix(start): value for key, value in tensors.items() if key.startswith(start)}
            setattr(self, name, Progressive.restored(self.estimator._targets, of_seen, position[name]))
