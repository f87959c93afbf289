"""Files of a dataset, in a folder or inside an archive, as streams of bytes of bounded length.

Nothing is unpacked into a folder. An error names the file, the archive that it is in, and the way out.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, cast
from zipfile import ZipFile, ZipInfo

MAX_BYTES = 2**31
"""The largest size of a file, downloaded or unpacked: the largest published one has 0.7 GB."""

WAY_OUT = "put an undamaged copy of the file in its place"
GZIP_MAGIC = b"\x1f\x8b"
BUFFER_BYTES = 1 << 18


@contextmanager
def wrap_read_errors(what: str) -> Iterator[None]:
    """Turn any exception inside into a ValueError that says what cannot be read.

    A damaged file may break any rule of its format, so any exception of the code that reads it can occur.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        reason = (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
        raise ValueError(f"{what} cannot be read ({reason}); {WAY_OUT}") from error


@dataclass(frozen=True)
class DataFile:
    """A file of a dataset that can be read, in a folder or inside an archive.

    Attributes
    ----------
    name : str
        The name that was asked for.
    place : str
        What an error calls the file: its path, or its name inside the archive and the path of the archive.
    stream : callable
        Returns a new stream of the bytes of the file, from its first byte.
    """

    name: str
    place: str
    stream: Callable[[], IO[bytes]]

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file for reading; bytes that are compressed with gzip are decompressed."""
        with ExitStack() as stack:
            stream = _bounded(stack.enter_context(closing(self.stream())), self.place)
            if stream.peek(2)[:2] == GZIP_MAGIC:
                stream = _bounded(cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream))), self.place)
            yield stream


@contextmanager
def open_files(paths: Sequence[Path], inside: Sequence[str]) -> Iterator[list[DataFile]]:
    """Open the files at the paths or, if names are given, the files of these names inside the archive at the only path.

    Parameters
    ----------
    paths : sequence of Path
        Files, or one archive: a zip archive, or a tar archive that is compressed with gzip.
    inside : sequence of str
        Names of files in the archive, with as many of the folders above them as are needed to tell them apart, such as
        ``Protocol/subject101.dat``. A file may also be in a zip archive that is itself inside the zip archive.
    """
    if not inside:
        yield [DataFile(path.name, str(path), partial(_open_path, path)) for path in paths]
        return
    (path,) = paths
    if path.name.endswith(".tar.gz"):
        yield [DataFile(name, f"{name} in {path}", partial(_open_in_tar, path, name)) for name in inside]
        return
    with ExitStack() as stack:
        yield _files_in_zip(path, inside, stack)


def _open_path(path: Path) -> IO[bytes]:
    return path.open("rb")


def _files_in_zip(path: Path, inside: Sequence[str], stack: ExitStack) -> list[DataFile]:
    """Return files inside a zip archive, or inside the zip archives that it holds, open until the stack is closed."""
    opened = stack.enter_context(path.open("rb"))
    with wrap_read_errors(f"{path} must be a zip archive, and"):
        archive = stack.enter_context(ZipFile(opened))
    found = _members(archive, inside)
    for member in archive.infolist():
        if len(found) == len(inside):
            break
        if member.filename.lower().endswith(".zip"):
            copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            with (
                wrap_read_errors(f"{member.filename} in {path}"),
                closing(_open_in_zip(archive, member)) as stream,
            ):
                shutil.copyfileobj(stream, copy)
                inner = stack.enter_context(ZipFile(copy))
            found = {**_members(inner, inside), **found}
    missing = [name for name in inside if name not in found]
    if missing:
        raise ValueError(_lacks(path, f"{missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''}"))
    return [
        DataFile(name, f"{found[name][1].filename} in {path}", partial(_open_in_zip, *found[name])) for name in inside
    ]


def _members(archive: ZipFile, inside: Sequence[str]) -> dict[str, tuple[ZipFile, ZipInfo]]:
    """Return, for each of the names, the first member whose path ends with it."""
    depths = {len(PurePosixPath(name).parts) for name in inside}
    names = set(inside)
    found: dict[str, tuple[ZipFile, ZipInfo]] = {}
    for member in archive.infolist():
        parts = PurePosixPath(member.filename).parts
        for name in {"/".join(parts[-depth:]) for depth in depths} & names:
            found.setdefault(name, (archive, member))
    return found


def _open_in_zip(archive: ZipFile, member: ZipInfo) -> IO[bytes]:
    _check_length(member.file_size, member.filename)
    return archive.open(member)


def _open_in_tar(path: Path, name: str) -> IO[bytes]:
    """Return the bytes of one member of a compressed tar archive, which is read from its first byte to that member."""
    with path.open("rb") as compressed, wrap_read_errors(str(path)), gzip.GzipFile(fileobj=compressed) as content:
        archive = tarfile.open(fileobj=_bounded(cast(IO[bytes], content), str(path)), mode="r|")  # noqa: SIM115
        for member in archive:
            stream = archive.extractfile(member) if member.name.split("/")[-1] == name else None
            if stream is not None:
                with ExitStack() as stack:
                    copy = stack.enter_context(tempfile.TemporaryFile())
                    shutil.copyfileobj(stream, copy)
                    copy.seek(0)
                    stack.pop_all()  # the caller closes it
                    return copy
    raise ValueError(_lacks(path, name))


def _lacks(path: Path, name: str) -> str:
    return f"{path} must contain {name}, and does not; put the archive as it was published in its place"


def _check_length(length: int, place: str) -> None:
    if length > MAX_BYTES:
        raise ValueError(f"{place} has {length:,} bytes unpacked; at most {MAX_BYTES:,} are read")


def _bounded(stream: IO[bytes], place: str) -> io.BufferedReader:
    return io.BufferedReader(_BoundedStream(stream, place), BUFFER_BYTES)


class _BoundedStream(io.RawIOBase):
    """A stream that raises a ValueError once more than MAX_BYTES have been read."""

    def __init__(self, stream: IO[bytes], place: str) -> None:
        self._stream, self._place, self._n_read = stream, place, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        content = self._stream.read(len(buffer))
        self._n_read += len(content)
        _check_length(self._n_read, self._place)
        buffer[: len(content)] = content
        return len(content)
