"""How good a net is on rows before it has learned from them, in memory that does not grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gcwsnet.estimators._targets import Labels, Targets

SHIFT = 12
N_BINS = 1 << (32 - SHIFT)


class BinnedAUC:
    """The area under the ROC curve, from counts of scores in bins so fine that two scores in one differ by 1/2000.

    Scores in one bin count as equal, that is, as half right.
    """

    def __init__(self) -> None:
        self.counts = np.zeros((2, N_BINS), dtype=np.int64)

    def add(self, score: NDArray[np.float32], is_second: NDArray[np.bool_]) -> None:
        """Count scores of rows of the first and of the second class."""
        bits = score.astype(np.float32).view(np.int32)
        ordered = np.where(bits < 0, ~bits.astype(np.int64), bits.astype(np.int64) + 2**31)  # as the floats are ordered
        np.add.at(self.counts, (is_second.astype(np.int64), ordered >> SHIFT), 1)

    def value(self) -> float:
        """The area; NaN unless both classes have come."""
        first, second = self.counts.astype(np.float64)
        below = np.cumsum(first) - first / 2
        pairs = first.sum() * second.sum()
        return float(second @ below / pairs) if pairs else float("nan")


class Progressive:
    """Sums over rows: their number, their loss and their success; for two classes also what the AUC needs.

    Parameters
    ----------
    targets : Targets
    """

    def __init__(self, targets: Targets) -> None:
        self.targets = targets
        self.rows, self.loss, self.success = 0, 0.0, 0.0
        self.auc = BinnedAUC() if isinstance(targets, Labels) and targets.n_outputs == 2 else None

    def add(self, outputs: Tensor, target: Tensor, loss: float, success: float) -> None:
        """Count a batch: the outputs of its rows, and the sums of their losses and successes."""
        self.rows += len(target)
        self.loss += loss
        self.success += success
        if self.auc is not None:
            outputs = outputs.detach().cpu()
            self.auc.add((outputs[:, 1] - outputs[:, 0]).to(torch.float32).numpy(), target.cpu().numpy() == 1)

    def means(self) -> dict[str, float]:
        """The loss, the measure of success and, for two classes, the AUC."""
        n = max(self.rows, 1)
        means = {"loss": self.loss / n, self.targets.measure: self.targets.measured(self.success / n)}
        return means if self.auc is None else means | {"auc": self.auc.value()}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All that `restored` needs."""
        tensors = {} if self.auc is None else {"auc": torch.from_numpy(self.auc.counts)}
        return tensors, {"rows": self.rows, "loss": self.loss, "success": self.success}

    @classmethod
    def restored(cls, targets: Targets, tensors: dict[str, Tensor], described: dict[str, Any]) -> Progressive:
        """What `state` described."""
        made = cls(targets)
        made.rows, made.loss, made.success = described["rows"], described["loss"], described["success"]
        if made.auc is not None:
            made.auc.counts = tensors["auc"].numpy()
        return made
