"""Arrays, iterables of them, and npy and npz files."""

import io
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.data import DataError, read
from tests.data.conftest import fault, same, whole

RNG = np.random.default_rng(0)
X = np.where(RNG.random((500, 7)) < 0.5, RNG.standard_normal((500, 7)), 0)
Y = RNG.integers(0, 3, 500)
WEIGHT = RNG.random(500)
SAVES: list[Callable[..., None]] = [np.savez, np.savez_compressed]
NUL_TYPES = ["u1", ">i4", "f2", "f4", ">f4", "f8"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in pieces of few rows, so that small ones have several."""
    monkeypatch.setattr("gcwsnet.data._arrays_of_files.PIECE", 1 << 10)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_arrays_in_pieces_of_any_size_are_one_stream(form: Any) -> None:
    cuts = [0, 1, 1, 100, 350, 500]
    pieces = [(form(X[a:b]), Y[a:b], WEIGHT[a:b]) for a, b in pairwise(cuts)]
    batches = read(pieces, batch_rows=120)
    for _ in range(2):
        assert [batch.n_rows for batch in batches] == [120, 120, 120, 120, 20]
        found = whole(batches)
        assert same(found.X, X)
        assert same(found.y, Y)
        assert same(found.weight, WEIGHT)
    assert batches.n_features == 7
    assert batches.survey().labels == (0, 1, 2)


def test_one_array_or_one_tuple_is_a_stream() -> None:
    assert same(whole(read(X, batch_rows=99)).X, X)
    assert same(whole(read((X, Y), batch_rows=99)).y, Y)
    assert same(whole(read(sparse.csr_array(X), batch_rows=99)).X, X)


def test_an_iterator_is_read_once() -> None:
    def pieces() -> Iterator[Any]:
        yield X[:10], Y[:10]
        yield X[10:30], Y[10:30]

    batches = read(pieces())
    assert batches.n_features == 7
    assert whole(batches).n_rows == 30
    with pytest.raises(ValueError, match="an iterator can be read once, and that has been done; give a list"):
        list(batches)


def test_the_float_type_is_kept_or_chosen() -> None:
    assert next(iter(read(X.astype("f4")))).X.dtype == np.float32
    assert next(iter(read(Y.reshape(-1, 1)))).X.dtype == np.float64
    assert next(iter(read(X, dtype="float32"))).X.dtype == np.float32
    assert [batch.X.dtype for batch in read([X.astype("f4"), X], batch_rows=500)] == [np.float32] * 2


def test_duplicate_and_unsorted_indices_become_canonical() -> None:
    given = sparse.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    found = next(iter(read(given))).X
    assert (found.indices.tolist(), found.data.tolist()) == ([0, 2], [2, 4])
    assert given.indices.tolist() == [2, 0, 2]


WRONG: list[tuple[Any, str]] = [
    ([X, X[:, :3]], "rows must have 7 columns, got 3; make all of one width"),
    ([X, np.full((1, 7), np.nan)], "501:0: a value must not be missing"),
    ([X, np.full((1, 7), -np.inf)], "501:0: a number must be finite in float64, got -inf"),
    ([np.ones(3)], "X must be real numbers with two dimensions, got float64 of shape"),
    ([np.full((1, 1), "a")], "X must be real numbers with two dimensions, got <U1"),
    ([(X, Y[:3])], "y must be 500 numbers or strings, got int64 of shape"),
    ([(X, Y, WEIGHT[:3])], "weight must be 500 numbers, got float64 of shape"),
    ([(X, Y, -WEIGHT)], "1: a weight must be a number from 0 on, got -"),
    ([(X[:2], np.array(["a", 1], object))], "labels must be all numbers or all strings"),
    ([(X[:2], np.array([1, np.nan]))], "2: a label must be a finite number, got nan"),
    (iter([]), "there must be at least one row, got an iterable of nothing"),
    ([X[:0]], "there must be at least one row, got none"),
]


@pytest.mark.parametrize(("given", "rule"), WRONG)
def test_arrays_that_break_a_rule(given: Any, rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        list(read(given))


def test_sources_of_another_type() -> None:
    with pytest.raises(TypeError, match="sources must be paths, or an iterable of arrays, got int"):
        read(3)


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
@pytest.mark.parametrize("dtype", NUL_TYPES)
def test_numbers_of_any_type_come_out(save: Callable[..., None], dtype: str, tmp_path: Path) -> None:
    given = (X * 10).round().astype(dtype) if dtype != "u1" else np.abs(X * 10).astype(dtype)
    save(tmp_path / "a.npz", X=given, y=np.array(["no", "yes"])[Y % 2])
    found = whole(read(tmp_path / "a.npz"))
    assert np.array_equal(found.X, given)
    assert found.X.dtype == (np.float64 if dtype in (">i4", "f8") else np.float32)
    assert found.y is not None
    assert found.y.tolist() == np.array(["no", "yes"])[Y % 2].tolist()


def test_columns_one_after_the_other_are_mapped_but_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.asfortranarray(X))
    assert same(whole(read(path)).X, X)
    np.savez_compressed(path, X=np.asfortranarray(X))
    assert "a compressed array must have its rows one after the other, got X.npy column by column; save it with" in str(
        fault(read(path))
    )


@pytest.mark.parametrize("compressed", [True, False])
def test_matrices_that_scipy_has_saved(compressed: bool, tmp_path: Path) -> None:
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
def test_bad_rows_of_npz_are_named(save: Callable[..., None], tmp_path: Path) -> None:
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
        ({"X": np.array([[None]])}, "arrays must be whole, and made of numbers or strings"),
        ({"X": X[:0]}, "there must be at least one row"),
    ],
)
@pytest.mark.parametrize("save", SAVES)
def test_arrays_that_are_not_those_of_rows(
    save: Callable[..., None], arrays: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    save(tmp_path / "a.npz", **arrays)
    assert rule in str(fault(read(tmp_path / "a.npz")))


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("part", [0.5, 0.99])
def test_npz_that_is_cut_off_is_an_error(save: Callable[..., None], part: float, tmp_path: Path) -> None:
    file = io.BytesIO()
    save(file, X=X)
    path = tmp_path / "a.npz"
    path.write_bytes(file.getvalue()[: int(part * len(file.getvalue()))])
    assert "arrays must be whole" in str(fault(read(path)))


def test_npy_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, X)
    path.write_bytes(path.read_bytes()[:-8])
    assert "arrays must be whole" in str(fault(read(path)))


def test_a_damaged_member_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=RNG.integers(0, 256, (500, 7), dtype=np.uint8))
    content = path.read_bytes()
    for place in range(200, len(content) - 300, 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert "arrays must be whole" in str(fault(read(path)))


def test_npz_does_not_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", X=X)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "a.npz").read_bytes())))
    assert "npz must be a file, not a stream" in str(fault(read("-")))
