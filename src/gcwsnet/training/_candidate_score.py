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
from gcwsnet.training._run import Observer, Plan
from gcwsnet.training._settings import TrainingSettings
from gcwsnet.training._targets import Labels, Targets
from gcwsnet.training._trainer import Trainer

ROWS_BETWEEN_PAUSES, ROWS_WITHOUT_STEPS = 256, 512
"""The rows that a net learns from one pause to the next, and those that are hashed or predicted."""


class _Pausing(Observer):
    """An observer that pauses whenever rows have been learned."""

    def __init__(self, score: CandidateScore) -> None:
        self._score = score

    def advance(self, rows: int, loss: float) -> None:  # noqa: ARG002
        self._score.pause()


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
    at_pause : callable, optional
        Called at each pause of the search: after every 256 rows that a net has learned, and wherever else some
        milliseconds may have gone by; twice after the longest parts.
    """

    targets: Targets
    target: NDArray[Any]
    weight: NDArray[Any] | None
    settings: TrainingSettings
    given_epochs: Sequence[int]
    seed: int
    n_jobs: int
    at_pause: Callable[[], None] | None = None

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

        self.pause(turns=2)  # a table of weights has been drawn
        plan = Plan(epochs, rows.n_rows, rows_at_once=0 if self.at_pause is None else ROWS_BETWEEN_PAUSES)
        trainer.run(plan, epoch, observer=_Pausing(self), n_jobs=self.n_jobs)
        outputs = []
        for first in range(0, len(held_out), step := self.rows_at_once or max(len(held_out), 1)):
            outputs.append(trainer.net.outputs(held_out[first : first + step], n_jobs=self.n_jobs))
            self.pause()
        return np.concatenate(outputs)

    @property
    def rows_at_once(self) -> int:
        """The most rows that are hashed or predicted between two pauses; 0 for all of them."""
        return 0 if self.at_pause is None else ROWS_WITHOUT_STEPS

    def pause(self, turns: int = 1) -> None:
        """Let others work for some turns, if they take turns with the search."""
        if self.at_pause is None:
            return
        for _ in range(turns):
            self.at_pause()

    def outcome(self, outputs: NDArray[np.float32], rows: NDArray[np.int64]) -> Outcome:
        """Return how good the outputs for rows are, weighted as the rows are in training."""
        target = self.target[rows]
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        calibrated = self.targets.calibrated(outputs, target, weight)
        accuracy = 0.0
        if isinstance(self.targets, Labels):
            accuracy = float((self.targets.successes(outputs, target) * weight).mean())
        return Outcome(calibrated.losses(outputs, target) * weight, accuracy, calibrated.temperature)
