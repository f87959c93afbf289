"""Real clusters: how they are found, and rounds that give the bytes of one process, whatever the workers do."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client

from gcwsnet.distributed import _cluster
from gcwsnet.distributed._cluster import ClusterRounds, connected
from gcwsnet.distributed._rounds import Learn, Sharding, learn_here, row_order, train_in_rounds
from gcwsnet.files import Batch
from gcwsnet.net._trainer import Plan, Trainer
from tests.distributed.conftest import ClientOf
from tests.distributed.faults import N_ROWS, PART_ROWS, ROWS, BadPart, DeadlyPart, given_up_once_stopped, parts
from tests.net.learners import begin, content


def test_a_cluster_that_is_given_goes_on(client_of: ClientOf) -> None:
    given = client_of(2)
    for cluster in ({"client": given}, {"scheduler": given.scheduler.address}):
        for _ in range(2):
            with connected(**cluster) as client:
                assert (client is given) == ("client" in cluster)
                assert client.submit(sum, [1, 2]).result() == 3


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x"])
def test_an_address_without_a_scheduler_is_an_error_that_names_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cluster, "CONNECT_TIMEOUT", 0.2)
    rule = f"no scheduler of Dask at '{address}' .*start one with `dask scheduler`"
    with pytest.raises(ConnectionError, match=rule), connected(scheduler=address):
        pass


def test_a_cluster_is_named_once(client_of: ClientOf) -> None:
    with pytest.raises(ValueError, match="client and workers are given"), connected(client_of(2), workers=2):
        pass
    with pytest.raises(ValueError, match="workers must be from 1 to 1024, got workers=0"), connected(workers=0):
        pass


def test_without_dask_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "distributed.py").write_text("raise ModuleNotFoundError('No module', name='distributed')")
    command = [sys.executable, "-c", "import gcwsnet.distributed"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    expected = "ImportError: gcwsnet.distributed needs dask, which is not installed; pip install 'gcwsnet[distributed]'"
    assert result.stderr.splitlines()[-1] == expected


def learned(trainer: Trainer, learn: Learn, shards: int = 5) -> Any:
    """Learn all rows twice, and return all that the trainer has then."""
    trainer.start_run()
    plan, epochs = Plan(2, N_ROWS), partial(row_order, N_ROWS, 200, 5)
    train_in_rounds(trainer, plan, epochs, learn, Sharding(shards, 32))
    return content(trainer)


def learned_on(client: Client, some: list[Any], part_rows: list[int] = PART_ROWS, shards: int = 5) -> Any:
    trainer = begin()
    return learned(trainer, ClusterRounds(client, trainer, some, part_rows).learn, shards)


@pytest.fixture(scope="module")
def expected() -> Any:
    trainer = begin()
    return learned(trainer, partial(learn_here, trainer, ROWS))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_bytes_of_rounds_in_one_process(
    workers: int, client_of: ClientOf, expected: Any
) -> None:
    assert learned_on(client_of(workers), parts()) == expected


def test_a_new_snapshot_changes_no_bit(client_of: ClientOf, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cluster, "MAX_ROUNDS_SINCE_SNAPSHOT", 3)
    assert learned_on(client_of(2), parts()) == expected


def test_parts_may_be_futures(client_of: ClientOf, expected: Any) -> None:
    client, ends = client_of(2), np.cumsum(PART_ROWS).tolist()
    pairs = zip(PART_ROWS, ends, strict=True)
    assert learned_on(client, [client.submit(ROWS.rows, end - n, end, pure=False) for n, end in pairs]) == expected


def test_one_shard_learns_what_one_process_learns_without_rounds(client_of: ClientOf) -> None:
    trainer = begin()

    def epoch(number: int) -> list[Batch]:
        return [ROWS.take(rows) for rows in row_order(N_ROWS, 200, 5, number)]

    trainer.run(Plan(2, N_ROWS), epoch)
    found, _ = learned_on(client_of(2), parts(), shards=1)
    weights = {name: value for name, value in content(trainer)[0].items() if name.startswith(("net.", "optimizer."))}
    assert weights.items() <= found.items()


def test_a_worker_killed_in_the_middle_of_a_piece_changes_no_bit(tmp_path: Path, expected: Any) -> None:
    flag = tmp_path / "killed"
    with connected(workers=2) as client:
        assert learned_on(client, parts(flag, signal.SIGKILL)) == expected
    assert flag.exists()


@pytest.mark.slow
def test_a_worker_that_hangs_is_given_up_and_changes_no_bit(tmp_path: Path, expected: Any) -> None:
    flag = tmp_path / "stopped"
    with connected(workers=2) as client, given_up_once_stopped(client):
        assert learned_on(client, parts(flag, signal.SIGSTOP)) == expected
    assert flag.exists()


def test_rows_that_kill_every_worker_are_an_error_that_says_so() -> None:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        connected(workers=1) as client,
        pytest.raises(OSError, match="1 workers died one after the other while they worked on the same rows"),
    ):
        learned_on(client, [DeadlyPart()], [N_ROWS])


def test_the_error_of_a_piece_is_raised(client_of: ClientOf) -> None:
    with pytest.raises(ValueError, match="the training diverges"):
        learned_on(client_of(1), [BadPart()], [N_ROWS])
