"""The history of a training: one record at a time, with metrics of rows before they are learned."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.net._targets import Labels, Targets

Record = dict[str, float]

History = dict[str, list[float]]

Arrays = dict[str, NDArray[Any]]

AUC_SHIFT = 12
AUC_BINS = 1 << (32 - AUC_SHIFT)
MAX_RECORDS, MAX_STREAM_RECORDS = 65_536, 512
FEW_NUMBERS = 32


def record_fractions(records: Any) -> list[float]:
    """Return fractions of an epoch, ascending and ending with 1, from a number of them or from fractions."""
    if isinstance(records, numbers.Integral) and not isinstance(records, bool) and 1 <= int(records) <= MAX_RECORDS:
        n = int(records)
        return [i / n for i in range(1, n + 1)]
    if isinstance(records, Sequence) and not isinstance(records, str):
        fractions = sorted({float(fraction) for fraction in records} | {1.0})
        if fractions[0] > 0 and fractions[-1] <= 1:
            return fractions
    raise ValueError(
        f"records must be an integer from 1 to {MAX_RECORDS} or fractions of an epoch above 0 and up to 1, got "
        f"records={records!r}"
    )


class BinnedAUC:
    """The area under the ROC curve from counts of scores in bins, in memory that does not grow.

    Two scores in one bin differ by at most 1/2000 of their size. They count as equal, that is, as half right.

    Parameters
    ----------
    dtype : type, default=np.int64
        The type of the counts; np.float64 for rows with weights.
    """

    def __init__(self, dtype: type[np.number[Any]] = np.int64) -> None:
        self.counts = np.zeros((2, AUC_BINS), dtype=dtype)

    def add(self, scores: NDArray[Any], is_second: NDArray[np.bool_], weight: Any = 1) -> None:
        """Count the scores of rows of the first and of the second class, each with its weight."""
        bits = scores.astype(np.float32).view(np.int32).astype(np.int64)
        ascending = np.where(bits < 0, ~bits, bits + 2**31)  # integers in the order of the floats
        np.add.at(self.counts, (is_second.astype(np.int64), ascending >> AUC_SHIFT), weight)

    def value(self) -> float:
        """Return the area; NaN unless there are rows of both classes."""
        first, second = self.counts.astype(np.float64)
        below = np.cumsum(first) - first / 2
        pairs = first.sum() * second.sum()
        return float(second @ below / pairs) if pairs else math.nan


class Counts(NamedTuple):
    """What metrics are made of, for rows that were learned or predicted, here or elsewhere.

    Attributes
    ----------
    losses : array
        Of the rows, or summed by steps.
    successes : array of shape (n,)
        See `Targets.successes`.
    scores : float32 array of shape (n,) or None
        Of the second class, if the AUC is counted.
    is_second : bool array of shape (n,) or None
    """

    losses: NDArray[np.float64]
    successes: NDArray[np.float64]
    scores: NDArray[np.float32] | None = None
    is_second: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls, targets: Targets, outputs: NDArray[Any], target: NDArray[Any], losses: NDArray[np.float64], with_auc: bool
    ) -> Counts:
        """Return the counts of rows with these outputs and encoded targets."""
        successes = targets.successes(outputs, target)
        return (
            cls(losses, successes, outputs[:, 1] - outputs[:, 0], target == 1) if with_auc else cls(losses, successes)
        )


class RunningMetrics:
    """Metrics of rows that come batch by batch: the mean loss, the metric of the task and, on request, the AUC.

    Parameters
    ----------
    targets : Targets
    with_auc : bool
        Whether the AUC is counted, which only two classes have.
    with_last_label : bool
        Whether the rows are counted whose class is that of the row before, which is what a prediction by the last label
        would get right; for classes only.
    """

    def __init__(self, targets: Targets, *, with_auc: bool = False, with_last_label: bool = False) -> None:
        self.targets = targets
        self.with_last_label = with_last_label and type(targets) is Labels
        self.same_as_last, self.last_label = 0, -1
        self.rows, self.loss, self.success = 0, 0.0, 0.0
        two_classes = type(targets) is Labels and targets.n_outputs == 2
        self.auc = BinnedAUC() if with_auc and two_classes else None

    def add(self, outputs: NDArray[Any], target: NDArray[Any], losses: NDArray[np.float64]) -> None:
        """Count rows: their outputs, their encoded targets and their losses, by rows or summed by steps."""
        self.count(Counts.of(self.targets, outputs, target, losses, with_auc=self.auc is not None))
        if self.with_last_label:
            self.same_as_last += int(np.count_nonzero(target[1:] == target[:-1])) + int(target[0] == self.last_label)
            self.last_label = int(target[-1])

    def count(self, counts: Counts) -> None:
        """Count rows of which the outputs are not here any more."""
        self.rows += len(counts.successes)
        self.loss = _plus(self.loss, counts.losses)
        self.success = _plus(self.success, counts.successes)
        if self.auc is not None and counts.scores is not None and counts.is_second is not None:
            self.auc.add(counts.scores, counts.is_second)

    def values(self) -> Record:
        """Return the metrics by name."""
        n = max(self.rows, 1)
        values = {"loss": self.loss / n, self.targets.metric: self.targets.metric_of(self.success / n)}
        if self.with_last_label:
            values["last_label_accuracy"] = self.same_as_last / n
        return values if self.auc is None else values | {"auc": self.auc.value()}

    def clear(self) -> None:
        """Forget all rows."""
        self.rows, self.loss, self.success, self.same_as_last = 0, 0.0, 0.0, 0
        if self.auc is not None:
            self.auc = BinnedAUC()

    def state(self, prefix: str) -> tuple[Arrays, dict[str, Any]]:
        """Return all counts as arrays, whose names start with `prefix`, and as what JSON can hold."""
        arrays = {} if self.auc is None else {f"{prefix}auc": self.auc.counts}
        return arrays, {"rows": self.rows, "loss": self.loss, "success": self.success}

    def restore(self, prefix: str, arrays: Arrays, description: dict[str, Any]) -> None:
        """Take back the counts of `state`."""
        self.rows, self.loss, self.success = (description[name] for name in ("rows", "loss", "success"))
        if self.auc is not None:
            self.auc.counts = arrays[f"{prefix}auc"].copy()


def _plus(total: float, numbers: NDArray[np.float64]) -> float:
    """Return a sum made number by number, which is the same however the numbers are cut into parts."""
    if len(numbers) <= FEW_NUMBERS:
        for number in numbers.tolist():
            total += number
        return total
    return float(np.add.accumulate(np.concatenate([[total], numbers]))[-1])


def seconds_of(history: History) -> float:
    """Return the seconds of training up to the last record."""
    return history["seconds"][-1] if history.get("seconds") else 0.0


def append(history: History, record: Record) -> None:
    """Add a record to lists of equal length; what it lacks, or what earlier records lacked, is NaN."""
    length = len(next(iter(history.values()), []))
    for name in record:
        history.setdefault(name, [math.nan] * length)
    for name, values in history.items():
        values.append(record.get(name, math.nan))


def thin(history: History, metric: str) -> None:
    """Put the older half of more than 512 records together, two by two.

    So a stream has records at distances that grow with their age, and never more than 512. Losses and metrics of two
    records become those of their rows together; of all else the later one stays.
    """
    rows = history["rows"]
    if len(rows) <= MAX_STREAM_RECORDS:
        return
    half = MAX_STREAM_RECORDS // 2
    ends = np.array(rows[:half])
    n = np.diff(ends, prepend=0.0).reshape(-1, 2)
    n = np.where(n > 0, n, 1.0)  # rows of another fit, which counted from 0
    for name, values in history.items():
        pairs = np.array(values[:half]).reshape(-1, 2)
        merged = pairs[:, 1]
        if name.removeprefix("predicted_") in ("loss", metric):
            power = 2 if metric == "rmse" and name.endswith("rmse") else 1
            merged = ((pairs**power * n).sum(axis=1) / n.sum(axis=1)) ** (1 / power)
        values[:half] = merged.tolist()


def history_state(history: History, *, timings: bool) -> dict[str, list[float | None]]:
    """Return a history as JSON can hold it: None for NaN and, without timings, 0 for seconds."""
    state = {name: [value if math.isfinite(value) else None for value in values] for name, values in history.items()}
    if not timings and "seconds" in state:
        state["seconds"] = [0.0] * len(state["seconds"])
    return state


def history_from_state(state: dict[str, list[float | None]]) -> History:
    """Return the history of a state."""
    return {name: [math.nan if value is None else value for value in values] for name, values in state.items()}
