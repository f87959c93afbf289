"""Atomic writing of files: a file is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENDING = ".part"


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to. The file replaces `path` at the end, or is removed after an error."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{ENDING}")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def remove_left_overs(folder: Path) -> None:
    """Remove the unfinished files that killed processes have left in a folder."""
    for path in folder.glob(f".*{ENDING}"):
        path.unlink(missing_ok=True)
