"""Files of datasets, small enough for a test."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gcwsnet.datasets._stored import STORED

N_TRAIN, N_TEST = 6, 4
STORED_TYPES = {"semg": "<f4", "dailysports": "<f2", "covtype": "<f4", "pendigits": "<f8", "mnist": "|u1"}


def arrays(n_train: int, n_test: int, n_columns: int, dtype: str = "<f4", n_classes: int = 3) -> dict[str, Any]:
    """What a file holds: whole numbers from 0 to 100 in any type, and labels that begin with 1."""
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for part, n in (("train", n_train), ("test", n_test)):
        made[f"X_{part}"] = rng.integers(0, 101, (n, n_columns)).astype(dtype)
        made[f"y_{part}"] = rng.integers(1, 1 + n_classes, n).astype("<i2")
    return made


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, in which there is nothing, and no other folder."""
    monkeypatch.delenv("GCWSNET_DATA", raising=False)
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("GCWSNET_CACHE", str(folder))
    return folder


@pytest.fixture
def small(cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Files of all stored datasets in the cache folder; for the test, they are known to have that few rows."""
    made = {}
    for name, known in STORED.items():
        monkeypatch.setitem(STORED, name, replace(known, n_train=N_TRAIN, n_test=N_TEST))
        made[name] = arrays(N_TRAIN, N_TEST, known.n_columns, STORED_TYPES[name])
        np.savez(cache / known.file, **made[name], idx_train=np.arange(N_TRAIN))
    return made
