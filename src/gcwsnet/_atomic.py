"""Atomic writing of files that are not read, and the lock of a folder: no run disturbs another.

A file is there whole or not at all: it is written beside its target under a random name of its own, synced, and moved
into place; then the folder is synced. As long as it is written it is locked, so that what a killed process has left can
be told from what another process is writing.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed or moved
    fcntl = None  # type: ignore[assignment]

UNFINISHED = re.compile(r"\.gcwsnet-[0-9a-f]{16}\.part")
LOCK = ".gcwsnet.lock"
SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def written_beside(path: Path) -> Iterator[BinaryIO]:
    """Yield a new binary file beside `path`. It replaces `path` at the end, or is removed after an error.

    A symbolic link stays, and the file that it leads to is replaced. What is no file, such as a pipe or /dev/null, is
    not replaced: it is written to at once.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = Path(os.path.realpath(path))
    beside, number = _create(path.parent)
    file = os.fdopen(number, "w+b")
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        if fcntl is None:
            file.close()
        beside.replace(path)
        sync_folder(path.parent)
    finally:
        try:
            file.close()  # which may find that the disk is full
        finally:
            beside.unlink(missing_ok=True)


def write_file(path: Path, *parts: bytes | memoryview) -> None:
    """Write bytes to a file by way of one beside it, see `written_beside`; an error names the file."""
    try:
        with written_beside(path) as file:
            for part in parts:
                file.write(part)
    except OSError as error:
        raise type(error)(f"{path} could not be written, and is as it was before: {error}") from error


def sync_folder(folder: Path) -> None:
    """Write the names of a folder to the disk, where the system can."""
    if fcntl is None:
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError:  # some file systems cannot sync folders
        pass
    finally:
        os.close(number)


def remove_left_overs(folder: Path) -> None:
    """Remove the unfinished files that killed processes have left in a folder: own names that nobody is writing."""
    for path in folder.iterdir():
        if not UNFINISHED.fullmatch(path.name):
            continue
        try:
            number = os.open(path, os.O_RDWR | SAFE)
        except OSError:  # gone, not ours to open, or a symbolic link
            continue
        try:
            if _lock(number, wait=False, without=fcntl is None):
                path.unlink(missing_ok=True)
        except PermissionError:  # on Windows, where it is open elsewhere
            pass
        finally:
            os.close(number)


@contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a folder, which one run has at a time; raise BlockingIOError if another has it, or wait."""
    path = folder / LOCK
    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | SAFE, 0o666)
        if not _lock(number, wait=wait):
            os.close(number)
            raise BlockingIOError(
                f"another run is writing to {folder}; wait until it has ended, or choose another folder"
            )
        if _is_at(number, path):
            break
        os.close(number)  # the run before has removed it
    try:
        yield
    finally:
        if fcntl is not None:
            path.unlink(missing_ok=True)
        os.close(number)


def _create(folder: Path) -> tuple[Path, int]:
    """Return the path of a new file with a random name, and its locked descriptor; its mode is that of the umask."""
    while True:
        path = folder / f".gcwsnet-{secrets.token_hex(8)}.part"
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFE, 0o666)
        if _lock(number, wait=True) and _is_at(number, path):
            return path, number
        os.close(number)  # it was removed before it was locked


def _is_at(number: int, path: Path) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(number), there)


def _lock(number: int, *, wait: bool, without: bool = True) -> bool:
    """Lock an open file and return True, or False if another has locked it, or `without` where there are no locks."""
    if fcntl is None:
        return without
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return without
    return True
