"""npy and npz files: their arrays are mapped into memory, or decompressed some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from gcwsnet import _sparse as sparse
from gcwsnet.data._arrays import as_batch, checked_batch
from gcwsnet.data._batch import Batch
from gcwsnet.data._errors import DataError, ErrorHandler, damage_as_data_error
from gcwsnet.data._options import ColumnName
from gcwsnet.data._reader import Reader
from gcwsnet.data._schema import Schema
from gcwsnet.data._sources import Source

CHUNK_BYTES = 1 << 21
CSR_ROW_BYTES = 1 << 10  # an assumed size: it is not known how many entries a row has
CSR_MEMBERS = ("data", "indices", "indptr", "shape")
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
LOCAL_HEADER_BYTES = 30
Array = Any
Chunks = Iterator[tuple[Array, Array, Array]]
"""X, y and weight, some rows at a time; y and weight may be None."""


class NpyReader(Reader):
    """A reader of npy files with a matrix. Label and weight may be columns of it."""

    def known_schema(self) -> Schema | None:
        """Return the schema, which has the width of the first file without label and weight."""
        with self._open_chunks(self.sources[0]) as (n_features, _):
            options = self.options
            return Schema(n_features, options.missing_rule, label=options.label, weight=options.weight)

    def read(self, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield batches of some megabytes."""
        for source in self.sources:
            with self._open_chunks(source) as (_, chunks):
                first_row = 0
                for chunk in chunks:
                    batch = as_batch(chunk, self.options.dtype)
                    yield checked_batch(batch, first_row, source.name, schema, self.options, errors)
                    first_row += batch.n_rows

    @contextmanager
    def _open_chunks(self, source: Source) -> Iterator[tuple[int, Chunks]]:
        """Open a file, and give its number of features and its rows."""
        _require_file(source, "npy")
        with _damage_as_data_error(source.name):
            matrix = MappedRows(np.load(source.name, mmap_mode="r", allow_pickle=False))
        if len(matrix.shape) != 2:
            raise DataError(f"an npy file must have two dimensions, got the shape {matrix.shape}", path=source.name)
        label, weight = (_column_number(name, matrix.shape[1]) for name in (self.options.label, self.options.weight))
        n_features = matrix.shape[1] - sum(number is not None for number in (label, weight))
        yield n_features, _matrix_chunks(matrix, label, weight)


class NpzReader(NpyReader):
    """A reader of npz files with X, y and weight, with X_train, y_train and weight_train, or with a CSR matrix."""

    @contextmanager
    def _open_chunks(self, source: Source) -> Iterator[tuple[int, Chunks]]:
        _require_file(source, "npz")
        with _open_npz(source.name) as arrays, _damage_as_data_error(source.name):
            if all(name in arrays for name in CSR_MEMBERS):
                n_features = int(arrays["shape"].read(2)[1])
                yield n_features, _csr_chunks(arrays, n_features, source.name)
                return
            X = arrays.get("X", arrays.get("X_train"))
            if X is None or len(X.shape) != 2:
                raise DataError(
                    "an npz file must have X or X_train with two dimensions, or a CSR matrix saved by "
                    f"scipy.sparse.save_npz; got {', '.join(arrays) or 'nothing'}",
                    path=source.name,
                )
            y, weight = (arrays.get(name, arrays.get(f"{name}_train")) for name in ("y", "weight"))
            for name, vector in (("y", y), ("weight", weight)):
                if vector is not None and vector.shape != X.shape[:1]:
                    raise DataError(f"{name} must have the shape {X.shape[:1]}, got {vector.shape}", path=source.name)
            yield X.shape[1], _dense_chunks(X, y, weight)


class ArrayRows(Protocol):
    """The rows of an array in a file, read from the first to the last."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def read(self, n_rows: int) -> Array:
        """Return the next rows."""


class MappedRows:
    """The rows of an array that is mapped into memory."""

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self._array, self._next = np.atleast_1d(array), 0

    def read(self, n_rows: int) -> Array:
        """Return a copy of the next rows."""
        begin, self._next = self._next, self._next + n_rows
        return np.array(self._array[begin : self._next])


class CompressedRows:
    """The rows of an array in a compressed member of an npz file."""

    def __init__(self, member: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype
        self._member, self._remaining = member, shape[0] if shape else 1

    def read(self, n_rows: int) -> Array:
        """Decompress the next rows."""
        shape = (n_rows, *self.shape[1:])
        n_bytes = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        content = self._member.read(n_bytes)
        if len(content) < n_bytes:
            raise ValueError("it has fewer numbers than its header says")
        self._remaining -= n_rows
        if self._remaining == 0 and self._member.read(1):  # zipfile compares the checksum only at the end
            raise ValueError("it has more numbers than its header says")
        return np.frombuffer(content, dtype=self.dtype).reshape(shape)


@contextmanager
def _open_npz(path: str) -> Iterator[dict[str, ArrayRows]]:
    """Open an npz file, and give its arrays by name; stored ones are mapped, compressed ones are decompressed."""
    with ExitStack() as stack, _damage_as_data_error(path):
        archive = stack.enter_context(ZipFile(path))
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        yield {info.filename.removesuffix(".npy"): _open_member(archive, info, path, stack) for info in members}


def _open_member(archive: ZipFile, info: ZipInfo, path: str, stack: ExitStack) -> ArrayRows:
    member = stack.enter_context(archive.open(info))
    version = npy.read_magic(member)
    if version not in NPY_HEADERS:
        raise ValueError(f"the array {info.filename} has the format {version}")
    shape, fortran_order, dtype = NPY_HEADERS[version](member)
    if info.compress_type == ZIP_STORED and np.prod(shape) > 0 and not dtype.hasobject:
        begin = _content_begin(path, info) + member.tell()
        return MappedRows(np.memmap(path, dtype, "r", begin, shape, "F" if fortran_order else "C"))
    if fortran_order and len(shape) > 1:
        raise DataError(
            f"a compressed array must be in C order, row by row, got {info.filename} in Fortran order; save it with "
            "numpy.savez, or save numpy.ascontiguousarray of it",
            path=path,
        )
    return CompressedRows(member, shape, dtype)


def _content_begin(path: str, info: ZipInfo) -> int:
    """Return where the bytes of a member begin: after its local header, which holds the lengths of two fields."""
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        header = file.read(LOCAL_HEADER_BYTES)
    return info.header_offset + LOCAL_HEADER_BYTES + sum(np.frombuffer(header[26:30], "<u2").tolist())


def _matrix_chunks(matrix: ArrayRows, label: int | None, weight: int | None) -> Chunks:
    others = [number for number in (label, weight) if number is not None]
    for n in _chunk_sizes(matrix):
        rows = matrix.read(n)
        y, weights = (None if number is None else rows[:, number] for number in (label, weight))
        yield np.delete(rows, others, axis=1), y, weights


def _dense_chunks(X: ArrayRows, y: ArrayRows | None, weight: ArrayRows | None) -> Chunks:
    for n in _chunk_sizes(X):
        yield X.read(n), _read(y, n), _read(weight, n)


def _csr_chunks(arrays: Mapping[str, ArrayRows], n_features: int, path: str) -> Chunks:
    """Yield chunks of a CSR matrix; its arrays are read side by side."""
    form = "csr" if "format" not in arrays else np.char.decode(arrays["format"].read(1)).item()
    if form != "csr":
        raise DataError(f"a sparse matrix must be CSR, got {form}; save its tocsr()", path=path)
    data, indices, indptr = (arrays[name] for name in CSR_MEMBERS[:3])
    n_rows, begin = indptr.shape[0] - 1, indptr.read(1)
    for n in _row_counts(n_rows, CSR_ROW_BYTES):
        ends = np.concatenate([begin, indptr.read(n)]).astype(np.int64)
        n_entries = int(ends[-1] - ends[0])
        if (np.diff(ends) < 0).any() or ends[0] < 0 or ends[-1] > data.shape[0] or data.shape != indices.shape:
            raise ValueError("the index pointer of the matrix does not fit its entries")
        columns, values = indices.read(n_entries), data.read(n_entries)
        if columns.size and (columns.min() < 0 or columns.max() >= n_features):
            raise ValueError(f"the indices of the matrix must be from 0 to {n_features - 1}")
        index = np.int32 if max(n_features, n_entries) <= np.iinfo(np.int32).max else np.int64
        entries = (values, columns.astype(index), (ends - ends[0]).astype(index))
        X = sparse.csr_array(entries, shape=(n, n_features))
        yield X, _read(arrays.get("y"), n), _read(arrays.get("weight"), n)
        begin = ends[-1:]


def _read(rows: ArrayRows | None, n: int) -> Array | None:
    return None if rows is None else rows.read(n)


def _chunk_sizes(matrix: ArrayRows) -> Iterator[int]:
    return _row_counts(matrix.shape[0], matrix.shape[1] * matrix.dtype.itemsize)


def _row_counts(n_rows: int, row_bytes: int) -> Iterator[int]:
    """Yield the numbers of rows of chunks of about CHUNK_BYTES bytes."""
    step = max(1, CHUNK_BYTES // max(1, row_bytes))
    for begin in range(0, n_rows, step):
        yield min(step, n_rows - begin)


def _column_number(name: ColumnName | None, n_columns: int) -> int | None:
    if name is None:
        return None
    if isinstance(name, str) or not -n_columns <= name < n_columns:
        raise ValueError(f"a column must be a number from {-n_columns} to {n_columns - 1}, got {name!r}")
    return name % n_columns


def _require_file(source: Source, format: str) -> None:  # noqa: A002
    if not source.reusable:
        raise DataError(f"{format} must be a file, not a stream; save it to a file", path=source.name)


def _damage_as_data_error(path: str) -> AbstractContextManager[None]:
    damage = (BadZipFile, EOFError, OSError, ValueError, KeyError, NotImplementedError)
    return damage_as_data_error(path, damage, "arrays must be complete, and hold numbers or strings")
