"""npy and npz files: their arrays, matrices saved by SciPy, and files that are damaged."""

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.files import read
from tests.files.conftest import fault, same, whole

RNG = np.random.default_rng(0)
X = np.where(RNG.random((500, 7)) < 0.5, RNG.standard_normal((500, 7)), 0)
Y = RNG.integers(0, 3, 500)
WEIGHT = RNG.random(500)
SAVES: list[Callable[..., None]] = [np.savez, np.savez_compressed]
NUMBER_TYPES = ["u1", ">i4", "f2", "f4", ">f4", "f8"]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files in chunks of few rows, so that small files have several."""
    monkeypatch.setattr("gcwsnet.files._numpy.CHUNK_BYTES", 1 << 10)


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
    assert found.y.tolist() == np.array(["no", "yes"])[Y % 2].tolist()


@pytest.mark.parametrize("compressed", [True, False])
def test_matrices_saved_by_scipy_are_read(compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    sparse.save_npz(path, sparse.csr_matrix(X), compressed=compressed)
    batches = list(read(path, batch_rows=64))
    assert same(whole(batches).X, X)
    assert batches[0].X.indices.dtype == np.int32
    sparse.save_npz(path, sparse.csc_matrix(X), compressed=compressed)
    assert same(whole(read(path)).X, X)


@pytest.mark.parametrize(
    "changed",
    [
        {"indices": np.array([0, 9])},
        {"indices": np.array([0, -1])},
        {"indices": np.array([[0, 1]])},
        {"indptr": np.array([1, 1, 2])},
        {"indptr": np.array([0, 2, 1])},
        {"indptr": np.array([0, 1, 9])},
        {"indptr": np.array([0, 1, 2**64 - 1], np.uint64)},
        {"indptr": np.array(2)},
        {"shape": np.array([3, 3])},
        {"shape": np.array([2, 3, 1])},
        {"shape": np.array([2, -3])},
        {"shape": np.array([2, 2**64 - 1], np.uint64)},
        {"data": np.array(["1", "2"])},
        {"data": np.array([None, 1])},
        {"format": np.array("unknown")},
        {"y": np.ones(3)},
        {"weight": np.array(["1", "2"])},
    ],
    ids=str,
)
def test_matrices_that_do_not_fit_are_an_error(changed: dict[str, Any], tmp_path: Path) -> None:
    parts = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 3])}
    path = tmp_path / "a.npz"
    np.savez(path, **{"format": np.array("csr"), **parts, **changed})
    assert str(fault(read(path))).startswith(f"{path}: ")


HEADER = "{{'descr': {}, 'fortran_order': False, 'shape': {}}}\n"
ODD_HEADERS = [
    HEADER.format("'<f8'", "(4, True)"),
    HEADER.format("'<f8'", "(-4, -3)"),
    HEADER.format("'<f8'", f"({10**30}, 3)"),
    HEADER.format("'<f8'", "(10, 3)"),
    HEADER.format("'<f8'", "()"),
    HEADER.format("'<f8'", "(12,)"),
    HEADER.format("'<f8'", f"({10**14}, 0)"),
    HEADER.format("'<c16'", "(2, 3)"),
    HEADER.format("'|O'", "(4, 3)"),
    HEADER.format("[('a', '<f8')]", "(4, 3)"),
    HEADER.format("'no'", "(4, 3)"),
    "(" * 5000,
    "no header",
    "",
]


@pytest.mark.parametrize("header", ODD_HEADERS, ids=lambda header: header[:60])
@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_an_odd_header_is_an_error_that_names_the_file(name: str, header: str, tmp_path: Path) -> None:
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(96)
    if str(10**14) in header:
        content = content[:-96]
    path = tmp_path / name
    if name == "a.npy":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", content)
    assert str(fault(read(path))).startswith(f"{path}: ")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("dtype", [">f8", ">i4", "<f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_version_byte_order_and_order_of_npy_is_read(
    version: tuple[int, int], dtype: str, order: Any, tmp_path: Path
) -> None:
    rows = np.arange(12).reshape(4, 3)
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, np.asarray(rows, dtype, order=order), version=version)
    assert np.array_equal(whole(read(tmp_path / "a.npy")).X, rows)


@pytest.mark.parametrize("kind", ["encrypted", "lzma"])
def test_an_archive_that_cannot_be_decompressed_is_an_error(kind: str, tmp_path: Path) -> None:
    path, array = tmp_path / "a.npz", io.BytesIO()
    np.save(array, X)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA if kind == "lzma" else zipfile.ZIP_STORED) as archive:
        archive.writestr("X.npy", array.getvalue())
    content = bytearray(path.read_bytes())
    if kind == "lzma":
        content[len(content) // 2] ^= 0xFF
    else:
        content[6] |= 1
        content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))
    assert str(fault(read(path))).startswith(f"{path}: arrays must be complete")


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
        ({"x": X}, "must have X or X_train, or a matrix saved by scipy.sparse.save_npz; got x"),
        ({"X": Y}, "X must be real numbers with two dimensions"),
        ({"X": X > 0.5, "y": Y + 1j}, "y must be 500 numbers or strings, got complex128"),
        ({"X": X, "y": Y[:4]}, "y must be 500 numbers or strings, got int64 of shape (4,)"),
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


def test_npz_from_standard_input_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", X=X)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "a.npz").read_bytes())))
    assert "npz must be a file, not a stream" in str(fault(read("-")))
