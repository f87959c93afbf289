"""Targets that learn: rows of weight 0 that must change nothing, and threads that save while others learn."""

from __future__ import annotations

import json
import tempfile
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, PGMMRegressor
from tests.fuzz.written import FINE

NET: dict[str, Any] = {"n_hashes": 8, "hidden": 4, "random_state": 0}
MODELS: dict[str, Any] = {
    "net": lambda: GCWSNetClassifier(**NET),
    "balanced": lambda: GCWSNetClassifier(**NET, class_weight="balanced", search="off"),
    "stopped": lambda: GCWSNetRegressor(**NET, early_stopping=True, epochs=2, search="off"),
    "numbers": lambda: GCWSNetRegressor(**NET),
    "machine": lambda: PGMMClassifier(random_state=0),
    "machine of numbers": lambda: PGMMRegressor(random_state=0),
}
STREAMS = ("net", "numbers")


def make_weights(random: Random) -> bytes:
    """Return the settings of a fit of weighted rows, of which some have weight 0."""
    given = {
        "model": random.choice(list(MODELS)),
        "form": random.choice(["array", "csr", "frame"]),
        "n_rows": random.choice([12, 40, 250]),
        "share": random.choice([0.1, 0.5, 0.9]),
        "wild": random.choice([1.0, 1e3, 1e300]),
        "pieces": random.choice([0, 1, 5, 40]),
        "seed": random.randrange(2**16),
    }
    return json.dumps(given).encode()


def check_weights(data: bytes) -> str:
    """A model is the same with rows of weight 0 and without them."""
    given = json.loads(data)
    rng, n = np.random.default_rng(given["seed"]), given["n_rows"]
    X, weight = rng.normal(size=(n, 3)), rng.choice([0.5, 1.0, 3.0], n)
    weight[rng.random(n) < given["share"]] = 0
    weight[: 6 if given["pieces"] else 12] = 1.0
    y: Any = X[:, 0] + X[:, 1]
    numbers = given["model"] in ("stopped", "numbers", "machine of numbers")
    y[:2] = [1, -1]
    y = np.where(weight == 0, given["wild"], y) if numbers else (y > 0).astype(int)
    X[weight == 0] *= given["wild"]
    make = {"array": np.asarray, "csr": sparse.csr_array, "frame": pd.DataFrame}[given["form"]]
    one, other = MODELS[given["model"]](), MODELS[given["model"]]()
    if given["pieces"] and given["model"] in STREAMS:
        for piece in np.array_split(np.arange(n), min(given["pieces"], n // 6)):
            kept = piece[weight[piece] > 0]
            one.partial_fit(make(X[piece]), y[piece], sample_weight=weight[piece])
            if len(kept):
                other.partial_fit(make(X[kept]), y[kept], sample_weight=weight[kept])
    else:
        kept = np.flatnonzero(weight)
        one.fit(make(X), y, sample_weight=weight)
        other.fit(make(X[kept]), y[kept], sample_weight=weight[kept])
    with tempfile.TemporaryDirectory() as folder:
        one.save(Path(folder, "one"), timings=False)
        other.save(Path(folder, "other"), timings=False)
        assert Path(folder, "one").read_bytes() == Path(folder, "other").read_bytes()
    return FINE


def make_threads(random: Random) -> bytes:
    """Return the settings of threads that learn and save."""
    given = {
        "model": random.choice(list(MODELS)),
        "n_rows": random.choice([30, 300]),
        "savers": random.choice([1, 2, 4]),
        "times": random.choice([2, 5]),
        "seed": random.randrange(2**16),
    }
    return json.dumps(given).encode()


def check_threads(data: bytes) -> str:
    """What is saved while another thread learns can be loaded, and predicts."""
    given = json.loads(data)
    X = np.random.default_rng(given["seed"]).normal(size=(given["n_rows"], 3))
    y, model = (X[:, 0] > 0).astype(int), MODELS[given["model"]]()
    learn = model.partial_fit if given["model"] in STREAMS else model.fit
    learn(X, y)
    calls, errors = [0] * (1 + given["savers"]), list[BaseException]()

    def work(number: int, path: Path) -> None:
        try:
            while not errors and min(calls) < given["times"]:
                if number == 0:
                    learn(X, y)
                else:
                    model.save(path)
                    assert np.isfinite(gcwsnet.load(path).predict(X)).all()
                calls[number] += 1
        except BaseException as error:
            errors.append(error)

    with tempfile.TemporaryDirectory() as folder:
        threads = [threading.Thread(target=work, args=(n, Path(folder, str(n)))) for n in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return FINE
