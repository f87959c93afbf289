"""What the files of an index must hold. They may come from a stranger, and are checked before they are used."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

import gcwsnet
from gcwsnet._atomic import locked, remove_left_overs, write_file, written_beside
from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.estimators._tensor_file import (
    ANYTHING,
    FLAG,
    TEXT,
    Rule,
    check_entries,
    choice,
    integer,
    or_null,
    require,
    require_array,
)
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.neighbors._segments import Ids, Segment, merged_buckets
from gcwsnet.neighbors._settings import IndexSettings
from gcwsnet.neighbors._store import Store
from gcwsnet.tables._batch import canonical_csr

TYPES = {
    "codes": ("|u1", "<u2", "<u4"),
    "bucket-keys": ("<u4",),
    "bucket-rows": ("<u4",),
    "ids": ("<i8",),
    "id-texts": ("|u1",),
    "id-ends": ("<i8",),
    "rows": ("<f4", "<f8"),
    "row-values": ("<f4", "<f8"),
    "row-columns": ("<i4", "<i8"),
    "row-starts": ("<i4", "<i8"),
}

"""The arrays of an index and their types."""

MATRICES = ("codes", "bucket-keys", "bucket-rows", "rows")

BITS_OF_A_BYTE = 8

CHUNK = 1 << 22

Arrays = Mapping[str, NDArray[Any]]


def check_manifest(manifest: dict[str, Any]) -> None:
    """Raise a ValueError that names the first entry of a manifest that does not fit the others.

    - ``settings``: those of `IndexSettings`, which checks their values itself.
    - ``arrays``: for each array its ``file``, its ``dtype``, its ``shape`` and its ``sha256``.
    - ``rows``: null, or ``csr`` and ``columns`` of the rows that are kept.
    - ``n_features``: null, or the columns of a row; ``feature_names``: null, or their names.
    - ``metadata``: an object with anything in it.
    """

    def array(name: str) -> dict[str, Rule]:
        n_axes = 2 if name in MATRICES else 1
        sizes = Rule(
            f"be {n_axes} numbers from 0 to 2**48",
            lambda shape: (
                isinstance(shape, list)
                and len(shape) == n_axes
                and all(type(size) is int and 0 <= size < 2**48 for size in shape)
            ),
        )
        return {"file": TEXT, "sha256": TEXT, "dtype": choice(*TYPES[name]), "shape": sizes, "*": ANYTHING}

    n_features = manifest.get("n_features")
    names = Rule(
        f"be null or {n_features} names, one for each column",
        lambda one: (
            one is None
            or (isinstance(one, list) and len(one) == n_features and all(isinstance(name, str) for name in one))
        ),
    )
    check_entries(
        manifest,
        {
            "arrays": {"codes": array("codes"), **{f"{name}?": array(name) for name in TYPES if name != "codes"}},
            "n_features": or_null(integer(1, MOST_COLUMNS)),
            "feature_names": names,
            "metadata": {"*": ANYTHING},
            "settings": {"*": ANYTHING},
            "*": ANYTHING,
        },
        "index",
    )
    codes = manifest["arrays"]["codes"]
    _check_settings(manifest["settings"], codes["shape"][1] * np.dtype(codes["dtype"]).itemsize * BITS_OF_A_BYTE)
    if "rows" not in manifest:
        raise ValueError("index.rows is missing")
    kept = manifest["rows"]
    if kept is not None:
        check_entries(kept, {"csr": FLAG, "columns": integer(1, MOST_COLUMNS), "*": ANYTHING}, "index.rows")
        fits = n_features in (None, kept["columns"])
        require(fits, "index.rows.columns", f"be n_features={n_features}", kept["columns"])


def _check_settings(settings: dict[str, Any], bits: int) -> None:
    """Check settings, and that there are not more hashes than bits of codes: the bands are searched for among them."""
    rules = {"n_hashes": integer(1, max(1, bits)), "seed": integer(0, 2**64 - 1), "*": ANYTHING}
    check_entries(settings, rules, "index.settings")
    content = {"sets": False} | settings  # which format 1 does not have
    try:
        parameters = content | {"random_state": content.pop("seed"), "fetch_rows": None, "method": "auto"}
        IndexSettings.checked(parameters)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"index.settings: {error}") from error


def check_content(arrays: Arrays, n_columns: int | None) -> None:
    """Raise a ValueError that names the first array whose numbers point at what is not there.

    It reads all of them, in parts.

    Parameters
    ----------
    arrays : dict of arrays
    n_columns : int or None
        The columns of rows that are kept.
    """
    n = len(arrays["codes"])
    if "bucket-rows" in arrays:
        for band in arrays["bucket-rows"]:
            require_array(_within(band, 0, n), "bucket-rows", f"hold rows below {n}")
    if "id-ends" in arrays:
        _check_starts(arrays["id-ends"], "id-ends", len(arrays["id-texts"]))
    for name in ("rows", "row-values"):
        for part in _parts(arrays[name]) if name in arrays else ():
            require_array(np.isfinite(part).all(), name, "hold finite numbers")
    if "row-starts" in arrays and n_columns is not None:
        starts, columns = arrays["row-starts"], arrays["row-columns"]
        require_array(len(columns) == len(arrays["row-values"]), "row-columns", "be as long as row-values")
        _check_starts(starts, "row-starts", len(columns))
        require_array(_within(columns, 0, n_columns), "row-columns", f"hold columns below {n_columns}")
        first = np.zeros(len(columns) + 1, dtype=bool)
        first[starts] = True
        for at in range(0, len(columns) - 1, CHUNK):
            here = columns[at : at + CHUNK + 1]
            rises = (here[1:] > here[:-1]) | first[at + 1 : at + len(here)]
            require_array(rises.all(), "row-columns", "hold the columns of each row in ascending order")


def _check_starts(starts: NDArray[Any], name: str, end: int) -> None:
    sound = len(starts) >= 1 and starts[0] == 0 and starts[-1] == end and bool((starts[1:] >= starts[:-1]).all())
    require_array(sound, name, f"rise from 0 to {end}")


def _within(numbers: NDArray[Any], least: int, end: int) -> bool:
    return all(least <= int(part.min()) and int(part.max()) < end for part in _parts(numbers))


def _parts(array: NDArray[Any]) -> Any:
    step = max(1, CHUNK // max(1, int(np.prod(array.shape[1:]))))
    return (array[at : at + step] for at in range(0, len(array), step) if array.size)


MANIFEST = "index.json"

WRITTEN = re.compile(r"index\.json|[a-z]+(-[a-z]+)?(-[0-9a-f]{16}\.npy|\.npy\.new)")

FORMAT_VERSION = 2

READABLE_VERSIONS = (1, 2)  # version 1 had a byte for each code of fewer than 8 bits

CHUNK_BYTES = 1 << 24


def write_store(folder: Path, store: Store, described: dict[str, Any], threads: int) -> None:
    """Write an index with what else is known about it into a folder, in place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, wait=True):
        _write_store(folder, store, described, threads)


def _write_store(folder: Path, store: Store, described: dict[str, Any], threads: int) -> None:
    others = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    foreign = [name for name in others if not WRITTEN.fullmatch(name)]
    if foreign and not (folder / MANIFEST).exists():
        raise ValueError(
            f"{folder} has other files than those of an index, such as {foreign[0]}; choose another folder"
        )
    remove_left_overs(folder)
    segments = [one.compacted() for one in store.segments]
    rows = segments[0].rows
    arrays = {}
    for name, (dtype, shape, chunks) in _content(store, segments, threads).items():
        arrays[name] = _write_array(folder, name, dtype, shape, chunks)
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
    content = json.dumps({"sha256": _digest(text), "index": json.loads(text)}, indent=1, sort_keys=True)
    write_file(folder / MANIFEST, content.encode())
    used = {MANIFEST, *(one["file"] for one in arrays.values())}
    for path in folder.iterdir():
        if path.name not in used and WRITTEN.fullmatch(path.name):
            with contextlib.suppress(OSError):  # another process may have it open, where that matters
                path.unlink()


Content = dict[str, tuple[Any, tuple[int, ...], Iterable[NDArray[Any]]]]


def _content(store: Store, segments: list[Segment], threads: int) -> Content:
    """Return the type, the shape and the parts of each array."""
    n, packing = sum(one.n_rows for one in segments), store.settings.packing
    content: Content = {"codes": (packing.dtype, (n, packing.n_columns), (one.codes for one in segments))}
    bands = store.settings.bands
    if bands is not None:
        shape = (bands.n_bands, n)
        keys = (keys for keys, _ in merged_buckets(segments, bands, threads))
        rows = (rows for _, rows in merged_buckets(segments, bands, threads))
        content |= {"bucket-keys": (np.uint32, shape, keys), "bucket-rows": (np.uint32, shape, rows)}
    content |= _id_content([one.ids for one in segments if one.n_rows] or [segments[0].ids])
    return content | (_row_content([one.rows for one in segments]) if store.settings.keep_rows else {})


def _id_content(ids: list[Ids]) -> Content:
    """Return the type, the shape and the parts of the arrays of ids, which are all of one kind."""
    n = sum(map(len, ids))
    if not ids[0].is_text:
        return {"ids": (np.int64, (n,), (one.numbers for one in ids if one.numbers is not None))}
    before = np.cumsum([0, *(len(one.content) for one in ids)])
    ends = (one.ends[1:] + first for one, first in zip(ids, before, strict=False))
    return {
        "id-texts": (np.uint8, (int(before[-1]),), (one.content for one in ids)),
        "id-ends": (np.int64, (n + 1,), itertools.chain([before[:1]], ends)),
    }


def _row_content(rows: list[Any]) -> Content:
    """Return the type, the shape and the parts of the arrays of kept rows."""
    dtype = np.result_type(*(one.dtype for one in rows))
    if not sparse.issparse(rows[0]):
        return {"rows": (dtype, (sum(map(len, rows)), rows[0].shape[1]), rows)}
    stored = np.cumsum([0, *(one.nnz for one in rows)])
    index = np.int32 if max(stored[-1], rows[0].shape[1]) < 2**31 else np.int64  # as SciPy wants both, not to copy them
    starts = (one.indptr[:-1].astype(np.int64) + before for one, before in zip(rows, stored, strict=False))
    n = sum(one.shape[0] for one in rows) + 1
    return {
        "row-values": (dtype, (int(stored[-1]),), [one.data for one in rows]),
        "row-columns": (index, (int(stored[-1]),), [one.indices for one in rows]),
        "row-starts": (index, (n,), itertools.chain(starts, [stored[-1:]])),
    }


def _write_array(
    folder: Path, name: str, dtype: Any, shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
) -> dict[str, Any]:
    """Write an array part by part, and return its line of the manifest."""
    digest = hashlib.sha256()
    new = folder / f"{name}.npy.new"
    dtype = np.dtype(dtype).newbyteorder("<")
    with written_beside(new) as file:
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(file, header)
        for part in parts:
            for chunk in _chunks(part):
                data = np.ascontiguousarray(chunk, dtype).tobytes()
                digest.update(data)
                file.write(data)
    file_name = f"{name}-{digest.hexdigest()[:16]}.npy"
    new.replace(folder / file_name)
    return {"file": file_name, "dtype": dtype.str, "shape": list(shape), "sha256": digest.hexdigest()}


def _chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    step = max(1, CHUNK_BYTES // max(1, array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))))
    for start in range(0, len(array), step):
        yield array[start : start + step]


def read_store(folder: Path, *, verify: bool) -> tuple[Store, dict[str, Any]]:
    """Return the index of a folder, and what else is known about it."""
    manifest = _read_manifest(folder)
    try:
        settings = IndexSettings(**manifest["settings"])
        arrays = {name: _read_array(folder, one, verify) for name, one in manifest["arrays"].items()}
        packing = settings.packing
        codes = packing.pack(arrays["codes"]) if manifest["format_version"] == 1 else arrays["codes"]
        ids = Ids(arrays["ids"]) if "ids" in arrays else Ids(None, arrays["id-texts"], arrays["id-ends"])
        kept = manifest["rows"]
        rows = None
        if verify:
            check_content(arrays, None if kept is None else kept["columns"])
        if kept is not None and kept["csr"]:
            rows = canonical_csr(arrays["row-values"], arrays["row-columns"], arrays["row-starts"], kept["columns"])
        elif kept is not None:
            rows = arrays["rows"]
        buckets = (arrays["bucket-keys"], arrays["bucket-rows"]) if settings.bands is not None else None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder / MANIFEST} is damaged: {error!r}; take another copy") from error
    except ValueError as error:
        raise ValueError(f"{folder} is damaged, or no index that gcwsnet has written: {error}") from error
    shapes_fit = codes.shape[1] == packing.n_columns and codes.dtype == packing.dtype and len(ids) == len(codes)
    shapes_fit = shapes_fit and (rows is None or rows.shape[0] == len(codes))
    if settings.bands is not None and buckets is not None:
        shapes_fit = shapes_fit and all(one.shape == (settings.bands.n_bands, len(codes)) for one in buckets)
    if not shapes_fit:
        raise ValueError(f"{folder} is damaged: its arrays do not fit each other; take another copy")
    return Store(settings, [Segment(codes, packing, ids, rows, buckets, mapped=True)]), manifest


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: {folder} is not an index, or it was not saved to the end")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        digest, manifest = content["sha256"], content["index"]
        version = manifest["format_version"], manifest["hash_version"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it cannot be read ({error}); take another copy") from error
    if version[0] not in READABLE_VERSIONS or version[1] != HASH_VERSION:
        raise ValueError(
            f"{path} was written by gcwsnet {manifest.get('gcwsnet_version')} in format {version[0]} with hash version "
            f"{version[1]}; this is gcwsnet {gcwsnet.__version__}, which reads format {FORMAT_VERSION} with hash "
            f"version {HASH_VERSION}: load it with the version that wrote it, or build it again"
        )
    try:
        text = json.dumps(manifest, indent=1, allow_nan=False, sort_keys=True)
        if digest != _digest(text):
            raise ValueError("its content does not fit its checksum")
        check_manifest(manifest)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}; take another copy") from error
    return dict(manifest)


def _read_array(folder: Path, described: dict[str, Any], verify: bool) -> NDArray[Any]:
    path = folder / Path(described["file"]).name
    if not path.exists():
        raise ValueError(f"{path} is missing, which {folder / MANIFEST} names; take another copy")
    try:
        _check_header(path, described)
        array: NDArray[Any] = np.empty(described["shape"] if 0 in described["shape"] else 0, described["dtype"])
        if 0 not in described["shape"]:  # else there is nothing to map
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is damaged or truncated: {error}; take another copy") from error
    if verify:
        digest = hashlib.sha256()
        for chunk in _chunks(array):
            digest.update(chunk.tobytes())
        if digest.hexdigest() != described["sha256"]:
            raise ValueError(f"{path} is damaged: its content does not fit its checksum; take another copy")
    return array.view(np.ndarray)


def _check_header(path: Path, described: dict[str, Any]) -> None:
    """Raise a ValueError unless a file begins with the very header that `_write_array` writes for an array.

    NumPy reads many others, some of them by parsing Python.
    """
    beginning = io.BytesIO()
    header = {"descr": described["dtype"], "fortran_order": False, "shape": tuple(described["shape"])}
    npy.write_array_header_1_0(beginning, header)
    expected = beginning.getvalue()
    with path.open("rb") as file:
        if file.read(len(expected)) != expected:
            raise ValueError(f"it must begin with the type {described['dtype']} and the shape {described['shape']}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
