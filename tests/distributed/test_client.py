"""Where the work is done: a client that is given, a scheduler by its address, or workers that are started here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gcwsnet.distributed import _client
from gcwsnet.distributed._client import connected
from tests.distributed.conftest import ClientOf


def test_workers_are_processes_of_their_own_with_one_thread(client_of: ClientOf) -> None:
    client = client_of(2)
    found = client.run(os.getpid)
    assert len({os.getpid(), *found.values()}) == 3
    assert set(client.nthreads().values()) == {1}


def test_a_client_that_is_given_stays_connected(client_of: ClientOf) -> None:
    with connected(client_of(2)) as client:
        assert client is client_of(2)
    assert client.submit(sum, [1, 2]).result() == 3


def test_a_scheduler_is_found_by_its_address_and_goes_on(client_of: ClientOf) -> None:
    address = client_of(2).scheduler.address
    for _ in range(2):
        with connected(scheduler=address) as client:
            assert client is not client_of(2)
            assert client.submit(sum, [1, 2]).result() == 3


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x"])
def test_an_address_without_a_scheduler_is_an_error_that_names_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_client, "CONNECT_SECONDS", 0.2)
    with (
        pytest.raises(ConnectionError, match=f"no scheduler of Dask at '{address}' .*start one with `dask scheduler`"),
        connected(scheduler=address),
    ):
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
