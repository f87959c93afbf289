"""Rows read per second from files, next to scikit-learn and pandas.

LIBSVM files of three kinds are made: few columns with all entries, many columns with few entries, and 0/1 rows.
scikit-learn's `load_svmlight_file` reads them whole. `gcwsnet.files.read` reads them in batches, with the width and the
index base given, or after a survey that finds them as scikit-learn does. The rows must be equal. The promise is 5 times
the rows of scikit-learn, on one thread. CSV and Parquet files hold the rows of the first kind, next to pandas.

All take turns within one run, after a run that is not timed, and medians count.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks.subject import Section, add_count, environment, log, markdown_table
from benchmarks.timing import HighestLoad, Work, medians, one_thread
from gcwsnet.files import read

XY = tuple[Any, Any]
PROMISE = 5


def dense_rows(n: int) -> XY:
    """Return rows with all of 50 columns, with six digits."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 50)).round(6), rng.integers(0, 2, n)


def sparse_rows(n: int) -> XY:
    """Return rows with about 100 of a million columns, with all digits of a double."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, 10**6, (n, 100)), axis=1)
    X = sparse.csr_matrix((rng.lognormal(size=n * 100), columns.ravel(), np.arange(n + 1) * 100), (n, 10**6))
    X.sum_duplicates()
    return X, rng.integers(0, 10, n)


def binary_rows(n: int) -> XY:
    """Return rows with about 30 of 10,000 columns, all 1."""
    X, y = sparse_rows(n)
    keep = np.arange(X.nnz) % 10 < 3
    rows = np.repeat(np.arange(n), np.diff(X.indptr))[keep]
    ones = sparse.csr_matrix((np.ones(keep.sum()), (rows, X.indices[keep] // 100)), (n, 10**4))
    ones.data[:] = 1
    return ones, y


KINDS: dict[str, tuple[Callable[[int], XY], int]] = {
    "50 numbers of six digits": (dense_rows, 20_000),
    "100 of 1e6 columns, all digits": (sparse_rows, 5_000),
    "30 of 10,000 columns, 0/1": (binary_rows, 20_000),
}


def read_all(path: Path, **settings: Any) -> int:
    """Read a file in batches, and return the number of rows."""
    return sum(batch.n_rows for batch in read(path, **settings))


def check_equal(path: Path, X: Any, y: Any) -> None:
    """Raise an error unless labels, columns and bits are those that scikit-learn reads."""
    batches = list(read(path, format="libsvm"))
    found = sparse.vstack([batch.X for batch in batches], format="csr")
    if not (
        np.array_equal(np.concatenate([batch.y for batch in batches]), y)
        and np.array_equal(found.indptr, X.indptr)
        and np.array_equal(found.indices, X.indices)
        and found.data.tobytes() == X.data.tobytes()
    ):
        raise AssertionError(f"{path} is not read as scikit-learn reads it")


def libsvm_table(folder: Path, scale: float, repetitions: int) -> str:
    """Return a table with a line for each kind of rows, plain and compressed."""
    rows = []
    for kind, (make, n) in KINDS.items():
        path, compressed = folder / "rows.svm", folder / "rows.svm.gz"
        X, y = make(max(100, int(n * scale)))
        dump_svmlight_file(X, y, str(path), zero_based=False)
        compressed.write_bytes(gzip.compress(path.read_bytes(), 1))
        check_equal(path, *load_svmlight_file(str(path)))
        for name, file in ((kind, path), (f"{kind}, gz", compressed)):
            megabytes = f"{path.stat().st_size / 1e6:.0f}"
            rows.append([name, megabytes, *libsvm_rates(name, file, X.shape, repetitions)])
    return markdown_table(["LIBSVM", "MB", "scikit-learn", "gcwsnet", "gcwsnet, with survey"], rows)


def libsvm_rates(name: str, file: Path, shape: tuple[int, int], repetitions: int) -> list[str]:
    """Return the rows per second of each reader, and the multiples of those of scikit-learn."""
    known = {"format": "libsvm", "n_features": shape[1], "index_base": 1}
    works: dict[str, Work] = {
        "scikit-learn": partial(load_svmlight_file, str(file), zero_based=False),
        "known": partial(read_all, file, **known),
        "survey": partial(read_all, file, format="libsvm"),
    }
    rates = {work: shape[0] / time for work, time in medians(works, repetitions).items()}
    multiples = {work: rate / rates["scikit-learn"] for work, rate in rates.items()}
    if multiples["known"] < PROMISE and not name.endswith("gz"):
        log(f"{name}: only {multiples['known']:.1f} times the rows of scikit-learn")
    ours = (f"{rates[work]:,.0f} ({multiples[work]:.1f})" for work in ("known", "survey"))
    return [f"{rates['scikit-learn']:,.0f}", *ours]


def pandas_table(folder: Path, scale: float, repetitions: int) -> str:
    """Return a table of CSV and Parquet, next to pandas."""
    X, y = dense_rows(int(50_000 * scale))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(label=y)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    rows = []
    for name, peer in {"csv": pd.read_csv, "parquet": pd.read_parquet}.items():
        file = folder / f"rows.{name}"
        works: dict[str, Work] = {"pandas": partial(peer, file), "gcwsnet": partial(read_all, file, label="label")}
        rates = {work: len(X) / time for work, time in medians(works, repetitions).items()}
        multiple = rates["gcwsnet"] / rates["pandas"]
        rows.append([name, f"{rates['pandas']:,.0f}", f"{rates['gcwsnet']:,.0f} ({multiple:.1f})"])
    return markdown_table(["50 numbers of six digits", "pandas", "gcwsnet"], rows)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--repetitions", 5, "timed calls of each kind")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of rows")


def run(options: argparse.Namespace) -> Section:
    """Time the readers."""
    pyarrow.set_cpu_count(1)
    load = HighestLoad()
    with TemporaryDirectory() as folder, one_thread():
        libsvm = libsvm_table(Path(folder), options.scale, options.repetitions)
        load.update()
        frames = pandas_table(Path(folder), options.scale, options.repetitions)
    load.update()
    lines = environment("scikit-learn", "pandas", "pyarrow")
    lines += [f"The load of the machine was up to {load.value:.1f}, of which the run itself makes 1."]
    lines += [
        f"Rows per second on one thread, medians of {options.repetitions}; in brackets as a multiple of the peer."
    ]
    return Section("\n".join([*lines, "", libsvm, "", frames]))
