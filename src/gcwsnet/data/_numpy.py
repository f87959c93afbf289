"""npy and npz files: arrays that are mapped into memory, or unpacked part by part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from gcwsnet.data._errors import DataError

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
LOCAL_HEADER = 30
Array = Any


class Rows(Protocol):
    """Rows of an array, one part after the other."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def take(self, n_rows: int) -> Array:
        """The next rows."""


class Mapped:
    """Rows of an array that is mapped into memory."""

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self._array, self._next = np.atleast_1d(array), 0

    def take(self, n_rows: int) -> Array:
        """The next rows, copied."""
        begin, self._next = self._next, self._next + n_rows
        return np.array(self._array[begin : self._next])


class Unpacked:
    """Rows of an array in a compressed member of an archive."""

    def __init__(self, member: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype
        self._member, self._left = member, shape[0] if shape else 1

    def take(self, n_rows: int) -> Array:
        """The next rows, unpacked."""
        shape = (n_rows, *self.shape[1:])
        n_bytes = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        text = self._member.read(n_bytes)
        if len(text) < n_bytes:
            raise ValueError("it has fewer numbers than its header says")
        self._left -= n_rows
        if self._left == 0 and self._member.read(1):  # only at the end is the checksum compared
            raise ValueError("it has more numbers than its header says")
        return np.frombuffer(text, dtype=self.dtype).reshape(shape)


def mapped_npy(path: str) -> Mapped:
    """The array of an npy file."""
    with damaged(path):
        return Mapped(np.load(path, mmap_mode="r", allow_pickle=False))


@contextmanager
def npz_arrays(path: str) -> Iterator[dict[str, Rows]]:
    """The arrays of an npz file by their names; stored ones are mapped, compressed ones unpacked as they are taken."""
    with ExitStack() as stack, damaged(path):
        archive = stack.enter_context(ZipFile(path))
        names = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        yield {info.filename.removesuffix(".npy"): _member(archive, info, path, stack) for info in names}


def _member(archive: ZipFile, info: ZipInfo, path: str, stack: ExitStack) -> Rows:
    member = stack.enter_context(archive.open(info))
    version = npy.read_magic(member)
    if version not in HEADERS:
        raise ValueError(f"the array {info.filename} has the format {version}")
    shape, fortran, dtype = HEADERS[version](member)
    if info.compress_type == ZIP_STORED and np.prod(shape) > 0 and not dtype.hasobject:
        begin = _data_begin(path, info) + member.tell()
        return Mapped(np.memmap(path, dtype, "r", begin, shape, "F" if fortran else "C"))
    if fortran and len(shape) > 1:
        raise DataError(
            f"a compressed array must have its rows one after the other, got {info.filename} column by column; save it "
            "with numpy.savez, or as numpy.ascontiguousarray of it",
            path=path,
        )
    return Unpacked(member, shape, dtype)


def _data_begin(path: str, info: ZipInfo) -> int:
    """Where the bytes of a member begin: behind its local header, which tells two lengths."""
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        header = file.read(LOCAL_HEADER)
    return info.header_offset + LOCAL_HEADER + sum(np.frombuffer(header[26:30], "<u2").tolist())


@contextmanager
def damaged(path: str) -> Iterator[None]:
    """DataError for what a file that is cut off or damaged may cause inside."""
    try:
        yield
    except DataError:
        raise
    except (BadZipFile, EOFError, OSError, ValueError, KeyError, NotImplementedError) as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DataError(
            f"arrays must be whole, and made of numbers or strings ({why}); get the file again", path=path
        ) from error
