"""A training run from files to the folder of a model: its options and rows, started, killed, resumed, finished."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from gcwsnet._atomic import locked, remove_left_overs, write_file
from gcwsnet._paths import is_codes, require_separate
from gcwsnet._threads import n_threads
from gcwsnet.estimators._gcwsnet import BaseGCWSNet, GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._input import set_inputs
from gcwsnet.estimators._model_file import (
    FILE_IN_FOLDER,
    estimator_of,
    load_with_description,
    read_model,
    save_model,
)
from gcwsnet.estimators._stream import WarmUp
from gcwsnet.estimators._tensor_file import Arrays, Description
from gcwsnet.files._codes import (
    Manifest,
    check_codes,
    coder_of_codes,
    codes_digest,
    file_manifest,
    hashed_files,
)
from gcwsnet.files._learn import (
    NO_LABELS,
    FileCoder,
    RunOptions,
    as_labels,
    learn_from_files,
    learn_from_stream,
    read_with_schema,
)
from gcwsnet.files._predict import metrics_of, predictions_of
from gcwsnet.files._read import read
from gcwsnet.files._reader import Batches, in_memory, shuffled, split
from gcwsnet.files._sources import Inputs, difference, find_sources
from gcwsnet.net._following import PIECE_ROWS
from gcwsnet.net._history import Record, record_fractions
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels, Targets
from gcwsnet.net._trainer import Observer, Plan, Trainer
from gcwsnet.tables._batch import Batch, rebatched, weighted
from gcwsnet.tables._constant import keep_constants
from gcwsnet.tables._errors import DataError
from gcwsnet.tables._learn import Survey


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(RunOptions):
    """The options of a training run, whose folder gets the model.

    Attributes
    ----------
    tests : list of str
    classes : list of str or None
        All labels that a stream can have.
    holdout : float or None
        The share of rows that are held out to score a first model, which learns from the others. None is 0.2 for files,
        and 0 for a stream, for codes and on a cluster, which can have no other.
    shuffle_rows : int or None
        The rows of the shuffle buffer; 0 keeps the order of the files. None is 65,536 for files, and 0 for a stream,
        which is followed in its order.
    checkpoint_rows : int
        Rows from one checkpoint to the next; 0 for none.
    """

    tests: list[str]
    classes: list[str] | None = None
    holdout: float | None = None
    shuffle_rows: int | None = None
    checkpoint_rows: int = 0

    def check_for_stream(self) -> None:
        """Raise an error for an option that one pass over a stream cannot have."""
        if self.holdout:
            raise ValueError("a stream can be read only once, so no rows can be held out; leave out --holdout")
        if self.checkpoint_rows or self.resume:
            raise ValueError(
                "a stream can be read only once, so its run cannot be resumed; leave out --checkpoint-every and "
                "--resume"
            )
        if self.training.epochs not in ("auto", 1):
            raise ValueError("a stream can be read only once, so --epochs must be 1; put the rows into a file for more")
        if self.classes is not None and self.task == "regression":
            raise ValueError("a regression has no classes; leave --classes out, or use --task classification")


logger = logging.getLogger("gcwsnet.files")

MAX_BYTES_OF_KEPT_CODES = 1 << 28


Codes = Callable[[], Iterable[Batch]]
"""A function that returns the codes of rows, with encoded targets and weights, from the first row on."""


@dataclass(frozen=True)
class RowSource:
    """Rows to learn from: how they are coded, their codes in the order of the files, and what was skipped.

    A new run on files also has the rows themselves and their survey, of which some may be held out.
    """

    file_coder: FileCoder
    codes: Codes
    skipped: Callable[[], tuple[int, list[str]]] = lambda: (0, [])
    rows: Batches | None = None
    survey: Survey | None = None


def open_rows(options: TrainingOptions) -> RowSource:
    """Return the rows of a new run."""
    n_jobs = options.n_jobs
    if is_codes(options.files):
        return codes_source(Path(options.files[0]), options.training)
    batches = read(options.files if len(options.files) > 1 else options.files[0], **options.reading)
    if batches.reusable:
        if options.classes is not None:
            raise ValueError("files show all their labels, and --classes is for a stream; leave --classes out")
        survey = batches.survey()
        if survey.label_type is None:
            raise ValueError(NO_LABELS)
        if survey.labels is not None and len(survey.labels) == 1:
            label = int(survey.labels[0]) if survey.label_type == "integers" else survey.labels[0]
            logger.info("all rows have the label %r, and the model will predict nothing else", label)
        rows = in_memory(batches, survey.n_weighted)
        source = files_source(rows, learn_from_files(rows, survey, options), n_jobs)
        return replace(source, rows=rows, survey=survey)
    learned, stream = learn_from_stream(batches, options, options.classes)
    # Rows that wait to be shuffled, and those of tests, have the numbers of the classes that there were.
    grows = options.classes is None and not options.shuffle_rows and not options.tests
    followed = FollowedRows(learned, stream, n_jobs, grows=grows)
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
        selection = [replace(one, chosen=one.chosen and one.stage != "last") for one in file_coder.selection]
        file_coder = replace(file_coder, selection=selection, targets=file_coder.targets.with_temperature(1.0))
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
    estimator : BaseGCWSNet or None
        The model that learns from the codes, and gets new columns and new classes.
    """

    def __init__(self, learned: FileCoder, rows: Iterator[Batch], n_jobs: int | None, *, grows: bool) -> None:
        self._learned, self._rows, self._n_jobs, self._grows = learned, rows, n_jobs, grows
        self.estimator: BaseGCWSNet | None = None

    def __call__(self) -> Iterator[Batch]:
        estimator, learned = self.estimator, self._learned
        assert estimator is not None  # noqa: S101
        rows = (one._replace(X=learned.schema.rows(one.X)) for one in self._rows)
        first = next(rows)
        estimator._stream = WarmUp()
        preprocessing = keep_constants(learned.coder.preprocessing, first.X)
        estimator.coder_ = replace(learned.coder, preprocessing=preprocessing)
        for piece in rebatched(chain([first], rows), PIECE_ROWS):
            estimator._reactivate_columns(piece.X)
            learned = replace(learned, coder=estimator.coder_)
            if self._grows and piece.y is not None and isinstance(learned.targets, Labels):
                labels = as_labels(piece.y, learned.label_type)
                if labels.dtype.kind == learned.targets.classes.dtype.kind:
                    estimator._meet_targets(labels)
                    learned = replace(learned, targets=estimator.trainer_.targets)
            yield from learned.coded([piece], self._n_jobs)


def held_out_rows(options: TrainingOptions, file_coder: FileCoder, targets: Targets) -> list[Codes]:
    """Return the rows of the test files, if there are any."""
    if not options.tests:
        return []
    reading = {name: value for name, value in options.reading.items() if name not in ("on_error", "rejects")}
    labels = targets.classes.tolist() if isinstance(targets, Labels) else None
    batches = read_with_schema(options.tests, reading, file_coder.schema, labels=labels)
    return [kept(lambda: file_coder.coded(weighted(batches, batches.batch_rows), options.n_jobs))]


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


CURVES = "curves.json"


def write_curves(folder: Path, estimator: BaseGCWSNet) -> None:
    """Write the curves of an estimator into a folder, without seconds: equal runs give equal files."""
    history = {name: values for name, values in estimator.history_.items() if name != "seconds"}
    length = len(next(iter(history.values()), []))
    records = [
        {name: values[i] for name, values in history.items() if not math.isnan(values[i])} for i in range(length)
    ]
    write_file(folder / CURVES, (json.dumps(records, indent=1) + "\n").encode())


CHECKPOINT = "checkpoint.safetensors"

RUN = "run.json"

SCORE = "held_out"

WRITTEN = re.compile(r"(model|checkpoint)\.safetensors|run\.json|curves\.json")

RECORDS_WITH_TESTS = 10

SHUFFLED_ROWS = 65_536

HOLDOUT = 0.2

SCORES = ("rows", "accuracy", "log_loss", "auc", "r2", "mae", "rmse")


class TrainingObserver(Observer):
    """An observer of a run on files."""

    def start(self, estimator: BaseGCWSNet, n_rows: int | None, epochs: int, done: int) -> None:
        """Take note of a run that begins: the rows of an epoch, the epochs, and the rows done before."""

    def hold_out(self, n_rows: int, n_held_out: int, epochs: int) -> None:
        """Take note that a model learns from some rows, for a score on the held-out ones."""

    def scored(self, score: dict[str, Any]) -> None:
        """Take note of this score, before all rows are learned from."""


@dataclass(frozen=True)
class TrainingResult:
    """The result of a finished run.

    Attributes
    ----------
    estimator : BaseGCWSNet
    skipped : int
        Rows that could not be read.
    reasons : list of str
        Why the first few of them could not be read.
    score : dict or None
        The metrics of the held-out rows, of a model that learned from the others.
    """

    estimator: BaseGCWSNet
    skipped: int
    reasons: list[str]
    score: dict[str, Any] | None = None


class Engine:
    """Where a run gets its rows and learns from them: here, in this process."""

    least_pause = 0.0
    """The time between two checkpoints, as a multiple of what the last one took, that there is at least."""

    def settings(self) -> dict[str, Any]:
        """Return what the model follows from beside the options."""
        return {}

    def open(self, options: TrainingOptions) -> RowSource:
        """Return the rows of a new run."""
        return open_rows(options)

    def reopen(self, options: TrainingOptions, arrays: Arrays, description: Description) -> RowSource:
        """Return the rows of a run that is resumed, of which this is the checkpoint."""
        return reopen_rows(options, arrays, description)

    def learn(
        self,
        options: TrainingOptions,
        estimator: BaseGCWSNet,
        plan: Plan,
        source: RowSource,
        held_out: Sequence[Codes],
        observer: Observer,
    ) -> None:
        """Learn from the rows that are left."""
        codes = source.codes if plan.epochs == 1 else kept(source.codes)

        def epoch(number: int) -> Iterable[Batch]:
            if not options.shuffle_rows:
                return codes()
            return shuffled(codes(), options.shuffle_rows, epoch_seed(estimator.seed_, number))

        estimator.trainer_.run(plan, epoch, held_out, observer, n_jobs=n_threads(options.n_jobs))

    def finish(self, options: TrainingOptions) -> None:
        """Remove what is not needed any more, once the model has been written."""


def epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed of the order of an epoch's rows."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0])


LOCAL = Engine()


def train_files(options: TrainingOptions, observer: TrainingObserver, engine: Engine = LOCAL) -> TrainingResult:
    """Train a net on files and write it into its folder."""
    options.check()
    sources = find_sources(options.files)
    test_sources = find_sources(options.tests) if options.tests else []
    is_stream = not all(one.reusable for one in sources)
    if is_stream:
        options.check_for_stream()
    read = [one.name for one in ([] if is_codes(options.files) else sources) + test_sources]
    rejects = options.reading.get("rejects")
    require_separate(read, [] if rejects is None else [rejects], folder=options.out, written=WRITTEN)
    if options.shuffle_rows is None:
        options = replace(options, shuffle_rows=0 if is_stream else SHUFFLED_ROWS)
    tests = Inputs([one.name for one in test_sources])
    inputs = None if is_stream or is_codes(options.files) else Inputs([one.name for one in sources])
    options.out.mkdir(parents=True, exist_ok=True)
    with locked(options.out):
        remove_left_overs(options.out)
        fingerprint = _fingerprint(options, inputs, tests) | engine.settings()
        return _train(options, observer, engine, [one for one in (inputs, tests) if one is not None], fingerprint)


def _train(
    options: TrainingOptions,
    observer: TrainingObserver,
    engine: Engine,
    inputs: list[Inputs],
    fingerprint: dict[str, Any],
) -> TrainingResult:
    checkpoint = options.out / CHECKPOINT
    if options.resume and not checkpoint.exists() and _is_finished(options.out, fingerprint):
        estimator, description = load_with_description(options.out)
        return TrainingResult(estimator, 0, [], description.get(SCORE))
    if checkpoint.exists() and not options.resume:
        if not options.restart:
            raise ValueError(
                f"{checkpoint} is of a run that did not finish; continue it with --resume, or drop it with --restart"
            )
        checkpoint.unlink()
    if checkpoint.exists():
        source, estimator, score = _resume(options, engine, checkpoint, fingerprint)
    else:
        source = engine.open(options)
        score = score_held_out(source, options, observer)
        estimator = make_estimator(source.file_coder, options.training, options.n_jobs)
        is_stream = source.file_coder.n_rows is None
        estimator.trainer_.start_run(with_auc=True, with_last_label=is_stream)
        if isinstance(source.codes, FollowedRows):
            source.codes.estimator = estimator
    n_rows = source.file_coder.n_rows
    plan = Plan(
        1 if n_rows is None else estimator._n_epochs(estimator.trainer_.settings, n_rows),
        n_rows,
        fractions=record_fractions(RECORDS_WITH_TESTS if options.tests else 1),
        doubling=True,
        checkpoint_rows=options.checkpoint_rows,
        follows=n_rows is None,
    )
    more = {"files": source.file_coder.file_description()} | engine.settings()
    more |= {} if score is None else {SCORE: score}

    def check_inputs() -> None:
        for one in inputs:
            one.check()

    checkpoints = _Checkpoints(
        estimator,
        observer,
        check_inputs,
        path=checkpoint,
        more=more | {"fingerprint": fingerprint},
        least_pause=engine.least_pause,
    )
    held_out = held_out_rows(options, source.file_coder, estimator.trainer_.targets)
    observer.start(estimator, plan.n_rows, plan.epochs, estimator.trainer_.rows_seen)
    engine.learn(options, estimator, plan, source, held_out, checkpoints)
    check_inputs()
    model = options.out / FILE_IN_FOLDER
    outdated = [options.out / RUN, options.out / CURVES]  # of an older model in the folder
    save_model(estimator, model, timings=False, more=more, outdated=outdated)
    write_curves(options.out, estimator)
    run = {"model": _digest(model), "run": fingerprint}
    write_file(options.out / RUN, json.dumps(run, indent=1).encode())
    checkpoint.unlink(missing_ok=True)
    engine.finish(options)
    return TrainingResult(estimator, *source.skipped(), score)


def score_held_out(source: RowSource, options: TrainingOptions, observer: TrainingObserver) -> dict[str, Any] | None:
    """Return the metrics of a share of the rows for a model that learns from the others; None if there are too few."""
    rows, survey, fraction = source.rows, source.survey, HOLDOUT if options.holdout is None else options.holdout
    if rows is None or survey is None or not fraction:
        return None
    training, held_out = split(rows, fraction, options.seed)
    n_rows = sum(batch.n_rows for batch in training)
    if n_rows in (0, survey.n_weighted):
        return None
    file_coder = learn_from_files(training, replace(survey, n_weighted=n_rows), options)
    estimator = make_estimator(file_coder, options.training, options.n_jobs)
    plan = Plan(estimator._n_epochs(options.training, n_rows), n_rows)
    observer.hold_out(n_rows, survey.n_weighted - n_rows, plan.epochs)
    learner = files_source(training, file_coder, options.n_jobs)
    LOCAL.learn(options, estimator, plan, learner, [], _ProgressOnly(observer))
    estimator.compress()  # as the model in the file is
    metrics = metrics_of(file_coder.targets, weighted=False)
    for batch in held_out:
        found = predictions_of(estimator._predictor(), file_coder.schema.rows(batch.X))
        metrics.add(replace(found, y=as_labels(batch.y, file_coder.label_type)))
    values = metrics.values()
    score = {name: values[name] for name in SCORES if name in values} | {"rows_learned": n_rows}
    observer.scored(score)
    return score


class _ProgressOnly(Observer):
    """An observer that passes on how many rows were learned, and no records."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def advance(self, rows: int, loss: float) -> None:
        self._observer.advance(rows, loss)


class _Checkpoints(Observer):
    """An observer that writes checkpoints and passes all else on; see `Engine` for `least_pause`."""

    def __init__(
        self,
        estimator: BaseGCWSNet,
        observer: Observer,
        check_inputs: Callable[[], None],
        *,
        path: Path,
        more: dict[str, Any],
        least_pause: float,
    ) -> None:
        self._estimator, self._observer, self._check_inputs = estimator, observer, check_inputs
        self._path, self._more, self._least_pause = path, more, least_pause
        self._not_before = 0.0

    def advance(self, rows: int, loss: float) -> None:
        self._observer.advance(rows, loss)

    def record(self, record: Record) -> bool:
        return self._observer.record(record)

    def checkpoint(self) -> None:
        start = time.monotonic()
        if start < self._not_before:
            return
        self._check_inputs()
        save_model(self._estimator, self._path, training_state=True, timings=False, more=self._more)
        self._not_before = time.monotonic() + self._least_pause * (time.monotonic() - start)


def make_estimator(file_coder: FileCoder, training: TrainingSettings, n_jobs: int | None) -> BaseGCWSNet:
    """Return an estimator with the coder and the targets of files, and with a net that has learned nothing."""
    make: Any = GCWSNetClassifier if isinstance(file_coder.targets, Labels) else GCWSNetRegressor
    coder = file_coder.coder
    assert file_coder.targets is not None  # noqa: S101
    suited = (math.inf,) if file_coder.n_rows is None else (file_coder.n_rows, file_coder.targets.n_outputs)
    training = replace(training, ensemble=coder.n_codes // coder.settings.n_hashes).for_rows(*suited)
    settings = asdict(coder.settings) | vars(training)
    estimator: BaseGCWSNet = make(random_state=coder.seed, n_jobs=n_jobs, **settings)
    estimator._freeze_parameters()
    estimator.coder_, estimator.selection_ = coder, list(file_coder.selection)
    names = file_coder.schema.input_names
    set_inputs(estimator, coder.n_inputs, None if not names or None in names else names)
    made = {"n_hashes": coder.settings.n_hashes, "code_bits": coder.code_bits, "seed": coder.seed}
    estimator.trainer_ = Trainer.begin(training, file_coder.targets, **made, device="cpu")
    return estimator


def _resume(
    options: TrainingOptions, engine: Engine, checkpoint: Path, fingerprint: dict[str, Any]
) -> tuple[RowSource, BaseGCWSNet, dict[str, Any] | None]:
    """Return the rows, the estimator and the score of an unfinished run."""
    _, arrays, description = read_model(checkpoint)
    kept = description.get("fingerprint")
    if not isinstance(kept, dict):
        raise ValueError(
            f"{checkpoint} is no checkpoint: it does not say of which files and settings; start again with --restart"
        )
    for name, value in fingerprint.items():
        before = kept.get(name)
        if before != value and name in ("files", "tests"):
            raise ValueError(
                f"{checkpoint} is of a run with other {'test files' if name == 'tests' else name}: "
                f"{difference(before, value)}; a run is resumed with the same files, or start again with --restart"
            )
        if before != value:
            raise ValueError(
                f"{checkpoint} is of a run with {name} {before}, and now it is {value}; a run is resumed with the same "
                "files and settings, or start again with --restart"
            )
    estimator = estimator_of(checkpoint, arrays, description)
    estimator.n_jobs = options.n_jobs
    return engine.reopen(options, arrays, description), estimator, description.get(SCORE)


def _fingerprint(options: TrainingOptions, inputs: Inputs | None, tests: Inputs) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed: settings, and the contents of the files."""
    settings = options.fingerprint(shuffle_rows=options.shuffle_rows, holdout=options.holdout)
    if is_codes(options.files):
        settings["codes"] = codes_digest(Path(options.files[0]))
    return {
        "files": options.files if inputs is None else inputs.fingerprints,
        "tests": tests.fingerprints,
        **settings,
    }


def _is_finished(out: Path, fingerprint: dict[str, Any]) -> bool:
    """Return whether the model in a folder is that of a finished run with this fingerprint."""
    try:
        run = json.loads((out / RUN).read_bytes())
        return bool(run["run"] == fingerprint and run["model"] == _digest(out / FILE_IN_FOLDER))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
