"""Files of indexes, whose checksums are right: they are refused by a ValueError, or all methods work on them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from gcwsnet.neighbors import GCWSIndex
from gcwsnet.neighbors._files import MANIFEST, _digest
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
def saved_index(kind: str) -> dict[str, bytes]:
    """Return the files of an index."""
    settings, rows, ids = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        GCWSIndex(**{"n_hashes": 32} | settings).add(rows, ids=ids).save(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def make_index(random: Random) -> bytes:
    """Return the files of an index as JSON, with other bytes, or another manifest or arrays with fitting checksums."""
    files = dict(saved_index(random.choice(list(KINDS))))
    manifest, kind = json.loads(files[MANIFEST])["index"], random.randrange(10)
    if kind == 0:
        name = random.choice(sorted(files))
        files[name] = mutated_bytes(random, files[name], list(files.values()))
    if 1 <= kind <= 6:
        for name in random.sample(sorted(manifest["arrays"]), random.choice([1, 1, 2])):
            _mutate_array(random, files, manifest["arrays"][name])
    if kind >= 6:
        manifest = mutated_json(random, manifest)
    if kind:
        text = json.dumps(manifest, indent=1, sort_keys=True)
        files[MANIFEST] = json.dumps({"sha256": _digest(text), "index": manifest}).encode()
    return json.dumps({name: base64.b64encode(one).decode() for name, one in files.items()}).encode()


def _mutate_array(random: Random, files: dict[str, bytes], described: dict[str, Any]) -> None:
    """Change the file of an array, and its line of the manifest."""
    array, file = mutated_array(random, np.load(io.BytesIO(files[described["file"]]))), io.BytesIO()
    np.save(file, array)
    files[described["file"]] = file.getvalue()
    described |= {"dtype": array.dtype.str, "shape": list(array.shape)}
    described["sha256"] = hashlib.sha256(array.tobytes()).hexdigest()


def check_index(data: bytes) -> str:
    """An index is refused by a ValueError, or it can be searched, changed, merged, saved and loaded again."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # X has no names of columns
        folder = Path(name) / "index"
        folder.mkdir()
        for file, content in json.loads(data).items():
            (folder / file).write_bytes(base64.b64decode(content))
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
