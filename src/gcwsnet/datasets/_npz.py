"""npz files, read as data of unknown quality: an error names the file and the rule that it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy

from gcwsnet._validation import check_finite
from gcwsnet.datasets._bunch import Array, as_rows
from gcwsnet.datasets._damage import WAY_OUT, whole

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
Shape = tuple[int, ...]


def read_npz(path: Path, shapes: Mapping[str, Shape]) -> dict[str, Array]:
    """Arrays of an npz file as they are stored, those whose names and shapes are given.

    Arrays of two dimensions are rows, finite real numbers; arrays of one dimension are labels, integers. Other arrays
    of the file are not read. A damaged file is an error, never other numbers.
    """
    with path.open("rb") as stream:
        with whole(f"{path} must be an npz file, and"):
            archive = ZipFile(stream)
        there = [member.removesuffix(".npy") for member in archive.namelist()]
        missing = [name for name in shapes if name not in there]
        if missing:
            raise ValueError(
                f"{path} must have the arrays {', '.join(shapes)}; it lacks {', '.join(missing)}, and has "
                f"{', '.join(there) or 'nothing'}"
            )
        return {name: _read(archive, name, shape, path) for name, shape in shapes.items()}


def _read(archive: ZipFile, name: str, shape: Shape, path: Path) -> Array:
    """One array; its shape and type are known to be right before memory is taken for its numbers."""
    what = f"{name} of {path}"
    with whole(what), archive.open(f"{name}.npy") as member:
        version = npy.read_magic(member)
        if version not in HEADERS:
            raise ValueError(f"format {version}")
        found, _, dtype = HEADERS[version](member)
    _check_header(found, dtype, shape, what)
    with whole(what), archive.open(f"{name}.npy") as member:
        array: Array = npy.read_array(member, allow_pickle=False)
        if member.read(1):  # only at the end is the checksum compared
            raise ValueError("more bytes than the header says")
    if dtype.kind == "f":
        check_finite(as_rows(array), name=f"{path}: {name}")
    return array


def _check_header(found: Shape, dtype: np.dtype[Any], shape: Shape, what: str) -> None:
    if found != shape:
        raise ValueError(f"{what} must have the shape {shape}, got {found}; {WAY_OUT}")
    numbers, kinds = ("integers", "iu") if len(shape) == 1 else ("real numbers", "buif")
    if dtype.kind not in kinds:
        raise ValueError(f"{what} must hold {numbers}, got the type {dtype}; {WAY_OUT}")
