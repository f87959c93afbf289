"""One run of a trainer over the rows of a plan: epochs, steps, records, early stopping, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch
from gcwsnet.data._batch import rebatched
from gcwsnet.training._following import PIECE_ROWS, Event
from gcwsnet.training._history import Clock, Record, append, thin
from gcwsnet.training._interrupt import Interrupt
from gcwsnet.training._net import Arrays, Net
from gcwsnet.training._settings import SCHEDULES
from gcwsnet.training._targets import Targets

if TYPE_CHECKING:
    from gcwsnet.training._trainer import Trainer

FIRST_RECORD = 1000
"""Rows; further records are made at two, four, eight thousand and so on."""
ROWS_AT_ONCE = 8192
MOST_UNCHECKED_ROWS = 8192
"""Rows of a stream that are learned before the weights are looked at: that takes as long as learning from hundreds."""
SECONDS_OF_A_CALL = 0.1
"""Ctrl-C and the progress bar wait for one call of the native core."""

Coded = Iterable[Batch]
"""Batches with codes for X and encoded targets for y."""


@dataclass(frozen=True)
class Plan:
    """One run of a trainer: how often, how fast, and what is noted on the way.

    Attributes
    ----------
    epochs : int
    n_rows : int or None
        The rows of an epoch; None where nobody knows, as of a stream.
    scheduled : bool
        Whether the learning rate follows the schedule, which needs `n_rows`; else it is constant.
    fractions : list of float
        The fractions of an epoch of known length at which held-out rows are evaluated and a record is made.
    doubling : bool
        Whether there are also records at 1, 2, 4, 8, ... thousand rows, with metrics over the whole first epoch.
    patience : int or None
        Early stopping: epochs without a lower loss on the first held-out rows before the run ends.
    checkpoint_rows : int
        Rows from one checkpoint to the next; 0 for none.
    averaged : bool
        Whether the weights are averaged from the first step on, if the settings say so; else averages of an earlier
        run are dropped at the first step.
    follows : bool
        Whether the rows are a stream that may change, see `Following`: the weights are averaged, those that predict are
        chosen all the time, the learning rate rises after a change, and the history stays short.
    rows_at_once : int
        The most rows of a call of the native core, after which the observer is told; 0 for as many as take a moment.
    """

    epochs: int
    n_rows: int | None
    scheduled: bool = True
    fractions: Sequence[float] = (1.0,)
    doubling: bool = False
    patience: int | None = None
    checkpoint_rows: int = 0
    averaged: bool = False
    follows: bool = False
    rows_at_once: int = 0

    def __post_init__(self) -> None:
        if self.follows:
            object.__setattr__(self, "rows_at_once", PIECE_ROWS)


class Observer:
    """An observer of a run. Each method may be overridden; this one does nothing."""

    def advance(self, rows: int, loss: float) -> None:
        """Take note of rows that were learned, and of their mean loss."""

    def record(self, record: Record) -> bool:  # noqa: ARG002
        """Take note of a record; True ends the run."""
        return False

    def event(self, event: Event) -> None:
        """Take note of an event of a stream."""

    def checkpoint(self) -> None:
        """Save the trainer's state, which is whole now."""


class Run:
    """One call of `Trainer.run`, or of `run_in_rounds`."""

    def __init__(
        self,
        trainer: Trainer,
        plan: Plan,
        held_out: Sequence[Callable[[], Coded]],
        observer: Observer | None,
        n_jobs: int,
    ) -> None:
        self.trainer, self.plan, self.held_out, self.n_jobs = trainer, plan, held_out, n_jobs
        self.observer = Observer() if observer is None else observer
        self.interrupt = Interrupt()
        self.clock = Clock(trainer.history)
        self.stopping = EarlyStopping(plan.patience) if plan.patience is not None and held_out else None
        n_rows = self._n_rows()
        self.batch_size = trainer.settings.rows_of_a_step(plan.epochs * n_rows)
        n_steps = plan.epochs * math.ceil(n_rows / self.batch_size) if math.isfinite(n_rows) else math.inf
        self.rate = trainer.settings.rate(n_steps, trainer.net.n_hashes)
        trainer.last_rate = self.rate
        self.next_checkpoint = self._next_checkpoint()

    def go_over_epochs(self, is_over_after: Callable[[int], bool]) -> None:
        """Learn from the epochs that are left; `is_over_after` learns from the one of a number."""
        trainer, plan, over = self.trainer, self.plan, False
        with self.interrupt:
            while not over and trainer.epoch < plan.epochs:
                over = is_over_after(trainer.epochs_seen)
                if not over or trainer.rows_of_epoch == plan.n_rows:
                    trainer.epoch, trainer.rows_of_epoch = trainer.epoch + 1, 0
                    trainer.epochs_seen += 1
            if self.stopping is not None:
                self.stopping.restore(trainer.net)
                trainer.best_epoch = self.stopping.best_epoch
        self._check_now_and_then()

    def is_over_after(self, batches: Coded) -> bool:
        """Learn from what is left of an epoch; True if the run is to end."""
        trainer = self.trainer
        for block in self._blocks(batches, skipped=trainer.rows_of_epoch):
            first = 0
            while first < block.n_rows:
                end = min(first + self._steps_to_next_event() * self.batch_size, block.n_rows)
                before = trainer.rows_of_epoch
                self._learn(block.rows(first, end))
                self.interrupt.check()
                if self.is_over_now(before):
                    return True
                first = end
        if self.plan.n_rows is None and trainer.since_record.rows:
            return self._record(evaluated=True)
        return False

    def is_over_now(self, before: int) -> bool:
        """Make the record and the checkpoint that are due since `before` rows of the epoch; True if the run ends."""
        if self._record_is_over(before):
            return True
        if self.trainer.rows_seen >= self.next_checkpoint:
            self.observer.checkpoint()
            self.next_checkpoint = self._next_checkpoint()
        return False

    def _check_now_and_then(self) -> None:
        """Raise an error if weights are not finite; after calls with few rows of a stream only every so often."""
        trainer, plan = self.trainer, self.plan
        trainer.rows_unchecked += plan.n_rows or MOST_UNCHECKED_ROWS
        if trainer.rows_unchecked >= MOST_UNCHECKED_ROWS or plan.scheduled:
            trainer.rows_unchecked = 0
            trainer.net.require_finite()

    def _is_stopped(self) -> bool:
        """Return whether the loss on held-out rows has been rising for too long; it is looked at after each epoch."""
        if self.stopping is None or self.trainer.rows_of_epoch != self.plan.n_rows:
            return False
        return self.stopping.is_over(self.trainer.net, list(self.held_out[0]()), self.n_jobs)

    def _blocks(self, batches: Coded, skipped: int) -> Iterator[Batch]:
        """Yield whole steps, many at once, from where the epoch stands."""
        block_rows = max(1, ROWS_AT_ONCE // self.batch_size) * self.batch_size
        if self.plan.follows:  # rows are not coded before those of earlier pieces have been learned
            block_rows = PIECE_ROWS
        for block in rebatched(batches, block_rows):
            if skipped >= block.n_rows:
                skipped -= block.n_rows
                continue
            yield block.rows(skipped, block.n_rows) if skipped else block
            skipped = 0

    def _learn(self, block: Batch) -> None:
        trainer, plan = self.trainer, self.plan
        assert block.y is not None  # noqa: S101
        if plan.follows:
            losses, outputs, event = trainer.follow(block, n_jobs=self.n_jobs)
            trainer.rows_of_epoch += block.n_rows
            if event is not None:
                self.observer.event(event)
        else:
            losses, outputs = self._take_steps(block)
            trainer.since_record.add(outputs, block.y, losses)
            self.count(block.n_rows)
        if plan.doubling and trainer.epoch == 0:
            trainer.first_epoch.add(outputs, block.y, losses)
        self.observer.advance(block.n_rows, float(losses.sum()) / block.n_rows)

    def _take_steps(self, block: Batch) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        trainer = self.trainer
        self.average()
        rates = self.rates(block.n_rows, trainer.rows_of_epoch)
        start, steps_before = time.perf_counter(), trainer.net.n_steps
        assert block.y is not None  # noqa: S101
        try:
            losses, outputs = trainer.net.train(
                block.X, block.y, block.weight, rates, batch_size=self.batch_size, n_jobs=self.n_jobs
            )
        except BaseException:  # some of the steps may have been taken
            self.count(min((trainer.net.n_steps - steps_before) * self.batch_size, block.n_rows))
            raise
        trainer.last_rate = float(rates[-1])
        share = SECONDS_OF_A_CALL / max(time.perf_counter() - start, 1e-9)
        trainer.steps_of_a_call = max(1, min(2 * trainer.steps_of_a_call, int(share * len(rates))))
        return losses, outputs

    def average(self) -> None:
        """Begin to average the weights, or drop the averages, as the plan says."""
        net = self.trainer.net
        self.trainer.following = None
        if not self.plan.averaged:
            net.stop_averaging()
        elif net.settings.average and not net.is_averaging:
            net.start_averaging(self.trainer.rows_seen)

    def count(self, rows: int) -> None:
        self.trainer.rows_of_epoch += rows
        self.trainer.rows_seen += rows

    def rates(self, n_rows: int, first: int, *, side_by_side: int = 1) -> NDArray[np.float64]:
        """Return the learning rate of each step from row `first` of the epoch on; some are taken side by side."""
        firsts = side_by_side * np.arange(0, n_rows, self.batch_size, dtype=np.float64)
        if not self.plan.scheduled or self.plan.n_rows is None:
            return np.full(len(firsts), self.rate)
        done = (self.trainer.epoch + (first + firsts) / self.plan.n_rows) / self.plan.epochs
        return self.rate * SCHEDULES[self.trainer.settings.schedule](np.minimum(done, 1.0))

    def _n_rows(self) -> float:
        """Return the rows of an epoch; infinity for a stream, of which nobody knows where it ends."""
        return math.inf if not self.plan.scheduled or self.plan.n_rows is None else self.plan.n_rows

    def _steps_to_next_event(self) -> int:
        """Return how many steps can be taken before something is to be done."""
        trainer, plan = self.trainer, self.plan
        events = [self.next_checkpoint - trainer.rows_seen]
        if plan.n_rows is not None and not plan.follows:
            ends = (math.ceil(fraction * plan.n_rows) - trainer.rows_of_epoch for fraction in plan.fractions)
            events.append(min((rows for rows in ends if rows > 0), default=math.inf))
        if plan.doubling:
            events.append(_next_doubling(trainer.rows_seen) - trainer.rows_seen)
        steps = max(1.0, math.ceil(min(events) / self.batch_size)) if math.isfinite(min(events)) else math.inf
        most = max(1, plan.rows_at_once // self.batch_size) if plan.rows_at_once else trainer.steps_of_a_call
        return int(min(steps, most))

    def _record_is_over(self, before: int) -> bool:
        """Make a record if one is due since `before` rows of the epoch; True if the run is to end."""
        trainer, plan = self.trainer, self.plan
        after = trainer.rows_of_epoch
        n = plan.n_rows
        if n is not None and any(before < math.ceil(fraction * n) <= after for fraction in plan.fractions):
            return self._record(evaluated=True)
        seen_before = trainer.rows_seen - (after - before)
        if plan.doubling and _next_doubling(seen_before) <= trainer.rows_seen:
            return self._record(evaluated=n is None)
        return False

    def _record(self, *, evaluated: bool) -> bool:
        trainer, n = self.trainer, self.plan.n_rows
        record: Record = {
            "epoch": trainer.epochs_seen + (trainer.rows_of_epoch / n if n else 0.0),
            "rows": float(trainer.rows_seen),
            "seconds": self.clock.seconds(),
            "learning_rate": trainer.last_rate,
            **trainer.since_record.values(),
        }
        if self.plan.doubling and trainer.epoch == 0:
            record |= {f"mean_{name}": value for name, value in trainer.first_epoch.values().items()}
        record |= trainer.totals
        if self.plan.follows:
            record |= trainer.predicted_values()
        for number, batches in enumerate(self.held_out if evaluated else ()):
            prefix = f"eval_{number}_" if number else "eval_"
            found = trainer.evaluate(batches(), n_jobs=self.n_jobs, check=self.interrupt.check)
            record |= {f"{prefix}{name}": value for name, value in found.items()}
        append(trainer.history, record)
        if self.plan.follows:
            thin(trainer.history, trainer.targets.metric)
        trainer.since_record.clear()
        trainer.predicted.clear()
        over = self._is_stopped()
        return self.observer.record(record) or over

    def _next_checkpoint(self) -> float:
        every = self.plan.checkpoint_rows
        return (self.trainer.rows_seen // every + 1) * every if every else math.inf


class EarlyStopping:
    """The best weights by the loss on held-out rows, and whether it is time to stop.

    The loss is that at the best temperature: a net becomes too sure of itself long before it becomes less accurate, and
    that alone is no reason to stop.

    Parameters
    ----------
    patience : int
        Epochs without a lower loss before it is.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.least = math.inf
        self.best_epoch = 0
        self._since = 0
        self._best: tuple[Arrays, Targets] | None = None

    def is_over(self, net: Net, held_out: Sequence[Batch], n_jobs: int) -> bool:
        """Take note of the loss after an epoch; True once there were enough epochs without a lower one."""
        outputs = np.concatenate([net.outputs(batch.X, n_jobs=n_jobs) for batch in held_out])
        target = np.concatenate([np.asarray(batch.y) for batch in held_out])
        targets = net.targets.calibrated(outputs, target, np.ones(len(target)))
        loss = float(targets.losses(outputs, target).mean())
        if loss < self.least:
            self.least, self.best_epoch, self._since = loss, self.best_epoch + self._since + 1, 0
            self._best = {name: value.copy() for name, value in net.predicting_weights().items()}, targets
        else:
            self._since += 1
        return self._since >= self.patience

    def restore(self, net: Net) -> None:
        """Put the best weights and their temperature into the net."""
        if self._best is not None:
            net.stop_averaging()
            net.load(self._best[0], None)
            net.targets = self._best[1]


def _next_doubling(rows: int) -> int:
    """Return the first of 1, 2, 4, 8, ... thousand that is above a number of rows."""
    return FIRST_RECORD << (rows // FIRST_RECORD).bit_length()
