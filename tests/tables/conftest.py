"""Fixtures of the tests of tables."""

from tests.files.conftest import write

__all__ = ["write"]
