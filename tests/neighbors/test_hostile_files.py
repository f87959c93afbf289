"""Index files of strangers, whose checksums are right: what does not fit is a ValueError that names it."""

import hashlib
import json
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
        (
            {"settings.n_hashes": 2**31, "settings.threshold": 1.0},
            "index.settings.n_hashes must be a whole number from",
        ),
        ({"settings.n_hashes": "many"}, "index.settings.n_hashes must be a whole number"),
        ({"settings.seed": -1}, "index.settings.seed must be"),
        ({"settings.bits": 99}, "index.settings: bits must be from 1 to 32"),
        ({"settings.keep_rows": "yes"}, "index.settings: keep_rows must be True or False"),
        ({"settings": []}, "index.settings must be an object"),
        ({"n_features": -1}, "index.n_features must be a whole number"),
        ({"feature_names": ["a"]}, "index.feature_names must be"),
        ({"rows.columns": 2**40}, "index.rows.columns must be a whole number"),
        ({"rows.columns": 3}, "index.rows.columns must be n_features"),
        ({"rows.csr": 1}, "index.rows.csr must be one of True, False"),
        ({"metadata": 1}, "index.metadata must be an object"),
        ({"arrays.codes.dtype": "<f8"}, "index.arrays.codes.dtype must be one of"),
        ({"arrays.codes.dtype": "O"}, "index.arrays.codes.dtype must be one of"),
        ({"arrays.codes.shape": [60, 64, 1]}, "index.arrays.codes.shape must be 2 numbers"),
        ({"arrays.codes.shape": [60, -64]}, "index.arrays.codes.shape must be 2 numbers"),
        ({"arrays.codes.shape": [0, 64]}, "it must begin with the type |u1 and the shape [0, 64]"),
        ({"arrays.codes.file": ["a"]}, "index.arrays.codes.file must be a text"),
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
        ("bucket-rows", (0, 3), 60, "bucket-rows must hold rows below 60"),
        ("id-ends", 5, 10**9, "id-ends must rise from 0 to"),
        ("id-ends", 0, -1, "id-ends must rise from 0 to"),
        ("row-columns", 0, -1, "row-columns must hold columns below"),
        ("row-columns", 0, 10**6, "row-columns must hold columns below"),
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


def test_an_array_in_another_order_of_memory_is_an_error(folder: Path) -> None:
    change(folder, arrays={"codes": np.asfortranarray(array(folder, "codes"))})
    with pytest.raises(ValueError, match=r"codes.*is damaged"):
        GCWSIndex.load(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "NaN", '{"sha256": 1, "index": NaN}'])
def test_a_manifest_that_is_none(text: str, folder: Path) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(ValueError, match=r"index\.json is damaged"):
        GCWSIndex.load(folder)
