"""Streams of batches: again from the start, from a row on, surveyed, and in little memory."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

from gcwsnet.data import Batches, Survey, read
from tests.data.conftest import Write, same, whole

N = 1000


@pytest.fixture(params=["libsvm", "csv", "parquet", "npz", "arrays"])
def batches(request: pytest.FixtureRequest, write: Write, tmp_path: Path) -> Batches:
    """The same rows, one number each, with a label."""
    x, y = np.arange(1.0, N + 1), np.arange(N) % 3
    if request.param == "libsvm":
        return read(write("a.svm", "".join(f"{b} 1:{a}\n" for a, b in zip(x, y, strict=True))), batch_rows=64)
    if request.param == "csv":
        text = "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True))
        return read(write("a.csv", text), label="y", batch_rows=64)
    if request.param == "parquet":
        pa.parquet.write_table(pa.table({"x": x, "y": y}), tmp_path / "a.parquet", row_group_size=100)
        return read(tmp_path / "a.parquet", label="y", batch_rows=64)
    if request.param == "npz":
        np.savez_compressed(tmp_path / "a.npz", X=x[:, np.newaxis], y=y)
        return read(tmp_path / "a.npz", batch_rows=64)
    return read((x[:, np.newaxis], y), batch_rows=64)


def test_batches_have_one_size_and_come_again(batches: Batches) -> None:
    for _ in range(2):
        given = list(batches)
        assert [batch.n_rows for batch in given] == [64] * 15 + [40]
        assert whole(given).X[:, 0].tolist() == list(range(1, N + 1))
    survey = batches.survey()
    assert survey == Survey(
        n_rows=N,
        n_features=1,
        label_type="integers",
        labels=(0, 1, 2),
        index_base=survey.index_base,
        skipped=0,
    )


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 640, 999, 1000, 5000])
def test_rows_from_a_number_on(batches: Batches, n_rows: int) -> None:
    expected = whole(batches)
    rest = batches.skip(n_rows)
    for _ in range(2):
        given = list(rest)
        assert [batch.n_rows for batch in given[:-1]] == [64] * max(0, len(given) - 1)
        if n_rows >= N:
            assert given == []
        else:
            assert same(whole(given).X, expected.X[n_rows:])
            assert same(whole(given).y, np.asarray(expected.y)[n_rows:])
    assert rest.survey().n_rows == max(0, N - n_rows)
    assert rest.n_features == 1


def test_a_loop_that_is_left_begins_again(batches: Batches) -> None:
    assert same(next(iter(batches)).X[:3].sum(), np.float64(6))
    assert same(next(iter(batches)).X[:3].sum(), np.float64(6))


def test_batches_are_not_changed_by_those_that_follow(batches: Batches) -> None:
    stream = iter(batches)
    first = next(stream)
    before = first.X.toarray() if sparse.issparse(first.X) else first.X.copy()
    list(stream)
    assert same(first.X.toarray() if sparse.issparse(first.X) else first.X, before)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"batch_rows": 0}, "batch_rows must be from 1"),
        ({"dtype": "int8"}, "dtype must be one of 'float32', 'float64'"),
        ({"on_error": "ignore"}, "on_error must be one of 'stop', 'skip'"),
        ({"missing": "mean"}, "missing must be one of 'error', 'zero', 'nan'"),
        ({"index_base": 2}, "index_base must be one of 'auto', 0, 1, got index_base=2"),
        ({"index_base": True}, "index_base must be one of"),
        ({"header": "yes"}, "header must be one of 'auto', True, False"),
        ({"n_features": 0}, "n_features must be from 1"),
        ({"hash_columns": 2**31 + 1}, "hash_columns must be from 1"),
        ({"longest_line": 0}, "longest_line must be from 1"),
        ({"columns": "x"}, "columns must be a list of names or numbers, got columns='x'"),
    ],
)
def test_settings_out_of_range_are_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        read(np.ones((2, 2)), **given)


READING = """
import sys
from gcwsnet.data import read, shuffle, split

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

def read_all(paths):
    for path in paths:
        assert sum(batch.n_rows for batch in split(shuffle(read(path, batch_rows=1000), 4000), 0.5)[0])
    return peak()

n = len(sys.argv) // 2
print(read_all(sys.argv[1 : n + 1]), read_all(sys.argv[n + 1 :]))
"""


def written(kind: str, folder: Path, n_thousands: int) -> Path:
    values = np.random.default_rng(0).random((1000, 20)).round(6)
    path = folder / f"{n_thousands}.{kind}"
    if kind == "svm":
        lines = (f"{i % 2} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for i, row in enumerate(values))
        path.write_text(("\n".join(lines) + "\n") * n_thousands)
    elif kind == "csv":
        path.write_text(("\n".join(",".join(map(str, row)) for row in values) + "\n") * n_thousands)
    elif kind == "npz":
        np.savez_compressed(path, X=np.tile(values, (n_thousands, 1)))
    else:
        with pa.parquet.ParquetWriter(path, pa.schema([(str(j), pa.float64()) for j in range(20)])) as writer:
            for _ in range(n_thousands):
                writer.write_table(pa.table({str(j): values[:, j] for j in range(20)}))
    return path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak of the memory")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Four times the rows, 29 MB of numbers more in each file, take less than 12 MB more."""
    paths = [str(written(kind, tmp_path, n)) for n in (60, 240) for kind in ("svm", "csv", "parquet", "npz")]
    done = subprocess.run([sys.executable, "-c", READING, *paths], capture_output=True, check=True)
    small, large = map(int, done.stdout.split())
    assert large - small < 12 << 10
