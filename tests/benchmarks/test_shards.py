"""The benchmarks of training in rounds, on few rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from distributed import Client

from benchmarks import cluster_training, shards
from benchmarks.__main__ import main


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))
    for name, value in {"BLOCK": 500, "TEST_ROWS": 500, "ROWS_OF_STREAM": (1000, 2000), "SYNC_ROWS": (32, 64)}.items():
        monkeypatch.setattr(shards, name, value)


@pytest.mark.usefixtures("few_rows")
def test_shards(capsys: pytest.CaptureFixture[str]) -> None:
    main(["shards", "--stream-hashes", "4", "--rows", "2000"])
    text = capsys.readouterr().out
    assert "Left out: covtype." in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == "| rows | one shard, % | 4 shards | 16 shards | 64 shards |"
    assert lines[3].startswith("| 2,000 |")


@pytest.mark.usefixtures("few_rows")
def test_cluster_training(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connected(workers: int) -> Iterator[Any]:
        settings = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
        with Client(n_workers=workers, **settings) as client:
            yield client

    monkeypatch.setattr(cluster_training, "connected", connected)
    main(["cluster-training", "--rows", "2000", "--n-hashes", "4", "--sync-rows", "64", "--repetitions", "1"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [line.split(" | ")[0] for line in lines[2:5]] == ["| one process", "| dask, 1 worker", "| dask, 2 workers"]
    assert [line.split(" | ")[0] for line in lines[7:]] == ["| 1", "| 8", "| 64", "| 256"]


def test_the_model_of_machines_adds_up_pieces_trees_and_updates() -> None:
    model = cluster_training.TrainingModel(1e-4, 0.1, 1.25e7, 1000, cores=2, network=1.25e9)
    rounds, pieces, tree, update = model.parts(8_000_000, 4)
    assert rounds == pytest.approx(1000 + 10 * (1 + 2.0794), rel=1e-4)
    assert (pieces / rounds, tree / rounds, update / rounds) == pytest.approx((0.2, 0.03, 0.03))
