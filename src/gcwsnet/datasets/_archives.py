"""Files in folders and inside archives, as streams of bytes of bounded length. Nothing is unpacked into a folder."""

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

from gcwsnet.datasets._damage import whole

MOST_BYTES = 2**31
"""No file inside an archive may be longer than this once it is unpacked: the largest published one has 0.7 GB."""

GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """A file to read.

    Attributes
    ----------
    name : str
        The name that was asked for.
    place : str
        What an error calls it: its path, or the path of an archive and the name inside.
    stream : callable
        Gives its bytes from the beginning, each time it is called.
    """

    name: str
    place: str
    stream: Callable[[], IO[bytes]]

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes; unpacked, if they are packed with gzip."""
        with ExitStack() as stack:
            stream = _bounded(stack.enter_context(closing(self.stream())), self.place)
            if stream.peek(2)[:2] == GZIP:
                stream = _bounded(cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream))), self.place)
            yield stream


@contextmanager
def open_sources(paths: Sequence[Path], inside: Sequence[str]) -> Iterator[list[Source]]:
    """Files to read: those at the paths or, if names are given, those inside the archive at the only path.

    Parameters
    ----------
    paths : sequence of Path
        Files, or one archive: zip, or tar packed with gzip.
    inside : sequence of str
        Ends of the names of files in the archive, such as ``Protocol/subject101.dat``. A file may also be in a zip
        archive within the zip archive.
    """
    if not inside:
        yield [Source(path.name, str(path), partial(_from_folder, path)) for path in paths]
        return
    (path,) = paths
    if path.name.endswith(".tar.gz"):
        yield [Source(name, f"{name} in {path}", partial(_from_tar, path, name)) for name in inside]
        return
    with ExitStack() as stack:
        yield _in_zip(path, inside, stack)


def _from_folder(path: Path) -> IO[bytes]:
    return path.open("rb")


def _in_zip(path: Path, inside: Sequence[str], stack: ExitStack) -> list[Source]:
    """Files inside a zip archive, or else inside the archives that it holds; open as long as the stack is."""
    opened = stack.enter_context(path.open("rb"))
    with whole(f"{path} must be a zip archive, and"):
        archive = stack.enter_context(ZipFile(opened))
    found = _by_end(archive, inside)
    for member in archive.infolist():
        if len(found) == len(inside):
            break
        if member.filename.lower().endswith(".zip"):
            place = f"{member.filename} in {path}"
            held = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            with whole(place), closing(_from_zip(archive, member)) as stream:
                shutil.copyfileobj(stream, held)
                inner = stack.enter_context(ZipFile(held))
            found = {**_by_end(inner, inside), **found}
    missing = [name for name in inside if name not in found]
    if missing:
        raise ValueError(
            f"{path} must hold {missing[0]}{f' and {len(missing) - 1} more' if missing[1:] else ''}, and does not; put "
            "the archive as it was published in its place"
        )
    return [Source(name, f"{found[name][1].filename} in {path}", partial(_from_zip, *found[name])) for name in inside]


def _by_end(archive: ZipFile, inside: Sequence[str]) -> dict[str, tuple[ZipFile, ZipInfo]]:
    """Members by those of the wanted ends that their names have, whatever the folders above; the first of each."""
    depths = {len(PurePosixPath(name).parts) for name in inside}
    wanted = set(inside)
    found: dict[str, tuple[ZipFile, ZipInfo]] = {}
    for member in archive.infolist():
        parts = PurePosixPath(member.filename).parts
        for end in {"/".join(parts[-depth:]) for depth in depths} & wanted:
            found.setdefault(end, (archive, member))
    return found


def _from_zip(archive: ZipFile, member: ZipInfo) -> IO[bytes]:
    _check_length(member.file_size, member.filename)
    return archive.open(member)


def _from_tar(path: Path, name: str) -> IO[bytes]:
    """The bytes of one file of a tar archive that is packed with gzip, which is read from its beginning to there."""
    with path.open("rb") as packed, whole(str(path)), gzip.GzipFile(fileobj=packed) as unpacked:
        archive = tarfile.open(fileobj=_bounded(cast(IO[bytes], unpacked), str(path)), mode="r|")  # noqa: SIM115
        for member in archive:
            stream = archive.extractfile(member) if member.name.split("/")[-1] == name else None
            if stream is not None:
                with ExitStack() as stack:
                    held = stack.enter_context(tempfile.TemporaryFile())
                    shutil.copyfileobj(stream, held)
                    held.seek(0)
                    stack.pop_all()  # it is closed by who reads it
                    return held
    raise ValueError(f"{path} must hold {name}, and does not; put the archive as it was published in its place")


def _check_length(length: int, place: str) -> None:
    if length > MOST_BYTES:
        raise ValueError(f"{place} has {length:,} bytes unpacked; at most {MOST_BYTES:,} are read")


def _bounded(stream: IO[bytes], place: str) -> io.BufferedReader:
    return io.BufferedReader(_Bounded(stream, place), 1 << 18)


class _Bounded(io.RawIOBase):
    """A stream that is an error beyond MOST_BYTES."""

    def __init__(self, stream: IO[bytes], place: str) -> None:
        self._stream, self._place, self._read = stream, place, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        some = self._stream.read(len(buffer))
        self._read += len(some)
        _check_length(self._read, self._place)
        buffer[: len(some)] = some
        return len(some)
