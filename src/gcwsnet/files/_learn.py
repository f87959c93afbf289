"""What is learned from files before they are hashed: a schema, a coder and targets, from all or some of their rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._threads import n_threads
from gcwsnet._validation import check_finite
from gcwsnet.estimators._model_file import coder_state
from gcwsnet.estimators._tensor_file import digest_of
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches, bytes_of_a_row
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels, Numbers, Targets
from gcwsnet.search import Candidate, NetScore, fit_coder, selected_training
from gcwsnet.tables._batch import Batch, joined, weighted
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._columns import labels_of_texts
from gcwsnet.tables._learn import Survey, infer_label_type
from gcwsnet.tables._schema import TEXT_OPTIONS, Schema

MAX_CLASSES_OF_INTEGERS = 100

SAMPLE_ROWS, SAMPLE_BYTES = 20_000, 1 << 26
"""The most that is learned from, of rows and of the bytes of their numbers."""

NO_ROWS = "there are no rows of positive weight to learn from"

NO_LABELS = "there are no labels to learn from; name their column with --label"

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run over files.

    Attributes
    ----------
    files : list of str
    out : Path
        The folder that is written.
    reading : dict
        Settings of `gcwsnet.files.read`.
    coder : CoderSettings or Coder
        How a coder is learned from the files, or one that was learned before.
    training : TrainingSettings
        The settings of the nets that codes are made for, and that the search compares.
    task : {"auto", "classification", "regression"}
    seed : int
    resume, restart : bool
        Whether an unfinished run in the same folder is continued, or dropped.
    n_jobs : int or None
    """

    files: list[str] = field(default_factory=list)
    out: Path = Path()
    reading: dict[str, Any] = field(default_factory=dict)
    coder: CoderSettings | Coder = field(default_factory=CoderSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    task: str = "auto"
    seed: int = 0
    resume: bool = False
    restart: bool = False
    n_jobs: int | None = 1

    def check(self) -> None:
        """Raise an error for settings that make no sense."""
        if isinstance(self.coder, CoderSettings):
            self.coder.check()
        self.training.check()

    def fingerprint(self, **more: Any) -> dict[str, Any]:
        """Return what must be the same for the run to be resumed, as JSON has it, besides the files."""
        if isinstance(self.coder, Coder):
            arrays, description = self.coder.state()
            hashing: Any = {"coder": digest_of(json.dumps(description), arrays)}
        else:
            hashing = asdict(self.coder)
        given = {"reading": self.reading, "task": self.task, "seed": self.seed, **more}
        return json.loads(json.dumps(given | {"hashing": hashing, "net": self.training.state()}, sort_keys=True))


@dataclass(frozen=True)
class FileCoder:
    """A coder with what is known about the files that it was learned from.

    Attributes
    ----------
    coder : Coder
        It has a schema, which says how files become rows.
    label_type : {"integers", "numbers", "strings"} or None
        None for rows without labels.
    targets : Targets or None
    n_rows : int or None
        The rows of the files; None for a stream.
    selection : sequence of Candidate
        What the search compared.
    """

    coder: Coder
    label_type: str | None
    targets: Targets | None
    n_rows: int | None
    selection: Sequence[Candidate] = ()

    @property
    def schema(self) -> Schema:
        """How files become rows."""
        assert self.coder.schema is not None  # noqa: S101
        return self.coder.schema

    @property
    def task(self) -> str | None:
        """The task, "classification" or "regression"; None for rows without labels."""
        return None if self.targets is None else "classification" if isinstance(self.targets, Labels) else "regression"

    def codes(self, X: Any, n_jobs: int | None) -> NDArray[Any]:
        """Return the codes of rows as they were read."""
        if X.shape[1] != self.coder.n_features:
            raise ValueError(f"rows must have {self.coder.n_features} columns as those before, got {X.shape[1]}")
        X = self.schema.rows(X)
        self.coder.settings.check_finite(X)
        return self.coder.codes(X, n_jobs=n_jobs)

    def target(self, y: NDArray[Any] | None) -> NDArray[Any]:
        """Return labels or numbers as they are learned."""
        if y is None or self.targets is None:
            raise ValueError(NO_LABELS)
        return encoded(self.targets, self.label_type, y)

    def coded(self, batches: Iterable[Batch], n_jobs: int | None) -> Iterator[Batch]:
        """Yield codes and encoded targets of batches."""
        for batch in batches:
            target = self.target(batch.y)
            yield Batch(self.codes(batch.X, n_jobs), target, batch.weight)

    def file_description(self) -> dict[str, Any]:
        """Return what is known about the files as JSON can hold it."""
        return {"label_type": self.label_type, "n_rows": self.n_rows}

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold; it is the same for the same rows."""
        arrays, coder = coder_state(self.coder, self.selection, timings=False)
        description = self.file_description() | {"coder": coder, "targets": None}
        if self.targets is not None:
            target_arrays, description["targets"] = self.targets.state()
            arrays = arrays | target_arrays
        return arrays, description

    @classmethod
    def from_state(cls, arrays: Arrays, description: dict[str, Any]) -> FileCoder:
        """Return the file coder whose state this is."""
        targets = description["targets"]
        return cls(
            Coder.from_state(arrays, description["coder"]),
            description["label_type"],
            None if targets is None else Targets.from_state(arrays, targets),
            description["n_rows"],
            [Candidate(**one) for one in description["coder"]["selection"]],
        )


def learn_from_files(batches: Batches, survey: Survey, options: RunOptions) -> FileCoder:
    """Return the file coder of files that were surveyed, from a sample of their rows."""
    return learn_from_sample(sample(batches, survey.n_weighted, options.seed), batches.schema, survey, options)


def learn_from_sample(rows: Batch, schema: Schema, survey: Survey, options: RunOptions) -> FileCoder:
    """Return the file coder of files that were surveyed, and from which rows were drawn; a given coder is taken."""
    labels = survey.labels if survey.label_type is not None else None
    return _learn(rows, schema, options, options.task, survey.label_type, labels, survey.n_weighted)


def learn_from_stream(
    batches: Batches, options: RunOptions, classes: list[str] | None
) -> tuple[FileCoder, Iterator[Batch]]:
    """Return the file coder of a stream, learned from its first rows, and all its rows.

    With `classes`, the labels of a classification as text, its first rows need not show all of them.
    """
    rest = weighted(batches, batches.batch_rows)
    first = _first_rows(rest)
    if first.y is None:
        raise ValueError(NO_LABELS)
    task, kind, labels = options.task, infer_label_type(first.y), tuple(np.unique(first.y).tolist())
    if classes is not None:
        task, labels = "classification", _listed_classes(classes, kind)
    learned = _learn(first, batches.schema, options, task, kind, labels, None)
    parts = (first.rows(start, start + batches.batch_rows) for start in range(0, first.n_rows, batches.batch_rows))
    return learned, chain(parts, rest)


def _learn(
    rows: Batch,
    schema: Schema,
    options: RunOptions,
    task: str,
    label_type: str | None,
    labels: tuple[Any, ...] | None,
    n_rows: int | None,
) -> FileCoder:
    """Return the file coder of a sample of `n_rows` rows, None for a stream, with these labels."""
    if sparse.issparse(rows.X) and schema.index_base is not None and rows.X.nnz == math.prod(rows.X.shape):
        schema = replace(schema, dense=True)
        rows = rows._replace(X=schema.rows(rows.X))
    given, seed = options.coder, options.seed
    of_net = None if label_type is None else math.inf if n_rows is None else n_rows
    settings = given.settings if isinstance(given, Coder) else given.for_rows(of_net)
    check_finite(rows.X, nan_is_fine=settings.missing != "error")
    targets: Targets | None = None
    score = None
    training = options.training
    if label_type is None:
        training = training.for_rows(math.inf if n_rows is None else n_rows)
    else:
        y = as_labels(rows.y, label_type)
        if find_task(task, label_type, labels) == "classification":
            exact = [int(label) for label in labels or ()] if label_type == "integers" else labels
            targets = Labels(np.unique(as_labels(np.array(exact), label_type)))
        else:
            targets = Numbers.learn(y, "squared_error")
        thorough = settings.search == "thorough"
        training = training.for_rows(*(math.inf,) if n_rows is None else (n_rows, targets.n_outputs))
        epochs = () if n_rows is None else training.epochs_to_compare(n_rows, thorough=thorough)
        weight = None if rows.weight is None else np.asarray(rows.weight)
        score = NetScore(targets, _encode(targets, y), weight, training, epochs, seed, n_threads(options.n_jobs))
    selection: list[Candidate] = []
    if isinstance(given, Coder):
        if rows.X.shape[1] != given.n_features:
            raise ValueError(
                f"the coder is for rows of {given.n_features} columns, and those of the files have {rows.X.shape[1]}"
            )
        coder = replace(given, schema=schema)
    else:
        n_nets = training.members()
        coder, selection = fit_coder(
            rows.X, settings, seed, score, numeric=schema.numeric, schema=schema, ensemble=n_nets
        )
    targets = None if targets is None else targets.with_temperature(selected_training(selection)[1])
    return FileCoder(coder, label_type, targets, n_rows, selection)


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


def as_labels(y: Any, label_type: str | None) -> NDArray[Any]:
    """Return labels in the type that the classes have: integers as integers, unless later rows have fractions."""
    y = np.asarray(y)
    if label_type != "integers" or (y.dtype.kind == "u" and y.size and int(y.max()) >= 2**63):
        return y
    integers = y.astype(np.int64)
    return integers if np.array_equal(integers, y) else y


def _listed_classes(classes: list[str], label_type: str) -> tuple[Any, ...]:
    """Return the labels that a user has listed, in the type of the labels of the first rows."""
    if label_type == "strings":
        return tuple(classes)
    try:
        return tuple(labels_of_texts(classes).tolist())
    except ValueError:
        raise ValueError(
            f"--classes must be numbers, as the labels of the first rows are, got {','.join(classes)}"
        ) from None


def encoded(targets: Targets, label_type: str | None, y: NDArray[Any]) -> NDArray[Any]:
    """Return labels or numbers, as they were read, as they are learned."""
    return _encode(targets, as_labels(y, label_type))


def _encode(targets: Targets, y: NDArray[Any]) -> NDArray[Any]:
    """Return labels or numbers as they are learned; a label that is no class is an error."""
    if isinstance(targets, Labels):
        unknown = y[~np.isin(y, targets.classes)]
        if len(unknown):
            raise ValueError(
                f"every label must be one of the {targets.n_outputs} classes known so far, got "
                f"{unknown[:1].tolist()[0]!r}; name all labels of a stream with --classes"
            )
    return targets.encode(y)


def read_with_schema(files: list[str], reading: dict[str, Any], schema: Schema, **more: Any) -> Batches:
    """Return files, read as those that a schema was learned from."""
    kept = ("format", "batch_rows", "dtype", "on_error", "rejects", "longest_line", *TEXT_OPTIONS)
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


def _first_rows(batches: Iterator[Batch]) -> Batch:
    taken: list[Batch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        taken.append(batch)
        n_rows += batch.n_rows
        n_bytes += batch.n_rows * bytes_of_a_row(batch)
        if n_rows >= SAMPLE_ROWS or n_bytes >= SAMPLE_BYTES:
            break
    if not taken:
        raise ValueError(NO_ROWS)
    return joined(taken)
