"""Real clusters for tests: worker processes of this machine, shared by the tests that leave them alive."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import FrameType

import pytest
from distributed import Client

from gcwsnet.distributed._cluster import connected

MAX_SECONDS = 900
"""The time after which a test has failed: far more than it takes, for machines with much else to do."""

ClientOf = Callable[[int], Client]


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """Fail a test that hangs."""

    def give_up(*_: int | FrameType | None) -> None:
        raise TimeoutError(f"the test must end within {MAX_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(MAX_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def client_of() -> Iterator[ClientOf]:
    """A function from a number of worker processes to the client of a cluster of them, started when first used."""
    clients: dict[int, Client] = {}
    with ExitStack() as stack:

        def client(workers: int) -> Client:
            if workers not in clients:
                clients[workers] = stack.enter_context(connected(workers=workers))
            return clients[workers]

        yield client
