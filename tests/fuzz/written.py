"""Targets of what the package writes for later: folders of codes, and graphs of models, run by onnxruntime."""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet._paths import CODER, MANIFEST
from gcwsnet.files import DataError
from gcwsnet.files._train import begun_on_codes
from tests.cli.command import succeed
from tests.estimators.hostile import content, write
from tests.fuzz.mutate import mutated_bytes, mutated_json

FINE = "fine"
FILE = "file-00000.json"
SCALES = [None, "numeric", "standard", "minmax", "quantile", "local", "idf", "unit", "tfidf"]


@cache
def saved_codes() -> dict[str, bytes]:
    """Return the files of a folder of codes."""
    rng = np.random.default_rng(0)
    lines = [f"{label} 1:{a:.3f} 3:{b:.3f}" for label, a, b in zip("01" * 20, *rng.normal(size=(2, 40)), strict=True)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows.svm").write_text("\n".join(lines) + "\n")
        settings = ["--n-hashes", "8", "--bits", "2", "--p", "1", "--scale", "numeric", "--quiet"]
        succeed("hash", folder / "rows.svm", "--out", folder / "codes", *settings)
        return {path.name: path.read_bytes() for path in (folder / "codes").iterdir()}


def make_codes(random: Random) -> bytes:
    """Return the files of a folder of codes as JSON, with one of them changed, and mostly with checksums that fit."""
    files = dict(saved_codes())
    kind = random.randrange(4)
    if kind == 0:
        name = random.choice(sorted(files))
        files[name] = mutated_bytes(random, files[name], list(files.values()))
    elif kind == 1:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / CODER
            path.write_bytes(files[CODER])
            arrays, description = content(path)
            write(path, arrays, mutated_json(random, description))
            files[CODER] = path.read_bytes()
        digest = hashlib.sha256(files[CODER]).hexdigest()
        for name in (MANIFEST, FILE):
            files[name] = _signed(json.loads(files[name])["content"] | {"coder": digest})
    else:
        name = random.choice([MANIFEST, FILE])
        files[name] = _signed(mutated_json(random, json.loads(files[name])["content"]))
    return json.dumps({name: base64.b64encode(one).decode() for name, one in files.items()}).encode()


def _signed(inner: Any) -> bytes:
    text = json.dumps(inner, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({"version": 5, "sha256": digest, "content": inner}).encode()


def check_codes(data: bytes) -> str:
    """A folder is refused by a DataError or a ValueError, or its rows are those that were hashed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for one, some in json.loads(data).items():
            (folder / one).write_bytes(base64.b64decode(some))
        try:
            batches = list(begun_on_codes(folder, {}).codes())
        except (DataError, ValueError, FileNotFoundError) as error:
            return type(error).__name__
        expected = np.load(folder / "part-00000-00000.codes.npy")
        np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), expected)
        return FINE


def make_graph(random: Random) -> bytes:
    """Return the settings of a model and of its rows."""
    given = {
        "n_hashes": random.choice([1, 5, 16]),
        "bits": random.choice([1, 4, 8]),
        "t_bits": random.choice(["all", 0, 3]),
        "p": random.choice([0.05, 1.0, 7.5, 200.0]),
        "scale": random.choice(SCALES),
        "relevance": random.choice([0, 0.5]),
        "hidden": random.choice([[], [3], [6, 4]]),
        "ensemble": random.choice([1, 1, 2]),
        "outputs": random.choice([0, 2, 3]),
        "columns": random.choice([1, 3, 12]),
        "size": random.choice([1e-30, 1.0, 1e20]),
        "dtype": random.choice(["float32", "float64"]),
        "seed": random.randrange(2**16),
    }
    return json.dumps(given).encode()


def check_graph(data: bytes) -> str:
    """The graph of a model has the codes of its coder and its predictions, for odd rows too."""
    from tests.export.graphs import as_type, assert_same, odd_rows  # noqa: PLC0415 - onnx need not be installed

    given = json.loads(data)
    rng = np.random.default_rng(given["seed"])
    X = rng.normal(size=(80, given["columns"])) * given["size"] * (rng.random((80, given["columns"])) < 0.8)
    names = ("n_hashes", "bits", "t_bits", "p", "scale", "relevance", "ensemble")
    settings: dict[str, Any] = {name: given[name] for name in names} | {"hidden": tuple(given["hidden"])}
    settings |= {"epochs": 1, "search": "off", "random_state": given["seed"]}
    rows = as_type(X, given["dtype"])
    n = given["outputs"]
    model: Any = GCWSNetClassifier(**settings) if n else GCWSNetRegressor(**settings)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        model.fit(rows, np.arange(80) % n if n else X[:, 0] / given["size"])
        odd = as_type(np.concatenate([X, odd_rows(given["columns"], 40, given["seed"])]), given["dtype"])
        assert_same(model, odd, Path(folder), given["dtype"])
    return FINE
