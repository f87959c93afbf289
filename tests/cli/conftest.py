"""What the tests of the command share."""

import sys

import pytest


@pytest.fixture
def pictures() -> None:
    """Let commands draw learning curves in this test."""


@pytest.fixture(autouse=True)
def few_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide matplotlib from other tests: drawing takes most of the time of a small run."""
    if "pictures" not in request.fixturenames:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
