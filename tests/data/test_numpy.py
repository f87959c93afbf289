"""npy and npz files: their arrays, matrices saved by SciPy, and files that are damaged."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.data import read
from tests.data.conftest import fault, same, whole

RNG = np.random.default_rng(0)
X = np.where(RNG.random((500, 7)) < 0.5, RNG.standard_normal((500, 7)), 0)
Y = RNG.integers(0, 3, 500)
WEIGHT = RNG.random(500)
SAVES: list[Callable[..., None]] = [np.savez, np.savez_compressed]
NUMBER_TYPES = ["u1", ">i4", "f2", "f4", ">f4", "f8"]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files in chunks of few rows, so that small files have several."""
    monkeypatch.setattr("gcwsnet.data._numpy.CHUNK_BYTES", 1 << 10)


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("names", [("X", "y", "weight"), ("X_train", "y_train", "weight_train")])
def test_npz_has_rows_labels_and_weights(save: Callable[..., None], names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save(path, **dict(zip(names, (X, Y, WEIGHT), strict=True)), other=np.arange(3))
    found = whole(read(path, batch_rows=64))
    assert same(found.X, X)
    assert same(found.y, Y)
    assert same(found.weight, WEIGHT)


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("dtype", NUMBER_TYPES)
def test_numbers_of_any_dtype_are_read(save: Callable[..., None], dtype: str, tmp_path: Path) -> None:
    given = (X * 10).round().astype(dtype) if dtype != "u1" else np.abs(X * 10).astype(dtype)
    save(tmp_path / "a.npz", X=given, y=np.array(["no", "yes"])[Y % 2])
    found = whole(read(tmp_path / "a.npz"))
    assert np.array_equal(found.X, given)
    assert found.X.dtype == (np.float64 if dtype in (">i4", "f8") else np.float32)
    assert found.y is not None
    assert found.y.tolist() == np.array(["no", "yes"])[Y % 2].tolist()


def test_fortran_order_is_read_if_it_is_not_compressed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.asfortranarray(X))
    assert same(whole(read(path)).X, X)
    np.savez_compressed(path, X=np.asfortranarray(X))
    assert "a compressed array must be in C order, row by row, got X.npy in Fortran order; save it with" in str(
        fault(read(path))
    )


@pytest.mark.parametrize("compressed", [True, False])
def test_matrices_saved_by_scipy_are_read(compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    sparse.save_npz(path, sparse.csr_matrix(X), compressed=compressed)
    batches = list(read(path, batch_rows=64))
    assert same(whole(batches).X, X)
    assert batches[0].X.indices.dtype == np.int32
    sparse.save_npz(path, sparse.csc_matrix(X), compressed=compressed)
    assert "a sparse matrix must be CSR, got csc; save its tocsr()" in str(fault(read(path)))


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"indices": np.array([0, 9])}, "indices of the matrix must be from 0 to 2"),
        ({"indptr": np.array([0, 2, 1])}, "index pointer of the matrix does not fit"),
        ({"indptr": np.array([0, 1, 9])}, "index pointer of the matrix does not fit"),
    ],
)
def test_matrices_that_do_not_fit_are_an_error(changed: dict[str, Any], rule: str, tmp_path: Path) -> None:
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 3])}
    np.savez(tmp_path / "a.npz", **{**parts, **changed})
    assert rule in str(fault(read(tmp_path / "a.npz")))


def test_npy_is_mapped_and_may_have_its_label_in_a_column(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, X)
    assert same(whole(read(path, batch_rows=64)).X, X)
    found = whole(read(path, label=0, weight=-1, batch_rows=64, on_error="skip"))
    kept = X[:, -1] >= 0
    assert same(found.X, X[kept, 1:-1])
    assert same(found.y, X[kept, 0])
    with pytest.raises(ValueError, match="a column must be a number from -7 to 6, got 7"):
        list(read(path, label=7))


@pytest.mark.parametrize("save", SAVES)
def test_invalid_rows_of_npz_are_named(save: Callable[..., None], tmp_path: Path) -> None:
    bad = X.copy()
    bad[400, 3] = np.nan
    path = tmp_path / "a.npz"
    save(path, X=bad, y=Y)
    error = fault(read(path))
    assert (error.path, error.line, error.column) == (str(path), 401, 3)
    batches = read(path, on_error="skip")
    assert same(whole(batches).X, np.delete(X, 400, axis=0))
    assert batches.skipped == 1


@pytest.mark.parametrize(
    ("arrays", "rule"),
    [
        ({"x": X}, "must have X or X_train with two dimensions, or a CSR matrix"),
        ({"X": Y}, "must have X or X_train with two dimensions"),
        ({"X": X, "y": Y[:4]}, r"y must have the shape (500,), got (4,)"),
        ({"X": np.array([[None]])}, "arrays must be complete, and hold numbers or strings"),
        ({"X": X[:0]}, "there must be at least one row"),
    ],
)
@pytest.mark.parametrize("save", SAVES)
def test_npz_without_rows_is_an_error(
    save: Callable[..., None], arrays: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    save(tmp_path / "a.npz", **arrays)
    assert rule in str(fault(read(tmp_path / "a.npz")))


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("part", [0.5, 0.99])
def test_a_truncated_npz_is_an_error(save: Callable[..., None], part: float, tmp_path: Path) -> None:
    file = io.BytesIO()
    save(file, X=X)
    path = tmp_path / "a.npz"
    path.write_bytes(file.getvalue()[: int(part * len(file.getvalue()))])
    assert "arrays must be complete" in str(fault(read(path)))


def test_a_truncated_npy_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, X)
    path.write_bytes(path.read_bytes()[:-8])
    assert "arrays must be complete" in str(fault(read(path)))


def test_a_damaged_member_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=RNG.integers(0, 256, (500, 7), dtype=np.uint8))
    content = path.read_bytes()
    for place in range(200, len(content) - 300, 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert "arrays must be complete" in str(fault(read(path)))


def test_npz_from_standard_input_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", X=X)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "a.npz").read_bytes())))
    assert "npz must be a file, not a stream" in str(fault(read("-")))
