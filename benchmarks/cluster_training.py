"""Training in rounds on a cluster of Dask next to one process, and what that means for 64 machines.

Rows of the generated stream of `python -m benchmarks shards` are learned once by `Trainer.run`, and in rounds by
clusters of one and of two worker processes, which are running already and have the codes. The clusters must give the
same bytes. All take turns within one run, and medians count. CPU seconds are those of all processes that take part;
other work of the machine does not change them as it changes the rates.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.shards import Coded, stream
from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import HighestLoad
from gcwsnet.distributed._cluster import ClusterRounds, connected
from gcwsnet.distributed._rounds import Sharding, train_in_rounds
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels
from gcwsnet.net._trainer import Plan, Trainer

SHARDS = 2
MACHINES = (1, 8, 64, 256)


@dataclass
class Measured:
    """One run: seconds, CPU seconds of all processes, rounds, bytes sent, and those of an exchange of all weights."""

    seconds: float
    cpu: float
    rounds: float = 0.0
    sent: float = 0.0
    dense: float = 0.0


def begin(data: Coded) -> Trainer:
    """Return a trainer that has learned nothing."""
    settings = TrainingSettings(hidden=(200,), ensemble=1)
    made = {"n_hashes": data.n_hashes, "code_bits": 8, "seed": 0}
    return Trainer.begin(settings, Labels(np.arange(data.n_classes)), **made, device="cpu")


def learn(
    data: Coded, sync_rows: int, client: Any, parts: list[Any], cpu: Callable[[], float]
) -> tuple[Measured, bytes]:
    """Learn all rows once; return what it took, and the bytes of the weights."""
    trainer, n_rows = begin(data), data.train.n_rows
    plan = Plan(1, n_rows)
    start, before = time.perf_counter(), cpu()
    if client is None:
        trainer.run(plan, lambda _: [data.train])
    else:
        rounds, order = ClusterRounds(client, trainer, parts, [n_rows]), [np.arange(n_rows)]
        train_in_rounds(trainer, plan, lambda _: order, rounds.learn, Sharding(SHARDS, sync_rows))
    took = Measured(time.perf_counter() - start, cpu() - before)
    if client is not None:
        names = ("rounds", "sent_bytes", "dense_bytes")
        took.rounds, took.sent, took.dense = (trainer.history[name][-1] for name in names)
    return took, b"".join(value.tobytes() for value in trainer.net.weights().values())


def measure(options: argparse.Namespace, data: Coded) -> dict[str, Measured]:
    """Return the medians of each way."""
    runs: dict[str, list[Measured]] = {}
    with ExitStack() as stack:
        ways: dict[str, tuple[Any, list[Any], Callable[[], float]]] = {"one process": (None, [], time.process_time)}
        for workers in (1, 2):
            client = stack.enter_context(connected(workers=workers))
            parts = client.scatter([data.train], broadcast=True)

            def cpu(client: Any = client) -> float:
                return time.process_time() + sum(client.run(time.process_time).values())

            ways[f"dask, {workers} worker{'s' * (workers > 1)}"] = client, parts, cpu
        expected: bytes | None = None
        for _ in range(options.repetitions + 1):  # the first one imports and is not counted
            for name, way in ways.items():
                took, weights = learn(data, options.sync_rows, *way)
                runs.setdefault(name, []).append(took)
                log(f"{name}: {took}")
                if way[0] is not None:
                    expected = expected or weights
                    if weights != expected:
                        raise AssertionError(f"{name} must give the bytes of the other cluster")
    return {
        name: Measured(*(median(getattr(one, field) for one in found[1:]) for field in vars(found[0])))
        for name, found in runs.items()
    }


@dataclass(frozen=True)
class TrainingModel:
    """How long training takes on many machines, with a shard for each worker, from what was measured on one.

    A round is the CPU time of a piece, then the tree in which changes are added up, whose levels each send a change
    over the network, then the update, which every worker of a machine gets over the network of its machine.

    Attributes
    ----------
    cpu_of_a_row : float
        Of learning in one process; measured.
    cpu_of_a_piece : float
        What a piece and its part of the exchange take beside that; measured.
    bytes_of_a_change : float
        Measured; an update has no more.
    sync_rows : int
    cores : int
        Workers of a machine; assumed.
    network : float
        Bytes that a machine sends or gets in a second; assumed.
    """

    cpu_of_a_row: float
    cpu_of_a_piece: float
    bytes_of_a_change: float
    sync_rows: int
    cores: int = 16
    network: float = 1.25e9

    def parts(self, n_rows: int, machines: int) -> tuple[float, float, float, float]:
        """Return the rounds, and the seconds of pieces, of trees and of updates of a run."""
        shards = machines * self.cores
        steady = n_rows / (shards * self.sync_rows)
        rounds = steady + 10 * (1 + math.log(shards))
        piece = self.sync_rows * self.cpu_of_a_row + self.cpu_of_a_piece
        tree = math.ceil(math.log2(shards)) * self.bytes_of_a_change / self.network
        update = max(self.cores, math.ceil(math.log2(shards))) * self.bytes_of_a_change / self.network
        return rounds, rounds * piece, rounds * tree, rounds * update

    def text(self, n_rows: int = 10**9) -> list[str]:
        """Return the model in words and as a table."""
        alone = n_rows * self.cpu_of_a_row
        rows = []
        for machines in MACHINES:
            rounds, *seconds = self.parts(n_rows, machines)
            sent = rounds * 2 * machines * self.cores * self.bytes_of_a_change
            cells = (f"{one:,.0f}" for one in (rounds, *seconds))
            rows.append(
                [
                    f"{machines}",
                    f"{sum(seconds) / 3600:.2f}",
                    f"{alone / sum(seconds):.0f}",
                    *cells,
                    f"{sent / 1e12:.1f}",
                ]
            )
        about = (
            f"The model for {n_rows:,} rows, one pass: {self.cores} workers and as many shards on each machine, pieces "
            f"of {self.sync_rows:,} rows, {1e6 * self.cpu_of_a_row:.0f} microseconds for a row and "
            f"{1e3 * self.cpu_of_a_piece:.0f} ms more for a piece as measured, changes and updates of "
            f"{self.bytes_of_a_change / 1e6:.1f} MB, and a network of {self.network / 1e9:.2f} GB/s. One core in one "
            f"process would take {alone / 3600:.1f} hours. The first rounds have fewer pieces (docs: the rule), which "
            "adds 10 (1 + ln S) rounds."
        )
        head = ["machines", "hours", "times one core", "rounds", "pieces, s", "tree, s", "updates, s", "TB sent"]
        return [about, "", markdown_table(head, rows)]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 200_000, "rows that are learned, whole hundreds of thousands")
    add_count(parser, "--n-hashes", 256, "k")
    add_count(parser, "--sync-rows", 4096, "the rows of a piece")
    add_count(parser, "--repetitions", 3, "timed runs of each kind")


def run(options: argparse.Namespace) -> Section:
    """Train in one process and on clusters."""
    load = HighestLoad()
    data = stream(options.rows, options.n_hashes)
    found = measure(options, data)
    load.update()
    alone, n_rows = found["one process"], data.train.n_rows
    rows = []
    for name, one in found.items():
        cells = [f"{n_rows / one.seconds:,.0f} ({alone.seconds / one.seconds:.2f})"]
        cells += [f"{1e6 * one.cpu / n_rows:.1f} ({one.cpu / alone.cpu:.2f})"]
        sent = [f"{one.sent / one.rounds / 1e6:.1f}", f"{one.dense / one.rounds / 1e6:.1f}"] if one.rounds else ["", ""]
        rows.append([name, *cells, *sent])
    two = found["dask, 2 workers"]
    pieces = n_rows / options.sync_rows
    model = TrainingModel(
        cpu_of_a_row=alone.cpu / n_rows,
        cpu_of_a_piece=max(0.0, two.cpu - alone.cpu) / pieces,
        bytes_of_a_change=two.sent / (pieces + two.rounds),
        sync_rows=options.sync_rows,
    )
    head = ["training", "rows/s", "CPU seconds for a million rows", "MB sent in a round", "MB of a dense exchange"]
    about = (
        f"{n_rows:,} rows, k = {data.n_hashes}, 200 hidden units, {SHARDS} shards, pieces of {options.sync_rows:,} "
        f"rows, {two.rounds:.0f} rounds. In brackets as a multiple of one process. The load was up to {load.value:.1f}."
    )
    lines = [*environment("dask", "distributed"), about, "", markdown_table(head, rows), "", *model.text()]
    return Section("\n".join(lines))
