"""What the tests share."""

import signal

import pytest
from hypothesis import HealthCheck, settings

from gcwsnet import _core

settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("tests")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell has started the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what some of them are about


def pytest_report_header() -> str:
    return f"native core: {_core.__file__}, instruction sets: {', '.join(_core.instruction_sets())}"


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each instruction set of this processor in turn, chosen as a user would."""
    monkeypatch.setenv("GCWSNET_ISA", request.param)
    name: str = request.param
    return name
