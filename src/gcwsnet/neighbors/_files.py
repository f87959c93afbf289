"""The files of an index: a manifest and arrays, which may come from anybody and are checked before they are used."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import io
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

import gcwsnet
from gcwsnet._atomic import locked, remove_left_overs, write_file, written_beside
from gcwsnet._validation import MAX_COLUMNS
from gcwsnet.estimators._tensor_file import (
    ANYTHING,
    FLAG,
    LIST,
    OBJECT,
    TEXT,
    check_entries,
    choice,
    integer,
    or_null,
    require,
    require_array,
)
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.neighbors._index_settings import IndexSettings
from gcwsnet.neighbors._store import Ids, Segment, Store
from gcwsnet.tables._batch import canonical_csr

MANIFEST = "index.json"
FORMAT_VERSION = 2
MAX_MANIFEST_BYTES = 1 << 26
CHUNK_BYTES = 1 << 24  # of an array, read or written at a time

WRITTEN = re.compile(r"index\.json|[a-z]+(-[a-z]+)?(-[0-9a-f]{16}\.npy|\.npy\.new)")
"""The names of the files that are written to the folder of an index."""

ARRAYS = {
    "codes": (("|u1", "<u2", "<u4"), ("rows", "numbers of a row")),
    "bucket-keys": (("<u4",), ("bands", "rows")),
    "bucket-rows": (("<u4",), ("bands", "rows")),
    "ids": (("<i8",), ("rows",)),
    "id-texts": (("|u1",), ("bytes",)),
    "id-ends": (("<i8",), ("rows + 1",)),
    "rows": (("<f4", "<f8"), ("rows", "columns")),
    "row-values": (("<f4", "<f8"), ("entries",)),
    "row-columns": (("<i4", "<i8"), ("entries",)),
    "row-starts": (("<i4", "<i8"), ("rows + 1",)),
}
"""The types of each array, and the names of the sizes of its axes, by which they are written and checked."""


MANIFEST_RULES = {
    "format_version": ANYTHING,
    "gcwsnet_version": ANYTHING,
    "hash_version": ANYTHING,
    "settings": dict.fromkeys((one.name for one in fields(IndexSettings)), ANYTHING) | {"seed": integer(0, 2**64 - 1)},
    "rows": or_null(OBJECT),
    "arrays": OBJECT,
    "n_features": or_null(integer(1, MAX_COLUMNS)),
    "feature_names": or_null(LIST),
    "metadata": OBJECT,
}
"""The entries of index.json; `IndexSettings` checks the settings."""


def write_store(folder: Path, store: Store, described: dict[str, Any], threads: int) -> None:
    """Write an index with what else is known about it into a folder, in place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, wait=True):
        _write_store(folder, store, described, threads)


def _write_store(folder: Path, store: Store, described: dict[str, Any], threads: int) -> None:
    foreign = [path.name for path in folder.iterdir() if path.name[0] != "." and not WRITTEN.fullmatch(path.name)]
    if foreign and not (folder / MANIFEST).exists():
        raise ValueError(
            f"{folder} has other files than those of an index, such as {foreign[0]}; choose another folder"
        )
    remove_left_overs(folder)
    store = Store(store.settings, tuple(one.compacted() for one in store.segments))
    rows = store.segments[0].rows
    sizes, content = _content(store, threads)
    arrays = {}
    for name, (dtype, parts) in content.items():
        arrays[name] = _write_array(folder, name, dtype, tuple(sizes[axis] for axis in ARRAYS[name][1]), parts)
    manifest = {
        "format_version": FORMAT_VERSION,
        "gcwsnet_version": gcwsnet.__version__,
        "hash_version": HASH_VERSION,
        "settings": asdict(store.settings),
        "rows": None if rows is None else {"csr": sparse.issparse(rows), "columns": int(rows.shape[1])},
        "arrays": arrays,
        **described,
    }
    text = json.dumps(manifest, indent=1, allow_nan=False, sort_keys=True)
    written = json.dumps({"sha256": _digest(text), "index": json.loads(text)}, indent=1, sort_keys=True).encode()
    if len(written) > MAX_MANIFEST_BYTES:
        raise ValueError(f"names of columns and metadata must take at most 64 MiB as JSON, got {len(written)} bytes")
    write_file(folder / MANIFEST, written)
    used = {MANIFEST, *(one["file"] for one in arrays.values())}
    for path in folder.iterdir():
        if path.name not in used and WRITTEN.fullmatch(path.name):
            with contextlib.suppress(OSError):  # another process may have it open, where that matters
                path.unlink()


def _content(store: Store, threads: int) -> tuple[dict[str, int], dict[str, tuple[Any, Iterable[NDArray[Any]]]]]:
    """Return the sizes of axes, and the type and the parts of each array."""
    segments, settings = store.segments, store.settings
    n = int(store.starts()[-1])
    sizes = {"rows": n, "rows + 1": n + 1, "numbers of a row": settings.packing.n_columns}
    content: dict[str, tuple[Any, Iterable[NDArray[Any]]]]
    content = {"codes": (settings.packing.dtype, (one.codes for one in segments))}
    bands = settings.bands
    if bands is not None:
        sizes["bands"] = bands.n_bands
        content["bucket-keys"] = np.uint32, (keys for keys, _ in store.merged_buckets(bands, threads))
        content["bucket-rows"] = np.uint32, (rows for _, rows in store.merged_buckets(bands, threads))
    ids = [one.ids for one in segments if one.n_rows] or [segments[0].ids]
    if ids[0].is_text:
        before = np.cumsum([0, *(len(one.content) for one in ids)])
        sizes["bytes"] = int(before[-1])
        content["id-texts"] = np.uint8, (one.content for one in ids)
        ends = (one.ends[1:] + first for one, first in zip(ids, before, strict=False))
        content["id-ends"] = np.int64, itertools.chain([before[:1]], ends)
    else:
        content["ids"] = np.int64, (one.numbers for one in ids if one.numbers is not None)
    rows = [one.rows for one in segments if settings.keep_rows]
    if not rows:
        return sizes, content
    sizes["columns"] = rows[0].shape[1]
    dtype = np.result_type(*(one.dtype for one in rows))
    if not sparse.issparse(rows[0]):
        return sizes, content | {"rows": (dtype, rows)}
    before = np.cumsum([0, *(one.nnz for one in rows)])
    sizes["entries"] = int(before[-1])
    index = np.int32 if max(before[-1], sizes["columns"]) < 2**31 else np.int64  # SciPy wants both alike, not to copy
    starts = (one.indptr[:-1].astype(np.int64) + first for one, first in zip(rows, before, strict=False))
    content["row-values"] = dtype, [one.data for one in rows]
    content["row-columns"] = index, [one.indices for one in rows]
    content["row-starts"] = index, itertools.chain(starts, [before[-1:]])
    return sizes, content


def _write_array(
    folder: Path, name: str, dtype: Any, shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
) -> dict[str, Any]:
    """Write an array part by part, and return its line of the manifest."""
    digest = hashlib.sha256()
    new = folder / f"{name}.npy.new"
    dtype = np.dtype(dtype).newbyteorder("<")
    with written_beside(new) as file:
        file.write(_header(dtype.str, shape))
        for part in parts:
            for chunk in _chunks(part):
                data = np.ascontiguousarray(chunk, dtype).data
                digest.update(data)
                file.write(data)
    file_name = f"{name}-{digest.hexdigest()[:16]}.npy"
    new.replace(folder / file_name)
    return {"file": file_name, "dtype": dtype.str, "shape": list(shape), "sha256": digest.hexdigest()}


def _header(dtype: str, shape: Iterable[int]) -> bytes:
    """Return how the file of an array begins. NumPy reads other headers too, some of them by parsing Python."""
    header = io.BytesIO()
    npy.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": tuple(shape)})
    return header.getvalue()


def _chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat, step = array.reshape(-1), CHUNK_BYTES // array.itemsize
    return (flat[start : start + step] for start in range(0, len(flat), step))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_store(folder: Path, *, verify: bool) -> tuple[Store, dict[str, Any]]:
    """Return the index of a folder, and what else is known about it.

    What does not fit is a ValueError that names it. With `verify` all bytes are read once, and compared with their
    checksums and with what they may be.
    """
    settings, manifest = _read_manifest(folder)
    arrays = {name: _read_array(folder, one, verify) for name, one in manifest["arrays"].items()}
    kept = manifest["rows"]
    if verify:
        try:
            _check_content(arrays, settings, None if kept is None else kept["columns"])
        except ValueError as error:
            raise ValueError(f"{folder} is damaged, or no index that gcwsnet has written: {error}") from error
    rows = arrays.get("rows")
    if kept is not None and kept["csr"]:
        rows = canonical_csr(arrays["row-values"], arrays["row-columns"], arrays["row-starts"], kept["columns"])
    buckets = (arrays["bucket-keys"], arrays["bucket-rows"]) if settings.bands is not None else None
    return Store(settings, (Segment(settings, arrays["codes"], _ids_of(arrays), rows, buckets, mapped=True),)), manifest


def _ids_of(arrays: dict[str, NDArray[Any]]) -> Ids:
    return Ids(arrays["ids"]) if "ids" in arrays else Ids(None, arrays["id-texts"], arrays["id-ends"])


def _read_manifest(folder: Path) -> tuple[IndexSettings, dict[str, Any]]:
    path = folder / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: {folder} is not an index, or it was not saved to the end")
    try:
        _require_file(path)
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise ValueError("it has more than 64 MiB")
        content = json.loads(path.read_text(encoding="utf-8"))
        digest, manifest = content["sha256"], content["index"]
        version = manifest["format_version"], manifest["hash_version"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it cannot be read ({error}); take another copy") from error
    if version != (FORMAT_VERSION, HASH_VERSION) or not all(type(one) is int for one in version):
        raise ValueError(
            f"{path} was written by gcwsnet {manifest.get('gcwsnet_version')} in format {version[0]} with hash version "
            f"{version[1]}; this is gcwsnet {gcwsnet.__version__}, which reads format {FORMAT_VERSION} with hash "
            f"version {HASH_VERSION}: load it with the version that wrote it, or build it again"
        )
    try:
        if digest != _digest(json.dumps(manifest, indent=1, allow_nan=False, sort_keys=True)):
            raise ValueError("its content does not fit its checksum")
        return _checked_settings(manifest), manifest
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}; take another copy") from error


def _checked_settings(index: Any) -> IndexSettings:
    """Return the settings of a manifest, all of whose entries have been checked."""
    check_entries(index, MANIFEST_RULES, "index")
    settings = _settings_of(index["settings"])
    n_features, names = index["n_features"], index["feature_names"]
    sound = names is None or (len(names) == n_features and all(isinstance(one, str) for one in names))
    require(sound, "index.feature_names", f"be {n_features} texts, one for each column", names)
    arrays = index["arrays"]
    sizes = {"numbers of a row": settings.packing.n_columns}
    names = ["codes", *(["ids"] if "ids" in arrays else ["id-texts", "id-ends"])]
    if settings.bands is not None:
        names += ["bucket-keys", "bucket-rows"]
        sizes["bands"] = settings.bands.n_bands
    kept = index["rows"]
    require((kept is not None) == settings.keep_rows, "index.rows", "be there if rows are kept, else null", kept)
    if settings.keep_rows:
        check_entries(kept, {"csr": FLAG, "columns": integer(1, MAX_COLUMNS)}, "index.rows")
        names += ["row-values", "row-columns", "row-starts"] if kept["csr"] else ["rows"]
        sizes["columns"] = kept["columns"]
        require(n_features == sizes["columns"], "index.rows.columns", f"be n_features={n_features}", sizes["columns"])
    check_entries(arrays, dict.fromkeys(names, OBJECT), "index.arrays")
    for name in names:
        dtypes, axes = ARRAYS[name]
        if name == "codes":
            dtypes = (settings.packing.dtype.newbyteorder("<").str,)
        rules = {"dtype": choice(*dtypes), "file": TEXT, "sha256": TEXT, "shape": LIST}
        check_entries(arrays[name], rules, f"index.arrays.{name}")
        own = re.fullmatch(rf"{name}-[0-9a-f]{{16}}\.npy", arrays[name]["file"])
        require(own, f"index.arrays.{name}.file", "be a file of its own", arrays[name]["file"])
        shape = arrays[name]["shape"]
        expected = ", ".join(str(sizes.get(axis, axis)) for axis in axes)
        sound = len(shape) == len(axes) and all(type(size) is int and 0 <= size < 2**48 for size in shape)
        sound = sound and all(sizes.setdefault(axis, size) == size for axis, size in zip(axes, shape, strict=True))
        require(sound, f"index.arrays.{name}.shape", f"be [{expected}]", shape)
        sizes["rows + 1"] = sizes["rows"] + 1
    return settings


def _settings_of(given: dict[str, Any]) -> IndexSettings:
    try:
        return IndexSettings.checked(random_state=given["seed"], **{k: v for k, v in given.items() if k != "seed"})
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"index.settings: {error}") from error


def _read_array(folder: Path, described: dict[str, Any], verify: bool) -> NDArray[Any]:
    path, dtype, shape = folder / described["file"], np.dtype(described["dtype"]), tuple(described["shape"])
    header = _header(described["dtype"], shape)
    try:
        _require_file(path)
        with path.open("rb") as file:
            if file.read(len(header)) != header:
                raise ValueError(f"it must begin with the type {dtype.str} and the shape {list(shape)}")
        n_bytes = len(header) + math.prod(shape) * dtype.itemsize
        if path.stat().st_size != n_bytes:
            raise ValueError(f"it must have {n_bytes} bytes, and has {path.stat().st_size}")
        array: NDArray[Any]  # which has nothing to map if it is empty
        array = np.empty(shape, dtype) if 0 in shape else np.memmap(path, dtype, "r", len(header), shape)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error}; take another copy") from error
    if verify:
        digest = hashlib.sha256()
        for chunk in _chunks(array):
            digest.update(chunk.data)
        if digest.hexdigest() != described["sha256"]:
            raise ValueError(f"{path} is damaged: its content does not fit its checksum; take another copy")
    return array.view(np.ndarray)


def _require_file(path: Path) -> None:
    """Raise a ValueError for a link, which may lead out of the folder, and for a pipe, which may never end."""
    if path.is_symlink() or not path.is_file():
        raise ValueError("it is missing or no regular file")


def _check_content(arrays: dict[str, NDArray[Any]], settings: IndexSettings, n_columns: int | None) -> None:
    """Raise a ValueError that names the first array whose numbers are not what an index can hold."""
    ends = {"bucket-rows": len(arrays["codes"]), "row-columns": n_columns}
    for name, array in arrays.items():
        end = ends.get(name)
        for part in _chunks(array):
            if end is not None:
                require_array(part.min() >= 0 and part.max() < end, name, f"hold numbers from 0 to {end - 1}")
            if array.dtype.kind == "f":
                require_array(np.isfinite(part).all(), name, "hold finite numbers")
    for name, counted in (("id-ends", "id-texts"), ("row-starts", "row-values")):
        if name in arrays:
            starts, end = arrays[name], len(arrays[counted])
            sound = starts[0] == 0 and starts[-1] == end and bool((starts[1:] >= starts[:-1]).all())
            require_array(sound, name, f"rise from 0 to {end}")
    used_bits = settings.n_hashes * settings.packing.held_bits % 8
    if used_bits:
        zero = (arrays["codes"][:, -1] >> used_bits == 0).all()
        require_array(zero, "codes", "hold 0 in the bits after the last code of a row")
    for keys, rows in zip(arrays.get("bucket-keys", ()), arrays.get("bucket-rows", ()), strict=True):
        there = np.zeros(len(rows), dtype=bool)
        for part in _chunks(rows):
            there[part] = True
        require_array(there.all(), "bucket-rows", "hold each row once in every band")
        require_array((keys[1:] >= keys[:-1]).all(), "bucket-keys", "ascend in every band")
        rises = (keys[1:] > keys[:-1]) | (rows[1:] > rows[:-1])
        require_array(rises.all(), "bucket-rows", "ascend in every bucket")
    _check_ids(arrays)
    if "row-columns" in arrays:
        columns = arrays["row-columns"]
        begins_row = np.zeros(len(columns) + 1, dtype=bool)
        begins_row[arrays["row-starts"]] = True
        step = CHUNK_BYTES // columns.itemsize
        for at in range(0, len(columns) - 1, step):
            here = columns[at : at + step + 1]
            rises = (here[1:] > here[:-1]) | begins_row[at + 1 : at + len(here)]
            require_array(rises.all(), "row-columns", "hold the columns of each row in ascending order")


def _check_ids(arrays: dict[str, NDArray[Any]]) -> None:
    """Raise a ValueError for ids that do not differ, and for texts that are not UTF-8."""
    ids = _ids_of(arrays)
    if ids.is_text:
        decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        try:
            for part in _chunks(ids.content):
                decoder.decode(part.tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            require_array(False, "id-texts", "hold texts in UTF-8")
        starts = ids.ends[:-1][np.diff(ids.ends) > 0]
        cut = (ids.content[starts] & 0xC0 == 0x80).any()  # a text that begins within a character
        require_array(not cut, "id-texts", "hold texts in UTF-8, each of them whole")
    keys = ids.keys()
    order = np.argsort(keys, kind="stable")
    equal = keys[order[1:]] == keys[order[:-1]]
    suspects = np.unique(np.append(order[1:][equal], order[:-1][equal]))
    if len(set(ids.take(suspects))) < len(suspects):  # texts of one key may differ
        name, kind = ("id-texts", "texts") if ids.is_text else ("ids", "numbers")
        require_array(False, name, f"hold {kind} that differ")
