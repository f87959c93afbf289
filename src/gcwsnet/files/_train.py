"""A training run from files to the folder of a model: its options and rows, started, killed, resumed, finished."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gcwsnet._atomic import locked, remove_left_overs, write_file
from gcwsnet._paths import is_codes, require_separate
from gcwsnet._threads import n_threads
from gcwsnet.estimators._base import BaseTableModel
from gcwsnet.estimators._gcwsnet import BaseGCWSNet, GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._importances import importances_of
from gcwsnet.estimators._load import estimator_of, load_with_description
from gcwsnet.estimators._model_file import FILE_IN_FOLDER, read_model, save_model
from gcwsnet.estimators._notes import notes_about
from gcwsnet.files._codes import (
    FileCoder,
    Manifest,
    check_codes,
    codes_digest,
    digest_of_file,
    file_manifest,
    hashed_files,
)
from gcwsnet.files._learn import (
    NO_ROWS,
    FilesOptions,
    begun_estimator,
    checked,
    coded,
    known_labels,
    other_setting,
    read_with_schema,
    sample,
)
from gcwsnet.files._predict import Model
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches, in_memory, shuffled, split
from gcwsnet.files._sources import Inputs, difference, find_sources
from gcwsnet.net._following import PIECE_ROWS
from gcwsnet.net._history import Record, record_fractions
from gcwsnet.net._targets import Labels
from gcwsnet.net._trainer import Observer, Plan, Trainer
from gcwsnet.tables._batch import Batch, rebatched, weighted
from gcwsnet.tables._encode import DistinctLabels, Survey
from gcwsnet.tables._errors import DataError

logger = logging.getLogger("gcwsnet.files")

MAX_BYTES_OF_KEPT_CODES = 1 << 28

CHECKPOINT, RUN = "checkpoint.safetensors", "run.json"

WRITTEN = re.compile(r"(model|checkpoint)\.safetensors|run\.json")

SCORE = "held_out"
"""The entry of a model file with the score of the rows that were held out."""

SCORES = ("rows", "accuracy", "log_loss", "auc", "r2", "mae", "rmse")

RECORDS_WITH_TESTS = 10

SHUFFLED_ROWS = 65_536

HOLDOUT = 0.2

Codes = Callable[[], Iterable[Batch]]
"""A function that returns the codes of rows, with encoded targets and weights, from the first row on."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(FilesOptions):
    """The options of a training run, whose folder gets the model.

    A share of the rows is held out to score a first model, which learns from the others. None is 0.2 for files, and 0
    for a stream, for codes and on a cluster, which can have no other.
    """

    tests: list[str] = field(default_factory=list)
    holdout: float | None = None
    checkpoint_rows: int = 0  # from one checkpoint to the next; 0 for none

    def check_for_stream(self) -> None:
        """Raise an error for an option that one pass over a stream cannot have."""
        if self.holdout:
            raise ValueError("a stream can be read only once, so no rows can be held out; leave out --holdout")
        if self.checkpoint_rows or self.resume:
            raise ValueError(
                "a stream can be read only once, so its run cannot be resumed; leave out --checkpoint-every and "
                "--resume"
            )
        if self.params.get("epochs", "auto") not in ("auto", 1):
            raise ValueError("a stream can be read only once, so --epochs must be 1; put the rows into a file for more")


class TrainingObserver(Observer):
    """An observer of a run on files."""

    def hold_out(self, n_rows: int, n_held_out: int, epochs: int) -> None:
        """Take note that a model learns from some rows, for a score on the held-out ones."""

    def scored(self, score: dict[str, Any], estimator: BaseTableModel, rows: Batch) -> None:
        """Take note of a model's score, and of some of the checked rows that it was held out from."""

    def start(self, estimator: BaseGCWSNet, n_rows: int | None, epochs: int) -> None:
        """Take note that the model that is kept begins to learn, or goes on."""


class Cluster(Protocol):
    """Workers that hash the files of a run, and learn from the folder of codes."""

    settings: dict[str, Any]
    """What the model follows from beside the options."""

    def hash(self, options: TrainingOptions) -> Path:
        """Return the folder with the codes of the files."""

    def run(self, estimator: BaseGCWSNet, plan: Plan, held_out: Sequence[Codes], observer: Observer) -> None:
        """Learn from the rows that are left."""

    def finish(self) -> None:
        """Remove what is not needed any more, once the model has been written."""


@dataclass(frozen=True)
class TrainingResult:
    """The result of a finished run."""

    estimator: BaseTableModel
    skipped: int = 0  # rows that could not be read
    reasons: Sequence[str] = ()  # why the first few of them could not be read
    score: dict[str, Any] | None = None  # on held-out rows, of a model that learned from the others


@dataclass(frozen=True)
class Job:
    """An estimator that has begun to learn, and its rows, whose number nobody knows of a stream."""

    estimator: BaseGCWSNet
    codes: Codes
    n_rows: int | None
    n_epochs: int = 1
    score: dict[str, Any] | None = None
    skipped: Callable[[], tuple[int, list[str]]] = lambda: (0, [])


def train_files(options: TrainingOptions, observer: TrainingObserver, cluster: Cluster | None = None) -> TrainingResult:
    """Train a net on files and write it into its folder."""
    options.check()
    sources = find_sources(options.files)
    test_sources = find_sources(options.tests) if options.tests else []
    is_stream = not all(one.reusable for one in sources)
    if is_stream:
        options.check_for_stream()
        if cluster is not None:
            raise ValueError("workers read files, which standard input is not; give files")
    given = [one.name for one in ([] if is_codes(options.files) else sources) + test_sources]
    rejects = options.reading.get("rejects")
    require_separate(given, [] if rejects is None else [rejects], folder=options.out, written=WRITTEN)
    tests = Inputs([one.name for one in test_sources])
    inputs = Inputs([] if is_stream or is_codes(options.files) else [one.name for one in sources])
    options.out.mkdir(parents=True, exist_ok=True)
    with locked(options.out):
        remove_left_overs(options.out)
        fingerprint = options.fingerprint(holdout=options.holdout) | ({} if cluster is None else cluster.settings)
        fingerprint |= {"files": inputs.fingerprints or options.files, "tests": tests.fingerprints}
        if is_codes(options.files):
            fingerprint["codes"] = codes_digest(Path(options.files[0]))
        return _train(options, observer, cluster, [inputs, tests], fingerprint)


def _train(
    options: TrainingOptions,
    observer: TrainingObserver,
    cluster: Cluster | None,
    inputs: list[Inputs],
    fingerprint: dict[str, Any],
) -> TrainingResult:
    checkpoint, model = options.out / CHECKPOINT, options.out / FILE_IN_FOLDER
    if options.resume and not checkpoint.exists() and _is_finished(options.out, fingerprint):
        estimator, description = load_with_description(options.out)
        return TrainingResult(estimator, score=description.get(SCORE))
    if checkpoint.exists() and not options.resume:
        if not options.restart:
            raise ValueError(
                f"{checkpoint} is of a run that did not finish; continue it with --resume, or drop it with --restart"
            )
        checkpoint.unlink()
    unfinished = read_checkpoint(checkpoint, fingerprint) if checkpoint.exists() else None
    folder = Path(options.files[0]) if is_codes(options.files) else None
    if cluster is not None:
        folder = cluster.hash(options)
    if unfinished is not None:
        job = resumed(options, folder, *unfinished)
    elif folder is not None:
        job = begun_on_codes(folder, options.params)
    else:
        job = begun_on_files(options, observer)
    estimator, n_rows = job.estimator, job.n_rows
    plan = Plan(
        job.n_epochs,
        n_rows,
        fractions=record_fractions(RECORDS_WITH_TESTS if options.tests else 1),
        doubling=True,
        checkpoint_rows=options.checkpoint_rows if cluster is None else options.checkpoint_rows or 1,
        follows=n_rows is None,
    )
    more = ({} if cluster is None else cluster.settings) | ({} if job.score is None else {SCORE: job.score})

    def save_checkpoint() -> None:
        for one in inputs:
            one.check()
        run = {"fingerprint": fingerprint, "run": {"rows": n_rows, "epochs": job.n_epochs}}
        save_model(estimator, checkpoint, training_state=True, timings=False, more=more | run)

    # by default a cluster saves one after each round, unless that would take more than a tenth of the time
    least_pause = 0.0 if cluster is None or options.checkpoint_rows else 9.0
    observing = _Checkpoints(observer, save_checkpoint, least_pause=least_pause)
    held_out = rows_of_tests(options, estimator)
    observer.start(estimator, n_rows, plan.epochs)
    if cluster is None:
        learn(estimator, plan, job.codes, held_out, observing)
    else:
        cluster.run(estimator, plan, held_out, observing)
    for one in inputs:
        one.check()
    save_model(estimator, model, timings=False, more=more)
    run = {"model": digest_of_file(model), "run": fingerprint}
    write_file(options.out / RUN, json.dumps(run, indent=1).encode())
    checkpoint.unlink(missing_ok=True)
    if cluster is not None:
        cluster.finish()
    return TrainingResult(estimator, *job.skipped(), job.score)


def learn(
    estimator: BaseGCWSNet, plan: Plan, codes: Codes, held_out: Sequence[Codes] = (), observer: Observer | None = None
) -> None:
    """Learn from the rows that are left, in an order that the seed and the number of the epoch decide.

    A stream is learned in its order.
    """
    if plan.epochs > 1:
        codes = kept(codes)

    def epoch(number: int) -> Iterable[Batch]:
        return codes() if plan.follows else shuffled(codes(), SHUFFLED_ROWS, epoch_seed(estimator.seed_, number))

    estimator.trainer_.run(plan, epoch, held_out, observer, n_jobs=n_threads(estimator.n_jobs))


def epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed of the order of an epoch's rows."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0])


def begun_on_files(options: TrainingOptions, observer: TrainingObserver) -> Job:
    """Return the job of a new run on files or on a stream; the score of held-out rows comes first."""
    batches = read(options.files if len(options.files) > 1 else options.files[0], **options.reading)
    if not batches.reusable:
        return _begun_on_stream(batches, options)
    survey = batches.survey()
    rows = in_memory(batches, survey.n_weighted)
    score, stopped = score_held_out(rows, survey, options, observer)
    estimator = _begun(rows, survey, survey.n_weighted, options)
    n_epochs, net = estimator._n_epochs(estimator.trainer_.settings, survey.n_weighted), estimator.trainer_.net
    if stopped is not None and stopped.best_epoch:
        n_epochs, net.targets = stopped.best_epoch, net.targets.with_temperature(stopped.targets.temperature)
    estimator.trainer_.start_run(with_auc=True)
    codes = partial(counted, partial(coded, estimator, rows, options.n_jobs), survey.n_weighted)
    return Job(estimator, codes, survey.n_weighted, n_epochs, score, lambda: (batches.skipped, batches.reasons))


def _begun(rows: Batches, survey: Survey, n_rows: int, options: TrainingOptions) -> BaseGCWSNet:
    some = sample(rows, n_rows, options.seed)
    estimator, targets = begun_estimator(some, rows.schema, survey, n_rows, options)
    if n_rows == survey.n_weighted:
        seen = some if some.n_rows == n_rows else some.rows(0, 0)  # a part does not tell what all rows have
        for note in notes_about(seen.X, seen.y, targets, rows.schema):
            logger.info(note)
    return estimator


def score_held_out(
    rows: Batches, survey: Survey, options: TrainingOptions, observer: TrainingObserver
) -> tuple[dict[str, Any] | None, Trainer | None]:
    """Return the metrics of held-out rows for a model that learns from the others, and its trainer if these stop it.

    There is no score if the rows are too few.
    """
    fraction = HOLDOUT if options.holdout is None else options.holdout
    is_early = options.params.get("early_stopping", False)
    training, held_out = split(rows, fraction, options.seed)
    n_rows = sum(batch.n_rows for batch in training) if fraction else 0
    if n_rows in (0, survey.n_weighted):
        if is_early:
            raise ValueError(
                f"early_stopping needs held-out rows, and there are none with holdout={fraction}; leave out "
                "early_stopping"
            )
        return None, None
    estimator = _begun(training, survey, n_rows, options)
    plan = estimator._plan(n_rows)
    observer.hold_out(n_rows, survey.n_weighted - n_rows, plan.epochs)
    validation = [kept(partial(coded, estimator, held_out, options.n_jobs))] if is_early else []
    learn(estimator, plan, partial(coded, estimator, training, options.n_jobs), validation, observer)
    estimator.trainer_.compress("int4", n_jobs=options.n_jobs)  # as the model in the file is
    score, some = score_of(estimator, held_out, survey.n_weighted - n_rows, options)
    score |= {"rows_learned": n_rows}
    observer.scored(score, estimator, some)
    return score, estimator.trainer_ if is_early else None


def score_of(
    estimator: BaseTableModel, held_out: Batches, n_rows: int, options: TrainingOptions
) -> tuple[dict[str, Any], Batch]:
    """Return the metrics of `n_rows` held-out rows with the importances of columns, and some of these rows, checked."""
    predictor = estimator._predictor()
    model, targets = Model(predictor), predictor.targets
    metrics = model.metrics(weighted=False)
    for found in model.predictions(held_out):
        metrics.add(found)
    values = metrics.values()
    score = {name: values[name] for name in SCORES if name in values}
    some = sample(held_out, n_rows, options.seed)
    some = Batch(checked(estimator.coder_, some.X), known_labels(some.y, targets))
    score["importances"] = [[*one] for one in importances_of(predictor, some.X, targets.encode(some.y))]
    return score, some


def _begun_on_stream(batches: Batches, options: TrainingOptions) -> Job:
    """Return the job of a stream, which is followed as by `partial_fit`."""
    rest = weighted(batches, batches.batch_rows)
    first = next(rest, None)
    if first is None:
        raise ValueError(NO_ROWS)
    labels = DistinctLabels()
    labels.update(first.y)
    estimator, _ = begun_estimator(first, batches.schema, labels, None, options)
    estimator.trainer_.start_run(with_auc=True, with_last_label=True)

    def codes() -> Iterator[Batch]:
        for piece in rebatched(chain([first], rest), PIECE_ROWS):
            y = known_labels(piece.y, estimator.trainer_.targets, grows=True)
            rows = piece._replace(X=checked(estimator.coder_, piece.X), y=y)
            target = estimator._take_in(rows)
            yield estimator._encoded(rows, options.n_jobs, target)

    return Job(estimator, codes, None, skipped=lambda: (batches.skipped, batches.reasons))


def begun_on_codes(folder: Path, params: dict[str, Any]) -> Job:
    """Return the job of a new run on a folder of codes, with what they were made with as further parameters.

    The epochs and the temperature that were selected for a net with other parameters are not for this one.
    """
    manifest, file_coder = Manifest.read(folder), FileCoder.read(folder)
    coder, targets, selection = file_coder
    if targets is None:
        raise ValueError(f"{folder} has codes of rows without labels, and a net cannot be trained on them")
    make: Any = GCWSNetClassifier if isinstance(targets, Labels) else GCWSNetRegressor
    made_for = make(**manifest.settings["params"])
    estimator = make(**manifest.settings["params"] | params)
    if estimator.get_params() | {"n_jobs": None} != made_for.get_params():
        if any(one.stage == "last" for one in selection):
            logger.info(
                "the epochs and the temperature that gcwsnet hash has selected are for another net and are not used; "
                "to have a temperature for this one, train on the files"
            )
        selection = [replace(one, chosen=one.chosen and one.stage != "last") for one in selection]
    hashed = hashed_files(folder, manifest)
    if len(hashed) < len(manifest.files):
        raise ValueError(
            f"{folder} has the codes of {len(hashed)} of {len(manifest.files)} files; run gcwsnet hash again with "
            "--resume to finish it"
        )
    n_rows = sum(one.n_positive(folder) for one in hashed)
    estimator._begin_with_coder(coder, targets, selection, n_rows)
    estimator.trainer_.start_run(with_auc=True)
    n_epochs = estimator._n_epochs(estimator.trainer_.settings, n_rows)
    skipped = sum(one.skipped for one in hashed)
    return Job(estimator, partial(stored, folder, estimator), n_rows, n_epochs, skipped=lambda: (skipped, []))


def stored(folder: Path, estimator: BaseGCWSNet) -> Iterator[Batch]:
    """Yield the rows of a folder of codes, with encoded targets."""
    coder, targets = estimator.coder_, estimator.trainer_.targets
    for one in hashed_files(folder, Manifest.read(folder)):
        for batch in one.batches(folder):
            check_codes(batch, file_manifest(folder, one.number), n_codes=coder.n_codes, n_values=2**coder.code_bits)
            rows = batch.weighted()
            yield rows._replace(y=targets.encode(known_labels(rows.y, targets)))


def read_checkpoint(path: Path, fingerprint: dict[str, Any]) -> tuple[BaseGCWSNet, dict[str, Any]]:
    """Return the estimator and the description of an unfinished run, which must have the same fingerprint."""
    _, arrays, description = read_model(path)
    before = description.get("fingerprint")
    if not isinstance(before, dict):
        raise ValueError(
            f"{path} is no checkpoint: it does not say of which files and settings; start again with --restart"
        )
    for name in ("files", "tests"):
        if before.get(name) != fingerprint[name]:
            raise ValueError(
                f"{path} is of a run with other {'test files' if name == 'tests' else name}: "
                f"{difference(before.get(name), fingerprint[name])}; a run is resumed with the same files, or start "
                "again with --restart"
            )
    if other := other_setting(before, fingerprint):
        raise ValueError(
            f"{path} is of a run with {other}; a run is resumed with the same files and settings, or start again with "
            "--restart"
        )
    return estimator_of(path, arrays, description), description


def resumed(options: TrainingOptions, folder: Path | None, estimator: BaseGCWSNet, description: dict[str, Any]) -> Job:
    """Return the job of an unfinished run."""
    estimator.n_jobs = options.n_jobs
    n_rows, n_epochs, score = description["run"]["rows"], description["run"]["epochs"], description.get(SCORE)
    if folder is not None:
        return Job(estimator, partial(stored, folder, estimator), n_rows, n_epochs, score)
    assert estimator.coder_.schema is not None  # noqa: S101 - rows of files have one
    batches = read_with_schema(options.files, options.reading, estimator.coder_.schema)
    codes = partial(counted, partial(coded, estimator, batches, options.n_jobs), n_rows)
    return Job(estimator, codes, n_rows, n_epochs, score, lambda: (batches.skipped, batches.reasons))


def counted(codes: Codes, n_rows: int) -> Iterator[Batch]:
    """Yield codes, and raise DataError if they have not this number of rows together."""
    found = 0
    for batch in codes():
        found += batch.n_rows
        if found > n_rows:
            break
        yield batch
    if found != n_rows:
        more = "more" if found > n_rows else f"{found:,}"
        raise DataError(f"there must be {n_rows:,} rows, as when the files were read first, got {more}; start again")


def rows_of_tests(options: TrainingOptions, estimator: BaseGCWSNet) -> list[Codes]:
    """Return the rows of the test files, if there are any."""
    schema, targets = estimator.coder_.schema, estimator.trainer_.targets
    if not options.tests or schema is None:
        return []
    reading = {name: value for name, value in options.reading.items() if name not in ("on_error", "rejects")}
    labels = targets.classes.tolist() if isinstance(targets, Labels) and estimator._stream is None else None
    batches = read_with_schema(options.tests, reading, schema, labels=labels)
    codes = partial(coded, estimator, batches, options.n_jobs)
    return [codes if estimator._stream is not None else kept(codes)]  # a stream may change how rows are coded


def kept(codes: Codes) -> Codes:
    """Return codes that stay in memory once all have been made, if they take at most 256 MB."""
    memory: list[Batch] | None = None

    def again() -> Iterator[Batch]:
        nonlocal memory
        if memory is not None:
            yield from memory
            return
        made: list[Batch] = []
        n_bytes = 0
        for batch in codes():
            n_bytes += sum(array.nbytes for array in batch if array is not None)
            if n_bytes <= MAX_BYTES_OF_KEPT_CODES:
                made.append(batch)
            yield batch
        if n_bytes <= MAX_BYTES_OF_KEPT_CODES:
            memory = made

    return again


class _Checkpoints(Observer):
    """An observer that saves checkpoints and passes all else on.

    There is at least `least_pause` times the time between two of them that the last one took.
    """

    def __init__(self, observer: Observer, save: Callable[[], None], *, least_pause: float) -> None:
        self._observer, self._save, self._least_pause = observer, save, least_pause
        self._not_before = 0.0

    def advance(self, rows: int, loss: float) -> None:
        self._observer.advance(rows, loss)

    def record(self, record: Record) -> bool:
        return self._observer.record(record)

    def checkpoint(self) -> None:
        start = time.monotonic()
        if start >= self._not_before:
            self._save()
            self._not_before = time.monotonic() + self._least_pause * (time.monotonic() - start)


def _is_finished(out: Path, fingerprint: dict[str, Any]) -> bool:
    """Return whether the model in a folder is that of a finished run with this fingerprint."""
    try:
        run = json.loads((out / RUN).read_bytes())
        return bool(run["run"] == fingerprint and run["model"] == digest_of_file(out / FILE_IN_FOLDER))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
