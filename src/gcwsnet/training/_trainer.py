"""The trainer that `fit`, `partial_fit` and `gcwsnet train` share: a net, how far it has come, and its state."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.data import Batch
from gcwsnet.training._following import PIECE_ROWS, SCORED_ROWS, Event, Following
from gcwsnet.training._history import (
    History,
    Record,
    RunningMetrics,
    append,
    history_from_state,
    history_state,
    thin,
)
from gcwsnet.training._make_net import make_net, net_from_state
from gcwsnet.training._net import Arrays, Net, starting_with
from gcwsnet.training._run import Coded, Observer, Plan, Run
from gcwsnet.training._settings import TrainingSettings
from gcwsnet.training._targets import Targets

MOMENTUM = "momentum."
METRICS_OF_A_RUN = ("since_record", "first_epoch", "predicted")


class Trainer:
    """A net, its targets, and how far its training has come.

    Parameters
    ----------
    net : Net

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
        Of a run in rounds, see `put_round`.
    last_rate : float
        The learning rate of the last step, for the records.
    steps_of_a_call : int
        The steps that the native core takes in a moment, by the last calls of it.
    rows_unchecked : int
        The rows of a stream that were learned since the weights were looked at.
    """

    def __init__(self, net: Net) -> None:
        self.net = net
        self._history: History = {}
        self._not_recorded = 0.0
        self.rows_seen = self.epochs_seen = self.best_epoch = 0
        self.epoch = self.rows_of_epoch = 0
        self.following: Following | None = None
        self.last_rate = 0.0
        self.steps_of_a_call = 1
        self.rows_unchecked = 0
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
    def begin(
        cls, settings: TrainingSettings, targets: Targets, *, n_hashes: int, code_bits: int, seed: int, device: str
    ) -> Trainer:
        """Return a trainer whose net has learned nothing."""
        return cls(make_net(settings, targets, n_hashes=n_hashes, code_bits=code_bits, seed=seed, device=device))

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
        run.go_over_epochs(lambda number: run.is_over_after(epochs(number)))

    def follow(self, piece: Batch, *, n_jobs: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float32], Event | None]:
        """Learn from a piece of a stream, see `Following`; some of its rows are predicted before.

        Returns
        -------
        losses, outputs
            See `Net.train`.
        event : dict or None
            An event, if the stream has changed.
        """
        net, settings = self.net, self.settings
        assert piece.y is not None  # noqa: S101
        if self.following is None:
            self.following = Following()
        following, n = self.following, piece.n_rows
        following.begin(net, self.rows_seen)
        event = None
        if n > 1 or following.is_compared(self.rows_seen):
            some = slice(None, None, -(-n // SCORED_ROWS))
            target = piece.y[some]
            outputs, found, event = following.look_at(net, piece.X[some], target, self.rows_seen, n_jobs)
            self.predicted.add(outputs, target, np.array(found))
        batch_size, rate = settings.rows_of_a_step(math.inf), settings.rate(math.inf, net.n_hashes)
        rates = following.rates(rate, range(self.rows_seen, self.rows_seen + n, batch_size))
        steps_before = net.n_steps
        try:
            losses, outputs = net.train(piece.X, piece.y, piece.weight, rates, batch_size=batch_size, n_jobs=n_jobs)
        except BaseException:  # some of the steps may have been taken
            self.rows_seen += min((net.n_steps - steps_before) * batch_size, n)
            raise
        self.rows_seen += n
        if n == 1:
            event = following.take_loss(net, float(losses[0]), self.rows_seen)
        self.since_record.add(outputs, piece.y, losses)
        self.last_rate = float(rates[-1])
        return losses, outputs, event

    def insert_output(self, place: int, targets: Targets) -> None:
        """Make room for one more class in front of number `place`."""
        self.net.insert_output(place, targets)
        with_auc = self.since_record.auc is not None
        self.since_record.targets = self.first_epoch.targets = self.predicted.targets = targets
        if with_auc:  # it is of two classes
            self.since_record.auc = self.first_epoch.auc = None

    def relearn(self, rows: Batch, *, n_jobs: int = 1) -> None:
        """Take steps on rows of a stream that have been counted before, as when their codes have changed."""
        assert rows.y is not None  # noqa: S101
        batch_size = self.settings.rows_of_a_step(math.inf)
        rates = np.full(-(-rows.n_rows // batch_size), self.settings.rate(math.inf, self.net.n_hashes))
        self.net.train(rows.X, rows.y, rows.weight, rates, batch_size=batch_size, n_jobs=n_jobs)

    def follow_quietly(self, rows: Batch, *, n_jobs: int = 1) -> list[Event]:
        """Learn from rows of a stream and return its events; there is a record only now and then.

        It is what `run` does with a plan that follows, without an observer, and takes less time for few rows.
        """
        start = time.perf_counter()
        n = rows.n_rows
        pieces = (
            [rows] if n <= PIECE_ROWS else [rows.rows(first, first + PIECE_ROWS) for first in range(0, n, PIECE_ROWS)]
        )
        found = [self.follow(piece, n_jobs=n_jobs)[2] for piece in pieces]
        events = [event for event in found if event is not None]
        self.epochs_seen += 1
        self._not_recorded += time.perf_counter() - start
        if 64 * self.since_record.rows >= self.rows_seen:
            self._record_stream()
        return events

    def _record_stream(self) -> None:
        seconds = (self._history["seconds"][-1] if self._history.get("seconds") else 0.0) + self._not_recorded
        record = {"epoch": float(self.epochs_seen), "rows": float(self.rows_seen), "seconds": seconds}
        record |= {"learning_rate": self.last_rate, **self.since_record.values(), **self.predicted_values()}
        append(self._history, record)
        thin(self._history, self.targets.metric)
        self.since_record.clear()
        self.predicted.clear()
        self._not_recorded = 0.0

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

    def state(self, *, resumable: bool = True, timings: bool = True) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold.

        Parameters
        ----------
        resumable : bool, default=True
            Whether the state of the optimizer, of the averaging and of the present run are part of it. Without them
            the weights are those that predict.
        timings : bool, default=True
            Whether the seconds of the history are.
        """
        self.net.require_finite()
        arrays, described_targets = self.targets.state()
        weights = self.net.weights() if resumable else self.net.predicting_weights()
        arrays = arrays | {f"net.{name}": value for name, value in weights.items()}
        description: dict[str, Any] = {
            "settings": self.settings.state(),
            "net": self.net.description(),
            "targets": described_targets,
            "history": history_state(self.history, timings=timings),
            "rows_seen": self.rows_seen,
            "epochs_seen": self.epochs_seen,
        }
        if not resumable:
            return arrays, description
        if self.net.is_averaging:
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
        """Return the trainer whose state this is; without the optimizer's state, that begins again."""
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
