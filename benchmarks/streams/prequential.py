"""Prequential runs: each batch of a stream is predicted, and then learned from."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.metrics import classification_scores
from benchmarks.accuracy.runs import Key, Run
from benchmarks.streams.learners import StreamLearner
from benchmarks.streams.streams import Rows, Stream
from benchmarks.timing import one_thread, peak_bytes
from benchmarks.worker import Outcome, Worker

ROWS_AFTER_A_CHANGE = 2_000
IMPORTED = 40
"""Rows that are learned from first, by another model, so that imports are not measured."""


def part_of(rows: int, batch: int) -> str:
    """Return the part of the runs that limits and batches identify, as `Run` has it.

    Examples
    --------
    >>> part_of(20_000, 32)
    'batches of 32, at most 20,000 rows'
    """
    return f"batches of {batch}, at most {rows:,} rows"


def prequential(
    learner: StreamLearner, rows: Rows, batch: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the probabilities of each row before it was learned from, and times.

    The times are the seconds of each batch, and the processor seconds of all of them together: the clock of the latter
    may have ticks of milliseconds.
    """
    model = learner.make(seed, rows.n_classes, rows.n_known or rows.n_classes)
    found, seconds, processor = np.empty((len(rows.y), rows.n_classes)), [], 0.0
    for first in range(0, len(rows.y), batch):
        here = slice(first, first + batch)
        prepared = model.prepare(rows.X[here], rows.y[here])
        started, start = time.process_time(), time.perf_counter()
        found[here] = model.predict(prepared)
        model.learn(prepared)
        seconds.append(time.perf_counter() - start)
        processor += time.process_time() - started
    return found, np.array(seconds), processor


def kappa(y: NDArray[np.intp], predicted: NDArray[np.intp]) -> float:
    """Return Cohen's kappa: 0 for what chance would get right with the same shares of the classes, 1 for all right.

    Examples
    --------
    >>> import numpy as np
    >>> kappa(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    0.5
    """
    n_classes = int(max(y.max(), predicted.max())) + 1
    by_chance = float(np.bincount(y, minlength=n_classes) @ np.bincount(predicted, minlength=n_classes)) / len(y) ** 2
    return (float((y == predicted).mean()) - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0


def run_learner(key: Key, learner: StreamLearner, rows: Rows, batch: int) -> Run:
    """Return a run, with the scores of predictions that were made before rows were learned from.

    Its `fit_seconds` are those of predicting and learning together, and its `bytes` how much the peak memory of the
    process grew.
    """
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        prequential(learner, Rows(rows.X[:IMPORTED], np.arange(min(IMPORTED, len(rows.y))) % 2), batch, key.seed)
        before = peak_bytes()
        probabilities, seconds, processor = prequential(learner, rows, batch, key.seed)
    scores = classification_scores(rows.y, probabilities)
    scores["kappa"] = 100 * kappa(rows.y, probabilities.argmax(axis=1))
    if rows.changes:
        after = np.concatenate([np.arange(change, change + ROWS_AFTER_A_CHANGE) for change in rows.changes])
        after = after[after < len(rows.y)]
        scores["after"] = 100 * float((probabilities[after].argmax(axis=1) == rows.y[after]).mean())
    scores["median_microseconds"] = 1e6 * float(np.median(seconds)) / batch
    scores["slowest_milliseconds"] = 1e3 * float(seconds.max())
    return Run(
        *key,
        rows=len(rows.y),
        columns=rows.X.shape[1],
        scores=scores,
        fit_seconds=processor,
        bytes=peak_bytes() - before,
    )


def missing_runs(
    streams: Collection[Stream],
    learners: Sequence[StreamLearner],
    settings: tuple[int, int, int],
    done: Mapping[Key, Run],
    most_seconds: float,
    report: Callable[[str], None],
) -> Iterator[Run]:
    """Yield the runs that are not done yet, each in a process of its own, and report what is left out.

    Parameters
    ----------
    streams, learners : sequences
    settings : (int, int, int)
        The most rows of a stream, the rows of a batch, and the number of seeds.
    done : mapping of Key to Run
    most_seconds : float
        The processor time of a run.
    report : callable
        What a notice is given to.
    """
    most, batch, seeds = settings
    for stream in streams:
        try:
            rows = stream.load(most)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            report(f"{stream.name} is left out: {error}")
            continue
        for learner in learners:
            for seed in range(seeds if learner.random else 1):
                key = Key(part_of(most, batch), stream.name, learner.name, seed)
                known = done.get(key)
                if known is not None and (known.scores or known.stopped_after >= most_seconds):
                    continue

                def work(
                    key: Key, restart_limit: Callable[[], None], learner: StreamLearner = learner, rows: Rows = rows
                ) -> Outcome:
                    restart_limit()
                    return "run", run_learner(key, learner, rows, batch)

                with Worker(work, most_seconds) as worker:
                    kind, found = worker.run(key)
                if kind == "failed":
                    report(f"{learner.name} does not learn from {stream.name}: {found}")
                    break
                yield found if kind == "run" else Run(*key, stopped_after=found)
                if kind == "stopped":
                    break
