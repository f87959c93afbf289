"""How good a candidate of the search is: a net learns its codes and is scored on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import EPOCH_ORDER, random_order
from gcwsnet.coding._selection import Outcome
from gcwsnet.data import Batch
from gcwsnet.training._settings import TrainingSettings
from gcwsnet.training._targets import Labels, Targets
from gcwsnet.training._trainer import Observer, Plan, Trainer

ROWS_BETWEEN_PAUSES = 128


class _Pausing(Observer):
    """An observer that pauses whenever rows have been learned."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause

    def advance(self, rows: int, loss: float) -> None:  # noqa: ARG002
        self._pause()


@dataclass(frozen=True, eq=False)
class CandidateScore:
    """The score of candidates by nets, as `gcwsnet.coding.fit_coder` takes it.

    Attributes
    ----------
    targets : Targets
    target, weight : arrays with a row for each row of the coder's X
        Encoded targets, and the factors of the rows' losses or None.
    settings : TrainingSettings
        Nets learn as these say, but for their hidden layers and their epochs.
    given_epochs : sequence of int
        The numbers of epochs that may be chosen, the preferred one first; empty for a stream.
    seed : int
    n_jobs : int
        Threads.
    pause : callable, optional
        Called after every 128 rows that a net has learned, and after it has predicted.
    """

    targets: Targets
    target: NDArray[Any]
    weight: NDArray[Any] | None
    settings: TrainingSettings
    given_epochs: Sequence[int]
    seed: int
    n_jobs: int
    pause: Callable[[], None] | None = None

    @property
    def epochs(self) -> Sequence[int]:
        """The numbers of epochs that are compared; a single one is worth a run only for its temperature."""
        return self.given_epochs if len(self.given_epochs) > 1 or isinstance(self.targets, Labels) else ()

    @property
    def hidden(self) -> tuple[int, ...]:
        """The hidden layers of the net that will be trained."""
        return self.settings.layers()

    def outputs(
        self,
        codes: NDArray[Any],
        training: NDArray[np.int64],
        held_out: NDArray[Any],
        *,
        code_bits: int,
        hidden: tuple[int, ...],
        epochs: int,
    ) -> NDArray[np.float32]:
        """Return the outputs for held-out codes of a net that has learned the codes of training rows."""
        settings = replace(self.settings, hidden=hidden, ensemble=1, reduction=None, epochs=epochs)
        trainer = Trainer.begin(
            settings, self.targets, n_hashes=codes.shape[1], code_bits=code_bits, seed=self.seed, device="cpu"
        )
        weight = None if self.weight is None else self.weight[training]
        rows = Batch(codes, self.target[training], weight)

        def epoch(number: int) -> list[Batch]:
            return [rows.take(random_order(self.seed, EPOCH_ORDER, rows.n_rows, number * rows.n_rows))]

        if self.pause is None:
            trainer.run(Plan(epochs, rows.n_rows), epoch, n_jobs=self.n_jobs)
            return trainer.net.outputs(held_out, n_jobs=self.n_jobs)
        self.pause()
        plan = Plan(epochs, rows.n_rows, rows_at_once=ROWS_BETWEEN_PAUSES)
        trainer.run(plan, epoch, observer=_Pausing(self.pause), n_jobs=self.n_jobs)
        return trainer.net.outputs(held_out, n_jobs=self.n_jobs)

    def outcome(self, outputs: NDArray[np.float32], rows: NDArray[np.int64]) -> Outcome:
        """Return how good the outputs for rows are, weighted as the rows are in training."""
        target = self.target[rows]
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        calibrated = self.targets.calibrated(outputs, target, weight)
        accuracy = 0.0
        if isinstance(self.targets, Labels):
            accuracy = float((self.targets.successes(outputs, target) * weight).mean())
        return Outcome(calibrated.losses(outputs, target) * weight, accuracy, calibrated.temperature)
