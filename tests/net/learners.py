"""Codes to learn from, and trainers that learn them, for the tests of the training."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet.files import Batch
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels, Numbers, Targets
from gcwsnet.net._trainer import Observer, Plan, Trainer

N_HASHES, CODE_BITS = 12, 4
SETTINGS = TrainingSettings(hidden=(8,), batch_size=16, learning_rate=0.01)
THREE_CLASSES = Labels(np.array(["ash", "beech", "oak"]))


def coded_rows(targets: Targets, n: int, *, weighted: bool = False, seed: int = 0) -> Batch:
    """Rows whose codes say much about their targets."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2**CODE_BITS, (n, N_HASHES), dtype=np.uint8)
    effect = np.random.default_rng(1).normal(size=(N_HASHES, 2**CODE_BITS, targets.n_outputs))
    scores = effect[np.arange(N_HASHES), codes].sum(axis=1) / np.sqrt(N_HASHES) + 0.1 * rng.normal(size=(n, 1))
    target = scores.argmax(axis=1).astype(np.int32) if isinstance(targets, Labels) else scores.astype(np.float32)
    return Batch(codes, target, rng.random(n) * 2 if weighted else None)


def numbers(n_outputs: int, loss: str) -> Numbers:
    """Targets that are standardised already."""
    return Numbers(np.zeros(n_outputs), np.ones(n_outputs), n_outputs == 1, loss)


def rows_of(n: int, members: int, targets: Any = THREE_CLASSES, *, weighted: bool = False) -> Batch:
    """Rows with other codes for each member."""
    parts = [coded_rows(targets, n, weighted=weighted) for _ in range(members)]
    codes = [parts[0].X, *(np.random.default_rng(j).permuted(parts[0].X, axis=1) for j in range(1, members))]
    return parts[0]._replace(X=np.hstack(codes))


def begin(targets: Targets = THREE_CLASSES, *, device: str = "cpu", **settings: Any) -> Trainer:
    """Return a trainer whose net has learned nothing."""
    made: dict[str, Any] = {"n_hashes": N_HASHES, "code_bits": CODE_BITS, "seed": 5, "device": device}
    return Trainer.begin(replace(SETTINGS, **settings), targets, **made)


def in_blocks(rows: Batch, size: int | None = None) -> Callable[[int], list[Batch]]:
    """Return the epochs of rows, each in its own order and cut into blocks of some size."""

    def epoch(number: int) -> list[Batch]:
        drawn = rows.take(np.random.default_rng(number).permutation(rows.n_rows))
        step = size or rows.n_rows
        return [drawn.rows(first, first + step) for first in range(0, rows.n_rows, step)]

    return epoch


def run(
    trainer: Trainer,
    rows: Batch,
    *,
    size: int | None = None,
    held_out: Sequence[Batch] = (),
    observer: Observer | None = None,
    n_jobs: int = 1,
    **plan: Any,
) -> Trainer:
    """Run a trainer over rows and return it."""
    known: dict[str, Any] = {"epochs": 2, "n_rows": rows.n_rows}
    evaluated = [lambda batch=batch: [batch] for batch in held_out]
    trainer.run(Plan(**known | plan), in_blocks(rows, size), evaluated, observer, n_jobs=n_jobs)
    return trainer


def content(trainer: Trainer) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return all of a trainer but its timings, to be compared to the last bit."""
    arrays, description = trainer.state(training_state=True, timings=False)
    return {name: np.ascontiguousarray(value).tobytes() for name, value in arrays.items()}, description


def largest_difference(a: dict[str, NDArray[Any]], b: dict[str, NDArray[Any]]) -> float:
    """Return the largest absolute difference of arrays of the same names."""
    assert a.keys() == b.keys()
    return max(float(np.abs(value - b[name]).max()) for name, value in a.items())
