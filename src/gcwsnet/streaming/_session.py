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
from gcwsnet.estimators._history import Record, check_checkpoints
from gcwsnet.estimators._saving import FILE_IN_FOLDER, read_model, rebuilt_model, save_model
from gcwsnet.estimators._selection import Tried
from gcwsnet.estimators._targets import Labels, Numbers, Targets
from gcwsnet.streaming._coder import Coder
from gcwsnet.streaming._curves import write_curves
from gcwsnet.streaming._judge import Judge
from gcwsnet.streaming._prepare import Prepared, is_codes, prepare, prepare_codes, prepared, read_again
from gcwsnet.streaming._trainer import Plan, Trainer

CHECKPOINT = "checkpoint.safetensors"
RUN = "run.json"


@dataclass(frozen=True)
class Wanted:
    """All that a run is asked for.

    Attributes
    ----------
    files, tests : list of str
    out : Path
        The folder of the model.
    reading, hashing, net : dict
        Settings of `gcwsnet.data.read`, of hashing, and of the net and its training.
    task : str
    classes : list or None
        All labels that a stream will have.
    epochs : int or "auto"
    seed : int
    shuffle_rows : int
    checkpoints : int
        Records in an epoch.
    checkpoint_rows : int
        Rows from one checkpoint to the next; 0 for none.
    resume, restart : bool
        What becomes of an unfinished run in the same folder.
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
    checkpoints: int
    checkpoint_rows: int
    resume: bool
    restart: bool
    n_jobs: int | None

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a run to go on: settings, and files with their sizes."""
        files = [[one.name, os.path.getsize(one.name)] for one in find_sources(self.files) if one.reusable]
        settings = {
            name: getattr(self, name)
            for name in ("reading", "hashing", "net", "task", "epochs", "seed", "shuffle_rows", "checkpoints")
        }
        return json.loads(json.dumps({"files": files, "tests": self.tests, **settings}))


class Shown(Protocol):
    """Who is told of a run."""

    def prepared(self, estimator: GCWSNetEstimator, n_rows: int | None, epochs: int, done: int) -> None:
        """It begins: so many rows an epoch, so many done before."""

    def advanced(self, rows: int, loss: float) -> None:
        """A batch was learned."""

    def told(self, record: Record) -> None:
        """A record was made."""


@dataclass(frozen=True)
class Finished:
    """A finished run.

    Attributes
    ----------
    estimator : GCWSNetEstimator
    before : bool
        Whether there was nothing left to do.
    skipped : int
        Rows that could not be read.
    reasons : list of str
        Why, of the first few.
    """

    estimator: GCWSNetEstimator
    before: bool
    skipped: int
    reasons: list[str]


def train(wanted: Wanted, shown: Shown) -> Finished:
    """Train a net and write it into its folder."""
    wanted.out.mkdir(parents=True, exist_ok=True)
    remove_left_overs(wanted.out)
    checkpoint = wanted.out / CHECKPOINT
    fingerprint = wanted.fingerprint()
    if wanted.resume and not checkpoint.exists() and _is_finished(wanted.out, fingerprint):
        return Finished(load_model(wanted.out)[0], True, 0, [])
    if checkpoint.exists() and not wanted.resume:
        if not wanted.restart:
            raise ValueError(
                f"{checkpoint} is of a run that did not finish; go on with --resume, or begin anew with --restart"
            )
        checkpoint.unlink()
    if checkpoint.exists():
        ready, estimator, position = _resumed(wanted, checkpoint, fingerprint)
    else:
        ready, position = _begun(wanted), None
        estimator = with_net(ready.coder, wanted.net)
    epochs = _epochs(wanted, ready.n_rows)
    files = {"layout": ready.layout.to_json(), "task": ready.coder.task, "label_type": ready.coder.label_type}
    plan = Plan(
        epochs,
        ready.n_rows,
        wanted.shuffle_rows,
        check_checkpoints(wanted.checkpoints if wanted.tests else 1),
        checkpoint if ready.n_rows is not None else None,
        wanted.checkpoint_rows,
        {**files, "fingerprint": fingerprint, "coder": ready.coder.parts()[1]},
    )
    trainer = Trainer(estimator, plan, _judge(wanted, ready), shown.told, shown.advanced)
    if position is not None:
        trainer.go_on(*position)
    shown.prepared(estimator, ready.n_rows, epochs, estimator.n_rows_seen_)
    trainer.run(ready.codes)
    save_model(estimator, wanted.out / FILE_IN_FOLDER, with_optimizer=False, timings=False, more=({}, files))
    write_curves(wanted.out, estimator)
    with written_beside(wanted.out / RUN) as path:
        path.write_text(json.dumps(fingerprint, indent=1), encoding="utf-8")
    checkpoint.unlink(missing_ok=True)
    return Finished(estimator, False, *ready.skipped())


def _epochs(wanted: Wanted, n_rows: int | None) -> int:
    """How often the rows are learned from."""
    if n_rows is not None:
        few = EPOCHS_OF_FEW_ROWS if n_rows < FEW_ROWS else 1
        return few if wanted.epochs == "auto" else int(wanted.epochs)
    if wanted.checkpoint_rows:
        raise ValueError("a stream can be read only once, and a run on it cannot go on; leave out --checkpoint-every")
    if wanted.epochs not in ("auto", 1):
        raise ValueError("a stream can be read only once, so --epochs must be 1; put the rows into a file for more")
    return 1


def with_net(coder: Coder, net: dict[str, Any]) -> GCWSNetEstimator:
    """An estimator that makes the codes of a coder, with a net that has learned nothing."""
    make: Any = GCWSNetRegressor if coder.classes is None else GCWSNetClassifier
    made: GCWSNetEstimator = make(random_state=coder.seed, n_jobs=coder.n_jobs, **coder.settings | net)
    made._check_parameters()
    made.seed_, made.n_features_in_ = coder.seed, coder.n_features
    made.scaling_, made.p_ = coder.scaling, coder.p
    made.selection_ = [Tried(**one) for one in coder.selection]
    made._make_hasher(coder.n_features, coder.hash_numbers)
    targets: Targets
    if coder.classes is not None:
        targets = Labels(coder.classes)
    else:
        assert coder.mean is not None and coder.size is not None  # noqa: S101, PT018
        targets = Numbers(coder.mean, coder.size, True, made.loss)
    made._make_net(targets)
    return made


def load_model(path: Path) -> tuple[GCWSNetEstimator, dict[str, Any]]:
    """A model and what its file says beside it: the layout of files, the task and the type of the labels."""
    file = path / FILE_IN_FOLDER if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"there is no model at {path}; give the folder or the file of one")
    tensors, description = read_model(file)
    return rebuilt_model(file, tensors, description), description


def _is_finished(out: Path, fingerprint: dict[str, Any]) -> bool:
    try:
        return json.loads((out / RUN).read_text(encoding="utf-8")) == fingerprint
    except (OSError, ValueError):
        return False


def _begun(wanted: Wanted) -> Prepared:
    if is_codes(wanted.files):
        return prepare_codes(Path(wanted.files[0]), wanted.n_jobs)
    return prepare(
        wanted.files,
        reading=wanted.reading,
        hashing=wanted.hashing,
        task=wanted.task,
        seed=wanted.seed,
        n_jobs=wanted.n_jobs,
        classes=wanted.classes,
    )


def _resumed(
    wanted: Wanted, checkpoint: Path, fingerprint: dict[str, Any]
) -> tuple[Prepared, GCWSNetEstimator, tuple[dict[str, Any], dict[str, Any]]]:
    tensors, description = read_model(checkpoint)
    _check_same(description["fingerprint"], fingerprint, checkpoint)
    estimator = rebuilt_model(checkpoint, tensors, description)
    if is_codes(wanted.files):
        ready = prepare_codes(Path(wanted.files[0]), wanted.n_jobs)
    else:
        arrays = {name: value.numpy() for name, value in tensors.items()}
        coder = Coder.rebuilt(arrays, description["coder"], wanted.n_jobs)
        ready = prepared(read_again(wanted.files, wanted.reading, Schema.from_json(description["layout"])), coder)
    return ready, estimator, (tensors, description["position"])


def _check_same(before: dict[str, Any], now: dict[str, Any], checkpoint: Path) -> None:
    for name, value in now.items():
        if before.get(name) != value:
            raise ValueError(
                f"{checkpoint} is of a run with {name} {before.get(name)}, and now it is {value}; a run goes on with "
                "the same files and settings, or begins anew with --restart"
            )


def _judge(wanted: Wanted, ready: Prepared) -> Judge | None:
    if not wanted.tests:
        return None
    reading = {name: value for name, value in wanted.reading.items() if name not in ("on_error", "rejects")}
    known = None if ready.coder.classes is None else ready.coder.classes.tolist()
    return Judge(read_again(wanted.tests, reading, ready.layout, labels=known), ready.coder)
