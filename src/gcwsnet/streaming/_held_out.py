"""Held-out rows, on which a net is measured again and again while it learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from gcwsnet.data import Batch, Batches
from gcwsnet.estimators._learner import Learner
from gcwsnet.streaming._coder import Coder
from gcwsnet.streaming._progressive import Progressive

MOST_BYTES = 1 << 28
"""The codes of more bytes are not kept: the rows are read and hashed each time."""


class HeldOutRows:
    """The rows of test files. Their codes are kept in memory if they are not too many.

    Parameters
    ----------
    batches : Batches
    coder : Coder
    """

    def __init__(self, batches: Batches, coder: Coder) -> None:
        self._batches, self._coder = batches, coder
        self._kept: list[Batch] | None = None

    def metrics(self, learner: Learner, between_batches: Callable[[], None]) -> dict[str, float]:
        """Return the loss, the measure of success and, for two classes, the AUC on all rows."""
        seen = Progressive(learner.targets)
        for batch in self._coded():
            between_batches()
            target = torch.from_numpy(batch.y)
            outputs = learner.outputs(torch.from_numpy(batch.X))
            loss, success = learner.targets.loss(outputs, target), learner.targets.success(outputs, target)
            seen.add(outputs, target, float(loss.sum()), float(success.sum()))
        return seen.means()

    def _coded(self) -> Iterator[Batch]:
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Batch] | None = []
        n_bytes = 0
        for batch in self._coder.coded(self._batches):
            n_bytes += batch.X.nbytes
            if kept is not None:
                kept = [*kept, batch] if n_bytes <= MOST_BYTES else None
            yield batch
        self._kept = kept
