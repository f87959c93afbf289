"""Fingerprints of files, by which a run that is resumed knows its inputs again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Any

from gcwsnet.tables._errors import DataError

WHOLE_BYTES = 1 << 28
"""A larger file is known by its size, its modification time and blocks of it."""

SAMPLED_BLOCKS, BLOCK_BYTES = 64, 1 << 20

Fingerprint = dict[str, Any]


def fingerprint(name: str, base: str = "") -> Fingerprint:
    """Return the name, the size and the checksum (SHA-256) of a file, as JSON can hold it.

    The checksum is that of all bytes of a file of up to 256 MiB. That of a larger file is of 64 blocks of a MiB, spread
    evenly from its first to its last byte, and its modification time is a part of the fingerprint. A name that is not
    absolute is one within the folder `base`, by default the working directory.
    """
    with open(os.path.join(base, name), "rb") as file:
        status = os.fstat(file.fileno())
        size = status.st_size
        digest = hashlib.sha256()
        if size <= WHOLE_BYTES:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
            return {"name": name, "bytes": size, "sha256": digest.hexdigest()}
        for number in range(SAMPLED_BLOCKS):
            file.seek(number * (size - BLOCK_BYTES) // (SAMPLED_BLOCKS - 1))
            digest.update(file.read(BLOCK_BYTES))
    return {"name": name, "bytes": size, "sha256": digest.hexdigest(), "modified": status.st_mtime_ns}


class Inputs:
    """The files that a run reads, with their fingerprints.

    Parameters
    ----------
    names : iterable of str
        Names of files, without streams.
    base : str
        The folder that names are in if they are not absolute, by default the working directory.

    Attributes
    ----------
    fingerprints : list of dict
    """

    def __init__(self, names: Iterable[str], base: str = "") -> None:
        self._base = base
        self._statuses = {name: self._status(name) for name in names}
        self.fingerprints = [fingerprint(name, base) for name in self._statuses]

    def check(self) -> None:
        """Raise DataError if a file is not what it was when the run began."""
        for name, status in self._statuses.items():
            if self._status(name) != status:
                raise DataError("the file must not change while it is read, and it did; start again", path=name)

    def _status(self, name: str) -> tuple[int, ...]:
        status = os.stat(os.path.join(self._base, name))
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def difference(before: Any, now: Any) -> str:
    """Return in a few words how the inputs of a run differ from those of an earlier one.

    Examples
    --------
    >>> one = {"name": "a.csv", "bytes": 3, "sha256": "00"}
    >>> difference([one], [{**one, "sha256": "01"}])
    'a.csv has other contents'
    >>> difference([one], [one, {**one, "name": "b.csv"}])
    'they were a.csv, and now they are a.csv, b.csv'
    """
    names_before, names_now = ([_name(one) for one in some] if isinstance(some, list) else [] for some in (before, now))
    if names_before == names_now:
        for old, new in zip(before, now, strict=True):
            if old != new:
                return f"{_name(new)} has other contents"
    return f"they were {_listed(names_before)}, and now they are {_listed(names_now)}"


def _name(one: Any) -> str:
    return str(one.get("name")) if isinstance(one, dict) else str(one)


def _listed(names: list[str]) -> str:
    return (", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")) or "none"
