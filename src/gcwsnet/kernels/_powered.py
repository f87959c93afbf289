"""Rows raised to the p-th power, each on a scale of its own, so that nothing overflows.

A powered row times 2**log2_scale is the row of p-th powers; its largest entry is at least 1/2 and at most 1. For p = 1
the scale is a power of two and the entries keep every bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.kernels._gmm import gmm_transform

COLUMNS_MULTIPLE = 8  # the native core reads columns in groups of this size


class PoweredRows(NamedTuple):
    """A block of dense rows with their signs, filled up with zeros to a multiple of 8 columns."""

    values: NDArray[np.float64]
    log2_scale: NDArray[np.float64]


class PoweredEntries(NamedTuple):
    """The entries of sparse rows in the features of `gmm_transform`; `start` is the index pointer of the rows."""

    values: NDArray[np.float64]
    feature: NDArray[np.int64]
    row: NDArray[np.int64]
    start: NDArray[np.int64]
    log2_scale: NDArray[np.float64]
    sums: NDArray[np.float64]


def _log2_scale(largest: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return the scale of rows with these largest entries; 0 for a row of zeros."""
    if p == 1:
        return np.frexp(largest)[1].astype(np.float64)
    with np.errstate(divide="ignore"):
        return np.where(largest > 0, p * np.log2(largest), 0.0)


def _raise_to_power(size: NDArray[np.float64], largest: NDArray[np.float64], p: float) -> None:
    """Replace each size by its p-th power on the scale of its row; a zero stays zero."""
    with np.errstate(divide="ignore", under="ignore"):
        if p == 1:
            np.ldexp(size, -np.frexp(largest)[1], out=size)
            return
        np.log2(size, out=size)
        size -= np.log2(np.where(largest > 0, largest, 1.0))
        size *= p
        np.exp2(size, out=size)


def power_dense(block: NDArray[Any], p: float) -> PoweredRows:
    """Return sign(u) |u|**p of each entry of a dense block, scaled row by row."""
    n, n_columns = block.shape
    values = np.zeros((n, -(-n_columns // COLUMNS_MULTIPLE) * COLUMNS_MULTIPLE))
    size = values[:, :n_columns]
    np.abs(block, out=size, dtype=np.float64, casting="same_kind")
    largest = size.max(axis=1)
    _raise_to_power(size, largest[:, np.newaxis], p)
    np.copysign(size, block, out=size, dtype=np.float64, casting="same_kind")
    return PoweredRows(values, _log2_scale(largest, p))


def power_sparse(X: Any, p: float) -> PoweredEntries:
    """Return u**p of each non-zero entry of the GMM transformation of CSR rows, scaled row by row."""
    U = gmm_transform(X)
    n = U.shape[0]
    start = U.indptr.astype(np.int64)
    row = np.repeat(np.arange(n), np.diff(start))
    values = U.data.astype(np.float64)
    largest = np.zeros(n)
    np.maximum.at(largest, row, values)
    _raise_to_power(values, largest[row], p)
    sums = np.bincount(row, values, n).astype(np.float64)  # bincount of no entries is of integers
    return PoweredEntries(values, U.indices.astype(np.int64), row, start, _log2_scale(largest, p), sums)
