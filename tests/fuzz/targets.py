"""What the campaign attacks: each target makes an input from a seed, and says whether the package stood it.

A check returns how the input ended, "fine" or the name of the error that it may end in, and raises for all else. An
input is bytes, so that what was found can be kept as a file.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import math
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow
from scipy import sparse

import gcwsnet
from gcwsnet.files import DataError, read
from tests.estimators.hostile import content, write
from tests.fuzz.index import check_index, make_index
from tests.fuzz.learning import check_threads, check_weights, make_threads, make_weights
from tests.fuzz.mutate import mutated_array, mutated_bytes, mutated_json
from tests.fuzz.tables import check_table, make_table
from tests.fuzz.written import FINE, check_codes, check_graph, make_codes, make_graph

X = np.random.default_rng(0).normal(size=(60, 3))
CSV_SEEDS = [
    b"a,b,y\n1,2,0\n3,4,1\n5,6,0\n",
    b'a,b,y\r\n1,"2",0\r\n"3",4,1\r\n',
    b'a,b,y\n1,5"x,0\n2,6"x,1\nNA,7x,0\n4,8x,1\n',
    b'a,b,y\n"1\n2",x,0\n3,"y,""z""",1\n',
    b"1,2,0\n3,,1\n-1e300,4e-5,2\n",
]
LIBSVM_SEEDS = [
    b"1 1:0.5 3:2\n0 2:1e-3\n2 qid:4 1:7 # 1:1\n",
    b"-1\n+1 2147483647:1\n\n# all\n3 1:-.5e2\r\n",
]


class Target(NamedTuple):
    """A part of the package that reads or computes something."""

    make: Callable[[Random], bytes]
    check: Callable[[bytes], str]


def _csv_row(random: Random) -> str:
    fields = ["1", "-2.5", "3e4", "NA", "", "x", '"q"', '"a,b"', '"l\nm"', '"d""e"', '5"x', " 7", '"8']
    return ",".join(random.choice(fields) for _ in range(3))


def make_csv(random: Random) -> bytes:
    """Return a small table: a mutated one, or one of fields that are hard to cut."""
    if random.random() < 0.5:
        return mutated_bytes(random, random.choice(CSV_SEEDS), CSV_SEEDS)
    rows = [_csv_row(random) for _ in range(random.randint(1, 8))]
    return ("a,b,y\n" + random.choice(["\n", "\r\n"]).join(rows) + random.choice(["", "\n"])).encode()


def check_csv(data: bytes) -> str:
    """Python's csv module is the judge of which rows there are; the numbers of plain rows must be the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(data)
        try:
            batches = read(path, format="csv", header=True, missing="nan")
            rows = [row for batch in batches for row in np.asarray(_dense(batch.X))]
        except (DataError, ValueError, UnicodeDecodeError) as error:
            return type(error).__name__
    try:
        text = data.decode("utf-8-sig")
        expected = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row][1:]
    except (csv.Error, UnicodeDecodeError):
        return FINE  # the judge does not know
    quoted_space = any(field != field.strip() for row in expected for field in row)
    if "\x00" in text or "\r" in text.replace("\r\n", "") or quoted_space:
        return FINE
    assert len(rows) == len(expected), f"{len(rows)} rows, and csv reads {len(expected)}"
    for found, fields in zip(rows, expected, strict=True):
        numbers = [_number(field) for field in fields]
        if len(found) == len(numbers) and None not in numbers:
            np.testing.assert_array_equal(found, np.array(numbers, dtype=np.float64))
    return FINE


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def _number(text: str) -> float | None:
    try:
        return float(text) if math.isfinite(float(text)) else None
    except ValueError:
        return None


def make_libsvm(random: Random) -> bytes:
    """Return mutated lines."""
    return mutated_bytes(random, random.choice(LIBSVM_SEEDS), LIBSVM_SEEDS)


def check_libsvm(data: bytes) -> str:
    """The rows are the same however the bytes are cut into blocks, and plain Python reads the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_bytes(data)
        try:
            batches = list(read(path, format="libsvm", n_features=2**31, index_base=1, dtype="float64", batch_rows=2))
        except (DataError, ValueError) as error:
            return type(error).__name__
    rows = [
        (float(label), X.indices[a:b].tolist(), X.data[a:b].tolist())
        for X, y, _ in batches
        for label, a, b in zip(np.asarray(y), X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    lines = [line.partition(b"#")[0].split() for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    expected = []
    for tokens in filter(None, lines):
        pairs = [token.split(b":") for token in tokens[1:] if not token.startswith(b"qid:")]
        kept = sorted((int(column) - 1, float(value)) for column, value in pairs)
        expected.append((float(tokens[0]), [one for one, _ in kept], [one for _, one in kept]))
    assert rows == expected, "plain Python reads other rows"
    return FINE


def _zstd(content: bytes) -> bytes:
    return bytes(pyarrow.compress(content, codec="zstd", asbytes=True))


COMPRESS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress, _zstd]


def make_archive(random: Random) -> bytes:
    """Return rows in archives that are cut and joined, with what may stand between them, and the number of rows."""
    compress, n_rows, joined = random.choice(COMPRESS), 0, b""
    for _ in range(random.randint(1, 3)):
        n = random.choice([1, 5, 300])
        one = compress(b"".join(b"1 1:%d\n" % random.randrange(10**6) for _ in range(n)))
        n_rows += n
        joined += one + random.choice([b"", b"", b"", bytes(4), bytes(3), b"garbage", one[: len(one) // 2]])
    kind = random.randrange(4)
    if kind == 0:
        joined = joined[: random.randint(6, len(joined))]
    elif kind == 1:
        at = random.randrange(6, len(joined))
        joined = joined[:at] + bytes([joined[at] ^ 1 << random.randrange(8)]) + joined[at + 1 :]
    return n_rows.to_bytes(4, "little") + joined


def check_archive(data: bytes) -> str:
    """All rows are read, or there is a DataError. Rows that are cut off with a whole archive cannot be missed."""
    n_rows, joined = int.from_bytes(data[:4], "little"), data[4:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_bytes(joined)
        try:
            found = sum(batch.n_rows for batch in read(path, format="libsvm", n_features=1, index_base=1))
        except DataError:
            return "DataError"
    if found < n_rows:
        assert _is_whole(joined, found), f"{found} rows of {n_rows}, and no error"
    return FINE


def _is_whole(joined: bytes, n_rows: int) -> bool:
    """Return whether the tools of an archive read this number of rows from all of it: it was cut between archives."""
    tool = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"\xfd7": "xz", b"\x28\xb5": "zstd"}[joined[:2]]
    if shutil.which(tool) is None:
        return True
    done = subprocess.run([tool, "-dc"], input=joined, capture_output=True, check=False)
    return done.returncode == 0 and done.stdout.count(b"\n") == n_rows


@cache
def saved_models() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the arrays and descriptions of some models."""
    from tests.estimators.test_hostile_files import models, save_all  # noqa: PLC0415 - they are fitted once

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        save_all(models(), Path(folder))
        for path in Path(folder).iterdir():
            found[path.name] = content(path)
    return found


def make_model(random: Random) -> bytes:
    """Return the file of a model with another description or other arrays, and the checksum that fits."""
    name = random.choice(sorted(saved_models()))
    arrays, description = saved_models()[name]
    arrays = dict(arrays)
    kind = random.randrange(4)
    if kind < 2:
        description = mutated_json(random, description)
    if kind in (1, 2):
        one = random.choice(sorted(arrays))
        arrays[one] = mutated_array(random, arrays[one])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        write(path, arrays, description)
        data = path.read_bytes()
    return mutated_bytes(random, data, [data]) if kind == 3 else data


def check_model(data: bytes) -> str:
    """A file is refused by a ValueError, or the model predicts finite numbers, also after more rows of its stream."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(data)
        try:
            model = gcwsnet.load(path)
        except (ValueError, FileNotFoundError) as error:
            if str(path) not in str(error) and "must" not in str(error):
                raise AssertionError(f"an error that names nothing: {error}") from error
            return type(error).__name__
    has_schema = hasattr(model, "coder_") and model.coder_.schema is not None
    n_columns = getattr(model, "n_features_in_", 0)
    if has_schema or hasattr(model, "feature_names_in_") or not 0 < n_columns < 10:
        return FINE
    rows = X[:, np.arange(n_columns) % X.shape[1]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if getattr(model, "_stream", None) is not None:
                model.partial_fit(rows, model.classes_[np.arange(len(X)) % len(model.classes_)])
            outputs = (model.predict_proba if hasattr(model, "classes_") else model.predict)(rows)
    except ValueError as error:
        return f"predict: {type(error).__name__}"
    assert np.isfinite(outputs).all(), "predictions that are not finite"
    return FINE


TARGETS = {
    "csv": Target(make_csv, check_csv),
    "table": Target(make_table, check_table),
    "libsvm": Target(make_libsvm, check_libsvm),
    "archive": Target(make_archive, check_archive),
    "model": Target(make_model, check_model),
    "index": Target(make_index, check_index),
    "codes": Target(make_codes, check_codes),
    "weights": Target(make_weights, check_weights),
    "threads": Target(make_threads, check_threads),
}
if find_spec("onnx") is not None and find_spec("onnxruntime") is not None:
    TARGETS["graph"] = Target(make_graph, check_graph)
if find_spec("distributed") is not None:
    from tests.fuzz.partitions import check_partitions, make_partitions

    TARGETS["partitions"] = Target(make_partitions, check_partitions)
