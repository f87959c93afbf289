"""The training loop that `fit`, `partial_fit` and `gcwsnet train` share: plans, runs, early stopping, and Ctrl-C."""

from __future__ import annotations

import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.net._following import COMPARED_SINGLE_ROWS, PIECE_ROWS, SCORED_ROWS, Following
from gcwsnet.net._history import (
    History,
    Record,
    RunningMetrics,
    append,
    history_from_state,
    history_state,
    seconds_of,
    thin,
)
from gcwsnet.net._net import AVERAGE, Net, make_net, net_from_state
from gcwsnet.net._packed import Arrays, PackedNet, starting_with
from gcwsnet.net._settings import SCHEDULES, TrainingSettings
from gcwsnet.net._targets import Targets
from gcwsnet.tables._batch import Batch, rebatched


class Interrupt:
    """A context in which `check`, or the end, raises the first Ctrl-C; a second one is raised at once.

    An exception that a signal raises anywhere may come up in a callback of another library, which drops it.
    """

    def __init__(self) -> None:
        self._noted = self._raised = False
        self._before: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if error is None and not self._raised:
            self.check()

    def _note(self, _: int, __: FrameType | None) -> None:
        if self._noted:
            self._raised = True
            raise KeyboardInterrupt
        self._noted = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if there was a Ctrl-C."""
        if self._noted:
            self._raised = True
            raise KeyboardInterrupt


FIRST_RECORD = 1000
"""Rows; further records are made at two, four, eight thousand and so on."""

BLOCK_ROWS = 8192
MAX_UNCHECKED_ROWS = 8192
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
        Whether the weights are averaged from the first step on; else averages of an earlier run are dropped.
    follows : bool
        Whether the rows are a stream that may change, see `Trainer.follow`; then the history stays short, too.
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


class Observer:
    """An observer of a run. Each method may be overridden; this one does nothing."""

    def advance(self, rows: int, loss: float) -> None:
        """Take note of rows that were learned, and of their mean loss."""

    def record(self, record: Record) -> bool:  # noqa: ARG002
        """Take note of a record; True ends the run."""
        return False

    def checkpoint(self) -> None:
        """Save the trainer's state, which is whole now."""


class Run:
    """One call of `Trainer.run`, or of `train_in_rounds`: what is due when, and whether it is over."""

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
        self.is_over = False
        self.start = time.perf_counter() - seconds_of(trainer.history)
        self.stopping = EarlyStopping(plan.patience) if plan.patience is not None and held_out else None
        n_rows = plan.n_rows if plan.scheduled and plan.n_rows is not None else math.inf  # a stream has no end
        self.batch_size = trainer.settings.rows_of_a_step(plan.epochs * n_rows)
        n_steps = plan.epochs * math.ceil(n_rows / self.batch_size) if math.isfinite(n_rows) else math.inf
        self.rate = trainer.settings.rate(n_steps, trainer.net.n_hashes)
        trainer.last_rate = self.rate
        self.next_checkpoint = self._next_checkpoint()

    def epochs_left(self) -> Iterator[int]:
        """Yield the number of each epoch that is left, counted over all runs, until the run is over."""
        trainer, plan = self.trainer, self.plan
        while not self.is_over and trainer.epoch < plan.epochs:
            yield trainer.epochs_seen
            if not self.is_over or trainer.rows_of_epoch == plan.n_rows:
                trainer.epoch, trainer.rows_of_epoch = trainer.epoch + 1, 0
                trainer.epochs_seen += 1

    def blocks_left(self, batches: Coded) -> Iterator[Batch]:
        """Yield what is left of an epoch in blocks of whole steps, which end where a record or a checkpoint is due."""
        block_rows = max(1, BLOCK_ROWS // self.batch_size) * self.batch_size
        if self.plan.follows:  # rows are not coded before those of earlier pieces have been learned
            block_rows = PIECE_ROWS
        skipped = self.trainer.rows_of_epoch
        for block in rebatched(batches, block_rows):
            first = min(skipped, block.n_rows)
            skipped -= first
            while first < block.n_rows:
                end = min(first + self._steps_to_next_event() * self.batch_size, block.n_rows)
                yield block.rows(first, end)
                first = end

    def learn(self, block: Batch) -> None:
        """Take the steps of a block, and make the record and the checkpoint that are due then."""
        trainer, before = self.trainer, self.trainer.rows_of_epoch
        assert block.y is not None  # noqa: S101
        if self.plan.follows:
            losses, outputs = trainer.follow(block, n_jobs=self.n_jobs)
        else:
            self.average()
            rates = self.rates(block.n_rows, before)
            start = time.perf_counter()
            losses, outputs = trainer.take_steps(block, rates, self.batch_size, n_jobs=self.n_jobs)
            share = SECONDS_OF_A_CALL / max(time.perf_counter() - start, 1e-9)
            trainer.steps_of_a_call = max(1, min(2 * trainer.steps_of_a_call, int(share * len(rates))))
        if self.plan.doubling and trainer.epoch == 0:
            trainer.first_epoch.add(outputs, block.y, losses)
        self.observer.advance(block.n_rows, float(losses.sum()) / block.n_rows)
        self.make_due(before)

    def make_due(self, before: int) -> None:
        """Make the record and the checkpoint that are due since `before` rows of the epoch."""
        self.interrupt.check()
        trainer, plan, after = self.trainer, self.plan, self.trainer.rows_of_epoch
        seen_before = trainer.rows_seen - (after - before)
        n = plan.n_rows
        if n is not None and any(before < math.ceil(fraction * n) <= after for fraction in plan.fractions):
            self._record(evaluated=True)
        elif plan.doubling and _next_doubling(seen_before) <= trainer.rows_seen:
            self._record(evaluated=n is None)
        if not self.is_over and trainer.rows_seen >= self.next_checkpoint:
            self.observer.checkpoint()
            self.next_checkpoint = self._next_checkpoint()

    def finish_stream(self) -> None:
        """Make the last record of rows whose number was not known."""
        if self.plan.n_rows is None and self.trainer.since_record.rows:
            self._record(evaluated=True)

    def finish(self) -> None:
        """Take the best weights if there was early stopping, and raise an error if weights are not finite.

        After calls with few rows of a stream that is looked at only every so often.
        """
        trainer, plan = self.trainer, self.plan
        if self.stopping is not None:
            self.stopping.restore(trainer.net)
            trainer.best_epoch = self.stopping.best_epoch
        trainer.rows_unchecked += plan.n_rows or MAX_UNCHECKED_ROWS
        if trainer.rows_unchecked >= MAX_UNCHECKED_ROWS or plan.scheduled:
            trainer.rows_unchecked = 0
            trainer.net.require_finite()

    def average(self) -> None:
        """Begin to average the weights, or drop the averages, as the plan says."""
        net = self.trainer.net
        self.trainer.following = None
        if not self.plan.averaged:
            net.stop_averaging()
        elif net.averaging != AVERAGE:
            net.start_averaging(self.trainer.rows_seen)

    def rates(self, n_rows: int, first: int, *, side_by_side: int = 1) -> NDArray[np.float64]:
        """Return the learning rate of each step from row `first` of the epoch on; some are taken side by side."""
        firsts = side_by_side * np.arange(0, n_rows, self.batch_size, dtype=np.float64)
        if not self.plan.scheduled or self.plan.n_rows is None:
            return np.full(len(firsts), self.rate)
        done = (self.trainer.epoch + (first + firsts) / self.plan.n_rows) / self.plan.epochs
        return self.rate * SCHEDULES[self.trainer.settings.schedule](np.minimum(done, 1.0))

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
        most = max(1, PIECE_ROWS // self.batch_size) if plan.follows else trainer.steps_of_a_call
        return int(min(steps, most))

    def _record(self, *, evaluated: bool) -> None:
        """Make a record; the observer or early stopping may end the run."""
        trainer, n = self.trainer, self.plan.n_rows
        epoch = trainer.epochs_seen + (trainer.rows_of_epoch / n if n else 0.0)
        record = trainer.new_record(epoch, time.perf_counter() - self.start)
        if self.plan.doubling and trainer.epoch == 0:
            record |= {f"mean_{name}": value for name, value in trainer.first_epoch.values().items()}
        record |= trainer.totals
        if self.plan.follows:
            record |= trainer.predicted_values()
        is_last = trainer.epoch + 1 == self.plan.epochs and trainer.rows_of_epoch == n
        if is_last and self.held_out and self.stopping is None:
            trainer.compress("int4", n_jobs=self.n_jobs)  # what predicts from here on is evaluated
        for number, batches in enumerate(self.held_out if evaluated else ()):
            prefix = f"eval_{number}_" if number else "eval_"
            found = trainer.evaluate(batches(), n_jobs=self.n_jobs, check=self.interrupt.check)
            record |= {f"{prefix}{name}": value for name, value in found.items()}
        trainer.add_record(record, thinned=self.plan.follows)
        if self.stopping is not None and trainer.rows_of_epoch == n:
            self.stopping.note(trainer.net, list(self.held_out[0]()), self.n_jobs)
            self.is_over = self.stopping.is_over
        self.is_over = bool(self.observer.record(record)) or self.is_over

    def _next_checkpoint(self) -> float:
        every = self.plan.checkpoint_rows
        return (self.trainer.rows_seen // every + 1) * every if every else math.inf


class EarlyStopping:
    """The best weights by the loss on held-out rows, and whether it is time to stop.

    The loss is that at the best temperature: a net becomes too sure of itself long before it becomes less accurate, and
    that alone is no reason to stop.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.least = math.inf
        self.best_epoch = 0
        self._since = 0
        self._best: tuple[Arrays, Targets] | None = None

    @property
    def is_over(self) -> bool:
        """Whether there were enough epochs without a lower loss."""
        return self._since >= self.patience

    def note(self, net: Net, held_out: Sequence[Batch], n_jobs: int) -> None:
        """Take note of the loss after an epoch."""
        outputs = np.concatenate([net.outputs(batch.X, n_jobs=n_jobs) for batch in held_out])
        target = np.concatenate([np.asarray(batch.y) for batch in held_out])
        targets = net.targets.calibrated(outputs, target, np.ones(len(target)))
        loss = float(targets.losses(outputs, target).mean())
        if loss < self.least:
            self.least, self.best_epoch, self._since = loss, self.best_epoch + self._since + 1, 0
            self._best = {name: value.copy() for name, value in net.predicting_weights().items()}, targets
        else:
            self._since += 1

    def restore(self, net: Net) -> None:
        """Put the best weights and their temperature into the net."""
        if self._best is not None:
            net.stop_averaging()
            net.load(self._best[0], None)
            net.targets = self._best[1]


def _next_doubling(rows: int) -> int:
    """Return the first of 1, 2, 4, 8, ... thousand that is above a number of rows."""
    return FIRST_RECORD << (rows // FIRST_RECORD).bit_length()


MOMENTUM = "momentum."

METRICS_OF_A_RUN = ("since_record", "first_epoch", "predicted")


class Trainer:
    """A net, its targets, and how far its training has come.

    Parameters
    ----------
    net : Net or PackedNet
        One that only predicts takes no steps.

    Attributes
    ----------
    history : dict of lists
    rows_seen, epochs_seen : int
        Of all runs together.
    best_epoch : int
        The epochs after which early stopping found the lowest loss; 0 without it.
    epoch, rows_of_epoch : int
        Where the present run stands.
    following : Following or None
        What is known of a stream; None unless the last run was one.
    totals : dict
        What is summed up over the rounds of a run in rounds, for its records.
    momentum : dict of arrays
        Of a run in rounds, see `apply_update` in ``distributed/_rounds.py``.
    last_rate : float
        The learning rate of the last step, for the records.
    steps_of_a_call : int
        The steps that the native core takes in a moment, by the last calls of it.
    rows_unchecked : int
        The rows of a stream that were learned since the weights were looked at.
    before_compression : callable or None
        What is to be done once all steps have been taken, before the weights are compressed.
    """

    def __init__(self, net: Any) -> None:
        self.net = net
        self._history: History = {}
        self._not_recorded = 0.0
        self.rows_seen = self.epochs_seen = self.best_epoch = 0
        self.epoch = self.rows_of_epoch = 0
        self.following: Following | None = None
        self.last_rate = 0.0
        self.steps_of_a_call = 1
        self.rows_unchecked = 0
        self.before_compression: Callable[[], None] | None = None
        self.start_run()

    @property
    def targets(self) -> Targets:
        """The targets of the net."""
        return self.net.targets

    @property
    def history(self) -> History:
        """The records, with one of the rows of a stream since the last one."""
        if self._not_recorded:
            self._record_stream()
        return self._history

    @history.setter
    def history(self, history: History) -> None:
        self._history, self._not_recorded = history, 0.0

    @property
    def settings(self) -> TrainingSettings:
        """The settings of the net."""
        return self.net.settings

    @classmethod
    def begin(cls, settings: TrainingSettings, targets: Targets, *, device: str = "cpu", **description: Any) -> Trainer:
        """Return a trainer whose net, of that description, has learned nothing."""
        return cls(make_net(settings, targets, **description, device=device))

    def run(
        self,
        plan: Plan,
        epochs: Callable[[int], Coded],
        held_out: Sequence[Callable[[], Coded]] = (),
        observer: Observer | None = None,
        *,
        n_jobs: int = 1,
    ) -> None:
        """Learn from all epochs of a plan, or from what is left of them.

        Parameters
        ----------
        plan : Plan
        epochs : callable
            From the number of an epoch, counted over all runs, to its rows in the order in which they are learned.
        held_out : sequence of callables
            Each returns the rows of a validation set.
        observer : Observer, optional
        n_jobs : int, default=1
            Threads. The weights are the same for any number of them.
        """
        run = Run(self, plan, held_out, observer, n_jobs)
        with run.interrupt:
            for number in run.epochs_left():
                for block in run.blocks_left(epochs(number)):
                    run.learn(block)
                    if run.is_over:
                        break
                else:
                    run.finish_stream()
        run.finish()

    def take_steps(
        self, rows: Batch, rates: NDArray[np.float64], batch_size: int, *, n_jobs: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Take a step for each rate, count the rows, and return the losses and outputs of `Net.train`.

        After an error the rows of the steps that have been taken are counted.
        """
        net, steps_before = self.net, self.net.n_steps
        assert rows.y is not None  # noqa: S101
        try:
            losses, outputs = net.train(rows.X, rows.y, rows.weight, rates, batch_size=batch_size, n_jobs=n_jobs)
        except BaseException:
            self.count(min((net.n_steps - steps_before) * batch_size, rows.n_rows))
            raise
        self.count(rows.n_rows)
        self.since_record.add(outputs, rows.y, losses)
        self.last_rate = float(rates[-1])
        return losses, outputs

    def count(self, rows: int) -> None:
        """Count rows that were learned."""
        self.rows_seen += rows
        self.rows_of_epoch += rows

    def follow(self, piece: Batch, *, n_jobs: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Take steps on a piece of a stream, some rows of which are predicted before; see `Following`."""
        if self.following is None:
            self.following = Following()
        self.following.begin(self.net, self.rows_seen)
        assert piece.y is not None  # noqa: S101
        if piece.n_rows > 1 or self.rows_seen % COMPARED_SINGLE_ROWS == 0:
            some = slice(None, None, -(-piece.n_rows // SCORED_ROWS))
            outputs, losses = self.following.compare(self.net, piece.X[some], piece.y[some], n_jobs)
            self.predicted.add(outputs, piece.y[some], np.array(losses))
        return self.take_steps(piece, *self._steps_of_a_stream(piece.n_rows), n_jobs=n_jobs)

    def relearn(self, rows: Batch, *, n_jobs: int = 1) -> None:
        """Take steps on rows of a stream that have been counted before, as when their codes have changed."""
        rates, batch_size = self._steps_of_a_stream(rows.n_rows)
        self.net.train(rows.X, rows.y, rows.weight, rates, batch_size=batch_size, n_jobs=n_jobs)

    def _steps_of_a_stream(self, n_rows: int) -> tuple[NDArray[np.float64], int]:
        """Return the learning rates of steps on rows of a stream, and the rows of a step."""
        batch_size = self.settings.rows_of_a_step(math.inf)
        return np.full(-(-n_rows // batch_size), self.settings.rate_of_a_stream(self.net.n_hashes)), batch_size

    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more class in front of number `place`."""
        self.net.insert_output(place, targets)
        with_auc = self.since_record.auc is not None
        self.since_record.targets = self.first_epoch.targets = self.predicted.targets = targets
        if with_auc:  # it is of two classes
            self.since_record.auc = self.first_epoch.auc = None

    def follow_quietly(self, rows: Batch, *, n_jobs: int = 1) -> None:
        """Learn from rows of a stream; there is a record only now and then.

        It is what `run` does with a plan that follows, without an observer, and takes less time for few rows.
        """
        start = time.perf_counter()
        for piece in (rows,) if rows.n_rows <= PIECE_ROWS else rebatched([rows], PIECE_ROWS):
            self.follow(piece, n_jobs=n_jobs)
        self.epochs_seen, self.rows_of_epoch = self.epochs_seen + 1, 0
        self._not_recorded += time.perf_counter() - start
        if 64 * self.since_record.rows >= self.rows_seen:
            self._record_stream()

    def _record_stream(self) -> None:
        seconds, self._not_recorded = seconds_of(self._history) + self._not_recorded, 0.0
        self.add_record(self.new_record(float(self.epochs_seen), seconds) | self.predicted_values(), thinned=True)

    def new_record(self, epoch: float, seconds: float) -> Record:
        """Return a record of the rows since the last one."""
        counted = {"epoch": epoch, "rows": float(self.rows_seen), "seconds": seconds, "learning_rate": self.last_rate}
        return counted | self.since_record.values()

    def add_record(self, record: Record, *, thinned: bool) -> None:
        """Add a record to the history, which stays short if it is thinned, and begin the next one."""
        append(self._history, record)
        if thinned:
            thin(self._history, self.targets.metric)
        self.since_record.clear()
        self.predicted.clear()

    def predicted_values(self) -> Record:
        """Return the metrics of the rows of a stream that were predicted since the last record."""
        return {f"predicted_{name}": value for name, value in self.predicted.values().items()}

    def start_run(self, *, with_auc: bool = False, with_last_label: bool = False) -> None:
        """Forget where an earlier run stood; the next one begins with its first epoch."""
        if self._not_recorded:
            self._record_stream()
        self.epoch = self.rows_of_epoch = 0
        self.totals: Record = {}
        self.momentum: Arrays = {}
        counted = {"with_auc": with_auc, "with_last_label": with_last_label}
        self.since_record = RunningMetrics(self.targets, **counted)
        self.first_epoch = RunningMetrics(self.targets, **counted)
        self.predicted = RunningMetrics(self.targets)

    def evaluate(self, batches: Coded, *, n_jobs: int = 1, check: Callable[[], None] = lambda: None) -> Record:
        """Return the metrics of rows that are not learned from; `check` is called before each batch."""
        metrics = RunningMetrics(self.targets, with_auc=self.since_record.auc is not None)
        for batch in batches:
            check()
            assert batch.y is not None  # noqa: S101
            outputs = self.net.outputs(batch.X, n_jobs=n_jobs)
            metrics.add(outputs, batch.y, self.targets.losses(outputs, batch.y))
        return metrics.values()

    def predicting(self, weights: str | None = None, *, n_jobs: int = 1) -> Trainer:
        """Return a trainer with the same records whose net only predicts, see `Net.pack`."""
        made = copy.copy(self)
        made._history, made._not_recorded = {name: list(all_) for name, all_ in self.history.items()}, 0.0
        made.following = made.before_compression = None
        made.net = self.net.pack(weights, n_jobs=n_jobs)
        made.start_run()
        return made

    def compress(self, weights: str, *, n_jobs: int = 1) -> None:
        """Predict with fewer bits until there is another step, see `Net.pack`."""
        if self.before_compression is not None:
            self.before_compression()
            self.before_compression = None
        packed = self.net.pack(weights, n_jobs=n_jobs)
        if isinstance(self.net, PackedNet):
            self.net = packed
        else:
            self.net.packed = packed

    def require_training_state(self) -> None:
        """Raise an error if the net only predicts."""
        if isinstance(self.net, PackedNet):
            raise ValueError(
                "the model was saved or pickled without the state of its training, so it predicts and cannot learn "
                "further; save it with save(path, training_state=True), or fit a new model"
            )

    def state(
        self, *, weights: str = "int4", training_state: bool = False, timings: bool = True
    ) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold.

        Parameters
        ----------
        weights : {"int4", "float32"}, default="int4"
            The type of the table's weights, if all but predicting is left out.
        training_state : bool, default=False
            Whether all weights, the state of the optimizer, of the averaging and of the present run are part of it.
        timings : bool, default=True
            Whether the seconds of the history are.
        """
        if training_state:
            self.require_training_state()
            self.net.require_finite()
        arrays, described_targets = self.targets.state()
        own = self.net.weights() if training_state else self.net.pack(weights).arrays
        arrays = arrays | {f"net.{name}": value for name, value in own.items()}
        description: dict[str, Any] = {
            "settings": self.settings.state(),
            "net": self.net.description(),
            "targets": described_targets,
            "history": history_state(self.history, timings=timings),
            "rows_seen": self.rows_seen,
            "epochs_seen": self.epochs_seen,
        }
        if not training_state:
            return arrays, description
        description["packed"] = None if self.net.packed is None else self.net.packed.kind
        if self.net.averaging is not None:
            averages, description["averages"] = self.net.averages_state()
            description["predicts_with"] = self.net.predicts_with
            arrays |= {f"averages.{name}": value for name, value in averages.items()}
        arrays |= {f"optimizer.{name}": value for name, value in self.net.optimizer_state().items()}
        run: dict[str, Any] = {"epoch": self.epoch, "rows_of_epoch": self.rows_of_epoch}
        run["with_auc"] = self.since_record.auc is not None
        if self.totals:
            run["totals"] = dict(self.totals)
        for name in METRICS_OF_A_RUN:
            counts, run[name] = getattr(self, name).state(f"{name}.")
            arrays |= counts
        arrays |= {f"{MOMENTUM}{name}": value for name, value in self.momentum.items()}
        if self.following is not None:
            description["following"] = self.following.state()
        return arrays, description | {"run": run}

    @classmethod
    def from_state(cls, arrays: Arrays, description: dict[str, Any], *, device: str = "cpu") -> Trainer:
        """Return the trainer whose state this is."""
        trainer = cls(net_from_state(arrays, description, device=device))
        trainer.history = history_from_state(description["history"])
        trainer.rows_seen, trainer.epochs_seen = description["rows_seen"], description["epochs_seen"]
        if "run" in description:
            run = description["run"]
            trainer.start_run(with_auc=run["with_auc"])
            trainer.epoch, trainer.rows_of_epoch = run["epoch"], run["rows_of_epoch"]
            trainer.totals = dict(run.get("totals", {}))
            trainer.momentum = {name: value.copy() for name, value in starting_with(MOMENTUM, arrays).items()}
            for name in METRICS_OF_A_RUN:
                getattr(trainer, name).restore(f"{name}.", arrays, run[name])
        if "following" in description:
            trainer.following = Following.from_state(description["following"])
        return trainer
