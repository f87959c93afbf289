"""Metrics of rows that a net has not learned from yet, in memory that does not grow with their number."""

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

    Parameters
    ----------
    dtype : type, default=np.int64
        The type of the counts; np.float64 for rows with weights.
    """

    def __init__(self, dtype: type[np.number[Any]] = np.int64) -> None:
        self.counts = np.zeros((2, N_BINS), dtype=dtype)

    def add(self, score: NDArray[np.float32], is_second: NDArray[np.bool_], weight: Any = 1) -> None:
        """Count scores of rows of the first and of the second class, each with its weight."""
        bits = score.astype(np.float32).view(np.int32)
        ordered = np.where(bits < 0, ~bits.astype(np.int64), bits.astype(np.int64) + 2**31)  # as the floats are ordered
        np.add.at(self.counts, (is_second.astype(np.int64), ordered >> SHIFT), weight)

    def value(self) -> float:
        """Return the area; NaN unless there are rows of both classes."""
        first, second = self.counts.astype(np.float64)
        below = np.cumsum(first) - first / 2
        pairs = first.sum() * second.sum()
        return float(second @ below / pairs) if pairs else float("nan")


class Progressive:
    """A summary of rows: their number, the sums of loss and success, and for two classes the counts of the AUC.

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
        """Return the loss, the measure of success and, for two classes, the AUC."""
        n = max(self.rows, 1)
        means = {"loss": self.loss / n, self.targets.measure: self.targets.measured(self.success / n)}
        return means if self.auc is None else means | {"auc": self.auc.value()}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the tensors and the numbers that `restored` needs."""
        tensors = {} if self.auc is None else {"auc": torch.from_numpy(self.auc.counts)}
        return tensors, {"rows": self.rows, "loss": self.loss, "success": self.success}

    @classmethod
    def restored(cls, targets: Targets, tensors: dict[str, Tensor], described: dict[str, Any]) -> Progressive:
        """Return the summary whose `state` was saved."""
        made = cls(targets)
        made.rows, made.loss, made.success = described["rows"], described["loss"], described["success"]
        if made.auc is not None:
            made.auc.counts = tensors["auc"].numpy()
        return made
