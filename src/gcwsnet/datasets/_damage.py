"""Errors for files that are not what they must be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

WAY_OUT = "put a whole copy of the file in its place"


@contextmanager
def whole(what: str) -> Iterator[None]:
    """ValueError for whatever happens inside: damage may break any rule of the formats."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        why = (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
        raise ValueError(f"{what} cannot be read ({why}); {WAY_OUT}") from error
