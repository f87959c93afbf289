"""The rows that a training run learns from, of files, of a stream, or of a folder of codes; and its held-out rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from gcwsnet.coding._codes_folder import (
    CODER,
    MANIFEST,
    Manifest,
    check_codes,
    file_manifest,
    hashed_files,
    is_codes_folder,
    read_description,
)
from gcwsnet.coding._tensor_file import Arrays, Description
from gcwsnet.data import Batch, Batches, DataError, read
from gcwsnet.data._batch import rebatched, weighted
from gcwsnet.estimators._file_coder import (
    NO_LABELS,
    FileCoder,
    as_labels,
    learn_from_files,
    learn_from_stream,
    read_with_schema,
)
from gcwsnet.estimators._model_format import check_file_coder
from gcwsnet.estimators._stream import Stream
from gcwsnet.estimators._training_options import TrainingOptions
from gcwsnet.training import Labels, Targets, TrainingSettings
from gcwsnet.training._following import PIECE_ROWS

if TYPE_CHECKING:
    from gcwsnet.estimators._base import GCWSNetEstimator

MOST_BYTES_OF_HELD_OUT_CODES = 1 << 28


@dataclass(frozen=True)
class RowSource:
    """Rows to learn from: how they are coded, their codes in the order of the files, and what was skipped."""

    file_coder: FileCoder
    codes: Callable[[], Iterable[Batch]]
    skipped: Callable[[], tuple[int, list[str]]] = lambda: (0, [])


def open_rows(options: TrainingOptions) -> RowSource:
    """Return the rows of a new run."""
    n_jobs = options.n_jobs
    if is_codes(options.files):
        return codes_source(Path(options.files[0]), options.training)
    batches = read(options.files if len(options.files) > 1 else options.files[0], **options.reading)
    if batches.reusable:
        if options.classes is not None:
            raise ValueError("files show all their labels, and --classes is for a stream; leave --classes out")
        learned = learn_from_files(batches, options.coder, options.training, options.task, options.seed, n_jobs)
        if learned.targets is None:
            raise ValueError(NO_LABELS)
        return files_source(batches, learned, n_jobs)
    learned, rows = learn_from_stream(
        batches, options.coder, options.training, options.task, options.classes, options.seed, n_jobs
    )
    # Rows that wait to be shuffled, and those of tests, have the numbers of the classes that there were.
    grows = options.classes is None and not options.shuffle_rows and not options.tests
    followed = FollowedRows(learned, rows, n_jobs, grows=grows)
    return RowSource(learned, followed, lambda: (batches.skipped, batches.reasons))


def reopen_rows(options: TrainingOptions, arrays: Arrays, description: Description) -> RowSource:
    """Return the rows of a run that is resumed, of which this is the checkpoint."""
    if is_codes(options.files):
        return codes_source(Path(options.files[0]), options.training)
    targets = description["trainer"]["targets"]
    described = description["files"] | {"coder": description["coder"], "targets": targets}
    file_coder = FileCoder.from_state(arrays, described)
    batches = read_with_schema(options.files, options.reading, file_coder.schema)
    return files_source(batches, file_coder, options.n_jobs)


def files_source(batches: Batches, file_coder: FileCoder, n_jobs: int | None) -> RowSource:
    def codes() -> Iterator[Batch]:
        return _counted(file_coder.coded(weighted(batches, batches.batch_rows), n_jobs), file_coder.n_rows)

    return RowSource(file_coder, codes, lambda: (batches.skipped, batches.reasons))


def _counted(batches: Iterable[Batch], n_rows: int | None) -> Iterator[Batch]:
    """Yield batches, and raise DataError if they have not this number of rows together."""
    found = 0
    for batch in batches:
        found += batch.n_rows
        if n_rows is not None and found > n_rows:
            break
        yield batch
    if n_rows is not None and found != n_rows:
        more = "more" if found > n_rows else f"{found:,}"
        raise DataError(f"there must be {n_rows:,} rows, as when the files were read first, got {more}; start again")


def codes_source(folder: Path, training: TrainingSettings) -> RowSource:
    """Return the rows of a folder that `gcwsnet hash` wrote.

    The epochs and the temperature that it selected are those of a net with default settings, and are for no others.
    """
    manifest = Manifest.read(folder)
    hashed = hashed_files(folder, manifest)
    file_coder = coder_of_codes(folder)
    if file_coder.targets is not None and replace(training, ensemble="auto") != TrainingSettings():
        coder = replace(file_coder.coder, epochs=None, temperature=1.0)
        file_coder = replace(file_coder, coder=coder, targets=file_coder.targets.with_temperature(1.0))
    if file_coder.targets is None:
        raise ValueError(f"{folder} has codes of rows without labels, and a net cannot be trained on them")
    if len(hashed) < len(manifest.files):
        raise ValueError(
            f"{folder} has the codes of {len(hashed)} of {len(manifest.files)} files; run gcwsnet hash again with "
            "--resume to finish it"
        )
    if any("unread" in one for one in manifest.files):  # the coder was learned without them
        rows = sum(batch.weighted().n_rows for one in hashed for batch in one.batches(folder))
        file_coder = replace(file_coder, n_rows=rows)
    n_codes, n_values = file_coder.coder.n_codes, 2**file_coder.coder.code_bits

    def stored() -> Iterator[Batch]:
        for one in hashed:
            for batch in one.batches(folder):
                check_codes(batch, file_manifest(folder, one.number), n_codes=n_codes, n_values=n_values)
                batch = batch.weighted()  # noqa: PLW2901
                yield Batch(batch.X, file_coder.target(batch.y), batch.weight)

    return RowSource(file_coder, lambda: _counted(stored(), file_coder.n_rows))


def is_codes(files: list[str]) -> bool:
    """Return whether the one source is a folder of codes; several of them are an error."""
    folders = [file for file in files if is_codes_folder(Path(file))]
    if folders and len(files) > 1:
        raise ValueError(f"a folder of codes is trained on alone, got {', '.join(files)}")
    return bool(folders)


def codes_digest(folder: Path) -> str:
    """Return the SHA-256 of the manifests of a folder of codes, which have the checksums of all that is in it."""
    digest = hashlib.sha256()
    for path in [folder / MANIFEST, *sorted(folder.glob("file-*.json"))]:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def coder_of_codes(folder: Path) -> FileCoder:
    """Return how the codes of a folder are made, or raise DataError if the file does not say it."""
    arrays, description = read_description(folder)
    try:
        check_file_coder(arrays, description)
        return FileCoder.from_state(arrays, description)
    except (ValueError, AttributeError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(
            f"the file must say how codes are made ({reason}); hash the files again", path=str(folder / CODER)
        ) from error


class FollowedRows:
    """The codes of a stream: its columns are watched, and labels that are new become classes.

    Each piece is made when the one before it has been learned: a new class may change the numbers of the others.

    Parameters
    ----------
    learned : FileCoder
    rows : iterator of Batch
    n_jobs : int or None
    grows : bool
        Whether labels that the first rows did not show become classes.

    Attributes
    ----------
    estimator : GCWSNetEstimator or None
        The model that learns from the codes, and gets new versions of the preprocessing and new classes.
    """

    def __init__(self, learned: FileCoder, rows: Iterator[Batch], n_jobs: int | None, *, grows: bool) -> None:
        self._learned, self._rows, self._n_jobs, self._grows = learned, rows, n_jobs, grows
        self.estimator: GCWSNetEstimator | None = None

    def __call__(self) -> Iterator[Batch]:
        estimator, learned = self.estimator, self._learned
        assert estimator is not None  # noqa: S101
        first = next(self._rows)
        stream = estimator._stream = Stream(0)
        stream.watch_rows(first.X, learned.coder)
        for piece in rebatched(chain([first], self._rows), PIECE_ROWS):
            coder = stream.look_at(piece.X, learned.coder)
            if coder is not None:
                learned = replace(learned, coder=coder)
                estimator._use_version(coder)
            if self._grows and piece.y is not None and isinstance(learned.targets, Labels):
                labels = as_labels(piece.y, learned.label_type)
                if labels.dtype.kind == learned.targets.classes.dtype.kind:
                    estimator._meet_targets(labels)
                    learned = replace(learned, targets=estimator.trainer_.targets)
            yield from learned.coded([piece], self._n_jobs)


def held_out_rows(options: TrainingOptions, file_coder: FileCoder, targets: Targets) -> list[HeldOutCodes]:
    """Return the rows of the test files, if there are any."""
    if not options.tests:
        return []
    reading = {name: value for name, value in options.reading.items() if name not in ("on_error", "rejects")}
    labels = targets.classes.tolist() if isinstance(targets, Labels) else None
    batches = read_with_schema(options.tests, reading, file_coder.schema, labels=labels)
    return [HeldOutCodes(batches, file_coder, options.n_jobs)]


class HeldOutCodes:
    """The codes of test files; they are kept in memory if they are not too many."""

    def __init__(self, batches: Batches, file_coder: FileCoder, n_jobs: int | None) -> None:
        self._batches, self._file_coder, self._n_jobs = batches, file_coder, n_jobs
        self._kept: list[Batch] | None = None

    def __call__(self) -> Iterator[Batch]:
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Batch] = []
        n_bytes = 0
        batches = weighted(self._batches, self._batches.batch_rows)
        for batch in self._file_coder.coded(batches, self._n_jobs):
            n_bytes += batch.X.nbytes
            if n_bytes <= MOST_BYTES_OF_HELD_OUT_CODES:
                kept.append(batch)
            yield batch
        self._kept = kept if n_bytes <= MOST_BYTES_OF_HELD_OUT_CODES else None
