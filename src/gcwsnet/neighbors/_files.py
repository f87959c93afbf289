"""The file of an index: arrays and a description, which may come from anybody and are checked before they are used."""

from __future__ import annotations

import codecs
import itertools
import os
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
from scipy import sparse

from gcwsnet._atomic import remove_left_overs
from gcwsnet._validation import MAX_COLUMNS
from gcwsnet.estimators._tensor_file import (
    ANYTHING,
    LIST,
    OBJECT,
    Arrays,
    Description,
    Kind,
    Parts,
    UncheckedArrays,
    check_entries,
    choice,
    chunks,
    integer,
    or_null,
    read_file,
    require,
    require_array,
    write_parts,
)
from gcwsnet.neighbors._index_settings import IndexSettings
from gcwsnet.neighbors._store import Ids, Segment, Store
from gcwsnet.tables._batch import canonical_csr

FILE = "index.safetensors"
INDEX = Kind("an index", "gcwsnet-index", 3, "build it again")

RULES = {
    "format_version": ANYTHING,
    "gcwsnet_version": ANYTHING,
    "hash_version": ANYTHING,
    "settings": dict.fromkeys((one.name for one in fields(IndexSettings)), ANYTHING) | {"seed": integer(0, 2**64 - 1)},
    "rows": or_null(choice("dense", "csr")),
    "n_features": or_null(integer(1, MAX_COLUMNS)),
    "feature_names": or_null(LIST),
    "metadata": OBJECT,
}
"""The entries of the description; `IndexSettings` checks the settings."""


def write_store(folder: Path, store: Store, described: Description, threads: int) -> None:
    """Write an index, with what else is known about it, into a folder in place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    remove_left_overs(folder)
    store = Store(store.settings, tuple(one.compacted() for one in store.segments))
    rows = store.segments[0].rows
    form = None if rows is None else "csr" if sparse.issparse(rows) else "dense"
    write_parts(
        folder / FILE, INDEX, _parts(store, threads), {"settings": asdict(store.settings), "rows": form, **described}
    )


def _parts(store: Store, threads: int) -> dict[str, Parts]:
    segments, settings, n = store.segments, store.settings, int(store.starts()[-1])
    packing, bands = settings.packing, settings.bands
    parts = {"codes": Parts(packing.dtype, (n, packing.n_columns), (one.codes for one in segments))}
    if bands is not None:
        shape = bands.n_bands, n
        parts["bucket-keys"] = Parts(np.uint32, shape, (keys for keys, _ in store.merged_buckets(bands, threads)))
        parts["bucket-rows"] = Parts(np.uint32, shape, (rows for _, rows in store.merged_buckets(bands, threads)))
    ids = [one.ids for one in segments if one.n_rows] or [segments[0].ids]
    if ids[0].is_text:
        before = np.cumsum([0, *(len(one.content) for one in ids)])
        ends = (one.ends[1:] + first for one, first in zip(ids, before, strict=False))
        parts["id-texts"] = Parts(np.uint8, (int(before[-1]),), (one.content for one in ids))
        parts["id-ends"] = Parts(np.int64, (n + 1,), itertools.chain([before[:1]], ends))
    else:
        parts["ids"] = Parts(np.int64, (n,), (one.numbers for one in ids if one.numbers is not None))
    rows = [one.rows for one in segments if settings.keep_rows]
    if not rows:
        return parts
    dtype, n_columns = np.result_type(*(one.dtype for one in rows)), rows[0].shape[1]
    if not sparse.issparse(rows[0]):
        return parts | {"rows": Parts(dtype, (n, n_columns), rows)}
    before = np.cumsum([0, *(one.nnz for one in rows)])
    n_entries = int(before[-1])
    index = np.int32 if max(n_entries, n_columns) < 2**31 else np.int64  # SciPy wants both alike, not to copy
    starts = (one.indptr[:-1].astype(np.int64) + first for one, first in zip(rows, before, strict=False))
    parts["row-values"] = Parts(dtype, (n_entries,), [one.data for one in rows])
    parts["row-columns"] = Parts(index, (n_entries,), [one.indices for one in rows])
    parts["row-starts"] = Parts(index, (n + 1,), itertools.chain(starts, [before[-1:]]))
    return parts


def read_store(folder: Path, *, verify: bool) -> tuple[Store, Description]:
    """Return the index of a folder, and what else is known about it.

    What does not fit is a ValueError that names it. With `verify` all bytes are read once, and compared with their
    checksum and with what they may be.
    """
    path = folder / FILE
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing: {folder} is not an index, or it was not saved to the end, or an older version of "
            "gcwsnet wrote it; build it again"
        )
    if not path.is_file():
        raise ValueError(f"{path} is no regular file; take another copy")
    mapped = os.name != "nt"  # Windows replaces no file that is mapped
    arrays, description = read_file(path, INDEX, mapped=mapped, verify=verify)
    try:
        settings = _checked_settings(description)
        _check_shapes(arrays, settings, description)
        if verify:
            _check_numbers(arrays, settings, description["n_features"])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged, or no index that gcwsnet has written: {error}") from error
    rows = arrays.get("rows")
    if description["rows"] == "csr":
        parts = arrays["row-values"], arrays["row-columns"], arrays["row-starts"]
        rows = canonical_csr(*parts, description["n_features"])
    buckets = (arrays["bucket-keys"], arrays["bucket-rows"]) if settings.bands is not None else None
    segment = Segment(settings, arrays["codes"], _ids_of(arrays), rows, buckets, mapped=True)
    return Store(settings, (segment,)), description


def _ids_of(arrays: Arrays) -> Ids:
    return Ids(arrays["ids"]) if "ids" in arrays else Ids(None, arrays["id-texts"], arrays["id-ends"])


def _checked_settings(description: Description) -> IndexSettings:
    """Return the settings of a description, all of whose entries have been checked."""
    check_entries(description, RULES)
    given = dict(description["settings"])
    try:
        settings = IndexSettings.checked(random_state=given.pop("seed"), **given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"settings: {error}") from error
    n_features, names, rows = (description[name] for name in ("n_features", "feature_names", "rows"))
    sound = names is None or (len(names) == n_features and all(isinstance(one, str) for one in names))
    require(sound, "feature_names", f"be {n_features} texts, one for each column", names)
    require((rows is not None) == settings.keep_rows, "rows", "be there if rows are kept, else null", rows)
    require(rows is None or n_features, "n_features", "be there if rows are kept", n_features)
    return settings


def _check_shapes(arrays: Arrays, settings: IndexSettings, description: Description) -> None:
    """Check the types and shapes of all arrays; the numbers in them are checked in parts, as they may be many."""
    unchecked, packing, form = UncheckedArrays(arrays), settings.packing, description["rows"]
    n = len(unchecked.take("codes", packing.dtype.name, None, packing.n_columns))
    if unchecked.has("ids"):
        unchecked.take("ids", "int64", n)
    else:
        unchecked.take("id-texts", "uint8", None)
        unchecked.take("id-ends", "int64", n + 1)
    if settings.bands is not None:
        for name in ("bucket-keys", "bucket-rows"):
            unchecked.take(name, "uint32", settings.bands.n_bands, n)
    if form == "dense":
        unchecked.take("rows", "float32 float64", n, description["n_features"], finite=False)
    elif form == "csr":
        values = unchecked.take("row-values", "float32 float64", None, finite=False)
        unchecked.take("row-columns", "int32 int64", len(values))
        unchecked.take("row-starts", "int32 int64", n + 1)
    unchecked.finish()


def _check_numbers(arrays: Arrays, settings: IndexSettings, n_columns: int | None) -> None:
    """Raise a ValueError that names the first array whose numbers are not what an index can hold."""
    ends = {"bucket-rows": len(arrays["codes"]), "row-columns": n_columns}
    for name, array in arrays.items():
        end = ends.get(name)
        for part in chunks(array):
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
        for part in chunks(rows):
            there[part] = True
        require_array(there.all(), "bucket-rows", "hold each row once in every band")
        require_array((keys[1:] >= keys[:-1]).all(), "bucket-keys", "ascend in every band")
        rises = (keys[1:] > keys[:-1]) | (rows[1:] > rows[:-1])
        require_array(rises.all(), "bucket-rows", "ascend in every bucket")
    _check_ids(_ids_of(arrays))
    if "row-columns" in arrays:
        columns = arrays["row-columns"]
        begins_row = np.zeros(len(columns) + 1, dtype=bool)
        begins_row[arrays["row-starts"]] = True
        step = 1 << 21
        for at in range(0, len(columns) - 1, step):
            here = columns[at : at + step + 1]
            rises = (here[1:] > here[:-1]) | begins_row[at + 1 : at + len(here)]
            require_array(rises.all(), "row-columns", "hold the columns of each row in ascending order")


def _check_ids(ids: Ids) -> None:
    """Raise a ValueError for ids that do not differ, and for texts that are not UTF-8."""
    if ids.is_text:
        decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        try:
            for part in chunks(ids.content):
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
