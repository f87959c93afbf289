"""Untrusted index files, whose checksums are right: what does not fit is a ValueError that names it."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy import sparse

from gcwsnet.estimators._tensor_file import digest_of, read_file
from gcwsnet.neighbors import GCWSIndex
from gcwsnet.neighbors._files import FILE, INDEX
from tests.neighbors.rows import clustered

X = clustered(60)
NAMES = [f"id {i}" for i in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    GCWSIndex(64, threshold=0.7, random_state=0).add(sparse.csr_array(X), ids=NAMES).save(tmp_path / "index")
    return tmp_path / "index"


def write(folder: Path, arrays: dict[str, Any], description: Any) -> None:
    """Write an index with a checksum that fits."""
    text = description if isinstance(description, str) else json.dumps(description)
    save_file(arrays, folder / FILE, metadata={INDEX.key: f"{digest_of(text, arrays)} {text}"})


def change(folder: Path, entries: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None) -> None:
    """Change entries of the description, whose names have dots, and arrays; None removes an array."""
    stored, description = read_file(folder / FILE, INDEX)
    for name, value in (entries or {}).items():
        *parts, last = name.split(".")
        inner = description
        for part in parts:
            inner = inner[part]
        inner[last] = value
    changed = {name: one for name, one in (stored | (arrays or {})).items() if one is not None}
    write(folder, changed, description)


def array(folder: Path, name: str) -> Any:
    return read_file(folder / FILE, INDEX)[0][name]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"settings.n_hashes": 2**31, "settings.threshold": 1.0}, "settings: n_hashes must be from 1 to"),
        ({"settings.n_hashes": "many"}, "settings: n_hashes must be an integer"),
        ({"settings.n_hashes": 32}, "the array codes must have the shape (any, 32), got (60, 64)"),
        ({"settings.seed": -1}, "settings.seed must be"),
        ({"settings.bits": 99}, "settings: bits must be from 1 to 32"),
        ({"settings.bits": 9}, "the array codes must be of the type uint16, got uint8"),
        ({"settings.keep_rows": "yes"}, "settings: keep_rows must be True or False"),
        ({"settings.keep_rows": False}, "rows must be there if rows are kept, else null"),
        ({"settings.threshold": None}, "'bucket-keys' does not belong"),
        ({"settings.colour": 1}, "settings has an entry 'colour'"),
        ({"settings": []}, "settings must be an object"),
        ({"n_features": -1}, "n_features must be a whole number"),
        ({"n_features": None}, "n_features must be there if rows are kept"),
        ({"n_features": 3}, "row-columns must hold numbers from 0 to 2"),
        ({"format_version": 99}, "in format 99 .*load it with the version that wrote it, or build it again"),
        ({"hash_version": 99}, "with hash version 99"),
        ({"feature_names": ["a"]}, "feature_names must be"),
        ({"rows": "dense"}, "the array rows is missing"),
        ({"rows": None}, "rows must be there if rows are kept"),
        ({"rows": True}, "rows must be one of 'dense', 'csr' or null"),
        ({"metadata": 1}, "metadata must be an object"),
    ],
)
def test_entries_that_do_not_fit_are_named(entries: dict[str, Any], message: str, folder: Path) -> None:
    change(folder, entries)
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        GCWSIndex.load(folder)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("codes", None, "the array codes is missing"),
        ("codes", np.zeros((60, 64)), "the array codes must be of the type uint8, got float64"),
        ("codes", np.zeros((60, 64, 1), np.uint8), "the array codes must have the shape (any, 64), got (60, 64, 1)"),
        ("codes", np.zeros((0, 64), np.uint8), "the array id-ends must have the shape (1), got (61,)"),
        ("id-ends", np.zeros(60, np.int64), "the array id-ends must have the shape (61), got (60,)"),
        ("row-values", np.zeros(7), "the array row-columns must have the shape (7)"),
        ("colour", np.zeros(7), "the array 'colour' does not belong"),
    ],
)
def test_arrays_that_do_not_fit_are_named(name: str, value: Any, message: str, folder: Path) -> None:
    change(folder, arrays={name: value})
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


@pytest.mark.parametrize("value", [7, 10**6])
def test_buckets_that_were_not_verified_are_refused_when_they_are_saved(value: int, folder: Path) -> None:
    changed = array(folder, "bucket-rows")
    changed[0, changed[0] != 0] = value
    change(folder, arrays={"bucket-rows": changed})
    index, before = GCWSIndex.load(folder, verify=False).remove(NAMES[5:9]), (folder / FILE).read_bytes()
    with pytest.raises(ValueError, match="the buckets of this index are damaged; load it with verify=True"):
        index.save(folder)
    assert (folder / FILE).read_bytes() == before


def test_a_pipe_is_not_opened(folder: Path) -> None:
    (folder / FILE).unlink()
    os.mkfifo(folder / FILE)
    with pytest.raises(ValueError, match="no regular file"):
        GCWSIndex.load(folder)


def test_a_description_that_could_not_be_read_is_not_written(folder: Path) -> None:
    index = GCWSIndex(8).add(X)
    index.metadata["long"] = "x" * 2**26
    with pytest.raises(ValueError, match="at most 64 MiB as JSON"):
        index.save(folder)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "NaN", "[]", '{"format_version": NaN}'])
def test_descriptions_that_are_none(text: str, folder: Path) -> None:
    write(folder, read_file(folder / FILE, INDEX)[0], text)
    with pytest.raises(ValueError, match="is damaged: its description cannot be read"):
        GCWSIndex.load(folder)
