"""Preparation of files, of a stream or of a folder of codes for training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from gcwsnet.data import Batch, Batches, Schema, read
from gcwsnet.data._batch import joined
from gcwsnet.data._survey import infer_label_type
from gcwsnet.streaming._coder import Coder
from gcwsnet.streaming._folder import Manifest, is_codes_folder, read_coder, stored_codes
from gcwsnet.streaming._learn_coder import MOST_BYTES, MOST_ROWS, bytes_of_a_row, learn_coder, learned
from gcwsnet.streaming._task import as_labels, find_task


@dataclass(frozen=True)
class Prepared:
    """The codes and targets that a net learns from.

    Attributes
    ----------
    coder : Coder
    layout : Schema
        How files become rows.
    codes : callable
        Returns the codes and targets of all rows in their order; for a stream it can be called once.
    n_rows : int or None
    skipped : callable
        Returns how many rows were skipped when they were last read, and why.
    """

    coder: Coder
    layout: Schema
    codes: Callable[[], Iterable[Batch]]
    n_rows: int | None
    skipped: Callable[[], tuple[int, list[str]]]


def prepare(
    files: list[str],
    *,
    reading: dict[str, Any],
    hashing: dict[str, Any],
    task: str,
    seed: int,
    n_jobs: int | None,
    classes: list[Any] | None = None,
) -> Prepared:
    """Read files once to learn their columns and labels, and learn a coder from some of their rows."""
    batches = read(files if len(files) > 1 else files[0], **reading)
    hashing = hashing | {"missing": missing_of(batches.schema)}
    if not batches.reusable:
        return _prepared_stream(batches, hashing, task, seed, n_jobs, classes)
    if classes is not None:
        raise ValueError("files show all their labels, and --classes is for a stream; leave --classes out")
    survey = batches.survey()
    if survey.label_type is None:
        raise ValueError("there are no labels to learn from; name their column with --label")
    return prepared(batches, learn_coder(batches, survey, hashing, task, seed, n_jobs))


def prepared(batches: Batches, coder: Coder) -> Prepared:
    """Return files with a coder that is known."""

    def skipped() -> tuple[int, list[str]]:
        return batches.skipped, batches.reasons

    return Prepared(coder, batches.schema, lambda: coder.coded(batches), coder.n_rows, skipped)


def prepare_codes(folder: Path, n_jobs: int | None) -> Prepared:
    """Return the codes of a folder that `gcwsnet hash` wrote."""
    coder, layout = read_coder(folder, n_jobs)
    manifest = Manifest.read(folder)
    if coder.task is None:
        raise ValueError(f"{folder} has codes of rows without labels, and a net cannot be trained on them")
    if len(manifest.files) < manifest.n_files:
        raise ValueError(
            f"{folder} has the codes of {len(manifest.files)} of {manifest.n_files} files; run gcwsnet hash again with "
            "--resume to finish it"
        )

    def codes() -> Iterator[Batch]:
        for batch in stored_codes(folder, manifest):
            y = np.asarray(batch.y)
            yield Batch(batch.X, coder.target(y), batch.weight)

    return Prepared(coder, layout, codes, manifest.n_rows, lambda: (0, []))


def read_again(files: list[str], reading: dict[str, Any], layout: Schema, **more: Any) -> Batches:
    """Read files like those that a layout was learned from."""
    kept = ("format", "batch_rows", "dtype", "header", "on_error", "rejects", "longest_line")
    settings = {name: value for name, value in reading.items() if name in kept}
    return read(files if len(files) > 1 else files[0], schema=layout, **settings, **more)


def missing_of(layout: Schema) -> str:
    """Return the word of the estimators for what a layout says about missing values: NaN in X is for the mean."""
    return "mean" if layout.missing == "nan" else layout.missing


def is_codes(files: list[str]) -> bool:
    """Tell whether the files are one folder of codes; several of them are an error."""
    folders = [file for file in files if is_codes_folder(Path(file))]
    if folders and len(files) > 1:
        raise ValueError(f"a folder of codes is trained on alone, got {', '.join(files)}")
    return bool(folders)


def _prepared_stream(
    batches: Batches, hashing: dict[str, Any], task: str, seed: int, n_jobs: int | None, classes: list[Any] | None
) -> Prepared:
    """Return a stream, whose first rows decide about the coder and come before the others."""
    rest = iter(batches)
    first = _first_rows(rest)
    if first.y is None:
        raise ValueError("there are no labels to learn from; name their column with --label")
    kind = infer_label_type(first.y)
    labels = tuple(np.unique(first.y).tolist()) if classes is None else tuple(classes)
    task = find_task(task, kind, labels)
    if classes is not None and task == "regression":
        raise ValueError("a regression has no classes; leave --classes out, or use --task classification")
    known = np.unique(as_labels(np.array(labels), kind)) if task == "classification" else None
    coder = learned(first, task, kind, known, None, hashing, seed, n_jobs)
    parts = [first.rows(start, start + batches.batch_rows) for start in range(0, first.n_rows, batches.batch_rows)]

    def skipped() -> tuple[int, list[str]]:
        return batches.skipped, batches.reasons

    return Prepared(coder, batches.schema, lambda: coder.coded(chain(parts, rest)), None, skipped)


def _first_rows(batches: Iterator[Batch]) -> Batch:
    taken: list[Batch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        taken.append(batch)
        n_rows += batch.n_rows
        n_bytes += batch.n_rows * bytes_of_a_row(batch)
        if n_rows >= MOST_ROWS or n_bytes >= MOST_BYTES:
            break
    if not taken:
        raise ValueError("there are no rows to learn from")
    return joined(taken)
