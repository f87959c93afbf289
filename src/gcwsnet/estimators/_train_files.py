"""A training run from files to the folder of a model: start, killed, resumed, finished."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gcwsnet._atomic import locked, remove_left_overs, require_separate, write_file
from gcwsnet._threads import n_threads
from gcwsnet.coding._tensor_file import Arrays, Description
from gcwsnet.data import Batch
from gcwsnet.data._batches import shuffled
from gcwsnet.data._fingerprint import Inputs, difference
from gcwsnet.data._sources import find_sources
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._classifier import GCWSNetClassifier
from gcwsnet.estimators._curves import curve_files, write_curves
from gcwsnet.estimators._file_coder import FileCoder
from gcwsnet.estimators._input import set_inputs
from gcwsnet.estimators._model_file import FILE_IN_FOLDER, estimator_of, load_with_description, read_model, save_model
from gcwsnet.estimators._regressor import GCWSNetRegressor
from gcwsnet.estimators._training_options import TrainingOptions
from gcwsnet.estimators._training_rows import (
    FollowedRows,
    RowSource,
    codes_digest,
    held_out_rows,
    is_codes,
    open_rows,
    reopen_rows,
)
from gcwsnet.training import Labels, Observer, Plan, Trainer, TrainingSettings
from gcwsnet.training._following import Event
from gcwsnet.training._history import Record, record_fractions

CHECKPOINT = "checkpoint.safetensors"
RUN = "run.json"
WRITTEN = re.compile(r"(model|checkpoint)\.safetensors|run\.json|curves\.(json|png)")
RECORDS_WITH_TESTS = 10
SHUFFLED_ROWS = 65_536


class TrainingObserver(Observer):
    """An observer of a run on files."""

    def start(self, estimator: GCWSNetEstimator, n_rows: int | None, epochs: int, done: int) -> None:
        """Take note of a run that begins: the rows of an epoch, the epochs, and the rows done before."""


@dataclass(frozen=True)
class TrainingResult:
    """The result of a finished run.

    Attributes
    ----------
    estimator : GCWSNetEstimator
    skipped : int
        Rows that could not be read.
    reasons : list of str
        Why the first few of them could not be read.
    """

    estimator: GCWSNetEstimator
    skipped: int
    reasons: list[str]


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
        estimator: GCWSNetEstimator,
        plan: Plan,
        source: RowSource,
        held_out: Sequence[Callable[[], Iterable[Batch]]],
        observer: Observer,
    ) -> None:
        """Learn from the rows that are left."""

        def epoch(number: int) -> Iterable[Batch]:
            if not options.shuffle_rows:
                return source.codes()
            return shuffled(source.codes(), options.shuffle_rows, epoch_seed(estimator.seed_, number))

        estimator.trainer_.run(plan, epoch, held_out, observer, n_jobs=n_threads(options.n_jobs))

    def finish(self, options: TrainingOptions) -> None:
        """Remove what is not needed any more, once the model has been written."""


def epoch_seed(seed: int, epoch: int) -> int:
    """Return the seed of the order of an epoch's rows."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0])


LOCAL = Engine()


def train_files(options: TrainingOptions, observer: TrainingObserver, engine: Engine = LOCAL) -> TrainingResult:
    """Train a net on files and write it into its folder."""
    options.coder.check()
    options.training.check()
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
    tests = Inputs(one.name for one in test_sources)
    inputs = None if is_stream or is_codes(options.files) else Inputs(one.name for one in sources)
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
        return TrainingResult(load_with_description(options.out)[0], 0, [])
    if checkpoint.exists() and not options.resume:
        if not options.restart:
            raise ValueError(
                f"{checkpoint} is of a run that did not finish; continue it with --resume, or drop it with --restart"
            )
        checkpoint.unlink()
    if checkpoint.exists():
        source, estimator = _resume(options, engine, checkpoint, fingerprint)
    else:
        source = engine.open(options)
        estimator = make_estimator(source.file_coder, options.training, options.n_jobs)
        is_stream = source.file_coder.n_rows is None
        estimator.trainer_.start_run(with_auc=True, with_last_label=is_stream)
        if isinstance(source.codes, FollowedRows):
            source.codes.estimator = estimator
    n_rows = source.file_coder.n_rows
    plan = Plan(
        1 if n_rows is None else estimator._n_epochs(options.training, n_rows),
        n_rows,
        fractions=record_fractions(options.records or (RECORDS_WITH_TESTS if options.tests else 1)),
        doubling=True,
        checkpoint_rows=options.checkpoint_rows,
        follows=n_rows is None,
    )
    more = {"files": source.file_coder.file_description()} | engine.settings()

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
    outdated = [options.out / RUN, *curve_files(options.out)]  # of an older model in the folder
    save_model(estimator, model, resumable=False, timings=False, more=more, outdated=outdated)
    write_curves(options.out, estimator)
    run = {"model": _digest(model), "run": fingerprint}
    write_file(options.out / RUN, json.dumps(run, indent=1).encode())
    checkpoint.unlink(missing_ok=True)
    engine.finish(options)
    return TrainingResult(estimator, *source.skipped())


class _Checkpoints(Observer):
    """An observer that writes checkpoints and passes all else on; see `Engine` for `least_pause`."""

    def __init__(
        self,
        estimator: GCWSNetEstimator,
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

    def event(self, event: Event) -> None:
        self._observer.event(event)

    def checkpoint(self) -> None:
        start = time.monotonic()
        if start < self._not_before:
            return
        self._check_inputs()
        save_model(self._estimator, self._path, resumable=True, timings=False, more=self._more)
        self._not_before = time.monotonic() + self._least_pause * (time.monotonic() - start)


def make_estimator(file_coder: FileCoder, training: TrainingSettings, n_jobs: int | None) -> GCWSNetEstimator:
    """Return an estimator with the coder and the targets of files, and with a net that has learned nothing."""
    make: Any = GCWSNetClassifier if isinstance(file_coder.targets, Labels) else GCWSNetRegressor
    coder = file_coder.coder
    assert file_coder.targets is not None  # noqa: S101
    n_outputs = math.inf if file_coder.n_rows is None else file_coder.targets.n_outputs
    training = replace(training, ensemble=coder.ensemble).for_rows(math.inf, n_outputs)
    settings = asdict(coder.settings) | vars(training)
    estimator: GCWSNetEstimator = make(random_state=coder.seed, n_jobs=n_jobs, **settings)
    estimator._freeze_parameters()
    estimator.coder_ = coder
    names = file_coder.schema.input_names
    set_inputs(estimator, coder.n_inputs, None if not names or None in names else names)
    made = {"n_hashes": coder.settings.n_hashes, "code_bits": coder.code_bits, "seed": coder.seed}
    estimator._use(Trainer.begin(training, file_coder.targets, **made, device="cpu"))
    return estimator


def _resume(
    options: TrainingOptions, engine: Engine, checkpoint: Path, fingerprint: dict[str, Any]
) -> tuple[RowSource, GCWSNetEstimator]:
    """Return the rows and the estimator of an unfinished run."""
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
    return engine.reopen(options, arrays, description), estimator


def _fingerprint(options: TrainingOptions, inputs: Inputs | None, tests: Inputs) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed: settings, and the contents of the files."""
    names = ("reading", "task", "seed", "shuffle_rows", "records")
    settings: dict[str, Any] = {name: getattr(options, name) for name in names}
    settings |= {"hashing": asdict(options.coder), "net": options.training.state()}
    if is_codes(options.files):
        settings["codes"] = codes_digest(Path(options.files[0]))
    files = {"files": options.files if inputs is None else inputs.fingerprints, "tests": tests.fingerprints}
    return json.loads(json.dumps(files | settings))


def _is_finished(out: Path, fingerprint: dict[str, Any]) -> bool:
    """Return whether the model in a folder is that of a finished run with this fingerprint."""
    try:
        run = json.loads((out / RUN).read_bytes())
        return bool(run["run"] == fingerprint and run["model"] == _digest(out / FILE_IN_FOLDER))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
