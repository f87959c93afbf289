"""Runs of the suite: one fit each, stored as a line of JSON, so that a suite that was stopped can be resumed."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.learners import Learner, can_learn
from benchmarks.accuracy.metrics import classification_scores, model_bytes, regression_scores
from benchmarks.accuracy.split import Split, SuiteDataset, Task
from benchmarks.timing import one_thread
from gcwsnet._atomic import write_file

LARGE = 50_000
MAX_TRAINING_ROWS_OF_PAIRS, MAX_TEST_ROWS_OF_PAIRS = 20_000, 10_000


class Key(NamedTuple):
    """What identifies a run, which is not done twice."""

    part: str
    dataset: str
    learner: str
    seed: int


@dataclass(frozen=True)
class Run:
    """One fit.

    Attributes
    ----------
    part : {"learners", "pairs"}
        The part of the suite: all learners, or GCWSNet with each fixed pair of scaling and p.
    dataset, learner : str
    seed : int
    rows, columns : int
        Of the training rows.
    scores : dict
        "accuracy" in percent, "log_loss" and "ece", or "r2", on the test rows; empty if the run was stopped.
    fit_seconds, predict_seconds : float
        Processor time, the latter for a thousand rows.
    bytes : int or None
        The size of the model.
    chosen : str
        What GCWSNet chose; empty for others.
    stopped_after : float
        The seconds of processor time after which the run was stopped; 0 if it was not.
    """

    part: str
    dataset: str
    learner: str
    seed: int
    rows: int = 0
    columns: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    bytes: int | None = None
    chosen: str = ""
    stopped_after: float = 0.0

    @property
    def key(self) -> Key:
        """What identifies the run."""
        return Key(self.part, self.dataset, self.learner, self.seed)


def _file(folder: Path, part: str, learner: str) -> Path:
    """Return the file of a learner's runs; all pairs share one."""
    name = part if part == "pairs" else learner
    return folder / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.jsonl"


def read_runs(folder: Path) -> list[Run]:
    """Return the stored runs; where a run was repeated, the last one."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]
    runs = [Run(**json.loads(line)) for line in lines if line.endswith("}")]
    return list({run.key: run for run in runs}.values())


def append_run(folder: Path, run: Run) -> None:
    """Add a run to the stored ones."""
    folder.mkdir(parents=True, exist_ok=True)
    with _file(folder, run.part, run.learner).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run)) + "\n")


def forget_runs(folder: Path, keys: Collection[tuple[str, str, str]]) -> None:
    """Remove the stored runs with these parts, datasets and learners, so that they are repeated."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("}\n")]
        kept = [line for line in lines if Run(**json.loads(line)).key[:3] not in keys]
        if len(kept) < len(lines):
            write_file(path, "".join(kept).encode())


def run_learner(part: str, one: SuiteDataset, learner: Learner, seed: int) -> Run | None:
    """Return a run; None where the learner does not learn from such rows, or where the seed makes no difference."""
    split = one.load(seed)
    once = not one.by_seed and not learner.random
    once |= not learner.all_seeds_when_large and len(split.y_train) > LARGE
    if (seed and once) or not can_learn(learner, one.task, split.X_train, split.y_train):
        return None
    if part == "pairs":
        split = _some(split)
    scores, model, fit_seconds, predict_seconds = _measure(split, one.task, learner, seed)
    return Run(
        part=part,
        dataset=one.name,
        learner=learner.name,
        seed=seed,
        rows=len(split.y_train),
        columns=split.X_train.shape[1],
        scores=scores,
        fit_seconds=fit_seconds,
        predict_seconds=1000 * predict_seconds / len(split.y_test),
        bytes=model_bytes(model),
        chosen=_choice(model),
    )


def _some(split: Split) -> Split:
    order = np.random.default_rng(0).permutation(len(split.y_train))[:MAX_TRAINING_ROWS_OF_PAIRS]
    test = slice(MAX_TEST_ROWS_OF_PAIRS)
    return Split(split.X_train[order], split.y_train[order], split.X_test[test], split.y_test[test])


def _measure(split: Split, task: Task, learner: Learner, seed: int) -> tuple[dict[str, float], Any, float, float]:
    """Return scores, the model, and the processor time of the fit and of the predictions."""
    X_train, y_train, X_test, y_test = split
    if task == "classification":  # labels from 0 on, which XGBoost needs
        classes, y_train = np.unique(y_train, return_inverse=True)
        columns = {label: column for column, label in enumerate(classes.tolist())}
        y_test = np.array([columns.get(label, -1) for label in np.asarray(y_test).tolist()])
    model = learner.make(seed, task, X_train)
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")  # the number of passes is intended
        start = time.process_time()
        model.fit(X_train, y_train)
        fitted = time.process_time()
        predicted = model.predict_proba(X_test) if task == "classification" else model.predict(X_test)
        end = time.process_time()
    scores = classification_scores if task == "classification" else regression_scores
    return scores(y_test, predicted), model, fitted - start, end - fitted


def _choice(model: Any) -> str:
    """Return the scaling and the p that GCWSNet chose; nothing for other models."""
    if not hasattr(model, "scaling_") or not hasattr(model, "p_"):
        return ""
    return f"{getattr(model.scaling_, 'scale', None)} {model.p_:g}"
