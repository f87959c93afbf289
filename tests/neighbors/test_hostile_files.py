"""Untrusted index files, whose checksums are right: what does not fit is a ValueError that names it."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.neighbors import GCWSIndex
from gcwsnet.neighbors._files import MANIFEST, _digest
from tests.neighbors.rows import clustered

X = clustered(60)
NAMES = [f"id {i}" for i in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    GCWSIndex(64, threshold=0.7, random_state=0).add(sparse.csr_array(X), ids=NAMES).save(tmp_path / "index")
    return tmp_path / "index"


def change(folder: Path, entries: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None) -> None:
    """Change entries of the manifest, whose names have dots, and arrays, with checksums that fit."""
    manifest = json.loads((folder / MANIFEST).read_text())["index"]
    for name, array in (arrays or {}).items():
        described = manifest["arrays"][name]
        np.save(folder / described["file"], array)
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        manifest["arrays"][name] = described | {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": digest,
        }
    for name, value in (entries or {}).items():
        *parts, last = name.split(".")
        inner = manifest
        for part in parts:
            inner = inner[part]
        inner[last] = value
    text = json.dumps(manifest, indent=1, sort_keys=True)
    (folder / MANIFEST).write_text(json.dumps({"sha256": _digest(text), "index": manifest}))


def array(folder: Path, name: str) -> Any:
    manifest = json.loads((folder / MANIFEST).read_text())["index"]
    return np.load(folder / manifest["arrays"][name]["file"])


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"settings.n_hashes": 2**31, "settings.threshold": 1.0}, "index.settings: n_hashes must be from 1 to"),
        ({"settings.n_hashes": "many"}, "index.settings: n_hashes must be an integer"),
        ({"settings.seed": -1}, "index.settings.seed must be"),
        ({"settings.bits": 99}, "index.settings: bits must be from 1 to 32"),
        ({"settings.keep_rows": "yes"}, "index.settings: keep_rows must be True or False"),
        ({"settings": []}, "index.settings must be an object"),
        ({"n_features": -1}, "index.n_features must be a whole number"),
        ({"n_features": None}, "index.rows.columns must be n_features=None"),
        ({"format_version": True}, "in format True"),
        ({"format_version": 2.0}, "in format 2.0"),
        ({"hash_version": True}, "with hash version True"),
        ({"settings.keep_rows": False}, "index.rows must be there if rows are kept, else null"),
        ({"feature_names": ["a"]}, "index.feature_names must be"),
        ({"rows.columns": 2**40}, "index.rows.columns must be a whole number"),
        ({"rows.columns": 3}, "index.rows.columns must be n_features"),
        ({"rows.csr": 1}, "index.rows.csr must be one of True, False"),
        ({"metadata": 1}, "index.metadata must be an object"),
        ({"arrays.codes.dtype": "<f8"}, "index.arrays.codes.dtype must be one of"),
        ({"arrays.codes.dtype": "O"}, "index.arrays.codes.dtype must be one of"),
        ({"arrays.codes.shape": [60, 64, 1]}, "index.arrays.codes.shape must be [rows, 64]"),
        ({"arrays.codes.shape": [60, -64]}, "index.arrays.codes.shape must be [rows, 64]"),
        ({"arrays.codes.shape": [0, 64]}, "index.arrays.id-ends.shape must be [1]"),
        ({"arrays.codes.file": ["a"]}, "index.arrays.codes.file must be a text"),
        ({"arrays.codes.shape": [2**60, 64]}, "index.arrays.codes.shape must be [rows, 64]"),
        ({"arrays.codes.shape": [2**47, 64]}, "index.arrays.id-ends.shape must be"),
        ({"arrays.codes.shape": [60, 2**40]}, "index.arrays.codes.shape must be [rows, 64]"),
        ({"arrays.id-ends.shape": [60]}, "index.arrays.id-ends.shape must be [61], got [60]"),
        ({"arrays.row-values.shape": [7]}, "index.arrays.row-columns.shape must be [7]"),
        ({"arrays.codes.file": "../codes-0123456789abcdef.npy"}, "index.arrays.codes.file must be"),
        ({"arrays.codes.file": "/etc/passwd"}, "index.arrays.codes.file must be"),
        ({"arrays.codes.file": "rows-0123456789abcdef.npy"}, "index.arrays.codes.file must be"),
        ({"arrays.codes.file": "codes-0123456789abcdef.npy"}, "is missing or no regular file"),
        ({"rows": None}, "index.rows must be there if rows are kept"),
        ({"settings.colour": 1}, "index.settings has an entry 'colour'"),
        ({"arrays.colour": {}}, "index.arrays has an entry 'colour'"),
        ({"arrays": {}}, "index.arrays.codes is missing"),
    ],
)
def test_entries_that_do_not_fit_are_named(entries: dict[str, Any], message: str, folder: Path) -> None:
    change(folder, entries)
    for verify in (True, False):
        with pytest.raises(ValueError, match=re.escape(message)):
            GCWSIndex.load(folder, verify=verify)


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("bucket-rows", (0, 3), 60, "bucket-rows must hold numbers from 0 to 59"),
        ("bucket-rows", (1, slice(2)), 7, "bucket-rows must hold each row once in every band"),
        ("bucket-keys", (1, 0), 2**32 - 1, "bucket-keys must ascend in every band"),
        ("id-texts", 7, ord("0"), "id-texts must hold texts that differ"),
        ("id-texts", 7, 0xFF, "id-texts must hold texts in UTF-8"),
        ("id-texts", slice(7, 9), [0xC3, 0xA9], "id-texts must hold texts in UTF-8"),
        ("id-ends", 5, 10**9, "id-ends must rise from 0 to"),
        ("id-ends", 0, -1, "id-ends must rise from 0 to"),
        ("row-columns", 0, -1, "row-columns must hold numbers from 0 to 19"),
        ("row-columns", 0, 10**6, "row-columns must hold numbers from 0 to 19"),
        ("row-columns", 0, 3, "row-columns must hold the columns of each row in ascending order"),
        ("row-starts", 5, 10**6, "row-starts must rise from 0 to"),
        ("row-values", 0, np.nan, "row-values must hold finite numbers"),
    ],
)
def test_numbers_that_point_at_what_is_not_there_are_named(
    name: str, at: Any, value: Any, message: str, folder: Path
) -> None:
    changed = array(folder, name)
    changed[at] = value
    change(folder, arrays={name: changed})
    with pytest.raises(ValueError, match=message):
        GCWSIndex.load(folder)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ids", 7, "ids must hold numbers that differ"),
        ("rows", np.inf, "rows must hold finite numbers"),
        ("codes", 0xFF, "codes must hold 0 in the bits after the last code of a row"),
    ],
)
def test_numbers_of_a_dense_index_are_checked(name: str, value: Any, message: str, tmp_path: Path) -> None:
    """Bits after the last code would be counted as codes that differ, so that there were fewer than no equal ones."""
    GCWSIndex(9, bits=4).add(X).save(tmp_path)
    changed = array(tmp_path, name)
    changed[(3, -1) if changed.ndim == 2 else 3] = value
    change(tmp_path, arrays={name: changed})
    with pytest.raises(ValueError, match=message):
        GCWSIndex.load(tmp_path)


def test_kept_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    GCWSIndex(8).add(X).save(tmp_path)
    change(tmp_path, arrays={"rows": array(tmp_path, "rows")[:, :5].copy()})
    with pytest.raises(ValueError, match=re.escape("index.arrays.rows.shape must be [60, 20], got [60, 5]")):
        GCWSIndex.load(tmp_path)


@pytest.mark.parametrize("value", [7, 10**6])
def test_buckets_that_were_not_verified_are_refused_when_they_are_saved(value: int, folder: Path) -> None:
    changed = array(folder, "bucket-rows")
    changed[0, changed[0] != 0] = value
    change(folder, arrays={"bucket-rows": changed})
    index, before = GCWSIndex.load(folder, verify=False).remove(NAMES[5:9]), (folder / MANIFEST).read_bytes()
    with pytest.raises(ValueError, match="the buckets of this index are damaged; load it with verify=True"):
        index.save(folder)
    assert (folder / MANIFEST).read_bytes() == before


@pytest.mark.parametrize("name", ["codes", MANIFEST])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_are_not_opened(name: str, kind: str, folder: Path, tmp_path: Path) -> None:
    path = folder / MANIFEST if name == MANIFEST else next(folder.glob(f"{name}-*"))
    path.rename(tmp_path / "elsewhere")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    with pytest.raises(ValueError, match="no regular file"):
        GCWSIndex.load(folder)


def test_a_huge_manifest_is_neither_read_nor_written(folder: Path) -> None:
    with (folder / MANIFEST).open("ab") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match="more than 64 MiB"):
        GCWSIndex.load(folder)
    index = GCWSIndex(8).add(X)
    index.metadata["long"] = "x" * 2**26
    with pytest.raises(ValueError, match="at most 64 MiB as JSON"):
        index.save(folder)


def test_an_array_in_another_order_of_memory_is_an_error(folder: Path) -> None:
    change(folder, arrays={"codes": np.asfortranarray(array(folder, "codes"))})
    with pytest.raises(ValueError, match=r"codes.*is damaged"):
        GCWSIndex.load(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "NaN", '{"sha256": 1, "index": NaN}'])
def test_a_manifest_that_is_none(text: str, folder: Path) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(ValueError, match=r"index\.json is damaged"):
        GCWSIndex.load(folder)
