"""How good a candidate of the selection is: a small net learns its codes and is scored on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import EPOCH_ORDER, random_order
from gcwsnet.coding._selection import Score
from gcwsnet.data import Batch
from gcwsnet.training._settings import TrainingSettings
from gcwsnet.training._targets import Targets
from gcwsnet.training._trainer import Plan, Trainer

HIDDEN, EPOCHS, BATCH_SIZE = (64,), 2, 32


def candidate_score(
    targets: Targets,
    target: NDArray[Any],
    weight: NDArray[Any] | None,
    settings: TrainingSettings,
    *,
    seed: int,
    n_jobs: int,
) -> Score:
    """Return the score for `gcwsnet.coding.fit_coder`.

    Parameters
    ----------
    targets : Targets
    target, weight : arrays with a row for each row of the coder's X
        Encoded targets, and the factors of the rows' losses or None.
    settings : TrainingSettings
        The small net learns as these say, but for its size, its batches and its epochs.
    seed : int
    n_jobs : int
        Threads.
    """
    hidden = HIDDEN if settings.hidden else ()
    small = replace(settings, hidden=hidden, reduction=None, epochs=EPOCHS, batch_size=BATCH_SIZE)

    def score(
        code_bits: int, codes: NDArray[Any], training: NDArray[Any], held_out: NDArray[Any], validation: NDArray[Any]
    ) -> NDArray[np.float64]:
        trainer = Trainer.begin(small, targets, n_hashes=codes.shape[1], code_bits=code_bits, seed=seed, device="cpu")
        rows = Batch(codes, target[training], None if weight is None else weight[training])

        def epoch(number: int) -> list[Batch]:
            return [rows.take(random_order(seed, EPOCH_ORDER, rows.n_rows, number * rows.n_rows))]

        trainer.run(Plan(EPOCHS, rows.n_rows), epoch, n_jobs=n_jobs)
        return targets.scores(trainer.net.outputs(held_out, n_jobs=n_jobs), target[validation])

    return score
