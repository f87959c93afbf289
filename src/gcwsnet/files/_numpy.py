"""Arrays in memory, and npy and npz files: a matrix, X with labels and weights, or a CSR matrix."""

from __future__ import annotations

import lzma
import math
import os
import tokenize
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from gcwsnet import _sparse as sparse
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT, MAX_COLUMNS, as_floats, inexact_integers
from gcwsnet.files._reader import Reader
from gcwsnet.files._sources import Source
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._encode import Learner
from gcwsnet.tables._errors import (
    DataError,
    ErrorHandler,
    InvalidRows,
    check_batch,
    damage_as_data_error,
    entry_places,
)
from gcwsnet.tables._schema import ColumnName, ReadOptions, Schema

CHUNK_BYTES = 1 << 21

NUMBERS, INTEGERS, LABELS, NAMES = "buif", "iu", "buifU", "SU"  # kinds of NumPy's dtypes

Array = Any
Chunks = Iterator[tuple[Array, Array, Array]]
"""X, y and weight, some rows at a time; y and weight may be None."""


class ArraysReader(Reader):
    """A reader of an iterable of X, (X, y) or (X, y, weight). An iterator can be read only once."""

    def __init__(self, arrays: Iterable[Any], options: ReadOptions, *args: Any) -> None:
        super().__init__([], options, *args)
        self._arrays = arrays
        self.reusable = iter(arrays) is not arrays
        self._started = False

    def start_schema(self) -> Schema:
        """Return the schema, which has the width of the first X."""
        arrays = self._iterate()
        first = next(arrays, None)
        if first is None:
            raise DataError("there must be at least one row, got an empty iterable")
        if not self.reusable:
            self._arrays, self._started = chain([first], arrays), False
        X = as_batch(first, self.options.dtype).X
        return Schema(self.options.n_features or X.shape[1], self.options.missing_rule)

    def read(self, schema: Schema, errors: ErrorHandler, learner: Learner | None = None) -> Iterator[Batch]:
        """Yield a batch for each item of the iterable, all with the dtype of the first one."""
        del learner
        return _valid_batches(self._iterate(), None, schema, self.options, errors)

    def _iterate(self) -> Iterator[Any]:
        if self._started and not self.reusable:
            raise ValueError("an iterator can be read only once, and it was read already; give a list to reread it")
        self._started = True
        return iter(self._arrays)


def _valid_batches(
    arrays: Iterable[Any], path: str | None, schema: Schema, options: ReadOptions, errors: ErrorHandler
) -> Iterator[Batch]:
    """Yield arrays as batches without invalid rows, or raise DataError if they have not the width of the schema."""
    first_row, dtype = 0, options.dtype
    for item in arrays:
        batch = as_batch(item, dtype, path=path, first_row=first_row)
        dtype = batch.X.dtype.name
        if batch.X.shape[1] != schema.n_features:
            raise DataError(
                f"rows must have {schema.n_features} columns, got {batch.X.shape[1]}; give all rows the same width",
                path=path,
                line=first_row + 1,
            )
        invalid = InvalidRows.numbered(path, first_row)
        batch = check_batch(batch, invalid, missing=schema.missing, known_labels=options.labels)
        yield from errors.valid_rows(batch, invalid)
        first_row += batch.n_rows


def as_batch(arrays: Any, dtype: str | None, *, path: str | None = None, first_row: int = 0) -> Batch:
    """Return X, (X, y) or (X, y, weight) as a batch. Without `dtype`, float32 and float64 are kept as they are.

    Errors name the file and the row, where the first row of the arrays is number `first_row`, from 0.
    """
    X, y, weight = (*arrays, None, None)[:3] if isinstance(arrays, tuple) else (arrays, None, None)
    X = _as_rows(X, dtype, path, first_row)
    n_rows = X.shape[0]
    if y is not None:
        y = np.asarray(y)
        if y.dtype.kind == "O":
            if not all(isinstance(label, str) for label in y.reshape(-1)):
                raise DataError("labels must be all numbers or all strings, got an array of other objects")
            y = y.astype(str)
        if y.dtype.kind not in LABELS or y.shape != (n_rows,):
            raise DataError(f"y must be {n_rows} numbers or strings, got {y.dtype} of shape {y.shape}")
    if weight is not None:
        weight = np.asarray(weight)
        if weight.dtype.kind not in NUMBERS or weight.shape != (n_rows,):
            raise DataError(f"weight must be {n_rows} numbers, got {weight.dtype} of shape {weight.shape}")
        weight = weight.astype(np.float64, copy=False)
    return Batch(X, y, weight)


def _as_rows(X: Any, dtype: str | None, path: str | None, first_row: int) -> Any:
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in NUMBERS:
        raise DataError(f"X must be real numbers with two dimensions, got {X.dtype} of shape {X.shape}")
    if X.shape[1] > MAX_COLUMNS:
        raise DataError(f"X must have at most 2**31 columns, got {X.shape[1]}; feature-hash it to fewer")
    numbers = X.data if sparse.issparse(X) else X
    inexact = inexact_integers(numbers)
    if len(inexact):
        row, column = entry_places(X, inexact[0])
        rule = f"{INEXACT}, got {int(numbers.reshape(-1)[inexact[0]])}; {INEXACT_WAY_OUT}"
        raise DataError(rule, path=path, line=first_row + int(row) + 1, column=int(column))
    if dtype is None:
        X = as_floats(X)
    else:
        with np.errstate(over="ignore"):  # check_batch finds infinite numbers
            X = X.astype(dtype, copy=False)
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        mark_canonical(X)
    return X


class NpyReader(Reader):
    """A reader of npy files with a matrix. Label and weight may be columns of it."""

    def start_schema(self) -> Schema:
        """Return the schema, which has the width of the first file without label and weight."""
        options = self.options
        with self._open_chunks(self.sources[0], None) as (n_features, _):
            return Schema(n_features, options.missing_rule, label=options.label, weight=options.weight)

    def read(self, schema: Schema, errors: ErrorHandler, learner: Learner | None = None) -> Iterator[Batch]:
        """Yield batches of some megabytes."""
        del learner
        for source in self.sources:
            with self._open_chunks(source, schema) as (_, chunks):
                yield from _valid_batches(chunks, source.name, schema, self.options, errors)

    @contextmanager
    def _open_chunks(self, source: Source, schema: Schema | None) -> Iterator[tuple[int, Chunks]]:
        """Open a file, and give its number of features and its rows; without a schema the options name the label."""
        source.require_plain_file("npy")
        with _damage_as_data_error(source.name), open(source.name, "rb", buffering=0) as file:
            matrix = ArrayRows(file, os.fstat(file.fileno()).st_size, source.name)
            matrix.require("the array", NUMBERS, (None, None), source.name)
            width = matrix.shape[1]
            label, weight = self._label_and_weight(schema, width, source.name)
            others = [number for number in (label, weight) if number is not None]
            yield width - len(others), _matrix_chunks(matrix, label, weight, others)

    def _label_and_weight(self, schema: Schema | None, width: int, path: str) -> list[int | None]:
        """Return the numbers of label and weight in a matrix of this width, which need not have those of a schema."""
        names: list[ColumnName | None] = [self.options.label, self.options.weight]
        if schema is not None:
            names = [name if isinstance(name, int) else None for name in (schema.label, schema.weight)]
            of_table = [schema.label_number, schema.weight_number]
            order = [column.number for column in schema.columns]
            n_columns = schema.n_features + sum(number is not None for number in of_table)
            if order and order == sorted(order) and width == schema.n_file_columns == n_columns:
                names = [*of_table]  # the matrix has the columns of the table that the schema was learned from
            n_others = sum(name is not None for name in names)
            if width == schema.n_features and self.options.label is None and self.options.weight is None:
                return [None, None]
            if width != schema.n_features + n_others:
                with_others = f" and {n_others} of label and weight" if n_others else ""
                raise DataError(
                    f"rows must have {schema.n_features} columns{with_others}, got {width}; give all rows the same "
                    "width",
                    path=path,
                    line=1,
                )
        for name in names:
            if isinstance(name, str) or not -width <= (name or 0) < width:
                raise ValueError(f"a column must be a number from {-width} to {width - 1}, got {name!r}")
        return [None if name is None else int(name) % width for name in names]


class NpzReader(NpyReader):
    """A reader of npz files with X, y and weight, with X_train, y_train and weight_train, or with a CSR matrix."""

    @contextmanager
    def _open_chunks(self, source: Source, schema: Schema | None) -> Iterator[tuple[int, Chunks]]:
        del schema
        path = source.name
        source.require_plain_file("npz")
        with ExitStack() as stack, _damage_as_data_error(path):
            archive = stack.enter_context(ZipFile(path))
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            arrays = {info.filename.removesuffix(".npy"): _open_member(archive, info, path, stack) for info in members}
            if all(name in arrays for name in ("data", "indices", "indptr", "shape")):
                yield _open_csr(arrays, path)
                return
            X = arrays.get("X", arrays.get("X_train"))
            if X is None or len(X.shape) != 2:
                raise DataError(
                    "an npz file must have X or X_train with two dimensions, or a CSR matrix saved by "
                    f"scipy.sparse.save_npz; got {', '.join(arrays) or 'nothing'}",
                    path=path,
                )
            X.require("X", NUMBERS, (None, None), path)
            y, weight = (arrays.get(name, arrays.get(f"{name}_train")) for name in ("y", "weight"))
            _require_vectors(y, weight, X.shape[0], path)
            yield X.shape[1], ((X.read(n), _read(y, n), _read(weight, n)) for n in X.chunk_sizes())


class ArrayRows:
    """The rows of an array in the npy format, read from the first to the last.

    They are read and not mapped into memory: where a file is cut off meanwhile, reading is an error, and looking at a
    map would end the process.

    Parameters
    ----------
    file : binary file
        The file, or a member of an archive, which compares the checksum when its last byte is read. An array in Fortran
        order is read column by column, which needs a file that can seek.
    n_bytes : int
        The bytes of the file with the header of the array.
    name : str
        The name that errors have for the array.
    """

    def __init__(self, file: Any, n_bytes: int, name: str) -> None:
        self._file, self._next = file, 0
        self._unchecked: Any = None
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"the array {name} has the format {version}")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        try:
            self.shape, fortran_order, self.dtype = read_header(file)
        except (TypeError, OverflowError, RecursionError, SyntaxError, tokenize.TokenError) as error:
            raise ValueError(f"the header of the array {name} cannot be parsed") from error
        if self.dtype.hasobject or self.dtype.kind == "V":
            raise ValueError(f"the array {name} holds Python objects or records")
        if not all(type(length) is int and length >= 0 for length in self.shape):
            raise ValueError(f"the array {name} has the shape {self.shape}")
        self.by_columns = fortran_order and len(self.shape) == 2
        self._begin = file.tell()
        if self._begin + math.prod(self.shape) * self.dtype.itemsize != n_bytes:
            raise ValueError(f"the array {name} has fewer or more bytes than its header says")

    def read(self, n_rows: int) -> Array:
        """Return the next rows."""
        while self._unchecked is not None and self._unchecked.read(CHUNK_BYTES):
            pass
        self._unchecked = None
        begin, self._next = self._next, self._next + n_rows
        rows = np.empty((n_rows, *self.shape[1:]), self.dtype, order="F" if self.by_columns else "C")
        if self.by_columns:
            for column in range(self.shape[1]):
                self._file.seek(self._begin + (column * self.shape[0] + begin) * self.dtype.itemsize)
                self._fill(rows[:, column])
        else:
            self._fill(rows.reshape(-1))
        return rows

    def _fill(self, numbers: Array) -> None:
        """Read contiguous numbers."""
        content = numbers.view(np.uint8).data if numbers.nbytes else memoryview(b"")
        while len(content):
            n_bytes = self._file.readinto(content)
            if not n_bytes:
                raise ValueError("it was cut off while it was read")
            content = content[n_bytes:]

    def read_from(self, file: Any, offset: int) -> None:
        """Read from another file, where the array begins at `offset`, after the checksum of this one was compared."""
        self._file, self._begin, self._unchecked = file, self._begin + offset, self._file

    def chunk_sizes(self) -> Iterator[int]:
        """Yield the numbers of rows of chunks of a matrix."""
        row_bytes = self.shape[1] * self.dtype.itemsize
        step = max(1, CHUNK_BYTES // max(1, row_bytes))
        if self.by_columns:  # each column of a chunk is a read of its own: 512 rows or more, if they take up to 64 MiB
            step = max(step, min(512, (1 << 26) // max(1, row_bytes)))
        return _steps(self.shape[0], step)

    def require(self, name: str, kinds: str, shape: tuple[int | None, ...], path: str) -> None:
        """Raise DataError if it is not of a kind, or not of a shape, in which None stands for any length."""
        if self.dtype.kind not in kinds:
            what = {NUMBERS: "real numbers", INTEGERS: "integers", LABELS: "real numbers or strings", NAMES: "a string"}
            raise DataError(f"{name} must hold {what[kinds]}, got {self.dtype}", path=path)
        fits = len(self.shape) == len(shape) and all(
            length in (None, given) for length, given in zip(shape, self.shape, strict=True)
        )
        if not fits and None not in shape:
            raise DataError(f"{name} must have the shape {shape}, got {self.shape}", path=path)
        if not fits:
            dimensions = {1: "one dimension", 2: "two dimensions"}[len(shape)]
            raise DataError(f"{name} must have {dimensions}, got the shape {self.shape}", path=path)
        if len(shape) == 2 and self.shape[1] == 0:
            raise DataError(f"{name} must have at least one column, got the shape {self.shape}", path=path)


def _open_member(archive: ZipFile, info: ZipInfo, path: str, stack: ExitStack) -> ArrayRows:
    """Return the array of a member. One in Fortran order must not be compressed."""
    if info.flag_bits & 1:
        raise ValueError(f"the array {info.filename} is encrypted")
    member = stack.enter_context(archive.open(info))
    rows = ArrayRows(member, info.file_size, info.filename)
    if not rows.by_columns:
        return rows
    if info.compress_type != ZIP_STORED:
        raise DataError(
            f"a compressed array must be in C order, row by row, got {info.filename} in Fortran order; save it with "
            "numpy.savez, or save numpy.ascontiguousarray of it",
            path=path,
        )
    file = stack.enter_context(open(path, "rb", buffering=0))  # noqa: SIM115 - a member seeks by reading
    file.seek(info.header_offset)
    header = file.read(30)  # of the member, which ends with the lengths of its name and of another field
    rows.read_from(file, info.header_offset + 30 + sum(np.frombuffer(header[26:30], "<u2").tolist()))
    return rows


def _matrix_chunks(matrix: ArrayRows, label: int | None, weight: int | None, others: list[int]) -> Chunks:
    for n in matrix.chunk_sizes():
        rows = matrix.read(n)
        y, weights = (None if number is None else rows[:, number] for number in (label, weight))
        yield np.delete(rows, others, axis=1) if others else rows, y, weights


def _open_csr(arrays: Mapping[str, ArrayRows], path: str) -> tuple[int, Chunks]:
    """Return the number of columns and the chunks of a CSR matrix."""
    if "format" in arrays:
        arrays["format"].require("format", NAMES, (), path)
        form = arrays["format"].read(1).astype(str).item()
        if form != "csr":
            raise DataError(f"a sparse matrix must be CSR, got {form}; save its tocsr()", path=path)
    arrays["shape"].require("shape", INTEGERS, (2,), path)
    n_rows, n_features = arrays["shape"].read(2).tolist()
    if n_rows < 0 or not 0 < n_features <= MAX_COLUMNS:
        raise DataError(
            f"shape must hold a number of rows and a number of columns from 1 to 2**31, got {n_rows} and {n_features}",
            path=path,
        )
    arrays["data"].require("data", NUMBERS, (None,), path)
    arrays["indices"].require("indices", INTEGERS, arrays["data"].shape, path)
    arrays["indptr"].require("indptr", INTEGERS, (n_rows + 1,), path)
    _require_vectors(arrays.get("y"), arrays.get("weight"), n_rows, path)
    return n_features, _csr_chunks(arrays, n_rows, n_features, path)


def _csr_chunks(arrays: Mapping[str, ArrayRows], n_rows: int, n_features: int, path: str) -> Chunks:
    """Yield chunks of a CSR matrix; its arrays are read side by side."""
    data, indices, indptr = (arrays[name] for name in ("data", "indices", "indptr"))
    begin = indptr.read(1).astype(np.int64)
    if begin[0] != 0:
        raise DataError(f"indptr must begin with 0, got {begin[0]}", path=path)
    for n in _steps(n_rows, max(1, CHUNK_BYTES >> 10)):  # as if a row took a KiB
        ends = np.concatenate([begin, indptr.read(n).astype(np.int64)])
        n_entries = int(ends[-1] - ends[0])
        if (np.diff(ends) < 0).any() or ends[-1] > data.shape[0]:
            raise DataError(
                f"indptr must not decrease, and end with at most {data.shape[0]}, the entries of data; it does not",
                path=path,
            )
        columns, values = indices.read(n_entries), data.read(n_entries)
        outside = columns[(columns < 0) | (columns >= n_features)]
        if outside.size:
            raise DataError(
                f"indices must be from 0 to {n_features - 1}, by the columns of shape, got {outside[0]}", path=path
            )
        index = np.int32 if max(n_features, n_entries) <= np.iinfo(np.int32).max else np.int64
        entries = (values, columns.astype(index), (ends - ends[0]).astype(index))
        X = sparse.csr_array(entries, shape=(n, n_features))
        yield X, _read(arrays.get("y"), n), _read(arrays.get("weight"), n)
        begin = ends[-1:]


def _require_vectors(y: ArrayRows | None, weight: ArrayRows | None, n_rows: int, path: str) -> None:
    for name, vector, kinds in (("y", y, LABELS), ("weight", weight, NUMBERS)):
        if vector is not None:
            vector.require(name, kinds, (n_rows,), path)


def _read(rows: ArrayRows | None, n: int) -> Array | None:
    return None if rows is None else rows.read(n)


def _steps(n_rows: int, step: int) -> Iterator[int]:
    """Yield the numbers of rows of chunks."""
    for begin in range(0, n_rows, step):
        yield min(step, n_rows - begin)


def _damage_as_data_error(path: str) -> AbstractContextManager[None]:
    damage = (BadZipFile, EOFError, OSError, ValueError, KeyError, NotImplementedError, lzma.LZMAError, zlib.error)
    return damage_as_data_error(path, damage, "arrays must be complete, and hold numbers or strings")
