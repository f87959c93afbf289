"""Partitions of Dask collections without rows: the model and its predictions are the same as without them."""

from __future__ import annotations

import atexit
import json
from functools import cache
from random import Random
from typing import Any

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
from distributed import Client

from gcwsnet.distributed import DaskGCWSNetClassifier
from tests.fuzz.written import FINE

SETTINGS: dict[str, Any] = {"n_hashes": 8, "hidden": 4, "epochs": 1, "search": "off", "random_state": 0}


@cache
def client() -> Client:
    """Return the client of a cluster of threads of this process."""
    made = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None)
    atexit.register(made.close)
    return made


def make_partitions(random: Random) -> bytes:
    """Return the sizes of partitions, some of which are 0."""
    sizes = [random.choice([0, 0, 1, 30, 60]) for _ in range(random.randint(0, 4))]
    sizes.insert(random.randint(0, len(sizes)), 50)
    given = {"form": random.choice(["array", "frame"]), "sizes": sizes, "seed": random.randrange(2**16)}
    return json.dumps(given | {"shards": random.choice([1, 2, 3]), "categories": random.random() < 0.5}).encode()


def check_partitions(data: bytes) -> str:
    """Fit and predict with all partitions, and with those that have rows."""
    given = json.loads(data)
    rng, n = np.random.default_rng(given["seed"]), sum(given["sizes"])
    X: Any = rng.normal(size=(n, 3))
    y = (X[:, 0] > 0).astype(int)
    if given["form"] == "frame":
        X, y = pd.DataFrame(X, columns=list("abc")), pd.Series(y)
        if given["categories"]:
            X["city"] = rng.choice(["Rome", "Oslo"], n)
    found = []
    for sizes in (given["sizes"], [size for size in given["sizes"] if size]):
        rows, labels = _collection(X, sizes), _collection(y, sizes)
        model = DaskGCWSNetClassifier(**SETTINGS, shards=given["shards"], sync_rows=16, client=client())
        model.fit(rows, labels)
        found.append([np.asarray(one(rows).compute()) for one in (model.predict, model.predict_proba)])
        found[-1] += model.local_.trainer_.net.weights().values()
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(found[0][0]) == n
    return FINE


def _collection(rows: Any, sizes: list[int]) -> Any:
    if isinstance(rows, np.ndarray):
        return dask.array.from_array(rows, chunks=(tuple(sizes), *((one,) for one in rows.shape[1:])))
    ends = np.cumsum(sizes).tolist()
    parts = [rows.iloc[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return dask.dataframe.from_map(lambda part: part, parts, meta=rows.iloc[:0])
