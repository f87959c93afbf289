"""An estimator that begins on files: its task, its classes, and the sample of rows that it learns the rest from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._threads import n_threads
from gcwsnet.estimators._gcwsnet import BaseGCWSNet, GCWSNetClassifier, GCWSNetRegressor, NetParameters
from gcwsnet.estimators._model_file import READ_WHEN_USED
from gcwsnet.files._predict import as_labels
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches, bytes_of_a_row
from gcwsnet.net._targets import Labels, Numbers, Targets
from gcwsnet.tables._batch import Batch, joined, weighted
from gcwsnet.tables._encode import DistinctLabels, Survey
from gcwsnet.tables._schema import TEXT_OPTIONS, Schema

MAX_CLASSES_OF_INTEGERS = 100

SAMPLE_ROWS, SAMPLE_BYTES = 20_000, 1 << 26
"""The most that is learned from, of rows and of the bytes of their numbers."""

NO_ROWS = "there are no rows of positive weight to learn from"

NO_LABELS = "there are no labels to learn from; name their column with --label"


@dataclass(frozen=True, kw_only=True)
class FilesOptions:
    """What runs over files have in common; an unfinished run in the folder `out` is continued, or dropped."""

    files: list[str]
    out: Path
    params: dict[str, Any] = field(default_factory=dict)  # of the classifier or the regressor
    reading: dict[str, Any] = field(default_factory=dict)  # settings of `gcwsnet.files.read`
    task: str = "auto"
    resume: bool = False
    restart: bool = False

    @property
    def seed(self) -> int:
        """The seed of hashes, weights and order."""
        return int(self.params.get("random_state") or 0)

    @property
    def n_jobs(self) -> int:
        """The threads."""
        return n_threads(self.params.get("n_jobs"))

    def check(self) -> None:
        """Raise an error for parameters that make no sense."""
        GCWSNetClassifier(**self.params)._check_parameters()

    def fingerprint(self, **more: Any) -> dict[str, Any]:
        """Return what must be the same for the run to be resumed, as JSON has it, besides the files."""
        params = vars(NetParameters(**self.params))
        kept = {name: value for name, value in params.items() if name not in READ_WHEN_USED}
        given = {"params": kept, "reading": self.reading, "task": self.task, **more}
        return json.loads(json.dumps(given, sort_keys=True))


def other_setting(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return in words which setting of a run is not that of an earlier one; nothing if all are the same."""
    before, now = (one | one.get("params", {}) | {"params": None} for one in (before, now))
    names = (name for name in [*now, *before] if before.get(name) != now.get(name))
    return next((f"{name} {before.get(name)}, and now it is {now.get(name)}" for name in names), "")


def begun_estimator(
    rows: Batch,
    schema: Schema,
    labels: DistinctLabels | Survey,
    n_rows: int | None,
    options: FilesOptions,
    *,
    with_net: bool = True,
) -> tuple[BaseGCWSNet, Targets]:
    """Return an estimator that has learned from some rows how rows become codes, and its targets.

    Its net has learned nothing, or there is none. Of files all `labels` are known; `n_rows` is None for a stream that
    begins with the rows.
    """
    rows, schema = dense_where_possible(rows, schema)
    make, targets = find_targets(rows.y, labels, options.task)
    estimator = make(**options.params)
    rows = rows._replace(y=known_labels(rows.y, targets))
    estimator._begin_with_sample(rows, targets, schema, n_rows, with_net=with_net)
    return estimator, targets


def dense_where_possible(rows: Batch, schema: Schema) -> tuple[Batch, Schema]:
    """Return LIBSVM rows that have every index as dense rows, and others as they are."""
    if sparse.issparse(rows.X) and schema.index_base is not None and rows.X.nnz == rows.X.shape[0] * rows.X.shape[1]:
        schema = replace(schema, dense=True)
        rows = rows._replace(X=schema.rows(rows.X))
    return rows, schema


def find_targets(
    y: NDArray[Any] | None, labels: DistinctLabels | Survey, task: str
) -> tuple[type[GCWSNetClassifier | GCWSNetRegressor], Targets]:
    """Return the kind of estimator for rows with these labels, of which `y` are some, and its targets."""
    if labels.label_type is None:
        raise ValueError(NO_LABELS)
    if find_task(task, labels.label_type, labels.labels) == "classification":
        return GCWSNetClassifier, Labels(np.unique(np.array(labels.labels)))
    return GCWSNetRegressor, Numbers.learn(y, "squared_error")


def find_task(task: str, label_type: str, labels: tuple[Any, ...] | None) -> str:
    """Return "classification" or "regression".

    With "auto", strings are classified, integers are if there are at most 100 different ones, and other numbers are
    predicted by regression.
    """
    if task == "auto":
        few = labels is not None and len(labels) <= MAX_CLASSES_OF_INTEGERS
        task = "classification" if label_type == "strings" or (label_type == "integers" and few) else "regression"
    if task == "regression" and label_type == "strings":
        raise ValueError("a regression needs numbers, and the labels are text; use --task classification")
    if task == "classification" and labels is None:
        raise ValueError("there are too many different labels to classify; use --task regression")
    if task == "classification" and label_type == "numbers":
        raise ValueError("classes must be text or integers, and the labels are other numbers; use --task regression")
    return task


def known_labels(y: NDArray[Any] | None, targets: Targets, *, grows: bool = False) -> NDArray[Any]:
    """Return labels or numbers of files as targets encode them; a label that is no class is an error.

    With `grows` that is so only for one of another type.
    """
    if y is None:
        raise ValueError(NO_LABELS)
    if not isinstance(targets, Labels):
        return y
    y = as_labels(y, targets.classes)
    unknown = y[:0] if grows and y.dtype.kind == targets.classes.dtype.kind else y[~np.isin(y, targets.classes)]
    if len(unknown):
        raise ValueError(
            f"every label must be one of the {targets.n_outputs} classes known so far, got {unknown[:1].tolist()[0]!r}"
        )
    return y


def coded(estimator: BaseGCWSNet, batches: Batches, n_jobs: int) -> Iterator[Batch]:
    """Yield the rows of positive weight as an estimator learns them: codes, encoded targets and weights."""
    for batch in weighted(batches, batches.batch_rows):
        rows = batch._replace(X=checked(estimator.coder_, batch.X), y=known_labels(batch.y, estimator.trainer_.targets))
        yield estimator._encoded(rows, n_jobs)


def checked(coder: Any, X: Any) -> Any:
    """Return rows as they were read as a coder takes them."""
    if X.shape[1] != coder.n_features:
        raise ValueError(f"rows must have {coder.n_features} columns as those before, got {X.shape[1]}")
    X = X if coder.schema is None else coder.schema.rows(X)
    coder.settings.check_finite(X)
    return X


def read_with_schema(files: list[str], reading: dict[str, Any], schema: Schema, **more: Any) -> Batches:
    """Return files, read as those that a schema was learned from."""
    kept = ("format", "batch_rows", "dtype", "on_error", "rejects", *TEXT_OPTIONS)
    settings = {name: value for name, value in reading.items() if name in kept}
    return read(files if len(files) > 1 else files[0], schema=schema, **settings, **more)


def sample(batches: Batches, n_rows: int, seed: int) -> Batch:
    """Return rows drawn at random, in their order: at most 20,000, and not more than 64 MB of numbers."""
    first = next(weighted(batches, batches.batch_rows), None)
    if first is None:
        raise ValueError(NO_ROWS)
    return rows_at(batches, drawn_rows(n_rows, sample_size(first, n_rows), seed))


def rows_at(batches: Iterable[Batch], numbers: NDArray[np.int64]) -> Batch:
    """Return rows of positive weight by their numbers, which are ascending; rows after the last one are not read."""
    chosen: list[Batch] = []
    first = 0
    for batch in (one.weighted() for one in batches):
        here = numbers[slice(*np.searchsorted(numbers, [first, first + batch.n_rows]))]
        if len(here):
            chosen.append(batch.take(here - first))
        first += batch.n_rows
        if first > numbers[-1]:
            break
    return joined(chosen)


def sample_size(first: Batch, n_rows: int) -> int:
    """Return how many of `n_rows` rows are drawn, if they take as many bytes as those of the first batch."""
    return max(1, min(n_rows, SAMPLE_ROWS, SAMPLE_BYTES // max(1, bytes_of_a_row(first))))


def drawn_rows(n_rows: int, n: int, seed: int) -> NDArray[np.int64]:
    """Return n different numbers below `n_rows`, ascending, in time and memory that grow with n."""
    return np.sort(np.random.default_rng([seed, 8]).choice(n_rows, n, replace=False))
