"""Small files in the layouts in which datasets are published."""

import gzip
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from numpy.typing import NDArray

from reproduction.datasets._catalog import DATASETS, Sizes


def arrays(n_train: int, n_test: int, n_columns: int, dtype: str = "<f4", n_classes: int = 3) -> dict[str, Any]:
    """Arrays for an npz file: integers from 0 to 100 in any type, and labels that begin with 1."""
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for part, n in (("train", n_train), ("test", n_test)):
        made[f"X_{part}"] = rng.integers(0, 101, (n, n_columns)).astype(dtype)
        made[f"y_{part}"] = rng.integers(1, 1 + n_classes, n).astype("<i2")
    return made


def text(table: NDArray[Any], delimiter: str = " ", fmt: str = "%.9g") -> bytes:
    """A table of numbers as lines of text."""
    file = BytesIO()
    np.savetxt(file, table, fmt=fmt, delimiter=delimiter)
    return file.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    file = BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, BytesIO(content))
    return file.getvalue()


def idx(array: NDArray[np.uint8], *, compressed: bool = True) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    content = header + array.tobytes()
    return gzip.compress(content) if compressed else content


def resize(monkeypatch: pytest.MonkeyPatch, name: str, n_train: int, n_test: int, **changed: Any) -> None:
    """Let the catalog expect another number of rows during the test."""
    info = DATASETS[name]
    sizes = Sizes(n_train, n_test, info.sizes.n_columns)
    monkeypatch.setitem(DATASETS, name, replace(info, sizes=sizes, **changed))


def split_in_halves(X: NDArray[Any], y: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """What `load` returns for rows in the order of the published file."""
    order = np.random.default_rng(0).permutation(len(X))
    n = (len(X) + 1) // 2
    return {"X_train": X[order[:n]], "y_train": y[order[:n]], "X_test": X[order[n:]], "y_test": y[order[n:]]}


def assert_holds(found: Any, expected: Mapping[str, NDArray[Any]]) -> None:
    """Assert that a dataset has the arrays in float32 and int64, and the origin "exact"."""
    for key, array in expected.items():
        assert np.array_equal(found[key], array.astype(np.float32) if key.startswith("X") else array), key
        assert found[key].dtype == (np.float32 if key.startswith("X") else np.int64)
    assert found.origin == "exact"
