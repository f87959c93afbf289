"""How rows become codes: learned from some of the rows of files, with the settings of hashing alone.

So `gcwsnet hash` and `gcwsnet train` learn the same, whatever net is trained afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.data import Batch, Batches, Survey
from gcwsnet.data._batch import joined
from gcwsnet.estimators import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._rows import Rows
from gcwsnet.estimators._targets import Labels, Numbers, Targets
from gcwsnet.streaming._task import as_labels, classes_of, find_task

MOST_ROWS, MOST_BYTES = 20_000, 1 << 26
"""That are learned from."""


@dataclass(frozen=True)
class Coder:
    """An estimator that makes codes, and what the rows showed that it was learned from.

    Attributes
    ----------
    estimator : GCWSNetEstimator
        Without a net.
    task : {"classification", "regression"}
    label_type : {"integers", "numbers", "strings"}
    n_rows : int or None
        Of the files; None of a stream.
    """

    estimator: GCWSNetEstimator
    task: str
    label_type: str
    n_rows: int | None

    @property
    def targets(self) -> Targets:
        """What is learned."""
        return self.estimator._targets

    def codes(self, batch: Batch) -> NDArray[Any]:
        """The codes of rows as they were read."""
        return self.estimator._checked_codes(batch.X).numpy()

    def target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Labels or numbers as they are learned."""
        return self.targets.encode(as_labels(y, self.label_type)).numpy()

    def coded(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Codes and targets of batches."""
        for batch in batches:
            if batch.y is None:
                raise ValueError("there are no labels to learn from; name their column with --label")
            yield Batch(self.codes(batch), self.target(batch.y), batch.weight)


def learn_coder(
    batches: Batches, survey: Survey, settings: dict[str, Any], task: str, seed: int, n_jobs: int | None
) -> Coder:
    """The coder of files that a survey has gone through."""
    rows = sample(batches, survey.n_rows, seed)
    task = find_task(task, survey.label_type, survey.labels)
    targets = Labels(classes_of(survey)) if task == "classification" else None
    return _learned(rows, targets, task, str(survey.label_type), survey.n_rows, settings, seed, n_jobs)


def learn_coder_of_stream(
    rows: Batch, label_type: str, settings: dict[str, Any], task: str, seed: int, n_jobs: int | None, classes: Any
) -> Coder:
    """The coder of a stream, from its first rows."""
    if rows.y is None:
        raise ValueError("there are no labels to learn from; name their column with --label")
    labels = tuple(np.unique(rows.y).tolist()) if classes is None else tuple(classes)
    task = find_task(task, label_type, labels)
    targets = Labels(np.unique(as_labels(np.array(labels), label_type))) if task == "classification" else None
    return _learned(rows, targets, task, label_type, None, settings, seed, n_jobs)


def _learned(
    rows: Batch,
    targets: Targets | None,
    task: str,
    label_type: str,
    n_rows: int | None,
    settings: dict[str, Any],
    seed: int,
    n_jobs: int | None,
) -> Coder:
    make: Any = GCWSNetClassifier if task == "classification" else GCWSNetRegressor
    estimator: GCWSNetEstimator = make(random_state=seed, n_jobs=n_jobs, **settings)
    estimator._check_parameters()
    estimator.seed_, estimator.n_features_in_ = seed, rows.X.shape[1]
    y = as_labels(np.asarray(rows.y), label_type)
    targets = Numbers.learn(y, estimator.loss) if targets is None else targets
    weight = None if rows.weight is None else torch.from_numpy(rows.weight.astype(np.float32))
    estimator._check_finite(rows.X)
    estimator._make_coder(Rows(rows.X, y, weight), targets)
    estimator._targets = targets
    return Coder(estimator, task, label_type, n_rows)


def sample(batches: Batches, n_rows: int, seed: int) -> Batch:
    """Rows drawn at random from all, in their order: at most 20,000, and not more than 64 million bytes."""
    chosen: list[Batch] = []
    numbers: NDArray[np.int64] | None = None
    first = 0
    for batch in batches:
        if numbers is None:
            n = max(1, min(n_rows, MOST_ROWS, MOST_BYTES // max(1, bytes_of_a_row(batch))))
            numbers = np.sort(np.random.default_rng([seed, 8]).choice(n_rows, n, replace=False))
        here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, first + batch.n_rows)]
        if len(here):
            chosen.append(batch.take(here - first))
        first += batch.n_rows
        if first > numbers[-1]:
            break
    if not chosen:
        raise ValueError("there are no rows to learn from")
    return joined(chosen)


def bytes_of_a_row(batch: Batch) -> int:
    """What the numbers of a row take, on average."""
    X = batch.X
    n_bytes = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return n_bytes // max(batch.n_rows, 1)
