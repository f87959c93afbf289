"""Similarities from codes and from their sketches: Theorem 2 of the paper, inverted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gcwsnet._memory import require_memory
from gcwsnet._validation import check_integer
from gcwsnet.hashing._hasher import check_comparable

BATCH = 1 << 22


def estimate_similarity(codes_a: Any, codes_b: Any, *more: Any, bits: int, n_hashes: int | None = None) -> Any:
    """Return unbiased estimates of the pGMM kernel from the codes of two or more rows, or from the sketches of two.

    The share of hashes on which the codes of two rows agree is, in the mean, J + (1 - J) / 2**b (Theorem 2);
    this is solved for J. For m rows, J is the sum of minima over the sum of maxima of all of them, and a hash
    with d different codes among the m counts (-1)**(d - 1) (d - 1)! / ((N - 1) ... (N - d + 1)), N = 2**b:
    the only such numbers whose mean is J. For two rows this is Theorem 2.

    Of sketches the inner product over k takes the place of the share (Theorem 4).

    Parameters
    ----------
    codes_a, codes_b, *more : arrays of integers, shape (n, k) or (k,); or two sparse matrices, shape (n, B)
        Codes of one hasher, or of hashers that agree in all that decides a code (an error where it is known that
        they do not); or the sketches of such codes by one `CountSketch`, or their one-hot vectors.
    bits : int
        b, the bits of a code, from 1 to 32. It is exact for the hasher's default ``t_bits="all"``; with other
        `t_bits` only i* is compared and J is somewhat overestimated.
    n_hashes : int, default=None
        k, the number of codes in a sketch. Needed for sketches, which do not show it, and only for them.

    Returns
    -------
    J : float64 array of shape (n_a, n_b, ...), or float
        One estimate for each choice of one row from each argument. The axis of a 1-D argument is left out.
        Estimates are not clipped: they may be a little below 0, those of sketches also above 1.

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
    n_sketches = sum(map(sparse.issparse, (codes_a, codes_b, *more)))
    if n_sketches:
        if n_sketches < 2 + len(more):
            raise TypeError("codes and sketches cannot be compared: give arrays of codes or sparse matrices, not both")
        return _similarity_of_sketches([codes_a, codes_b, *more], bits, n_hashes)
    if n_hashes is not None:
        raise TypeError(f"n_hashes is for sketches; codes have as many hashes as columns, got n_hashes={n_hashes!r}")
    check_comparable((codes_a, codes_b, *more), bits)
    arrays = [_codes(codes) for codes in (codes_a, codes_b, *more)]
    widths = {array.shape[-1] for array in arrays}
    if len(widths) > 1:
        raise ValueError(f"all codes must have as many hashes as each other, got {sorted(widths)}")
    if len(arrays) > 2**bits:
        raise ValueError(f"codes of {bits} bits tell at most {2**bits} rows apart, got {len(arrays)} arguments")
    tables = [np.atleast_2d(array) for array in arrays]
    shape = tuple(len(table) for table in tables)
    _require_memory(shape)
    value = _values_of_distinct_counts(len(arrays), 2**bits)
    J = np.empty(shape)
    for index in np.ndindex(shape[:-2]):
        first = [table[i] for table, i in zip(tables, index, strict=False)]
        _fill(J[index], first, tables[-2], tables[-1], value)
    result = J.reshape([len(array) for array in arrays if array.ndim == 2])
    return result if result.ndim else float(result)


def _require_memory(shape: tuple[int, ...]) -> None:
    require_memory(8 * math.prod(shape), f"the estimates for {' x '.join(map(str, shape))} rows", "pass fewer rows")


def _codes(codes: ArrayLike) -> NDArray[Any]:
    array = np.asarray(codes)
    if array.dtype.kind not in "ui":
        raise TypeError(
            f"codes must be integers, got the type {array.dtype}; give sketches and one-hot vectors as sparse matrices"
        )
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(f"codes must have the shape (n, k) or (k,) with k of at least 1, got {array.shape}")
    return array


def _values_of_distinct_counts(m: int, n_codes: int) -> NDArray[np.float64]:
    """Return what a hash with d different codes counts, at index d, for d = 1 ... m."""
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
    """Write the estimates for the rows `first` with each pair of a row of b and a row of c."""
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


def _similarity_of_sketches(sketches: list[Any], bits: int, n_hashes: int | None) -> Any:
    if n_hashes is None:
        raise TypeError("n_hashes is needed for sketches: k, the number of codes that were sketched")
    k = check_integer("n_hashes", n_hashes, 1, 2**20)
    if len(sketches) > 2:
        raise ValueError(f"sketches are compared two at a time, got {len(sketches)} arguments; compare their codes")
    A, B = (_sketch(sketch, k) for sketch in sketches)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"all sketches must have as many bins as each other, got {A.shape[1]} and {B.shape[1]}")
    shape = (A.shape[0], B.shape[0])
    _require_memory(shape)
    if A.shape[1] > A.nnz + B.nnz:
        A, B = _in_the_bins_they_use(A, B)
    different = _values_of_distinct_counts(2, 2**bits)[2]
    J = np.empty(shape)
    B_by_bins = B.T.tocsr()
    step = max(1, BATCH // max(1, B.shape[0]))
    for start in range(0, A.shape[0], step):
        inner = (A[start : start + step] @ B_by_bins).toarray()
        J[start : start + step] = inner / k * (1.0 - different) + different
    result = J.reshape([n for n, sketch in zip(shape, sketches, strict=True) if sketch.ndim == 2])
    return result if result.ndim else float(result)


def _sketch(sketch: Any, k: int) -> Any:
    """Return the rows of a sketch in float64, in which sums of products are exact."""
    if sketch.dtype.kind not in "buif":
        raise TypeError(f"sketches must hold integers or real numbers, got the type {sketch.dtype}")
    rows = sparse.csr_array(sketch.reshape(1, -1) if sketch.ndim == 1 else sketch, dtype=np.float64)
    sizes = np.asarray(abs(rows).sum(axis=1))
    if not np.all(sizes <= k):
        row = int(np.argmin(sizes <= k))
        raise ValueError(
            f"the entries of a sketch of k codes have sizes that add up to at most k, those of row {row} to "
            f"{sizes[row]:g} with n_hashes={k}; give the number of hashes before the sketch"
        )
    return rows


def _in_the_bins_they_use(A: Any, B: Any) -> tuple[Any, Any]:
    """Return A and B without the bins that neither uses: a product takes memory for each of up to 2**52 bins."""
    used, indices = np.unique(np.concatenate([A.indices, B.indices]), return_inverse=True)
    parts = np.split(indices, [A.nnz])
    A, B = (
        sparse.csr_array((rows.data, columns, rows.indptr), shape=(rows.shape[0], len(used)))
        for rows, columns in zip((A, B), parts, strict=True)
    )
    return A, B
