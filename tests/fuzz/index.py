"""Files of indexes, whose checksums are right: they are refused by a ValueError, or all methods work on them."""

from __future__ import annotations

import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors.numpy import save
from scipy import sparse
from sklearn.base import clone

from gcwsnet.estimators._tensor_file import digest_of, read_file
from gcwsnet.neighbors import GCWSIndex
from gcwsnet.neighbors._files import FILE, INDEX
from tests.fuzz.mutate import mutated_array, mutated_bytes, mutated_json
from tests.fuzz.written import FINE

X = np.abs(np.random.default_rng(0).normal(size=(60, 3)))
TEXTS, NUMBERS = [f"row {i} é" for i in range(60)], list(range(-7, 53))
KINDS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "csr, bands, texts": ({"threshold": 0.7}, sparse.csr_array(X), TEXTS),
    "dense, bands, numbers": ({"threshold": 0.7, "p": 2.0}, X, NUMBERS),
    "dense, texts": ({"bits": 1, "n_hashes": 29}, X.astype(np.float32), TEXTS),
    "csr, numbers": ({"bits": 12, "sets": True}, sparse.csr_array(np.where(X > 0.5, X, 0)), NUMBERS),
    "codes, bands, texts": ({"keep_rows": False, "threshold": 0.9, "bits": 3}, X, TEXTS),
    "codes, numbers": ({"keep_rows": False, "bits": 4, "n_hashes": 31}, X, NUMBERS),
}


@cache
def saved_index(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and the description of an index."""
    settings, rows, ids = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        GCWSIndex(**{"n_hashes": 32} | settings).add(rows, ids=ids).save(folder)
        return read_file(Path(folder) / FILE, INDEX)


def make_index(random: Random) -> bytes:
    """Return the file of an index with other bytes, or with another description or arrays and a checksum that fits."""
    arrays, description = saved_index(random.choice(list(KINDS)))
    arrays, kind = dict(arrays), random.randrange(10)
    if 1 <= kind <= 6:
        for name in random.sample(sorted(arrays), random.choice([1, 1, 2])):
            arrays[name] = mutated_array(random, arrays[name])
    if kind >= 6:
        description = mutated_json(random, description)
    text = json.dumps(description)
    data = save(arrays, metadata={INDEX.key: f"{digest_of(text, arrays)} {text}"})
    return mutated_bytes(random, data, [data]) if kind == 0 else data


def check_index(data: bytes) -> str:
    """An index is refused by a ValueError, or it can be searched, changed, merged, saved and loaded again."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # X has no names of columns
        folder = Path(name) / "index"
        folder.mkdir()
        (folder / FILE).write_bytes(data)
        try:
            index = GCWSIndex.load(folder)
        except (ValueError, FileNotFoundError) as error:
            if str(folder) not in str(error):
                raise AssertionError(f"an error that does not name the place: {error}") from error
            return type(error).__name__
        if getattr(index, "n_features_in_", 3) <= 1000:
            _use(index, Path(name) / "again")
        return FINE


def _use(index: GCWSIndex, folder: Path) -> None:
    """Call all methods of an index, and compare it with what is saved and loaded."""
    rows, ids = X[:, np.arange(getattr(index, "n_features_in_", 3)) % 3], index.ids_.tolist()
    assert len(set(ids)) == len(ids), "ids that do not differ"
    new: list[Any] = [one for one in range(len(ids) + 6) if one not in ids][:6]
    if ids and isinstance(ids[0], str):
        new = [f"new {i}" for i in range(6)]
    other = clone(index).add(rows[:3], ids=new[:3])
    _search(index, rows)
    index.remove(ids[:2]).merge(other).add(rows[3:6], ids=new[3:])
    assert index.ids_.tolist() == ids[2:] + new
    found = _search(index, rows)
    index.save(folder)
    for one, again in zip(found, _search(GCWSIndex.load(folder), rows), strict=True):
        np.testing.assert_array_equal(one, again)


def _search(index: GCWSIndex, rows: Any) -> list[Any]:
    found: list[Any] = []
    for method in ("scan", "bands") if index.bands_ is not None else ("scan",):
        index.method, t = method, max(0.9, index.threshold or 0)
        k = min(3, index.n_samples_fit_)
        parts: list[Any]
        parts = [index.query_threshold(rows[:5], t), index.pairs(t), *([index.query(rows[:5], k)] if k else [])]
        for part in parts:
            assert (np.abs(part.similarities) <= 1 + 1e-9).all(), "similarities that are none"
            found += part
    return found
