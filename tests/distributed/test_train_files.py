"""`gcwsnet train` on real clusters: one model, for any cluster and whichever process is killed."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gcwsnet
from gcwsnet.distributed._rounds import Sharding
from tests.cli.command import fail, succeed
from tests.distributed.conftest import ClientOf
from tests.distributed.faults import scheduler_killed_once_there_is
from tests.distributed.test_hash import HASHING, on, write_table

NET = ["--hidden", "8", "--epochs", "2", "--batch-size", "16"]
SHARDING = ["--shards", "4"]
KILLED = """
import os, signal, sys
from gcwsnet.cli import main
from gcwsnet.distributed._cluster import ClusterRounds
from gcwsnet.distributed._rounds import Sharding

Sharding.__new__.__defaults__ = (4, 32)
begin, left = ClusterRounds._begin, [25]

def begin_or_die(self, one):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return begin(self, one)

ClusterRounds._begin = begin_or_die
main(sys.argv[1:])
"""
"""A client that is killed when its 25th round begins, after some of several pieces."""


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    """Cut few rows into many rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sharding.__new__, "__defaults__", (4, 32))
        yield


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    files = write_table(tmp_path_factory.mktemp("table"), n_files=3)
    return ["train", *files, "--label", "label", *HASHING, *NET]


@pytest.fixture(scope="module")
def model(arguments: list[Any], client_of: ClientOf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model that a cluster of two workers trains."""
    out = tmp_path_factory.mktemp("model")
    succeed(*arguments, *SHARDING, *on(client_of(2)), "--out", out)
    return out


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("workers", [1, 4])
def test_any_number_of_workers_gives_the_same_bytes(
    workers: int, arguments: list[Any], model: Path, client_of: ClientOf, tmp_path: Path
) -> None:
    succeed(*arguments, *SHARDING, *on(client_of(workers)), "--out", tmp_path)
    assert digest(tmp_path) == digest(model)


def test_the_model_is_an_ordinary_one_and_nothing_else_is_left(model: Path, arguments: list[Any]) -> None:
    assert sorted(path.name for path in model.iterdir() if not path.name.startswith(".")) == sorted(
        ["model.safetensors", "run.json"]
    )
    loaded = gcwsnet.load(model)
    history = loaded.history_
    assert history["accuracy"][-1] > 0.6
    assert 0 < history["sent_bytes"][-1] < history["dense_bytes"][-1]
    evaluated = json.loads(succeed("evaluate", model, arguments[1], "--json").stdout)
    assert evaluated["accuracy"] > 0.6


def weights(folder: Path) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in gcwsnet.load(folder).trainer_.net.weights().items()}


@pytest.mark.parametrize("are_codes", [False, True], ids=["files", "codes"])
def test_one_shard_gives_the_weights_of_the_local_command(
    are_codes: bool, arguments: list[Any], client_of: ClientOf, tmp_path: Path
) -> None:
    learning, codes = arguments, tmp_path / "codes"
    if are_codes:
        files = [one for one in arguments if isinstance(one, Path)]
        succeed("hash", *files, "--label", "label", *HASHING, "--out", codes)
        learning = ["train", codes, *NET]
    succeed(*learning, "--out", tmp_path / "local")
    succeed(*learning, *on(client_of(2)), "--shards", "1", "--out", tmp_path / "dask")
    assert weights(tmp_path / "dask") == weights(tmp_path / "local")
    if are_codes:
        part = next(codes.glob("part-*.codes.npy"))
        part.write_bytes(part.read_bytes()[:-1] + b"x")
        error = fail(*learning, *on(client_of(2)), "--out", tmp_path / "damaged")
        assert part.name in error
        assert "checksum" in error


def test_a_killed_client_is_resumed_to_the_same_bytes(
    arguments: list[Any], model: Path, client_of: ClientOf, tmp_path: Path
) -> None:
    every = [str(one) for one in (*arguments, "--checkpoint-every", "1", "--out", tmp_path)]
    command = [sys.executable, "-c", KILLED, *every, *SHARDING, *on(client_of(2))]
    died = subprocess.run(command, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert b"momentum.layers.0.weight" in (tmp_path / "checkpoint.safetensors").read_bytes()
    assert "did not finish; continue it with --resume" in fail(*every, *SHARDING, *on(client_of(2)))
    other = fail(*every, "--shards", "2", "--resume", *on(client_of(2)))
    assert "is of a run with sharding {'shards': 4, 'sync_rows': 32}" in other
    resumed = succeed(*every, *SHARDING, "--resume", *on(client_of(1)))
    assert "resuming after" in resumed.stderr
    assert digest(tmp_path) == digest(model)
    assert os.listdir(tmp_path).count("codes") == 0


def test_a_killed_scheduler_is_an_error_and_the_run_is_resumed_to_the_same_bytes(
    arguments: list[Any], model: Path, client_of: ClientOf, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    every = [*arguments, *SHARDING, "--checkpoint-every", "1", "--out", out]
    with scheduler_killed_once_there_is(f"{out}/checkpoint.safetensors", tmp_path) as cluster:
        error = fail(*every, *cluster)
    assert f"the scheduler at {cluster[-1]} was lost" in error
    assert "continue the command with --resume" in error
    resumed = succeed(*every, "--resume", *on(client_of(1)))
    assert "resuming after" in resumed.stderr
    assert digest(out) == digest(model)


def test_options_that_have_no_effect_are_refused(arguments: list[Any], client_of: ClientOf, tmp_path: Path) -> None:
    assert "--shards: The option has no effect" in fail(*arguments, "--shards", "2", "--out", tmp_path, code=2)
    stream = ["train", "-", *on(client_of(1)), "--out", tmp_path]
    assert "workers read files, which standard input is not" in fail(*stream, input="1 1:2\n")
