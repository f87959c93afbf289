"""Where bytes come from: files, folders, standard input; compression, format, lines, and fingerprints of files."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, NamedTuple

from gcwsnet import _core
from gcwsnet._paths import STANDARD_STREAM, find_names
from gcwsnet.tables._errors import DataError, damage_as_data_error, quote, require_pyarrow

HEAD_BYTES = 1 << 16
LONGEST_LINE = 1 << 26
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WITHIN_QUOTES = 2  # a state of scan_csv

EXTENSIONS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
EXTENSIONS |= dict.fromkeys((".svm", ".libsvm", ".svmlight"), "libsvm")
EXTENSIONS |= dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow")
EXTENSIONS |= {".npz": "npz", ".npy": "npy"}
COMPRESSED_EXTENSIONS = (".gz", ".bz2", ".xz", ".zst", ".zstd")
FORMAT_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
FORMAT_MAGIC |= {b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"\x93NUMPY": "npy"}
COMPRESSION_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
COMPRESSION_MAGIC |= {bytes([0x50 + i, 0x2A, 0x4D, 0x18]): "zstd" for i in range(16)}  # skippable frames of zstd
LIBSVM_LINE = re.compile(rb"\s*[-+]?[.\d][^\s,:]*(\s+qid:\S+)?(\s+\d+:\S+)+\s*")

WHOLE_BYTES = 1 << 28
"""A larger file is known by its size, its modification time and blocks of it."""

SAMPLED_BLOCKS, BLOCK_BYTES = 64, 1 << 20

Fingerprint = dict[str, Any]

ReadBytes = Callable[[int], bytes]
"""A function that returns up to the given number of bytes, and no bytes at the end."""


class Source:
    """A file or standard input.

    Attributes
    ----------
    name : str
        The path, or "-" for standard input.
    encoding : str
        That of a text, which is read as UTF-8 whatever it is.
    reusable : bool
        Whether it can be opened more than once: a regular file can, a pipe and standard input cannot. The head of a
        pipe can still be looked at before it is opened.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.reusable = name != STANDARD_STREAM and stat.S_ISREG(os.stat(name).st_mode)
        self.encoding = "utf-8"
        self._pending: ByteStream | None = None
        self._opened = False

    def head(self, n_bytes: int = HEAD_BYTES) -> bytes:
        """Return the first 64 KiB or more, decompressed: at least `n_bytes` bytes, fewer only if there are no more.

        What cannot be opened twice stays open until `open` is called.
        """
        if self.reusable:
            with self.open() as stream:
                return stream.head(n_bytes)
        self._pending = self._pending or self._new_stream()
        return self._pending.head(n_bytes)

    def require_plain_file(self, format: str) -> None:  # noqa: A002
        """Raise DataError for a stream and for a file that is compressed as a whole: readers of the format seek."""
        if self.reusable:
            with self.open() as stream:
                if stream.compression is None:
                    return
        raise DataError(
            f"{format} must be a file, not a stream, and not compressed as a whole; decompress it into a file",
            path=self.name,
        )

    @contextmanager
    def open(self) -> Iterator[ByteStream]:
        """Open the decompressed bytes, and close them at the end of the block."""
        stream = self._pending or self._new_stream()
        self._pending, self._opened = None, True
        try:
            yield stream
        finally:
            stream.close()

    def _new_stream(self) -> ByteStream:
        if self._opened and not self.reusable:
            name = "standard input" if self.name == STANDARD_STREAM else self.name
            raise ValueError(f"{name} can be read only once, and it was read already; save it to a file to reread it")
        return ByteStream(self.name, self.encoding)


class ByteStream:
    """The decompressed bytes of a source. Its first bytes tell the compression; a damaged archive is a DataError."""

    def __init__(self, name: str, encoding: str = "utf-8") -> None:
        self._name = name
        if name == STANDARD_STREAM and sys.stdin is None:
            raise ValueError("standard input is closed; give a file, or open it")
        self._raw: Any = sys.stdin.buffer if name == STANDARD_STREAM else open(name, "rb")  # noqa: SIM115
        self._head = b""
        try:
            start = read_fully(self._raw.read, HEAD_BYTES)
            found = (compression for magic, compression in COMPRESSION_MAGIC.items() if start.startswith(magic))
            self.compression = next(found, None)
            self._stream = _decompressed(
                io.BufferedReader(_PrefixedStream(start, self._raw), 1 << 18), self.compression
            )
            if encoding != "utf-8":
                self._stream = _AsUtf8(self._stream, encoding, name)
        except BaseException:
            self.close()
            raise

    def head(self, n_bytes: int) -> bytes:
        """Return the first bytes without consuming them; see `Source.head`."""
        if len(self._head) < n_bytes:
            self._head += read_fully(self._read, n_bytes - len(self._head))
        return self._head

    def read(self, n_bytes: int) -> bytes:
        """Return up to `n_bytes` bytes, and no bytes at the end."""
        if self._head:
            start, self._head = self._head[:n_bytes], self._head[n_bytes:]
            return start
        return self._read(n_bytes)

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self._name != STANDARD_STREAM:
            self._raw.close()

    def _read(self, n_bytes: int) -> bytes:
        if self.compression is None:
            return bytes(self._stream.read(n_bytes))
        rule = f"the {self.compression} archive must be complete, and it is truncated or damaged"
        with damage_as_data_error(self._name, (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error), rule):
            return bytes(self._stream.read(n_bytes))


class _PrefixedStream(io.RawIOBase):
    """A raw stream that yields bytes that were read already before the rest of the stream they came from."""

    def __init__(self, prefix: bytes, rest: Any) -> None:
        self._prefix, self._rest = prefix, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._prefix[: len(buffer)] or self._rest.read(len(buffer))
        self._prefix = self._prefix[len(chunk) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)


class _AsUtf8:
    """A text in another encoding, as the bytes of UTF-8."""

    def __init__(self, stream: Any, encoding: str, path: str) -> None:
        self._stream, self._encoding, self._path = stream, encoding, path
        self._decoder, self._pending = codecs.getincrementaldecoder(encoding)(), b""

    def read(self, n_bytes: int) -> bytes:
        """Return up to `n_bytes` bytes, and no bytes at the end."""
        while not self._pending:
            encoded = self._stream.read(n_bytes)
            try:
                self._pending = self._decoder.decode(encoded, final=not encoded).encode()
            except UnicodeError as error:
                rule = f"the file must be a text in {self._encoding}, and it is not ({error}); give another encoding"
                raise DataError(rule, path=self._path) from None
            if not encoded:
                break
        found, self._pending = self._pending[:n_bytes], self._pending[n_bytes:]
        return found


class _JoinedStreams:
    """The content of an archive of one or more streams. What follows a stream must be another one.

    `bz2.BZ2File` and `lzma.LZMAFile` take a damaged second stream for the end of the archive, which loses rows without
    an error.
    """

    def __init__(self, file: Any, new_decompressor: Callable[[], Any]) -> None:
        self._file, self._new_decompressor = file, new_decompressor
        self._decompressor, self._pending = new_decompressor(), b""

    def read(self, n_bytes: int) -> bytes:
        """Return up to `n_bytes` bytes, and no bytes at the end."""
        while True:
            if self._decompressor.eof:
                self._pending = self._decompressor.unused_data or self._file.read(HEAD_BYTES)
                if not self._pending:
                    return b""
                self._decompressor = self._new_decompressor()
            if self._decompressor.needs_input and not self._pending:
                self._pending = self._file.read(HEAD_BYTES)
                if not self._pending:
                    raise EOFError("it ends within a stream")
            compressed, self._pending = self._pending, b""
            if content := self._decompressor.decompress(compressed, n_bytes):
                return bytes(content)


def _decompressed(stream: Any, compression: str | None) -> Any:
    if compression == "gz":
        return gzip.GzipFile(fileobj=stream)
    if compression == "bz2":
        return _JoinedStreams(stream, bz2.BZ2Decompressor)
    if compression == "xz":
        return _JoinedStreams(stream, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ))
    if compression == "zstd":
        pyarrow = require_pyarrow("a file compressed with zstd")
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, mode="r"), "zstd")
    return stream


def read_fully(read: ReadBytes, n_bytes: int) -> bytes:
    """Return `n_bytes` bytes, fewer only at the end: a single read of a pipe may return less than it was asked for."""
    chunks, remaining = [], n_bytes
    while remaining > 0 and (chunk := read(remaining)):
        chunks.append(chunk)
        remaining -= len(chunk)
    return b"".join(chunks)


def find_sources(paths: Any) -> list[Source]:
    """Return the sources that a path, a pattern, a folder, "-", or a list of those stands for."""
    if isinstance(paths, str | os.PathLike):
        return [Source(name) for name in find_names(os.fspath(paths))]
    sources = [source for path in paths for source in find_sources(path)]
    if not sources:
        raise ValueError("sources must name at least one file, got an empty list")
    return sources


def detect_format(sources: Sequence[Source]) -> str:
    """Return the one format of all sources, by their first bytes, then by their names, then by their first lines."""
    found = {_format_of(source): source.name for source in reversed(sources)}
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise DataError(
            f"files that are read together must have one format, got {second} as {other} and {first} as {one}"
        )
    return next(iter(found))


def _format_of(source: Source) -> str:
    head = source.head()
    for magic, name in FORMAT_MAGIC.items():
        if head.startswith(magic):
            return name
    extension = plain_extension(source.name)
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    lines = [line for line in (line.split(b"#")[0] for line in head.splitlines()) if line.strip()]
    if any(LIBSVM_LINE.fullmatch(line) for line in lines[:100]):
        return "libsvm"
    if lines and b"\t" in lines[0]:
        return "tsv"
    if lines and (b"," in lines[0] or b";" in lines[0]):
        return "csv"
    first = f"which begins with {quote(lines[0])}" if lines else "which has no line"
    raise DataError(
        f"a file must end with one of {', '.join(EXTENSIONS)}, or look like LIBSVM, CSV or TSV; got one {first}; give "
        "format='libsvm' or another one",
        path=source.name,
    )


def plain_extension(name: str) -> str:
    """Return the extension of a file in lower case, without those of compressed files, such as ".csv" of a.csv.gz."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED_EXTENSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


class LineBlock(NamedTuple):
    """Whole lines of a text, and the number of the first one, counted from 1."""

    text: bytes
    first_line: int


def line_blocks(
    read: ReadBytes, *, path: str, delimiter: str | None = None, block_bytes: int = 1 << 20
) -> Iterator[LineBlock]:
    """Yield blocks of whole lines, or of whole rows of CSV; the last line need not end with a newline.

    With the delimiter of CSV, line ends between double quotes do not end a row, and a quote must be closed. Memory
    stays within a small multiple of the longest line. `block_bytes` are read at a time, each looked at once.
    """
    pending: list[bytes] = []
    n_pending, line, pending_lines = 0, 1, 0
    state, after_return = 0, False
    for number, chunk in enumerate(_chunks_of_text(read, block_bytes)):
        if number == 0:
            require_text(chunk[:HEAD_BYTES], path)
        if delimiter is None:
            end, lines = chunk.rfind(b"\n") + 1, chunk.count(b"\n")
            end_lines = lines
        else:
            end, end_lines, lines, state, after_return = _core.scan_csv(chunk, delimiter, state, after_return)
        if end:
            yield LineBlock(b"".join([*pending, chunk[:end]]), line)
            line += pending_lines + end_lines
            pending, n_pending, pending_lines = [], 0, -end_lines
        pending.append(chunk[end:])
        n_pending += len(chunk) - end
        pending_lines += lines
        if n_pending > LONGEST_LINE:
            raise line_too_long(path, line, open_quote=state == WITHIN_QUOTES)
    rest = LineBlock(b"".join(pending), line)
    if delimiter is not None and state == WITHIN_QUOTES:
        raise open_quote(rest, delimiter, path)
    if rest.text:
        yield rest


def _chunks_of_text(read: ReadBytes, block_bytes: int) -> Iterator[bytes]:
    """Yield the bytes of a text some at a time, without a byte order mark at its beginning."""
    start = read_fully(read, len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    if chunk := start + read(block_bytes):
        yield chunk
    while chunk := read(block_bytes):
        yield chunk


def require_text(head: bytes, path: str) -> None:
    """Raise DataError if a text has NUL bytes, as UTF-16 and UTF-32 have, with or without a byte order mark."""
    at = head.find(b"\x00")
    if at >= 0 or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(
            "a text file must be UTF-8, without NUL bytes, got bytes as in UTF-16 or in a file that is no text; "
            "give encoding='utf-16', or convert it, for example with: iconv -f UTF-16 -t UTF-8",
            path=path,
            line=head.count(b"\n", 0, max(at, 0)) + 1,
        )


def line_too_long(path: str, line: int, *, open_quote: bool = False) -> DataError:
    """Return the error for a line that is longer than `LONGEST_LINE`."""
    may_be_open = " (a double quote may be left open)" if open_quote else ""
    return DataError(
        f"a line must have at most {LONGEST_LINE} bytes, got more{may_be_open}; make sure that this is a text file",
        path=path,
        line=line,
    )


def open_quote(rest: LineBlock, delimiter: str, path: str) -> DataError:
    """Return the error for a text whose last row has a double quote that is not closed."""
    begins, ends, lines = _core.split_csv_rows(rest.text, delimiter)
    row = quote(rest.text[int(begins[-1]) : int(ends[-1])])
    return DataError(
        f"a double quote that opens a field must be closed, and the row that begins here, {row}, goes on to the end of "
        "the file; close the quote, or double it and put quotes around the field",
        path=path,
        line=rest.first_line + int(lines[-1]),
    )


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
    """The files that a run reads, with their fingerprints; names that are not absolute are in the folder `base`."""

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
