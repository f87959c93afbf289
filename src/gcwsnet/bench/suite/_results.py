"""Runs of the suite, one line of JSON each, so that a suite that was stopped goes on where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gcwsnet.bench.suite._rivals import Rival, fit, model_bytes, suits
from gcwsnet.bench.suite._sets import Set, Split
from gcwsnet.estimators import GCWSNetClassifier
from gcwsnet.estimators._selection import pairs_to_try

LARGE = 50_000
MOST_ROWS_OF_PAIRS, MOST_ROWS_TO_JUDGE_PAIRS = 20_000, 10_000


@dataclass(frozen=True)
class Result:
    """One fit.

    Attributes
    ----------
    part : {"rivals", "pairs"}
        Of the suite: all who learn, or gcwsnet with each fixed pair of scaling and p.
    set, who : str
    seed : int
    rows, columns : int
        To learn from.
    accuracy : float
        In percent, on the rows for testing.
    fit_seconds, predict_seconds : float
        The latter of a thousand rows.
    bytes : int
        The size of the model; 0 for pairs.
    note : str
        What gcwsnet chose.
    """

    part: str
    set: str
    who: str
    seed: int
    rows: int
    columns: int
    accuracy: float
    fit_seconds: float
    predict_seconds: float
    bytes: int
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What is not run twice."""
        return self.part, self.set, self.who, self.seed


def read_results(path: Path) -> list[Result]:
    """What has been run."""
    if not path.exists():
        return []
    return [Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def write_result(path: Path, result: Result) -> None:
    """Add a line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def run_rivals(one: Set, rivals: list[Rival], seeds: int, done: set[Any]) -> Iterator[Result]:
    """All who can learn from such rows; those whose seed matters with several."""
    for seed in range(max(seeds, one.least_seeds)):  # seeds outside: a slow hour of the machine meets all of them
        split = one.load(seed)
        for rival in rivals:
            once = one.least_seeds == 1 and not rival.random
            once |= not rival.large_sets and len(split.y_train) > LARGE
            if (
                ("rivals", one.name, rival.name, seed) in done
                or (seed and once)
                or not suits(rival, split.X_train, split.y_train)
            ):
                continue
            yield _run("rivals", one, split, rival.name, seed, rival.make(seed, hasattr(split.X_train, "tocsr")))


def run_pairs(one: Set, seeds: int, done: set[Any]) -> Iterator[Result]:
    """GCWSNet with each pair, and with its own choice, on at most 20,000 rows."""
    for seed in range(max(seeds, one.least_seeds)):
        split = _some(one.load(seed))
        for scale, p in [("auto", "auto"), *pairs_to_try("auto", "auto", split.X_train)]:
            who = f"{scale} {p}" if p == "auto" else f"{scale} {p:g}"
            if ("pairs", one.name, who, seed) not in done:
                model = GCWSNetClassifier(scale=scale, p=p, random_state=seed)  # type: ignore[arg-type]
                yield _run("pairs", one, split, who, seed, model)


def _some(split: Split) -> Split:
    order = np.random.default_rng(0).permutation(len(split.y_train))[:MOST_ROWS_OF_PAIRS]
    return Split(
        split.X_train[order],
        split.y_train[order],
        split.X_test[:MOST_ROWS_TO_JUDGE_PAIRS],
        split.y_test[:MOST_ROWS_TO_JUDGE_PAIRS],
    )


def _run(part: str, one: Set, split: Split, who: str, seed: int, model: Any) -> Result:
    start = time.perf_counter()
    fit(model, split.X_train, split.y_train)
    fitted = time.perf_counter()
    predicted = model.predict(split.X_test)
    end = time.perf_counter()
    note = ""
    if isinstance(model, GCWSNetClassifier):
        note = f"{getattr(model.scaling_, 'scale', None)} {model.p_:g}"
    return Result(
        part=part,
        set=one.name,
        who=who,
        seed=seed,
        rows=len(split.y_train),
        columns=split.X_train.shape[1],
        accuracy=float(100 * np.mean(predicted == split.y_test)),
        fit_seconds=fitted - start,
        predict_seconds=1000 * (end - fitted) / len(split.y_test),
        bytes=model_bytes(model) if part == "rivals" else 0,
        note=note,
    )
