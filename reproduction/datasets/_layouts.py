"""The layouts in which datasets are published, one reader for each, and npz files.

A reader takes the files of a dataset and returns its parts, each a pair of rows and labels: the training part and the
test part where the publisher has divided the rows, else all rows in the order of the file. Files are data of unknown
quality: an error names the file and the line, array or matrix that breaks a rule.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

from gcwsnet._validation import check_finite
from reproduction.datasets._archives import MAX_BYTES, WAY_OUT, DataFile, wrap_read_errors

Array = NDArray[Any]
Part = tuple[Array, Array]
Shape = tuple[int, ...]

MNIST_FILES = tuple(f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1"))
IDX_UNSIGNED_BYTE = 8

N_TIMES, N_SENSORS = 125, 45

PAMAP_ACTIVITIES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 24)
"""The numbers of the activities in PAMAP2, with 0 for the time between two activities."""
PAMAP_FIRST_SENSOR = 3
"""The columns before it are the time, the activity and the heart rate."""

MOVEMENTS = ("cyl", "hook", "tip", "palm", "spher", "lat")
MATRICES = tuple(f"{movement}_{channel}" for movement in MOVEMENTS for channel in ("ch1", "ch2"))
SEMG_PEOPLE = tuple(f"Database 1/{person}.mat" for person in ("female_1", "female_2", "female_3", "male_1", "male_2"))
SEMG_DAYS = tuple(f"Database 2/male_day_{day}.mat" for day in (1, 2, 3))

NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def as_float32(X: Array) -> NDArray[np.float32]:
    """Return X in float32, with the numbers of a row adjacent in memory."""
    with np.errstate(over="ignore"):  # a number beyond the range of float32 becomes infinite
        return np.ascontiguousarray(X, dtype=np.float32)


def read_idx(files: Sequence[DataFile]) -> list[Part]:
    """Read MNIST: idx files with the images and with the labels of the training part, then of the test part."""
    parts = []
    for images, labels in zip(files[::2], files[1::2], strict=True):
        pixels = _idx_array(images, 3)
        parts.append((pixels.reshape(len(pixels), prod(pixels.shape[1:])), _idx_array(labels, 1)))
    return parts


def _idx_array(file: DataFile, n_axes: int) -> Array:
    with (
        wrap_read_errors(f"{file.place} must be an idx file of unsigned bytes with {n_axes} axes, and"),
        file.open() as stream,
    ):
        magic, content = stream.read(4), stream.read()
        if magic != bytes([0, 0, IDX_UNSIGNED_BYTE, n_axes]):
            raise ValueError(f"its first bytes are {' '.join(map(str, magic)) or 'missing'}")
        shape = tuple(np.frombuffer(content[: 4 * n_axes], ">u4").tolist())
        content = content[4 * n_axes :]
        if len(shape) < n_axes or len(content) != prod(shape):
            raise ValueError(f"its header says {' x '.join(map(str, shape))} bytes, and {len(content)} follow")
    return np.frombuffer(content, np.uint8).reshape(shape)


def read_tables(
    files: Sequence[DataFile], *, n_features: int, delimiter: str | None = None, first_label: int = 0
) -> list[Part]:
    """Read text files whose lines are the features of a row and then its label, one part for each file.

    These are the amat files of Larochelle et al. (784 pixels and the digit), Pendigits (16 coordinates and the digit)
    and Covertype (54 features and the type of forest, from 1 to 7).
    """
    parts = []
    for file in files:
        table = read_table(file, n_features + 1, delimiter=delimiter)
        parts.append((table[:, :n_features], _as_labels(table[:, n_features], file) - first_label))
    return parts


def read_pamap(files: Sequence[DataFile]) -> list[Part]:
    """Read a file of PAMAP2: lines of 54 numbers, a hundred for each second. A missing reading (NaN) becomes 0."""
    (file,) = files
    table = read_table(file, 54, nan_is_fine=True)
    return [(np.nan_to_num(table[:, PAMAP_FIRST_SENSOR:]), _as_labels(table[:, 1], file))]


def dailysports_files(n_activities: int, n_people: int, n_segments: int) -> tuple[str, ...]:
    """Return the names of the files of Daily and Sports Activities, ordered by activity, person and segment."""
    return tuple(
        f"a{activity:02}/p{person}/s{segment:02}.txt"
        for activity in range(1, n_activities + 1)
        for person in range(1, n_people + 1)
        for segment in range(1, n_segments + 1)
    )


def read_dailysports(files: Sequence[DataFile]) -> list[Part]:
    """Read Daily and Sports Activities: each file is a row, 125 lines with the numbers of 45 sensors.

    The label is the number of the activity in the name of the file, minus 1.
    """
    X = np.empty((len(files), N_TIMES * N_SENSORS), dtype=np.float32)
    for row, file in zip(X, files, strict=True):
        segment = read_table(file, N_SENSORS, delimiter=",")
        if len(segment) != N_TIMES:
            raise ValueError(f"{file.place} must have {N_TIMES} lines, got {len(segment)}; {WAY_OUT}")
        row[:] = segment.ravel()
    return [(X, np.array([int(file.name[1:3]) - 1 for file in files]))]


def read_table(
    file: DataFile, n_columns: int, *, delimiter: str | None = None, nan_is_fine: bool = False
) -> NDArray[np.float32]:
    """Return the numbers of a text file in float32, one row for each line that is not empty.

    Parameters
    ----------
    file : DataFile
        The text file.
    n_columns : int
        The number of numbers that each line must have.
    delimiter : str, optional
        What separates the numbers. By default, that is white space.
    nan_is_fine : bool, default=False
        Whether a number may be NaN.
    """
    try:
        with warnings.catch_warnings(), file.open() as stream, io.TextIOWrapper(stream, encoding="ascii") as text:
            warnings.simplefilter("ignore", UserWarning)  # NumPy warns of a file without data, which is an error here
            table: NDArray[np.float32] = np.loadtxt(text, np.float32, comments=None, delimiter=delimiter, ndmin=2)
        if len(table) == 0:
            raise ValueError("no lines")
        if table.shape[1] != n_columns:
            raise ValueError(f"{table.shape[1]} columns")
    except MemoryError:
        raise
    except Exception as error:
        with wrap_read_errors(file.place):
            _check_lines(file, n_columns, delimiter)
            raise error  # the fault is not in a line
    if not nan_is_fine or np.isinf(table).any():
        check_finite(table, name=file.place, nan_is_fine=nan_is_fine)
    return table


def _check_lines(file: DataFile, n_columns: int, delimiter: str | None) -> None:
    """Raise a ValueError that names the first line that is not a row of numbers."""
    with file.open() as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip(b" \t\r\n" if delimiter is None else b"\r\n"):
                continue
            fields = line.decode("ascii", "replace").strip().split(delimiter)
            if len(fields) != n_columns:
                raise ValueError(f"line {number} must have {n_columns} numbers, got {len(fields)}")
            wrong = [field.strip()[:40] for field in fields if not _is_number(field)]
            if wrong:
                raise ValueError(f"line {number} must have numbers only, got {wrong[0]!r}")


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def _as_labels(column: Array, file: DataFile) -> NDArray[np.int64]:
    """Return a column of a table as integers."""
    wrong = np.flatnonzero(np.floor(column) != column)  # NaN is not equal to itself
    if len(wrong):
        raise ValueError(
            f"{file.place} must have integers as labels, got {column[wrong[0]]:g} in row {wrong[0]}; {WAY_OUT}"
        )
    return column.astype(np.int64)


def read_semg(files: Sequence[DataFile]) -> list[Part]:
    """Read sEMG for Basic Hand Movements: MATLAB files with one matrix of trials for each movement and channel.

    Each trial in each channel is a row. The rows are ordered by file, movement and channel; the label is the position
    of the movement in `MOVEMENTS`.
    """
    rows, labels = [], []
    for file in files:
        matrices = _semg_matrices(file)
        for name, matrix in matrices.items():
            rows.append(matrix)
            labels.append(np.full(len(matrix), MOVEMENTS.index(name.split("_")[0])))
            if matrix.shape[1] != rows[0].shape[1]:
                raise ValueError(
                    f"{name} of {file.place} must have {rows[0].shape[1]} columns as all others, got "
                    f"{matrix.shape[1]}; {WAY_OUT}"
                )
    return [(np.concatenate(rows), np.concatenate(labels))]


def _semg_matrices(file: DataFile) -> dict[str, Array]:
    """Return the twelve matrices of a file, whose types and sizes are checked before they are read."""
    with wrap_read_errors(file.place), file.open() as stream:
        content = stream.read()
        headers = {name: (shape, kind) for name, shape, kind in whosmat(io.BytesIO(content))}
    for name in MATRICES:
        if name not in headers:
            raise ValueError(f"{file.place} must have the matrix {name}; it has {', '.join(headers) or 'nothing'}")
        shape, kind = headers[name]
        if kind not in ("double", "single") or len(shape) != 2 or 8 * shape[0] * shape[1] > MAX_BYTES:
            raise ValueError(f"{name} of {file.place} must be a matrix of numbers, got {kind} of shape {shape}")
    with wrap_read_errors(file.place):
        matrices = loadmat(io.BytesIO(content), variable_names=MATRICES)
    for name in MATRICES:
        if matrices[name].dtype.kind != "f":
            raise ValueError(f"{name} of {file.place} must hold real numbers, got the type {matrices[name].dtype}")
        matrices[name] = as_float32(matrices[name])
        check_finite(matrices[name], name=f"{file.place}: {name}")
    return {name: matrices[name] for name in MATRICES}


def read_npz(path: Path, shapes: Mapping[str, Shape]) -> dict[str, Array]:
    """Return the arrays of an npz file that have the given names and must have the given shapes, as they are stored.

    Arrays of two dimensions must be finite real numbers, arrays of one dimension integers. Other arrays of the file
    are not read. A damaged file raises an error and never returns other numbers.
    """
    with path.open("rb") as stream:
        with wrap_read_errors(f"{path} must be an npz file, and"):
            archive = ZipFile(stream)
        stored = [member.removesuffix(".npy") for member in archive.namelist()]
        missing = [name for name in shapes if name not in stored]
        if missing:
            raise ValueError(
                f"{path} must have the arrays {', '.join(shapes)}; it lacks {', '.join(missing)}, and has "
                f"{', '.join(stored) or 'nothing'}"
            )
        return {name: _npz_array(archive, name, shape, path) for name, shape in shapes.items()}


def _npz_array(archive: ZipFile, name: str, shape: Shape, path: Path) -> Array:
    """Return one array, whose shape and type are checked before memory is taken for its numbers."""
    what = f"{name} of {path}"
    with wrap_read_errors(what), archive.open(f"{name}.npy") as member:
        version = npy.read_magic(member)
        if version not in NPY_HEADERS:
            raise ValueError(f"format {version}")
        stored_shape, _, dtype = NPY_HEADERS[version](member)
    if stored_shape != shape:
        raise ValueError(f"{what} must have the shape {shape}, got {stored_shape}; {WAY_OUT}")
    numbers, kinds = ("integers", "iu") if len(shape) == 1 else ("real numbers", "buif")
    if dtype.kind not in kinds:
        raise ValueError(f"{what} must hold {numbers}, got the type {dtype}; {WAY_OUT}")
    with wrap_read_errors(what), archive.open(f"{name}.npy") as member:
        array: Array = npy.read_array(member, allow_pickle=False)
        if member.read(1):  # the checksum is compared only at the end
            raise ValueError("more bytes than the header says")
    if dtype.kind == "f":
        check_finite(as_float32(array), name=f"{path}: {name}")
    return array
