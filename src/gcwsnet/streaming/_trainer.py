"""The loop that trains a net on codes as they come, with records and checkpoints."""

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
from gcwsnet.streaming._held_out import HeldOutRows
from gcwsnet.streaming._interrupt import Interrupt
from gcwsnet.streaming._progressive import Progressive

FIRST_RECORD = 1000
"""The rows before the first record; the next ones are at two, four, eight thousand and so on."""
Epoch = Callable[[], Iterable[Batch]]


@dataclass
class Plan:
    """How a net is trained.

    Attributes
    ----------
    epochs : int
    n_rows : int or None
        The rows of an epoch; None for a stream.
    shuffle_rows : int
        The rows of the buffer that shuffles; 0 keeps the order of the rows.
    fractions : list of float
        The fractions of an epoch after which there is a record with the metrics of held-out rows; the last is 1.
    checkpoint : Path or None
        The file of checkpoints.
    checkpoint_rows : int
        Rows from one checkpoint to the next; 0 for none.
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
    """A trainer of an estimator's net, which knows how far it has come with its plan.

    Parameters
    ----------
    estimator : GCWSNetEstimator
    plan : Plan
    held_out : HeldOutRows or None
    on_record : callable
        Called with each record.
    on_step : callable
        Called after each step with the rows of the batch and their mean loss.
    """

    def __init__(
        self,
        estimator: GCWSNetEstimator,
        plan: Plan,
        held_out: HeldOutRows | None,
        on_record: Callable[[Record], None],
        on_step: Callable[[int, float], None],
    ) -> None:
        self.estimator, self.plan, self.held_out = estimator, plan, held_out
        self.on_record, self.on_step = on_record, on_step
        self.interrupt = Interrupt()
        self.epoch = self.rows_of_epoch = 0
        # since the last record, and over the whole first epoch
        self.since, self.all = Progressive(estimator._targets), Progressive(estimator._targets)
        self.learner = Learner(estimator.net_, estimator.optimizer_, estimator._targets)
        if plan.n_rows is None and estimator._settings.average and estimator.averages_ is None:
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
        for batch in self._shuffled(codes):
            self._learn(batch)
            self.interrupt.check()
            self._record_if_due(batch.n_rows)
            if self.estimator.n_rows_seen_ >= next_checkpoint:
                self.save_checkpoint()
                next_checkpoint = self._next_checkpoint()
        if self.plan.n_rows is None and self.since.rows:
            self._record(measured=True)

    def _shuffled(self, codes: Iterable[Batch]) -> Iterator[Batch]:
        """Return the batches of an epoch in random order, without those that were learned before."""
        if self.plan.shuffle_rows:
            seed = np.random.SeedSequence([self.estimator.seed_, self.epoch]).generate_state(1, np.uint64)[0]
            codes = shuffled(codes, self.plan.shuffle_rows, int(seed))
        batches = rebatched(codes, int(self.estimator._settings.batch_size))
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
        self.on_step(batch.n_rows, step.loss / batch.n_rows)

    def _rate(self) -> float:
        n = self.plan.n_rows
        if n is None:
            return self.estimator._rate()
        steps = self.plan.epochs * math.ceil(n / int(self.estimator._settings.batch_size))
        done = min(1.0, (self.epoch + self.rows_of_epoch / n) / self.plan.epochs)
        return self.estimator._rate(steps) * SCHEDULES[self.estimator._settings.schedule](done)

    def _record_if_due(self, n_new: int) -> None:
        """Record at 1, 2, 4, 8, ... thousand rows, and at fractions of an epoch with the metrics of held-out rows."""
        n, after = self.plan.n_rows, self.rows_of_epoch
        seen = self.estimator.n_rows_seen_
        doubled = FIRST_RECORD << max(0, (seen // FIRST_RECORD).bit_length() - 1)
        if n is not None and any(after - n_new < math.ceil(part * n) <= after for part in self.plan.fractions):
            self._record(measured=True)
        elif seen - n_new < doubled <= seen:
            self._record(measured=n is None)

    def _record(self, *, measured: bool) -> None:
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
        if measured and self.held_out is not None:
            learner = self.learner
            if estimator.averages_ is not None:
                learner = Learner(estimator.averages_.older.net, estimator.optimizer_, estimator._targets)
            record |= {
                f"eval_{name}": value for name, value in self.held_out.metrics(learner, self.interrupt.check).items()
            }
        append(estimator.history_, record)
        self.since = Progressive(estimator._targets)
        self.on_record(record)

    def _next_checkpoint(self) -> float:
        every = self.plan.checkpoint_rows
        return (self.estimator.n_rows_seen_ // every + 1) * every if every else math.inf

    def save_checkpoint(self) -> None:
        """Write all that is needed to resume from here."""
        if self.plan.checkpoint is None:
            return
        tensors: dict[str, Any] = {}
        described: dict[str, Any] = {"epoch": self.epoch, "rows_of_epoch": self.rows_of_epoch}
        for name, seen in (("since", self.since), ("all", self.all)):
            of_seen, described[name] = seen.state()
            tensors |= {f"progressive.{name}.{key}": value for key, value in of_seen.items()}
        more = tensors, {**self.plan.kept, "position": described}
        save_model(self.estimator, self.plan.checkpoint, with_optimizer=True, timings=False, more=more)

    def resume(self, tensors: dict[str, Any], position: dict[str, Any]) -> None:
        """Continue from the position of the checkpoint that the estimator was loaded from."""
        self.epoch, self.rows_of_epoch = position["epoch"], position["rows_of_epoch"]
        for name in ("since", "all"):
            start = f"progressive.{name}."
            of_seen = {key.removeprefix(start): value for key, value in tensors.items() if key.startswith(start)}
            setattr(self, name, Progressive.restored(self.estimator._targets, of_seen, position[name]))
