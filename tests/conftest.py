"""What the tests share."""

import pytest
from hypothesis import HealthCheck, settings

from gcwsnet import _core

settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("tests")


def pytest_report_header() -> str:
    return f"native core: {_core.__file__}, instruction sets: {', '.join(_core.instruction_sets())}"


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each instruction set of this processor in turn, chosen as a user would."""
    monkeypatch.setenv("GCWSNET_ISA", request.param)
    name: str = request.param
    return name
