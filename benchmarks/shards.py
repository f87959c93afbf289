"""The cost in accuracy of training in rounds: by the number of shards, the rows between two exchanges, and all rows.

Each cell is one pass, whose rounds are learned one after the other in this process: with the same bits as on a cluster
of any size. The rows are half of Covtype, with p = 1 and columns of numbers standardised, and a generated stream: 16
numbers around one of 1,000 random points, which belongs to one of ten classes; 5% of the rows have a random class.
Where `reproduction.datasets.load` does not find Covtype, it is left out.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from gcwsnet.distributed._rounds import Sharding, learn_here, train_in_rounds
from gcwsnet.files import Batch
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels
from gcwsnet.net._trainer import Plan, Trainer
from gcwsnet.search import fit_coder
from gcwsnet.tables._coder import CoderSettings
from reproduction import datasets

SHARDS_OF_COVTYPE, SHARDS_OF_STREAM = (2, 4, 16), (4, 16, 64)
SYNC_ROWS = (2048, 8192, 32_768)
ROWS_OF_STREAM = (250_000, 1_000_000, 5_000_000, 20_000_000)
COLUMNS, POINTS, CLASSES, SPREAD, NOISE = 16, 1000, 10, 0.1, 0.05
TEST_ROWS, BLOCK = 100_000, 100_000
SAMPLE = 20_000


class Coded(NamedTuple):
    """Codes and classes of rows to learn from and to test with."""

    train: Batch
    test: Batch
    n_hashes: int
    n_classes: int


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--n-hashes", 256, "k on Covtype")
    add_count(parser, "--stream-hashes", 32, "k on the stream")
    add_count(parser, "--rows", 5_000_000, "the most rows of the stream")


def covtype(n_hashes: int) -> Coded | None:
    """Return the codes of half of Covtype, in random order; None where it is not found."""
    try:
        data = datasets.load("covtype")
    except FileNotFoundError:
        return None
    order = np.random.default_rng(0).permutation(len(data.y_train))
    y = np.unique(np.concatenate([data.y_train, data.y_test]), return_inverse=True)[1]
    of_train, of_test = y[: len(order)], y[len(order) :]
    return coded(data.X_train[order], of_train[order], data.X_test, of_test, n_hashes, "numeric")


def stream_rows(first: int, n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows of the generated stream, from number `first` on, which is a multiple of 100,000."""
    points = np.random.default_rng(1).random((POINTS, COLUMNS), dtype=np.float32)
    of_point = np.random.default_rng(2).integers(0, CLASSES, POINTS)
    parts = []
    for block in range(first, first + n, BLOCK):
        rng = np.random.default_rng([3, block])
        around = rng.integers(0, POINTS, min(BLOCK, first + n - block))
        X = points[around] + SPREAD * rng.standard_normal((len(around), COLUMNS), dtype=np.float32)
        y = np.where(rng.random(len(X)) < NOISE, rng.integers(0, CLASSES, len(X)), of_point[around])
        parts.append((np.abs(X), y))
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def coded(
    X: Any, y: NDArray[np.int64], X_test: Any, y_test: NDArray[np.int64], n_hashes: int, scale: str | None
) -> Coded:
    """Return the codes of rows."""
    settings = CoderSettings(n_hashes=n_hashes, p=1.0, scale=scale, relevance=0.0, search="off")
    coder, _ = fit_coder(X[:SAMPLE], settings, 0, None)
    rows, test = (Batch(coder.codes(some, n_jobs=1), labels) for some, labels in ((X, y), (X_test, y_test)))
    return Coded(rows, test, n_hashes, int(y.max()) + 1)


def stream(n_rows: int, n_hashes: int) -> Coded:
    """Return the codes of the generated stream; the test rows come after all that are ever learned."""
    tests = stream_rows(10 * ROWS_OF_STREAM[-1], TEST_ROWS)
    found = [coded(*stream_rows(first, BLOCK), *tests, n_hashes, None) for first in range(0, n_rows, BLOCK)]
    codes = np.concatenate([one.train.X for one in found])
    y = np.concatenate([np.asarray(one.train.y) for one in found])
    return Coded(Batch(codes, y), found[0].test, n_hashes, CLASSES)


class Outcome(NamedTuple):
    """The accuracy in percent, the rows of a worker if each shard has one, and what was sent of all weights."""

    accuracy: float
    rows_of_a_worker: float
    share_sent: float


def learn(data: Coded, n_rows: int, shards: int, sync_rows: int) -> Outcome:
    """Learn from the first rows once."""
    settings = TrainingSettings(hidden=(200,), ensemble=1)
    made = {"n_hashes": data.n_hashes, "code_bits": 8, "seed": 0}
    trainer = Trainer.begin(settings, Labels(np.arange(data.n_classes)), **made, device="cpu")
    learn_rounds = partial(learn_here, trainer, data.train)
    order = [np.arange(n_rows)]
    train_in_rounds(trainer, Plan(1, n_rows), lambda _: order, learn_rounds, Sharding(shards, sync_rows))
    accuracy = 100 * trainer.evaluate([data.test])["accuracy"]
    history = trainer.history
    outcome = Outcome(
        accuracy,
        min(history["rounds"][-1] * sync_rows, n_rows),
        history["sent_bytes"][-1] / history["dense_bytes"][-1],
    )
    log(f"{n_rows:,} rows, {shards} shards, {sync_rows} rows between exchanges: {outcome}")
    return outcome


def covtype_table(data: Coded) -> list[str]:
    """Return the accuracy by the number of shards and the rows between exchanges."""
    n_rows = data.train.n_rows
    lines = []
    alone = learn(data, n_rows, 1, SYNC_ROWS[-1]).accuracy
    for shards in SHARDS_OF_COVTYPE:
        found = [learn(data, n_rows, shards, sync_rows) for sync_rows in SYNC_ROWS]
        cells = [f"{one.accuracy:.1f} ({n_rows / one.rows_of_a_worker:.1f} x)" for one in found]
        lines.append([str(shards), *cells, f"{100 * found[0].share_sent:.0f}%, {100 * found[-1].share_sent:.0f}%"])
    head = ["shards", *(f"every {sync_rows:,} rows" for sync_rows in SYNC_ROWS), "sent, of a dense exchange"]
    what = f"Half of Covtype, {n_rows:,} rows, k = {data.n_hashes}, one pass. One shard: {alone:.1f}%."
    return [what, "", markdown_table(head, lines)]


def stream_table(most_rows: int, n_hashes: int) -> list[str]:
    """Return the difference to one shard by the number of rows."""
    sizes = [n for n in ROWS_OF_STREAM if n <= most_rows]
    data = stream(sizes[-1], n_hashes)
    lines = []
    for n_rows in sizes:
        alone = learn(data, n_rows, 1, SYNC_ROWS[1]).accuracy
        found = [learn(data, n_rows, shards, SYNC_ROWS[1]) for shards in SHARDS_OF_STREAM]
        cells = [f"{one.accuracy - alone:+.2f} ({n_rows / one.rows_of_a_worker:.1f} x)" for one in found]
        lines.append([f"{n_rows:,}", f"{alone:.2f}", *cells])
    head = ["rows", "one shard, %", *(f"{shards} shards" for shards in SHARDS_OF_STREAM)]
    what = f"The generated stream, k = {n_hashes}, an exchange every {SYNC_ROWS[1]:,} rows, one pass:"
    return [what, "", markdown_table(head, lines)]


def run(options: argparse.Namespace) -> Section:
    """Train with each number of shards."""
    data = covtype(options.n_hashes)
    tables = ["Left out: covtype."] if data is None else covtype_table(data)
    more = "In brackets: how many times fewer rows a worker learns one after the other, if there is one for each shard."
    return Section(
        "\n".join([*environment(), more, "", *tables, "", *stream_table(options.rows, options.stream_hashes)])
    )
