"""Arrays in memory, and iterables of them."""

from __future__ import annotations

import lzma
import math
import os
import tokenize
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain
from typing import Any, Protocol
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from gcwsnet import _sparse as sparse
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT, MAX_COLUMNS, as_floats, inexact_integers
from gcwsnet.files._reader import Reader
from gcwsnet.files._sources import Source
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._errors import DataError, ErrorHandler, InvalidRows, RowOrigin, check_batch, damage_as_data_error
from gcwsnet.tables._schema import ColumnName, ReadOptions, Schema


class ArraysReader(Reader):
    """A reader of an iterable of X, (X, y) or (X, y, weight). An iterator can be read only once."""

    def __init__(self, arrays: Iterable[Any], options: ReadOptions) -> None:
        super().__init__([], options)
        self._arrays = arrays
        self.reusable = iter(arrays) is not arrays
        self._started = False

    def known_schema(self) -> Schema | None:
        """Return the schema, which has the width of the first X."""
        arrays = self._iterate()
        first = next(arrays, None)
        if first is None:
            raise DataError("there must be at least one row, got an empty iterable")
        if not self.reusable:
            self._arrays, self._started = chain([first], arrays), False
        X = as_batch(first, self.options.dtype).X
        return Schema(self.options.n_features or X.shape[1], self.options.missing_rule)

    def read(self, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield a batch for each item of the iterable, all with the dtype of the first one."""
        first_row, dtype = 0, self.options.dtype
        for item in self._iterate():
            batch = as_batch(item, dtype, first_row=first_row)
            dtype = batch.X.dtype.name
            yield checked_batch(batch, first_row, None, schema, self.options, errors)
            first_row += batch.n_rows

    def _iterate(self) -> Iterator[Any]:
        if self._started and not self.reusable:
            raise ValueError("an iterator can be read only once, and it was read already; give a list to reread it")
        self._started = True
        return iter(self._arrays)


def checked_batch(
    batch: Batch, first_row: int, path: str | None, schema: Schema, options: ReadOptions, errors: ErrorHandler
) -> Batch:
    """Return the batch without invalid rows, or raise DataError if it has not the width of the schema."""
    origin = RowOrigin.numbered(path, first_row)
    if batch.X.shape[1] != schema.n_features:
        raise DataError(
            f"rows must have {schema.n_features} columns, got {batch.X.shape[1]}; give all rows the same width",
            path=path,
            line=origin.line(0),
        )
    invalid = InvalidRows()
    batch = check_batch(batch, invalid, missing=schema.missing, known_labels=options.labels)
    return invalid.drop_from(batch, origin, errors)


def as_batch(arrays: Any, dtype: str | None, *, path: str | None = None, first_row: int = 0) -> Batch:
    """Return X, (X, y) or (X, y, weight) as a batch. Without `dtype`, float32 and float64 are kept as they are.

    Errors name the file and the row, where the first row of the arrays is number `first_row`, from 0.
    """
    X, y, weight = (*arrays, None, None)[:3] if isinstance(arrays, tuple) else (arrays, None, None)
    X = _as_rows(X, dtype, path, first_row)
    return Batch(
        X,
        None if y is None else _as_labels(y, X.shape[0]),
        None if weight is None else _as_weights(weight, X.shape[0]),
    )


def _as_rows(X: Any, dtype: str | None, path: str | None, first_row: int) -> Any:
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "buif":
        raise DataError(f"X must be real numbers with two dimensions, got {X.dtype} of shape {X.shape}")
    if X.shape[1] > MAX_COLUMNS:
        raise DataError(f"X must have at most 2**31 columns, got {X.shape[1]}; feature-hash it to fewer")
    _refuse_inexact(X, path, first_row)
    if dtype is None:
        X = as_floats(X)
    else:
        with np.errstate(over="ignore"):  # check_batch finds infinite numbers
            X = X.astype(dtype, copy=False)
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return mark_canonical(X)
    return X


def _refuse_inexact(X: Any, path: str | None, first_row: int) -> None:
    """Raise DataError for the first integer that float64 does not hold."""
    numbers = X.data if sparse.issparse(X) else X
    places = inexact_integers(numbers)
    if not len(places):
        return
    place = int(places[0])
    if sparse.issparse(X):
        row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    else:
        row, column = divmod(place, X.shape[1])
    value = int(numbers.reshape(-1)[place])
    raise DataError(f"{INEXACT}, got {value}; {INEXACT_WAY_OUT}", path=path, line=first_row + row + 1, column=column)


def _as_labels(y: Any, n_rows: int) -> Any:
    """Return labels as a vector of numbers or of strings."""
    y = np.asarray(y)
    if y.dtype.kind == "O":
        if not all(isinstance(label, str) for label in y.reshape(-1)):
            raise DataError("labels must be all numbers or all strings, got an array of other objects")
        y = y.astype(str)
    if y.dtype.kind not in "buifU" or y.shape != (n_rows,):
        raise DataError(f"y must be {n_rows} numbers or strings, got {y.dtype} of shape {y.shape}")
    return y


def _as_weights(weight: Any, n_rows: int) -> Any:
    """Return weights as a float64 vector."""
    weight = np.asarray(weight)
    if weight.dtype.kind not in "buif" or weight.shape != (n_rows,):
        raise DataError(f"weight must be {n_rows} numbers, got {weight.dtype} of shape {weight.shape}")
    return weight.astype(np.float64, copy=False)


CHUNK_BYTES = 1 << 21

ROWS_BY_COLUMNS, MOST_BYTES_BY_COLUMNS = 512, 1 << 26

CSR_ROW_BYTES = 1 << 10  # an assumed size: it is not known how many entries a row has

CSR_MEMBERS = ("data", "indices", "indptr", "shape")

NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

NPY_HEADERS[3, 0] = NPY_HEADERS[2, 0]  # they differ in the names of fields, which numbers have not

NO_HEADER = (TypeError, OverflowError, RecursionError, SyntaxError, tokenize.TokenError)

NUMBERS, INTEGERS, LABELS, NAMES = "buif", "iu", "buifU", "SU"  # kinds of NumPy's dtypes

LOCAL_HEADER_BYTES = 30

Array = Any

Chunks = Iterator[tuple[Array, Array, Array]]

"""X, y and weight, some rows at a time; y and weight may be None."""


class NpyReader(Reader):
    """A reader of npy files with a matrix. Label and weight may be columns of it."""

    def known_schema(self) -> Schema | None:
        """Return the schema, which has the width of the first file without label and weight."""
        options = self.options
        with self._open_chunks(self.sources[0], None) as (n_features, _):
            return Schema(n_features, options.missing_rule, label=options.label, weight=options.weight)

    def read(self, schema: Schema, errors: ErrorHandler) -> Iterator[Batch]:
        """Yield batches of some megabytes."""
        for source in self.sources:
            with self._open_chunks(source, schema) as (_, chunks):
                first_row = 0
                for chunk in chunks:
                    batch = as_batch(chunk, self.options.dtype, path=source.name, first_row=first_row)
                    yield checked_batch(batch, first_row, source.name, schema, self.options, errors)
                    first_row += batch.n_rows

    @contextmanager
    def _open_chunks(self, source: Source, schema: Schema | None) -> Iterator[tuple[int, Chunks]]:
        """Open a file, and give its number of features and its rows; without a schema the options name the label."""
        _require_file(source, "npy")
        with _damage_as_data_error(source.name), open(source.name, "rb", buffering=0) as file:
            shape, fortran_order, dtype = _read_header(file, source.name)
            matrix = FileRows(file, shape, dtype, fortran_order, file.tell())
            _require(matrix, "the array", NUMBERS, (None, None), source.name)
            if file.tell() + matrix.n_bytes != os.fstat(file.fileno()).st_size:
                raise ValueError("it has fewer or more bytes than its header says")
            label, weight = self._label_and_weight(schema, shape[1], source.name)
            n_features = shape[1] - sum(number is not None for number in (label, weight))
            yield n_features, _matrix_chunks(matrix, label, weight)

    def _label_and_weight(self, schema: Schema | None, width: int, path: str) -> list[int | None]:
        """Return the numbers of label and weight in a matrix of this width, which need not have those of a schema."""
        options = self.options
        if schema is None:
            return [_column_number(name, width) for name in (options.label, options.weight)]
        numbers = _numbers_of(schema, width)
        n_others = sum(number is not None for number in numbers)
        if width == schema.n_features + n_others:
            return [_column_number(number, width) for number in numbers]
        if width == schema.n_features and options.label is None and options.weight is None:
            return [None, None]
        with_others = f" and {n_others} of label and weight" if n_others else ""
        raise DataError(
            f"rows must have {schema.n_features} columns{with_others}, got {width}; give all rows the same width",
            path=path,
            line=1,
        )


def _numbers_of(schema: Schema, width: int) -> list[ColumnName | None]:
    """Return the numbers of label and weight by a schema, that of a table included if the matrix is as wide as it."""
    given = ((schema.label, schema.label_number), (schema.weight, schema.weight_number))
    order = [column.number for column in schema.columns]
    n_columns = schema.n_features + sum(number is not None for _, number in given)
    if order and order == sorted(order) and width == schema.n_file_columns == n_columns:
        return [number for _, number in given]
    return [name if isinstance(name, int) else None for name, _ in given]


class NpzReader(NpyReader):
    """A reader of npz files with X, y and weight, with X_train, y_train and weight_train, or with a CSR matrix."""

    @contextmanager
    def _open_chunks(self, source: Source, schema: Schema | None) -> Iterator[tuple[int, Chunks]]:
        del schema
        _require_file(source, "npz")
        with _open_npz(source.name) as arrays, _damage_as_data_error(source.name):
            if all(name in arrays for name in CSR_MEMBERS):
                yield _open_csr(arrays, source.name)
                return
            X = arrays.get("X", arrays.get("X_train"))
            if X is None or len(X.shape) != 2:
                raise DataError(
                    "an npz file must have X or X_train with two dimensions, or a CSR matrix saved by "
                    f"scipy.sparse.save_npz; got {', '.join(arrays) or 'nothing'}",
                    path=source.name,
                )
            _require(X, "X", NUMBERS, (None, None), source.name)
            y, weight = (arrays.get(name, arrays.get(f"{name}_train")) for name in ("y", "weight"))
            _require_vectors(y, weight, X.shape[0], source.name)
            yield X.shape[1], _dense_chunks(X, y, weight)


class ArrayRows(Protocol):
    """The rows of an array in a file, read from the first to the last."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool

    def read(self, n_rows: int) -> Array:
        """Return the next rows."""


class FileRows:
    """The rows of an array that stands in a file as it is, row by row or column by column.

    They are read and not mapped into memory: where a file is cut off meanwhile, reading is an error, and looking at a
    map would end the process.

    Parameters
    ----------
    file : binary file
    shape, dtype, fortran_order
        Those of the array.
    begin : int
        Where the array begins in the file.
    check : callable, optional
        Called before the first rows are read.
    """

    def __init__(
        self,
        file: Any,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        fortran_order: bool,
        begin: int,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.shape, self.dtype = shape, dtype
        self.by_columns = fortran_order and len(shape) == 2
        self.n_bytes = math.prod(shape) * dtype.itemsize
        self._file, self._begin, self._check, self._next = file, begin, check, 0

    def read(self, n_rows: int) -> Array:
        """Return the next rows."""
        if self._next == 0:
            self._check()
        begin, self._next = self._next, self._next + n_rows
        if not self.by_columns:
            rows = np.empty((n_rows, *self.shape[1:]), self.dtype)
            self._fill(rows.reshape(-1), begin * math.prod(self.shape[1:]))
            return rows
        rows = np.empty((n_rows, self.shape[1]), self.dtype, order="F")
        for column in range(self.shape[1]):
            self._fill(rows[:, column], column * self.shape[0] + begin)
        return rows

    def _fill(self, numbers: Array, begin: int) -> None:
        """Read contiguous numbers from number `begin` of the array on."""
        content = numbers.view(np.uint8).data if numbers.nbytes else memoryview(b"")
        self._file.seek(self._begin + begin * self.dtype.itemsize)
        filled = 0
        while filled < len(content):
            n_bytes = self._file.readinto(content[filled:])
            if not n_bytes:
                raise ValueError("it was cut off while it was read")
            filled += n_bytes


class MemberRows:
    """The rows of an array in a member of an npz file, read through zipfile, which compares the checksum at the end."""

    by_columns = False

    def __init__(self, member: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype
        self._member, self._remaining = member, shape[0] if shape else 1

    def read(self, n_rows: int) -> Array:
        """Read or decompress the next rows."""
        shape = (n_rows, *self.shape[1:])
        n_bytes = math.prod(shape) * self.dtype.itemsize
        content = self._member.read(n_bytes)
        if len(content) < n_bytes:
            raise ValueError("it has fewer numbers than its header says")
        self._remaining -= n_rows
        if self._remaining == 0 and self._member.read(1):
            raise ValueError("it has more numbers than its header says")
        return np.frombuffer(content, dtype=self.dtype).reshape(shape)


def _read_header(file: Any, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, the order and the type of an array in the npy format."""
    version = npy.read_magic(file)
    if version not in NPY_HEADERS:
        raise ValueError(f"the array {name} has the format {version}")
    try:
        shape, fortran_order, dtype = NPY_HEADERS[version](file)
    except NO_HEADER as error:
        raise ValueError(f"the header of the array {name} cannot be parsed") from error
    if dtype.hasobject or dtype.kind == "V":
        raise ValueError(f"the array {name} holds Python objects or records")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"the array {name} has the shape {shape}")
    return shape, fortran_order, dtype


def _require(array: ArrayRows, name: str, kinds: str, shape: tuple[int | None, ...], path: str) -> None:
    """Raise DataError if an array is not of a kind, or not of a shape, in which None stands for any length."""
    if array.dtype.kind not in kinds:
        what = {NUMBERS: "real numbers", INTEGERS: "integers", LABELS: "real numbers or strings", NAMES: "a string"}
        raise DataError(f"{name} must hold {what[kinds]}, got {array.dtype}", path=path)
    fits = len(array.shape) == len(shape) and all(
        length in (None, given) for length, given in zip(shape, array.shape, strict=True)
    )
    if not fits:
        if None not in shape:
            raise DataError(f"{name} must have the shape {shape}, got {array.shape}", path=path)
        n = {1: "one dimension", 2: "two dimensions"}[len(shape)]
        raise DataError(f"{name} must have {n}, got the shape {array.shape}", path=path)
    if len(shape) == 2 and array.shape[1] == 0:
        raise DataError(f"{name} must have at least one column, got the shape {array.shape}", path=path)


def _require_vectors(y: ArrayRows | None, weight: ArrayRows | None, n_rows: int, path: str) -> None:
    for name, vector, kinds in (("y", y, LABELS), ("weight", weight, NUMBERS)):
        if vector is not None:
            _require(vector, name, kinds, (n_rows,), path)


@contextmanager
def _open_npz(path: str) -> Iterator[dict[str, ArrayRows]]:
    """Open an npz file, and give its arrays by name."""
    with ExitStack() as stack, _damage_as_data_error(path):
        archive = stack.enter_context(ZipFile(path))
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        yield {info.filename.removesuffix(".npy"): _open_member(archive, info, path, stack) for info in members}


def _open_member(archive: ZipFile, info: ZipInfo, path: str, stack: ExitStack) -> ArrayRows:
    if info.flag_bits & 1:
        raise ValueError(f"the array {info.filename} is encrypted")
    member = stack.enter_context(archive.open(info))
    shape, fortran_order, dtype = _read_header(member, info.filename)
    if not fortran_order or len(shape) < 2:
        return MemberRows(member, shape, dtype)
    if info.compress_type != ZIP_STORED:
        raise DataError(
            f"a compressed array must be in C order, row by row, got {info.filename} in Fortran order; save it with "
            "numpy.savez, or save numpy.ascontiguousarray of it",
            path=path,
        )

    def compare_checksum() -> None:
        while member.read(CHUNK_BYTES):
            pass

    begin = _content_begin(path, info) + member.tell()
    file = stack.enter_context(open(path, "rb", buffering=0))  # noqa: SIM115
    rows = FileRows(file, shape, dtype, True, begin, compare_checksum)
    if member.tell() + rows.n_bytes != info.file_size:
        raise ValueError(f"the array {info.filename} has fewer or more bytes than its header says")
    return rows


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
        yield np.delete(rows, others, axis=1) if others else rows, y, weights


def _dense_chunks(X: ArrayRows, y: ArrayRows | None, weight: ArrayRows | None) -> Chunks:
    for n in _chunk_sizes(X):
        yield X.read(n), _read(y, n), _read(weight, n)


def _open_csr(arrays: Mapping[str, ArrayRows], path: str) -> tuple[int, Chunks]:
    """Return the number of columns and the chunks of a CSR matrix."""
    if "format" in arrays:
        _require(arrays["format"], "format", NAMES, (), path)
        form = arrays["format"].read(1).astype(str).item()
        if form != "csr":
            raise DataError(f"a sparse matrix must be CSR, got {form}; save its tocsr()", path=path)
    _require(arrays["shape"], "shape", INTEGERS, (2,), path)
    n_rows, n_features = arrays["shape"].read(2).tolist()
    if n_rows < 0 or not 0 < n_features <= MAX_COLUMNS:
        raise DataError(
            f"shape must hold a number of rows and a number of columns from 1 to 2**31, got {n_rows} and {n_features}",
            path=path,
        )
    _require(arrays["data"], "data", NUMBERS, (None,), path)
    _require(arrays["indices"], "indices", INTEGERS, arrays["data"].shape, path)
    _require(arrays["indptr"], "indptr", INTEGERS, (n_rows + 1,), path)
    _require_vectors(arrays.get("y"), arrays.get("weight"), n_rows, path)
    return n_features, _csr_chunks(arrays, n_rows, n_features, path)


def _csr_chunks(arrays: Mapping[str, ArrayRows], n_rows: int, n_features: int, path: str) -> Chunks:
    """Yield chunks of a CSR matrix; its arrays are read side by side."""
    data, indices, indptr = (arrays[name] for name in CSR_MEMBERS[:3])
    begin = indptr.read(1).astype(np.int64)
    if begin[0] != 0:
        raise DataError(f"indptr must begin with 0, got {begin[0]}", path=path)
    for n in _row_counts(n_rows, CSR_ROW_BYTES):
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


def _read(rows: ArrayRows | None, n: int) -> Array | None:
    return None if rows is None else rows.read(n)


def _chunk_sizes(matrix: ArrayRows) -> Iterator[int]:
    return _row_counts(matrix.shape[0], matrix.shape[1] * matrix.dtype.itemsize, by_columns=matrix.by_columns)


def _row_counts(n_rows: int, row_bytes: int, *, by_columns: bool = False) -> Iterator[int]:
    """Yield the numbers of rows of chunks of about CHUNK_BYTES bytes, and of more where columns are read one by one."""
    step = max(1, CHUNK_BYTES // max(1, row_bytes))
    if by_columns:
        step = max(step, min(ROWS_BY_COLUMNS, MOST_BYTES_BY_COLUMNS // max(1, row_bytes)))
    for begin in range(0, n_rows, step):
        yield min(step, n_rows - begin)


def _column_number(name: ColumnName | None, n_columns: int) -> int | None:
    if name is None:
        return None
    if isinstance(name, str) or not -n_columns <= name < n_columns:
        raise ValueError(f"a column must be a number from {-n_columns} to {n_columns - 1}, got {name!r}")
    return name % n_columns


def _require_file(source: Source, format: str) -> None:  # noqa: A002
    if not source.reusable or source.compression() is not None:
        raise DataError(
            f"{format} must be a file, not a stream, and not compressed as a whole; decompress it into a file",
            path=source.name,
        )


def _damage_as_data_error(path: str) -> AbstractContextManager[None]:
    damage = (BadZipFile, EOFError, OSError, ValueError, KeyError, NotImplementedError, lzma.LZMAError, zlib.error)
    return damage_as_data_error(path, damage, "arrays must be complete, and hold numbers or strings")
