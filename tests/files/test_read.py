"""The function `read`: its options, its sources, and that it reads in little memory."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from gcwsnet.files import read
from tests.files.conftest import Write


def test_sources_of_another_type_are_an_error() -> None:
    with pytest.raises(TypeError, match="sources must be paths, or an iterable of arrays, got int"):
        read(3)


OF_TABLES: dict[str, Any] = {"label": 0, "weight": 0, "columns": [0], "exclude": [0], "categorical": [0]}
OF_TABLES |= {"hash_columns": 3, "header": True}


@pytest.mark.parametrize(
    ("format_", "options"),
    [("libsvm", OF_TABLES), ("arrays", OF_TABLES | {"index_base": 0}), ("csv", {"index_base": 1})],
)
def test_options_that_do_not_apply_are_an_error(format_: str, options: dict[str, Any], write: Write) -> None:
    sources = {"libsvm": write("a.svm", "1 1:1\n"), "csv": write("a.csv", "1,2\n3,4\n"), "arrays": np.ones((2, 2))}
    for name, value in options.items():
        option: dict[str, Any] = {name: value}
        with pytest.raises(ValueError, match=f"{name} does not apply to {format_}.*got {name}="):
            read(sources[format_], **option)


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
        ({"columns": "x"}, "columns must be a list of names or numbers, got columns='x'"),
    ],
)
def test_options_out_of_range_are_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        read(np.ones((2, 2)), **given)


READING = """
import sys
from gcwsnet.files import read, shuffle, split

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
    else:
        with pa.parquet.ParquetWriter(path, pa.schema([(str(j), pa.float64()) for j in range(20)])) as writer:
            for _ in range(n_thousands):
                writer.write_table(pa.table({str(j): values[:, j] for j in range(20)}))
    return path


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure the peak memory")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Four times the rows, which are 29 MB more numbers in each file, take less than 12 MB more memory."""
    paths = [str(written(kind, tmp_path, n)) for n in (60, 240) for kind in ("svm", "csv", "parquet")]
    done = subprocess.run([sys.executable, "-c", READING, *paths], capture_output=True, check=True)
    small, large = map(int, done.stdout.split())
    assert large - small < 12 << 10


def test_skipped_rows_are_not_written_to_a_file_that_is_read(write: Write) -> None:
    path = write("a.csv", "a,b\n1,2\n3,x\n")
    with pytest.raises(ValueError, match="an output must be a file of its own"):
        read(path, on_error="skip", rejects=path)
    assert path.read_text() == "a,b\n1,2\n3,x\n"
