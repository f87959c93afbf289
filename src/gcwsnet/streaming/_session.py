"""A training run from files to a folder with a model: started, killed, resumed, finished."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gcwsnet._atomic import remove_left_overs, written_beside
from gcwsnet.data import Schema
from gcwsnet.data._sources import find_sources
from gcwsnet.estimators import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._base import EPOCHS_OF_FEW_ROWS, FEW_ROWS, GCWSNetEstimator
from gcwsnet.estimators._history import Record, check_records
from gcwsnet.estimators._saving import FILE_IN_FOLDER, model_from_state, read_model, save_model
from gcwsnet.estimators._selection import Candidate
from gcwsnet.estimators._targets import Labels, Numbers, Targets
from gcwsnet.streaming._coder import Coder
from gcwsnet.streaming._curves import write_curves
from gcwsnet.streaming._held_out import HeldOutRows
from gcwsnet.streaming._prepare import Prepared, is_codes, prepare, prepare_codes, prepared, read_again
from gcwsnet.streaming._trainer import Plan, Trainer

CHECKPOINT = "checkpoint.safetensors"
RUN = "run.json"
RECORDS_WITH_TESTS = 10


@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training run.

    Attributes
    ----------
    files, tests : list of str
    out : Path
        The folder of the model.
    reading, hashing, net : dict
        Settings of `gcwsnet.data.read`, of hashing, and of the net and its training.
    task : str
    classes : list or None
        All labels of a stream.
    epochs : int or "auto"
    seed : int
    shuffle_rows : int
    records : int or None
        Records in an epoch; None for ten with test files, and else one.
    checkpoint_rows : int
        Rows from one checkpoint to the next; 0 for none.
    resume, restart : bool
        Whether an unfinished run in the same folder is continued, or dropped.
    n_jobs : int or None
    """

    files: list[str]
    tests: list[str]
    out: Path
    reading: dict[str, Any]
    hashing: dict[str, Any]
    net: dict[str, Any]
    task: str
    classes: list[Any] | None
    epochs: int | str
    seed: int
    shuffle_rows: int
    records: int | None
    checkpoint_rows: int
    resume: bool
    restart: bool
    n_jobs: int | None

    def fingerprint(self) -> dict[str, Any]:
        """Return what must be the same for a run to be resumed: settings, and files with their sizes."""
        files = [[one.name, os.path.getsize(one.name)] for one in find_sources(self.files) if one.reusable]
        settings = {
            name: getattr(self, name)
            for name in ("reading", "hashing", "net", "task", "epochs", "seed", "shuffle_rows", "records")
        }
        return json.loads(json.dumps({"files": files, "tests": self.tests, **settings}))


class Display(Protocol):
    """A display of the progress of a run."""

    def start(self, estimator: GCWSNetEstimator, n_rows: int | None, epochs: int, done: int) -> None:
        """Show that the run begins, with `n_rows` rows in an epoch, `done` of which were learned before."""

    def advance(self, rows: int, loss: float) -> None:
        """Show that a batch was learned, with this mean loss."""

    def record(self, record: Record) -> None:
        """Show a record."""


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


def train(options: TrainingOptions, display: Display) -> TrainingResult:
    """Train a net and write it into its folder."""
    options.out.mkdir(parents=True, exist_ok=True)
    remove_left_overs(options.out)
    checkpoint = options.out / CHECKPOINT
    fingerprint = options.fingerprint()
    is_stream = not all(one.reusable for one in find_sources(options.files))
    if options.resume and not is_stream and not checkpoint.exists() and _is_finished(options.out, fingerprint):
        return TrainingResult(load_model(options.out)[0], 0, [])
    if checkpoint.exists() and not options.resume:
        if not options.restart:
            raise ValueError(
                f"{checkpoint} is of a run that did not finish; continue it with --resume, or drop it with --restart"
            )
        checkpoint.unlink()
    if checkpoint.exists():
        ready, estimator, position = _resumed(options, checkpoint, fingerprint)
    else:
        ready, position = _prepared(options), None
        estimator = with_net(ready.coder, options.net)
    epochs = _epochs(options, ready.n_rows)
    files = {"layout": ready.layout.to_json(), "task": ready.coder.task, "label_type": ready.coder.label_type}
    plan = Plan(
        epochs,
        ready.n_rows,
        options.shuffle_rows,
        check_records(options.records or (RECORDS_WITH_TESTS if options.tests else 1)),
        checkpoint if ready.n_rows is not None else None,
        options.checkpoint_rows,
        {**files, "fingerprint": fingerprint, "coder": ready.coder.state()[1]},
    )
    trainer = Trainer(estimator, plan, _held_out(options, ready), display.record, display.advance)
    if position is not None:
        trainer.resume(*position)
    display.start(estimator, ready.n_rows, epochs, estimator.n_rows_seen_)
    trainer.run(ready.codes)
    save_model(estimator, options.out / FILE_IN_FOLDER, with_optimizer=False, timings=False, more=({}, files))
    write_curves(options.out, estimator)
    with written_beside(options.out / RUN) as path:
        path.write_text(json.dumps(fingerprint, indent=1), encoding="utf-8")
    checkpoint.unlink(missing_ok=True)
    return TrainingResult(estimator, *ready.skipped())


def _epochs(options: TrainingOptions, n_rows: int | None) -> int:
    """Return how often the rows are learned from; a stream has no other options than one pass."""
    if n_rows is not None:
        few = EPOCHS_OF_FEW_ROWS if n_rows < FEW_ROWS else 1
        return few if options.epochs == "auto" else int(options.epochs)
    if options.checkpoint_rows or options.resume:
        raise ValueError(
            "a stream can be read only once, so its run cannot be resumed; leave out --checkpoint-every and --resume"
        )
    if options.epochs not in ("auto", 1):
        raise ValueError("a stream can be read only once, so --epochs must be 1; put the rows into a file for more")
    if options.net.get("schedule", "constant") != "constant":
        raise ValueError("the end of a stream is not known, so the learning rate stays constant; leave out --schedule")
    if options.records is not None:
        raise ValueError("the end of a stream is not known, so it has no parts to record; leave out --records")
    return 1


def with_net(coder: Coder, net: dict[str, Any]) -> GCWSNetEstimator:
    """Return an estimator with the codes of a coder and a net that has learned nothing."""
    make: Any = GCWSNetRegressor if coder.classes is None else GCWSNetClassifier
    estimator: GCWSNetEstimator = make(random_state=coder.seed, n_jobs=coder.n_jobs, **coder.settings | net)
    estimator._freeze_parameters()
    estimator.seed_, estimator.n_features_in_ = coder.seed, coder.n_features
    estimator.scaling_, estimator.p_ = coder.scaling, coder.p
    estimator.selection_ = [Candidate(**one) for one in coder.selection]
    estimator._make_hasher(coder.n_features)
    targets: Targets
    if coder.classes is not None:
        targets = Labels(coder.classes)
    else:
        assert coder.mean is not None and coder.size is not None  # noqa: S101, PT018
        targets = Numbers(coder.mean, coder.size, True, estimator._settings.loss)
    estimator._make_net(targets)
    return estimator


def load_model(path: Path) -> tuple[GCWSNetEstimator, dict[str, Any]]:
    """Return a model, and the description in its file: the layout of files, the task and the type of the labels."""
    file = path / FILE_IN_FOLDER if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"there is no model at {path}; give the folder or the file of one")
    tensors, description = read_model(file)
    return model_from_state(file, tensors, description), description


def _is_finished(out: Path, fingerprint: dict[str, Any]) -> bool:
    try:
        return json.loads((out / RUN).read_text(encoding="utf-8")) == fingerprint
    except (OSError, ValueError):
        return False


def _prepared(options: TrainingOptions) -> Prepared:
    if is_codes(options.files):
        return prepare_codes(Path(options.files[0]), options.n_jobs)
    return prepare(
        options.files,
        reading=options.reading,
        hashing=options.hashing,
        task=options.task,
        seed=options.seed,
        n_jobs=options.n_jobs,
        classes=options.classes,
    )


def _resumed(
    options: TrainingOptions, checkpoint: Path, fingerprint: dict[str, Any]
) -> tuple[Prepared, GCWSNetEstimator, tuple[dict[str, Any], dict[str, Any]]]:
    tensors, description = read_model(checkpoint)
    _check_same(description["fingerprint"], fingerprint, checkpoint)
    estimator = model_from_state(checkpoint, tensors, description)
    if is_codes(options.files):
        ready = prepare_codes(Path(options.files[0]), options.n_jobs)
    else:
        arrays = {name: value.numpy() for name, value in tensors.items()}
        coder = Coder.from_state(arrays, description["coder"], options.n_jobs)
        ready = prepared(read_again(options.files, options.reading, Schema.from_json(description["layout"])), coder)
    return ready, estimator, (tensors, description["position"])


def _check_same(before: dict[str, Any], now: dict[str, Any], checkpoint: Path) -> None:
    for name, value in now.items():
        if before.get(name) != value:
            raise ValueError(
                f"{checkpoint} is of a run with {name} {before.get(name)}, and now it is {value}; a run is resumed "
                "with the same files and settings, or started again with --restart"
            )


def _held_out(options: TrainingOptions, ready: Prepared) -> HeldOutRows | None:
    if not options.tests:
        return None
    reading = {name: value for name, value in options.reading.items() if name not in ("on_error", "rejects")}
    known = None if ready.coder.classes is None else ready.coder.classes.tolist()
    return HeldOutRows(read_again(options.tests, reading, ready.layout, labels=known), ready.coder)
