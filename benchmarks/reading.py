"""Rows read per second from files, next to scikit-learn and pandas: `python benchmarks/reading.py`.

LIBSVM files of three kinds are made: few columns that are all there, many columns of which some are there, and 0/1
rows. scikit-learn's `load_svmlight_file` reads them whole. `gcwsnet.data.read` reads them in batches, with the width
and the index base given, or after a survey that finds them as scikit-learn does. The rows must be equal. The promise
is 5 times the rows of scikit-learn, on one thread. CSV and Parquet files hold the rows of the first kind, next to
pandas.

All take turns within one run, after a run that is not timed, and medians count. `--write-docs` puts the tables into
docs/reading.md.
"""

from __future__ import annotations

import argparse
import gzip
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from gcwsnet.bench._measure import Work, listed, machine, medians, one_thread, versions
from gcwsnet.bench._page import write_section
from gcwsnet.data import read

Rows = tuple[Any, Any]
PROMISE = 5


def dense_rows(n: int) -> Rows:
    """All of 50 columns, with six digits."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 50)).round(6), rng.integers(0, 2, n)


def sparse_rows(n: int) -> Rows:
    """Some 100 of a million columns, with all digits of a double."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, 10**6, (n, 100)), axis=1)
    X = sparse.csr_matrix((rng.lognormal(size=n * 100), columns.ravel(), np.arange(n + 1) * 100), (n, 10**6))
    X.sum_duplicates()
    return X, rng.integers(0, 10, n)


def binary_rows(n: int) -> Rows:
    """Some 30 of 10,000 columns, all 1."""
    X, y = sparse_rows(n)
    keep = np.arange(X.nnz) % 10 < 3
    rows = np.repeat(np.arange(n), np.diff(X.indptr))[keep]
    ones = sparse.csr_matrix((np.ones(keep.sum()), (rows, X.indices[keep] // 100)), (n, 10**4))
    ones.data[:] = 1
    return ones, y


KINDS: dict[str, tuple[Callable[[int], Rows], int]] = {
    "50 numbers of six digits": (dense_rows, 20_000),
    "100 of 1e6 columns, all digits": (sparse_rows, 5_000),
    "30 of 10,000 columns, 0/1": (binary_rows, 20_000),
}


def read_all(path: Path, **settings: Any) -> int:
    """Read a file in batches; the number of rows."""
    return sum(batch.n_rows for batch in read(path, **settings))


def check_equal(path: Path, X: Any, y: Any) -> None:
    """The same labels, columns and bits as scikit-learn reads."""
    batches = list(read(path, format="libsvm"))
    found = sparse.vstack([batch.X for batch in batches], format="csr")
    if not (
        np.array_equal(np.concatenate([batch.y for batch in batches]), y)
        and np.array_equal(found.indptr, X.indptr)
        and np.array_equal(found.indices, X.indices)
        and found.data.tobytes() == X.data.tobytes()
    ):
        raise AssertionError(f"{path} is not read as scikit-learn reads it")


def libsvm_table(folder: Path, scale: float, repetitions: int) -> Iterator[str]:
    """Markdown: a line for each kind of rows, plain and packed."""
    yield "| LIBSVM | MB | scikit-learn | gcwsnet | gcwsnet, with survey |"
    yield "| :-- | --: | --: | --: | --: |"
    for kind, (make, n) in KINDS.items():
        path = folder / "rows.svm"
        X, y = make(max(100, int(n * scale)))
        dump_svmlight_file(X, y, str(path), zero_based=False)
        packed = folder / "rows.svm.gz"
        packed.write_bytes(gzip.compress(path.read_bytes(), 1))
        check_equal(path, *load_svmlight_file(str(path)))
        for name, file in ((kind, path), (f"{kind}, gz", packed)):
            yield libsvm_line(name, file, X.shape, path.stat().st_size, repetitions)


def libsvm_line(name: str, file: Path, shape: tuple[int, int], n_bytes: int, repetitions: int) -> str:
    """Rows per second of each reader, and how many times as many as those of scikit-learn."""
    known = {"format": "libsvm", "n_features": shape[1], "index_base": 1}
    works: dict[str, Work] = {
        "scikit-learn": partial(load_svmlight_file, str(file), zero_based=False),
        "known": partial(read_all, file, **known),
        "survey": partial(read_all, file, format="libsvm"),
    }
    rates = {work: shape[0] / time for work, time in medians(works, repetitions).items()}
    times = {work: rate / rates["scikit-learn"] for work, rate in rates.items()}
    if times["known"] < PROMISE and not name.endswith("gz"):
        print(f"{name}: only {times['known']:.1f} times the rows of scikit-learn")
    ours = " | ".join(f"{rates[work]:,.0f} ({times[work]:.1f})" for work in ("known", "survey"))
    return f"| {name} | {n_bytes / 1e6:.0f} | {rates['scikit-learn']:,.0f} | {ours} |"


def table_table(folder: Path, scale: float, repetitions: int) -> Iterator[str]:
    """Markdown: CSV and Parquet next to pandas."""
    X, y = dense_rows(int(50_000 * scale))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(label=y)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    yield "| 50 numbers of six digits | pandas | gcwsnet |"
    yield "| :-- | --: | --: |"
    for name, peer in {"csv": pd.read_csv, "parquet": pd.read_parquet}.items():
        file = folder / f"rows.{name}"
        works: dict[str, Work] = {"pandas": partial(peer, file), "gcwsnet": partial(read_all, file, label="label")}
        rates = {work: len(X) / time for work, time in medians(works, repetitions).items()}
        times = rates["gcwsnet"] / rates["pandas"]
        yield f"| {name} | {rates['pandas']:,.0f} | {rates['gcwsnet']:,.0f} ({times:.1f}) |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the numbers of rows")
    parser.add_argument("--write-docs", action="store_true")
    given = parser.parse_args()
    lines = [f"{machine()}.", f"{listed(versions('gcwsnet', 'numpy', 'scikit-learn', 'pandas', 'pyarrow'))}."]
    lines += [
        f"Rows per second on one thread, medians of {given.repetitions}; in brackets as a multiple of the peer.",
        "",
    ]
    pyarrow.set_cpu_count(1)
    load = os.getloadavg()[0]
    with TemporaryDirectory() as folder, one_thread():
        lines += libsvm_table(Path(folder), given.scale, given.repetitions)
        lines += ["", *table_table(Path(folder), given.scale, given.repetitions)]
    lines[1] += (
        f"\nThe load of the machine was up to {max(load, os.getloadavg()[0]):.1f}, of which the run itself makes 1."
    )
    if given.write_docs:
        write_section("reading.md", "reading.py", "\n".join(lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
