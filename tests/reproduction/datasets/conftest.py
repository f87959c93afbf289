"""Dataset files that are small enough for a test."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction.datasets._catalog import DATASETS
from tests.reproduction.datasets.layouts import arrays, resize

N_TRAIN, N_TEST = 6, 4
TYPES = {"dailysports": "<f2", "pendigits": "<f8", "mnist": "|u1"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for each test, without any other folder and without the network."""
    monkeypatch.delenv("GCWSNET_DATA", raising=False)
    monkeypatch.setenv("GCWSNET_OFFLINE", "1")
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("GCWSNET_CACHE", str(folder))
    return folder


@pytest.fixture
def small(cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """npz files of all datasets in the cache folder, with few rows, which the catalog expects during the test."""
    made = {}
    for name in DATASETS:
        resize(monkeypatch, name, N_TRAIN, N_TEST)
        made[name] = arrays(N_TRAIN, N_TEST, DATASETS[name].sizes.n_columns, TYPES.get(name, "<f4"))
        np.savez(cache / f"{name}.npz", **made[name], idx_train=np.arange(N_TRAIN))
    return made
