"""Work for ThreadSanitizer, by ``make sanitize-threads``: the pool, tables, training and search from several threads.

It is no test by itself. The exit code is 66 if two threads were at the same data at once, one of them writing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gcwsnet
from gcwsnet import GCWSHasher, GCWSNetClassifier, _core
from gcwsnet.neighbors import GCWSIndex

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 30)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
NET: dict[str, Any] = {
    "n_hashes": 16,
    "hidden": (8,),
    "epochs": 2,
    "random_state": 0,
    "p": 1.0,
    "scale": "numeric",
    "relevance": 0,
}


def in_threads(work: Callable[[], object], n: int = 3) -> None:
    """Do the same work in several threads at once."""
    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def hashing() -> None:
    """Threads build the tables of one hasher together, and hash."""
    for method in ("gcws", "rejection", "binwise"):
        expected = GCWSHasher(64, method=method, random_state=0).fit(X).transform(X)
        hasher = GCWSHasher(64, method=method, random_state=0, n_jobs=3).fit(X)

        def work(hasher: GCWSHasher = hasher, expected: Any = expected) -> None:
            for _ in range(3):
                assert np.array_equal(hasher.transform(X), expected)

        in_threads(work)


def training() -> None:
    """Teams of threads train single nets and ensembles, some of them at once."""

    def work() -> None:
        for ensemble in (1, 2):
            model = GCWSNetClassifier(**NET, ensemble=ensemble, n_jobs=3).fit(X, Y)
            in_threads(partial(model.predict_proba, X))

    in_threads(work, 2)


def searching() -> None:
    """Threads search one index, by scan and by bands, and compute kernels."""
    index = GCWSIndex(32, threshold=0.6, random_state=0, n_jobs=3).add(np.abs(X))
    for method in ("scan", "bands"):
        index.set_params(method=method)
        in_threads(partial(index.query, np.abs(X[:50]), 3))
        index.pairs(0.7)
    in_threads(partial(gcwsnet.pgmm_kernel, X, n_jobs=3))


def forking() -> None:
    """A child of a process with threads at work makes threads of its own."""
    child = os.fork()
    if child == 0:
        os._exit(0 if GCWSHasher(16, random_state=0, n_jobs=3).fit(X).transform(X).shape == (400, 16) else 1)
    assert os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    print(f"native core: {_core.__file__}")
    for part in (hashing, training, searching, forking):
        part()
        print(f"{part.__name__}: done", flush=True)
    sys.exit(0)
