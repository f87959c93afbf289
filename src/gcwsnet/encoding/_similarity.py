"""Similarities from codes: Theorem 2 of the paper, inverted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._memory import require_memory
from gcwsnet._validation import check_integer

BATCH = 1 << 22


def estimate_similarity(codes_a: ArrayLike, codes_b: ArrayLike, *more: ArrayLike, bits: int) -> Any:
    """Unbiased estimates of the pGMM kernel from the codes of two or more rows.

    The share of hashes on which the codes of two rows agree is, in the mean, J + (1 - J) / 2**b (Theorem 2);
    this is solved for J. For m rows, J is the sum of minima over the sum of maxima of all of them, and a hash
    with d different codes among the m counts (-1)**(d - 1) (d - 1)! / ((N - 1) ... (N - d + 1)), N = 2**b:
    the only such numbers whose mean is J. For two rows this is Theorem 2.

    Parameters
    ----------
    codes_a, codes_b, *more : arrays of integers, shape (n, k) or (k,)
        Codes of one hasher.
    bits : int
        b, the bits of a code, from 1 to 32. It is exact for the hasher's default ``t_bits="all"``; with other
        `t_bits` only i* is compared and J is somewhat overestimated.

    Returns
    -------
    J : float64 array of shape (n_a, n_b, ...), or float
        One estimate for each choice of one row from each argument. The axis of a 1-D argument is left out.
        Estimates are not clipped: they may be a little below 0.

    Examples
    --------
    >>> from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel
    >>> X = [[1.0, 5.0, -2.0], [1.5, 4.0, -2.0], [0.0, 1.0, 9.0]]
    >>> codes = GCWSHasher(n_hashes=4096, random_state=0).fit_transform(X)
    >>> estimate_similarity(codes, codes, bits=8).round(2)
    array([[1.  , 0.83, 0.06],
           [0.83, 1.  , 0.06],
           [0.06, 0.06, 1.  ]])
    >>> pgmm_kernel(X).round(2)
    array([[1.  , 0.82, 0.06],
           [0.82, 1.  , 0.06],
           [0.06, 0.06, 1.  ]])
    """
    bits = check_integer("bits", bits, 1, 32)
    arrays = [_codes(codes) for codes in (codes_a, codes_b, *more)]
    widths = {array.shape[-1] for array in arrays}
    if len(widths) > 1:
        raise ValueError(f"all codes must have as many hashes as each other, got {sorted(widths)}")
    if len(arrays) > 2**bits:
        raise ValueError(f"codes of {bits} bits tell at most {2**bits} rows apart, got {len(arrays)} arguments")
    tables = [np.atleast_2d(array) for array in arrays]
    shape = tuple(len(table) for table in tables)
    require_memory(8 * math.prod(shape), f"the estimates for {' x '.join(map(str, shape))} rows", "pass fewer rows")
    value = _values_of_distinct_counts(len(arrays), 2**bits)
    J = np.empty(shape)
    for index in np.ndindex(shape[:-2]):
        first = [table[i] for table, i in zip(tables, index, strict=False)]
        _fill(J[index], first, tables[-2], tables[-1], value)
    result = J.reshape([len(array) for array in arrays if array.ndim == 2])
    return result if result.ndim else float(result)


def _codes(codes: ArrayLike) -> NDArray[Any]:
    array = np.asarray(codes)
    if array.dtype.kind not in "ui":
        raise TypeError(f"codes must be integers, got the type {array.dtype}; a one-hot matrix is not meant here")
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(f"codes must have the shape (n, k) or (k,) with k of at least 1, got {array.shape}")
    return array


def _values_of_distinct_counts(m: int, n_codes: int) -> NDArray[np.float64]:
    """What a hash with d different codes counts, at index d, for d = 1 ... m."""
    value = np.zeros(m + 1)
    value[1] = 1.0
    for d in range(2, m + 1):
        value[d] = -value[d - 1] * (d - 1) / (n_codes - d + 1)
    return value


def _fill(
    out: NDArray[np.float64],
    first: list[NDArray[Any]],
    tables_b: NDArray[Any],
    tables_c: NDArray[Any],
    value: NDArray[np.float64],
) -> None:
    """Estimates for the rows `first` with each pair of a row of b and a row of c."""
    step = max(1, BATCH // tables_c.shape[1])
    for i, b in enumerate(tables_b):
        for start in range(0, len(tables_c), step):
            c = tables_c[start : start + step]
            if not first:
                agree = (c == b).mean(axis=1)
                out[i, start : start + step] = agree * (1.0 - value[2]) + value[2]
                continue
            group = np.stack([np.broadcast_to(codes, c.shape) for codes in (*first, b, c)])
            group.sort(axis=0)
            distinct = 1 + (group[1:] != group[:-1]).sum(axis=0)
            out[i, start : start + step] = value[distinct].mean(axis=1)
