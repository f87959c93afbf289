"""Files from strangers: damaged arrays, null lists, double names, and options that do not apply are clear errors."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gcwsnet.files import DataError, Schema, read
from tests.files.conftest import Write, fault, whole

X = np.random.default_rng(0).normal(size=(50_000, 20))
ORDERS: dict[str, Callable[[Any], Any]] = {"C": np.ascontiguousarray, "F": np.asfortranarray}


def flip(path: Path, array: Any) -> None:
    """Change a bit of the last numbers of an array in a file."""
    content = bytearray(path.read_bytes())
    place = content.index(array.tobytes(order="A")[-4000:]) + 3990
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_checksum_of_every_member_of_an_npz_file_is_compared(order: str, tmp_path: Path) -> None:
    given = ORDERS[order](X)
    path, y = tmp_path / "a.npz", np.random.default_rng(1).random(50_000)
    np.savez(path, X=given, y=y)
    assert np.array_equal(whole(read(path, batch_rows=333)).X, X)
    for array in (given, y):
        np.savez(path, X=given, y=y)
        flip(path, array)
        assert "Bad CRC-32" in str(fault(read(path)))


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_arrays_have_the_length_that_their_header_says(name: str, tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, X)
    longer = content.getvalue().replace(b"(50000, 20)", b"(60000, 20)")
    if name == "a.npy":
        (tmp_path / name).write_bytes(longer)
    else:
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("X.npy", longer)
    assert "arrays must be complete" in str(fault(read(tmp_path / name)))


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_arrays_that_are_compressed_as_a_whole_are_not_called_damaged(name: str, tmp_path: Path) -> None:
    plain = tmp_path / name
    if name == "a.npz":
        np.savez(plain, X=X[:5])
    else:
        np.save(plain, X[:5])
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    assert "not compressed as a whole; decompress it into a file" in str(fault(read(path)))


def write_parquet(folder: Path, **columns: Any) -> Path:
    path = folder / "a.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("null", [0, 1, 2])
def test_a_null_list_names_row_and_column(null: int, tmp_path: Path) -> None:
    vectors: list[Any] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    vectors[null] = None
    path = write_parquet(tmp_path, v=vectors, y=[0, 1, 2])
    error = fault(read(path, label="y"))
    assert (error.line, error.column) == (null + 1, "v")
    assert "a vector must have 2 numbers, got none: it is missing or empty" in str(error)
    batches = read(path, label="y", on_error="skip")
    found = whole(batches)
    assert found.X.tolist() == [one for one in vectors if one is not None]
    assert batches.skipped_rows.tolist() == [null]


def test_nothing_but_null_lists_is_an_error(tmp_path: Path) -> None:
    path = write_parquet(tmp_path, v=pa.array([None, None], pa.list_(pa.float64())), y=[0, 1])
    assert "a column of vectors must have one in its first rows" in str(fault(read(path, label="y")))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_double_names_are_an_error(form: str, kind: str, tmp_path: Path) -> None:
    values = [1.0, 2.0] if kind == "numbers" else ["u", "v"]
    table = pa.Table.from_arrays([pa.array(values), pa.array([3.0, 4.0]), pa.array([0, 1])], names=["a", "a", "y"])
    path = tmp_path / f"x.{form}"
    if form == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write(table)
    error = fault(read(path, label="y"))
    assert error.column == "a"
    assert "column names must differ, got 'a' more than once" in str(error)


def test_the_label_of_a_schema_is_found_in_a_file_without_names(write: Write) -> None:
    schema = read(write("named.csv", "a,name,b\n1,0,2\n3,1,4\n"), label="name").schema
    path = write("plain.csv", "1,5,2\n3,6,4\n")
    for given in ({}, {"label": "name"}, {"label": 1}, {"label": -2}):
        found = whole(read(path, schema=Schema.from_json(schema.to_json()), **given))
        assert found.y.tolist() == [5, 6]
        assert found.X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match="there must be a column 'b', got columns without names"):
        list(read(path, schema=schema, label="b"))


def test_the_label_of_a_table_is_found_in_an_npy_file_of_the_same_columns(write: Write, tmp_path: Path) -> None:
    schema = read(write("named.csv", "a,name,b\n1,0,2\n3,1,4\n"), label="name").schema
    np.save(tmp_path / "a.npy", np.array([[1.0, 5, 2], [3, 6, 4]]))
    np.save(tmp_path / "X.npy", np.array([[1.0, 2], [3, 4]]))
    found = whole(read(tmp_path / "a.npy", schema=schema))
    assert found.y.tolist() == [5, 6]
    assert found.X.tolist() == whole(read(tmp_path / "X.npy", schema=schema)).X.tolist() == [[1, 2], [3, 4]]
