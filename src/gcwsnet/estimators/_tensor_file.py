"""Files of arrays and a description: safetensors, with JSON and a checksum in the header. Reading runs no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

import gcwsnet
from gcwsnet._atomic import write_file as write_bytes
from gcwsnet.hashing.parameters import HASH_VERSION

FORMAT_VERSION = 3

KEY = "gcwsnet"  # in the header: a checksum, a space and the description

DTYPES = (  # in the order of the format, from small items to large ones
    *("bool", "uint8", "int8", "int16", "uint16", "float16"),
    *("int32", "uint32", "float32", "float64", "int64", "uint64"),
)

TYPE_NAMES = {name: name[0].upper() + name.lstrip("uintfloa") for name in DTYPES} | {"bool": "BOOL"}

Arrays = dict[str, NDArray[Any]]

Description = dict[str, Any]


def write_file(path: Path, arrays: Arrays, description: Description, *, outdated: Sequence[Path] = ()) -> None:
    """Write arrays and a description by way of a file beside `path`, which is replaced at the end or not at all.

    Files that are `outdated` are removed with the one that is replaced.
    """
    versions = {
        "format_version": FORMAT_VERSION,
        "gcwsnet_version": gcwsnet.__version__,
        "hash_version": HASH_VERSION,
    }
    arrays = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    text = json.dumps(versions | description, allow_nan=False)
    write_bytes(path, *serialized(arrays, {KEY: f"{digest_of(text, arrays)} {text}"}), outdated=outdated)


def serialized(arrays: Arrays, metadata: dict[str, str]) -> list[bytes | memoryview]:
    r"""Return the parts of a safetensors file of contiguous arrays: the same bytes that `safetensors` makes of them.

    A file is the length of its header in 8 bytes, the header in JSON, and the bytes of the arrays, which begin at
    multiples of their item sizes.

    Examples
    --------
    >>> serialized({"x": np.arange(3, dtype=np.uint8)}, {})[-1].tobytes()
    b'\x00\x01\x02'
    """
    header: dict[str, Any] = {"__metadata__": metadata}
    names = sorted(arrays, key=lambda name: (-DTYPES.index(arrays[name].dtype.name), name))
    end = 0
    for name in names:
        array, begin = arrays[name], end
        end = begin + array.nbytes
        dtype = TYPE_NAMES[array.dtype.name]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [
        len(text).to_bytes(8, "little"),
        text,
        *(arrays[name].reshape(-1).view(np.uint8).data for name in names),
    ]


def read_file(path: Path) -> tuple[Arrays, Description]:
    """Read the arrays and the description of a file that `write_file` wrote, and check them by their checksum."""
    try:
        with safe_open(path, framework="np") as file:  # which checks the header, and that the file fits it
            metadata = file.metadata() or {}
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged, cut off or not a model of gcwsnet: {error}") from error
    if KEY not in metadata:
        raise ValueError(f"{path} is a safetensors file, but not a model of gcwsnet: it was not written by save()")
    arrays = _read_arrays(path)
    digest, _, text = metadata[KEY].partition(" ")
    try:
        description = json.loads(text, parse_constant=_refuse_constant)
        version = description["format_version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: its description cannot be read") from error
    if version != FORMAT_VERSION or description.get("hash_version") != HASH_VERSION:
        raise ValueError(
            f"{path} was written by gcwsnet {description.get('gcwsnet_version')} in format {version} with hash version "
            f"{description.get('hash_version')}; this is gcwsnet {gcwsnet.__version__}, which reads format "
            f"{FORMAT_VERSION} with hash version {HASH_VERSION}: load it with the version that wrote it, or train again"
        )
    if digest != digest_of(text, arrays):
        raise ValueError(f"{path} is damaged: its content does not fit its checksum; take another copy")
    return arrays, description


def _read_arrays(path: Path) -> Arrays:
    """Return the arrays of a safetensors file whose header has been checked.

    `safetensors` panics where there is no memory for an array, and NumPy raises a MemoryError.
    """
    types = {of_file: name for name, of_file in TYPE_NAMES.items()}
    with path.open("rb") as file:
        n_bytes = int.from_bytes(file.read(8), "little")
        entries = json.loads(file.read(n_bytes))
        entries.pop("__metadata__", None)
        for name, entry in entries.items():
            if entry["dtype"] not in types:
                raise ValueError(
                    f"{path} holds the array {name!r:.80} of the type {entry['dtype']}, which no model of gcwsnet has"
                )
        arrays = {}
        for name, entry in entries.items():
            dtype = np.dtype(types[entry["dtype"]]).newbyteorder("<")
            begin, end = entry["data_offsets"]
            file.seek(8 + n_bytes + begin)
            arrays[name] = np.fromfile(file, dtype, (end - begin) // dtype.itemsize).reshape(entry["shape"])
    return arrays


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def digest_of(text: str, arrays: Arrays) -> str:
    """Return the checksum of a description and of contiguous arrays."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
