"""Rounds on real clusters: the bytes of the judge, whatever the workers do."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client

from gcwsnet.distributed import _rounds
from gcwsnet.distributed._client import connected
from gcwsnet.distributed._cluster_rounds import ClusterRounds, row_order
from gcwsnet.distributed._rounds import Rounds, RoundsHere, run_in_rounds
from gcwsnet.files import Batch
from gcwsnet.net._trainer import Plan, Trainer
from tests.distributed.conftest import ClientOf
from tests.distributed.parts import N_ROWS, PARTS, ROWS, BadPart, DeadlyPart, parts
from tests.net.learners import begin, content

SHARDS, SYNC_ROWS = 5, 32
HEARD_OF_SECONDS = 6
"""After which a worker that hangs is given up; ten heartbeats are the least that Dask takes."""


def learned(trainer: Trainer, rounds: Rounds) -> Any:
    """Learn all rows twice, and return all that the trainer has then."""
    trainer.start_run()
    run_in_rounds(trainer, Plan(2, N_ROWS), lambda epoch: row_order(N_ROWS, 200, 5, epoch), rounds)
    return content(trainer)


def learned_on(client: Client, flag: Path | None = None, sends: int = 0, **sharding: int) -> Any:
    """Learn on a cluster; the first who reads the last part gets a signal, in the second half of the first epoch."""
    trainer = begin()
    settings = {"shards": SHARDS, "sync_rows": SYNC_ROWS} | sharding
    return learned(trainer, ClusterRounds(client, trainer, parts(flag, sends), PARTS, **settings))


@pytest.fixture(scope="module")
def expected() -> Any:
    trainer = begin()
    return learned(trainer, RoundsHere(trainer, ROWS, shards=SHARDS, sync_rows=SYNC_ROWS))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_bytes_of_rounds_in_one_process(
    workers: int, client_of: ClientOf, expected: Any
) -> None:
    assert learned_on(client_of(workers)) == expected


def test_a_new_base_changes_no_bit(client_of: ClientOf, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_rounds, "MOST_ROUNDS_OF_A_BASE", 3)
    assert learned_on(client_of(2)) == expected


def test_parts_may_be_futures(client_of: ClientOf, expected: Any) -> None:
    trainer, client = begin(), client_of(2)
    ends = np.cumsum(PARTS)
    futures = [client.submit(ROWS.rows, end - n, end, pure=False) for n, end in zip(PARTS, ends.tolist(), strict=True)]
    found = learned(trainer, ClusterRounds(client, trainer, futures, PARTS, shards=SHARDS, sync_rows=SYNC_ROWS))
    assert found == expected


def test_one_shard_learns_what_one_process_learns_without_rounds(client_of: ClientOf) -> None:
    trainer = begin()

    def epoch(number: int) -> list[Batch]:
        return [ROWS.take(rows) for rows in row_order(N_ROWS, 200, 5, number)]

    trainer.run(Plan(2, N_ROWS), epoch)
    found, _ = learned_on(client_of(2), shards=1)
    weights = {name: value for name, value in content(trainer)[0].items() if name.startswith(("net.", "optimizer."))}
    assert weights.items() <= found.items()


def test_a_worker_killed_in_the_middle_of_a_piece_changes_no_bit(tmp_path: Path, expected: Any) -> None:
    flag = tmp_path / "killed"
    with connected(workers=2) as client:
        assert learned_on(client, flag, signal.SIGKILL) == expected
    assert flag.exists()


@pytest.mark.slow
def test_a_worker_that_hangs_is_given_up_and_changes_no_bit(tmp_path: Path, expected: Any) -> None:
    flag = tmp_path / "stopped"
    with dask.config.set({"distributed.scheduler.worker-ttl": f"{HEARD_OF_SECONDS}s"}), connected(workers=2) as client:
        try:
            assert learned_on(client, flag, signal.SIGSTOP) == expected
        finally:
            with suppress(FileNotFoundError, ProcessLookupError):  # the scheduler may have ended it
                os.kill(int(flag.read_text()), signal.SIGKILL)
    assert flag.exists()


def test_rows_that_kill_every_worker_are_an_error_that_says_so() -> None:
    trainer = begin()
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), connected(workers=1) as client:
        rounds = ClusterRounds(client, trainer, [DeadlyPart()], [N_ROWS], shards=SHARDS, sync_rows=SYNC_ROWS)
        with pytest.raises(OSError, match="1 workers died one after the other while they learned the same rows"):
            learned(trainer, rounds)


def test_the_error_of_a_piece_is_raised(client_of: ClientOf) -> None:
    trainer = begin(learning_rate=1e3)
    with pytest.raises(ValueError, match="the training diverges"):
        learned(
            trainer, ClusterRounds(client_of(1), trainer, [BadPart()], [N_ROWS], shards=SHARDS, sync_rows=SYNC_ROWS)
        )
