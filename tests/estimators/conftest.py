"""What several tests of estimators are given."""

from pathlib import Path

import pytest


@pytest.fixture
def copies(saved: Path, tmp_path: Path) -> Path:
    """Copies of the files that the fixture `saved` of a module has made."""
    for file in saved.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path
