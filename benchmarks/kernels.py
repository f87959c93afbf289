"""Time of the exact kernels, next to scikit-learn's.

The promise: `pgmm_kernel` of 2,000 x 2,000 rows of 784 columns takes on one thread at most a fifth of the time that
`chi2_kernel` takes on the same rows.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel

from benchmarks.subject import Section, add_count, environment, markdown_table
from benchmarks.timing import Work, medians, one_thread
from gcwsnet import pgmm_kernel

BASELINE = "chi2_kernel"
PROMISED = 0.2


def rows(n: int, n_columns: int, seed: int) -> NDArray[np.float64]:
    """Return rows of uniform numbers."""
    return np.random.default_rng(seed).random((n, n_columns))


def kernels(n: int, n_columns: int) -> dict[str, Work]:
    """Return what is timed: all on the same rows, or on signed and CSR rows that are made of them."""
    X, Y = rows(n, n_columns, 0), rows(n, n_columns, 1)
    signed_X, signed_Y = 2 * X - 1, 2 * Y - 1
    csr_X, csr_Y = (sparse.csr_array(Z * (rows(n, n_columns, 2 + seed) < 0.1)) for seed, Z in enumerate((X, Y)))
    return {
        BASELINE: lambda: chi2_kernel(X, Y),
        "laplacian_kernel": lambda: laplacian_kernel(X, Y),
        "pgmm_kernel, p=1": lambda: pgmm_kernel(X, Y),
        "pgmm_kernel, p=2": lambda: pgmm_kernel(X, Y, p=2),
        "pgmm_kernel, p=2, both signs": lambda: pgmm_kernel(signed_X, signed_Y, p=2),
        "pgmm_kernel, p=2, CSR of 10%": lambda: pgmm_kernel(csr_X, csr_Y, p=2),
        "pgmm_kernel, p=2, Y=None": lambda: pgmm_kernel(X, p=2),
        "pgmm_kernel, p=1, 2 threads": lambda: pgmm_kernel(X, Y, n_jobs=2),
        "pgmm_kernel, p=2, 2 threads": lambda: pgmm_kernel(X, Y, p=2, n_jobs=2),
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_count(parser, "--rows", 2000, "rows of each matrix")
    add_count(parser, "--columns", 784, "columns of each matrix")
    add_count(parser, "--repetitions", 5, "timed calls of each kind")


def run(options: argparse.Namespace) -> Section:
    """Time the kernels."""
    with one_thread():
        times = medians(kernels(options.rows, options.columns), options.repetitions)
    slowest = max(time for name, time in times.items() if name.startswith("pgmm_kernel"))
    lines = environment("scipy", "scikit-learn")
    lines += ["", f"{options.rows} x {options.rows} rows of {options.columns} columns, one thread unless said, "]
    lines[-1] += f"medians of {options.repetitions}:"
    rows = [[name, f"{time:.3f}", f"{time / times[BASELINE]:.3f}"] for name, time in times.items()]
    lines += ["", markdown_table(["", "seconds", "of the baseline"], rows), ""]
    lines += [f"The slowest pgmm_kernel takes {slowest / times[BASELINE]:.3f} of {BASELINE}; promised: {PROMISED}."]
    return Section("\n".join(lines))
