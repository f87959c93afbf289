"""Files and streams that a reader is pointed to, and their bytes, unpacked."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gcwsnet.data._arrow import needed_pyarrow
from gcwsnet.data._errors import DataError

STANDARD_INPUT = "-"
MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
HEAD = 1 << 16
DAMAGE = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
Read = Callable[[int], bytes]


class Input:
    """A file or standard input. What cannot be read again from its start can be looked at before it is read once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reusable = name != STANDARD_INPUT and stat.S_ISREG(os.stat(name).st_mode)
        self._waiting: Unpacked | None = None
        self._used = False

    def head(self, n_lines: int = 0, most: int = HEAD) -> bytes:
        """The first bytes, unpacked: some 64 thousand, or until there are `n_lines` lines, or at least `most` bytes."""
        if not self.reusable:
            self._waiting = self._waiting or self._opened()
            return self._waiting.head(n_lines, most)
        with self.unpacked() as stream:
            return stream.head(n_lines, most)

    def packing(self) -> str | None:
        """The compression: "gz", "bz2", "xz", "zstd" or None."""
        if not self.reusable:
            self._waiting = self._waiting or self._opened()
            return self._waiting.packing
        with self.unpacked() as stream:
            return stream.packing

    @contextmanager
    def unpacked(self) -> Iterator[Unpacked]:
        """The bytes without their compression, closed at the end."""
        stream = self._waiting or self._opened()
        self._waiting, self._used = None, True
        try:
            yield stream
        finally:
            stream.close()

    def _opened(self) -> Unpacked:
        if self._used and not self.reusable:
            called = "standard input" if self.name == STANDARD_INPUT else self.name
            raise ValueError(f"{called} can be read once, and that has been done; put it into a file to read it again")
        return Unpacked(self.name)


class Unpacked:
    """The bytes of an input without their compression, which their first bytes tell. A damaged archive is an error."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._raw: Any = sys.stdin.buffer if name == STANDARD_INPUT else open(name, "rb")  # noqa: SIM115
        try:
            start = _filled(self._raw.read, HEAD)
            self.packing = next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)
            self._stream: Any = self._unpacking(io.BufferedReader(_Ahead(start, self._raw), 1 << 18))
        except BaseException:
            self.close()
            raise
        self._ahead = b""

    def head(self, n_lines: int, most: int) -> bytes:
        """The first bytes, which are still to be read."""
        while len(self._ahead) < HEAD or (len(self._ahead) < most and self._ahead.count(b"\n") < n_lines):
            more = _filled(self._read, max(HEAD, len(self._ahead)))
            if not more:
                break
            self._ahead += more
        return self._ahead

    def read(self, n_bytes: int) -> bytes:
        """Up to that many bytes; none at the end."""
        if self._ahead:
            some, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
            return some
        return self._read(n_bytes)

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self._name != STANDARD_INPUT:
            self._raw.close()

    def _unpacking(self, packed: Any) -> Any:
        if self.packing == "gz":
            return gzip.GzipFile(fileobj=packed)
        if self.packing == "bz2":
            return bz2.BZ2File(packed)
        if self.packing == "xz":
            return lzma.LZMAFile(packed)
        if self.packing == "zstd":
            pyarrow = needed_pyarrow("a file compressed with zstd")
            return pyarrow.CompressedInputStream(pyarrow.PythonFile(packed, mode="r"), "zstd")
        return packed

    def _read(self, n_bytes: int) -> bytes:
        try:
            return bytes(self._stream.read(n_bytes))
        except DAMAGE as error:
            if self.packing is None:
                raise
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            raise DataError(
                f"the {self.packing} archive must be whole, and it is cut off or damaged ({why}); get it again",
                path=self._name,
            ) from error


class _Ahead(io.RawIOBase):
    """Bytes that were read already, and then the rest of the stream they were read from."""

    def __init__(self, start: bytes, rest: Any) -> None:
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(some) :]
        buffer[: len(some)] = some
        return len(some)


def _filled(read: Read, n_bytes: int) -> bytes:
    """As many bytes, or all that there are: a pipe gives few at a time."""
    parts, missing = [], n_bytes
    while missing > 0 and (part := read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def find_inputs(sources: Any) -> list[Input]:
    """The inputs that paths, patterns, folders, "-", or a list of those mean."""
    if isinstance(sources, str | os.PathLike):
        return [Input(name) for name in _found(os.fspath(sources))]
    found = [given for source in sources for given in find_inputs(source)]
    if not found:
        raise ValueError("sources must name at least one file, got an empty list")
    return found


def _found(name: str) -> list[str]:
    if name == STANDARD_INPUT:
        return [name]
    path = Path(name).expanduser()
    if path.is_dir():
        return _files_of(path)
    if path.exists():
        return [str(path)]
    if not glob.has_magic(name):
        raise FileNotFoundError(f"sources must be files that are there, got {name}")
    names = [found for found in sorted(glob.glob(str(path), recursive=True)) if not os.path.isdir(found)]
    if not names:
        raise FileNotFoundError(f"a pattern must match at least one file, got {name}, which matches none")
    return names


def _files_of(folder: Path) -> list[str]:
    """Files of a folder in the order of their names; those that begin with . or _ are marks of other programs."""
    names = [str(path) for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] not in "._"]
    if not names:
        raise FileNotFoundError(f"a folder must have files to read, got {folder}, which has none")
    return names
