"""Runs of the suite, stored as one line of JSON each, so that a suite that was stopped can be resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.datasets import Split, SuiteDataset
from benchmarks.accuracy.learners import Learner, can_learn, fit, model_bytes
from gcwsnet import GCWSNetClassifier
from gcwsnet.coding._selection import candidate_pairs

LARGE = 50_000
MOST_TRAINING_ROWS_OF_PAIRS, MOST_TEST_ROWS_OF_PAIRS = 20_000, 10_000
Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Run:
    """One fit.

    Attributes
    ----------
    part : {"learners", "pairs"}
        The part of the suite: all learners, or gcwsnet with each fixed pair of scaling and p.
    dataset, learner : str
    seed : int
    rows, columns : int
        Of the training rows.
    accuracy : float
        In percent, on the test rows.
    fit_seconds, predict_seconds : float
        The latter for a thousand rows.
    bytes : int
        The size of the model; 0 for pairs.
    chosen : str
        The scaling and the p that gcwsnet chose; empty for others.
    """

    part: str
    dataset: str
    learner: str
    seed: int
    rows: int
    columns: int
    accuracy: float
    fit_seconds: float
    predict_seconds: float
    bytes: int
    chosen: str = ""

    @property
    def key(self) -> Key:
        """What identifies a run, which is not done twice."""
        return self.part, self.dataset, self.learner, self.seed


def read_runs(path: Path) -> list[Run]:
    """Return the stored runs."""
    if not path.exists():
        return []
    return [Run(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def append_run(path: Path, run: Run) -> None:
    """Add a run to the stored ones."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run)) + "\n")


def run_learners(one: SuiteDataset, learners: list[Learner], seeds: int, done: set[Key]) -> Iterator[Run]:
    """Yield runs of all learners that can learn from the dataset, with several seeds where the seed matters."""
    for seed in range(max(seeds, one.least_seeds)):  # seeds outside: a slow hour of the machine meets all learners
        split = one.load(seed)
        for learner in learners:
            once = one.least_seeds == 1 and not learner.random
            once |= not learner.all_seeds_when_large and len(split.y_train) > LARGE
            if (
                ("learners", one.name, learner.name, seed) in done
                or (seed and once)
                or not can_learn(learner, split.X_train, split.y_train)
            ):
                continue
            model = learner.make(seed, hasattr(split.X_train, "tocsr"))
            yield _run("learners", one.name, split, learner.name, seed, model)


def run_pairs(one: SuiteDataset, seeds: int, done: set[Key]) -> Iterator[Run]:
    """Yield runs of gcwsnet with each pair of scaling and p, and with its own choice, on at most 20,000 rows."""
    for seed in range(max(seeds, one.least_seeds)):
        split = _some(one.load(seed))
        for scale, p in [("auto", "auto"), *candidate_pairs("auto", "auto", split.X_train)]:
            name = f"{scale} {p}" if p == "auto" else f"{scale} {p:g}"
            if ("pairs", one.name, name, seed) not in done:
                model = GCWSNetClassifier(scale=scale, p=p, random_state=seed)  # type: ignore[arg-type]
                yield _run("pairs", one.name, split, name, seed, model)


def _some(split: Split) -> Split:
    order = np.random.default_rng(0).permutation(len(split.y_train))[:MOST_TRAINING_ROWS_OF_PAIRS]
    test = slice(MOST_TEST_ROWS_OF_PAIRS)
    return Split(split.X_train[order], split.y_train[order], split.X_test[test], split.y_test[test])


def _run(part: str, dataset: str, split: Split, learner: str, seed: int, model: Any) -> Run:
    start = time.perf_counter()
    fit(model, split.X_train, split.y_train)
    fitted = time.perf_counter()
    predicted = model.predict(split.X_test)
    end = time.perf_counter()
    chosen = ""
    if isinstance(model, GCWSNetClassifier):
        chosen = f"{getattr(model.scaling_, 'scale', None)} {model.p_:g}"
    return Run(
        part=part,
        dataset=dataset,
        learner=learner,
        seed=seed,
        rows=len(split.y_train),
        columns=split.X_train.shape[1],
        accuracy=float(100 * np.mean(predicted == split.y_test)),
        fit_seconds=fitted - start,
        predict_seconds=1000 * (end - fitted) / len(split.y_test),
        bytes=model_bytes(model) if part == "learners" else 0,
        chosen=chosen,
    )
