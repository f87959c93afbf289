"""Files of datasets, small enough for a test."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gcwsnet.datasets._catalog import DATASETS, Sizes
from tests.datasets.layouts import arrays

N_TRAIN, N_TEST = 6, 4
TYPES = {"dailysports": "<f2", "pendigits": "<f8", "mnist": "|u1"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, in which there is nothing, no other folder, and no network."""
    monkeypatch.delenv("GCWSNET_DATA", raising=False)
    monkeypatch.setenv("GCWSNET_OFFLINE", "1")
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("GCWSNET_CACHE", str(folder))
    return folder


@pytest.fixture
def small(cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """npz files of all datasets in the cache folder; for the test, they are known to have that few rows."""
    made = {}
    for name, known in list(DATASETS.items()):
        sizes = Sizes(N_TRAIN, N_TEST, known.sizes.n_columns)
        monkeypatch.setitem(DATASETS, name, replace(known, sizes=sizes))
        made[name] = arrays(N_TRAIN, N_TEST, sizes.n_columns, TYPES.get(name, "<f4"))
        np.savez(cache / f"{name}.npz", **made[name], idx_train=np.arange(N_TRAIN))
    return made
