"""Similarities from codes and from their sketches: Theorem 2 of the paper, inverted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gcwsnet._validation import check_integer, require_memory
from gcwsnet.hashing._hasher import check_comparable

BATCH = 1 << 22


def estimate_similarity(codes_a: Any, codes_b: Any, *, bits: int, n_hashes: int | None = None) -> Any:
    """Return unbiased estimates of the pGMM kernel between rows, from their codes or from sketches of these.

    The share of hashes on which the codes of two rows agree is, in the mean, J + (1 - J) / 2**b (Theorem 2);
    this is solved for J.

    Of sketches the inner product over k takes the place of the share (Theorem 4).

    Parameters
    ----------
    codes_a, codes_b : arrays of integers, shape (n, k) or (k,); or two sparse matrices, shape (n, B)
        Codes of one hasher, or of hashers that agree in all that decides a code (an error where it is known that
        they do not); or the sketches of such codes by one `CountSketch`, or their one-hot vectors.
    bits : int
        b, the bits of a code, from 1 to 32. It is exact for the hasher's default ``t_bits="all"``; with other
        `t_bits` only i* is compared and J is somewhat overestimated.
    n_hashes : int, default=None
        k, the number of codes in a sketch. Needed for sketches, which do not show it, and only for them.

    Returns
    -------
    J : float64 array of shape (n_a, n_b), or float
        One estimate for each row of `codes_a` and each row of `codes_b`. The axis of a 1-D argument is left out.
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
    n_sketches = sparse.issparse(codes_a) + sparse.issparse(codes_b)
    if n_sketches == 1:
        raise TypeError("codes and sketches cannot be compared: give arrays of codes or sparse matrices, not both")
    if n_sketches:
        return _similarity_of_sketches((codes_a, codes_b), bits, n_hashes)
    if n_hashes is not None:
        raise TypeError(f"n_hashes is for sketches; codes have as many hashes as columns, got n_hashes={n_hashes!r}")
    check_comparable((codes_a, codes_b), bits)
    a, b = _codes(codes_a), _codes(codes_b)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"all codes must have the same number of hashes, got {a.shape[-1]} and {b.shape[-1]}")
    rows_a, rows_b = np.atleast_2d(a), np.atleast_2d(b)
    J = _empty_estimates(len(rows_a), len(rows_b))
    step = max(1, BATCH // rows_b.shape[1])
    for estimates, row in zip(J, rows_a, strict=True):
        for start in range(0, len(rows_b), step):
            share = (rows_b[start : start + step] == row).mean(axis=1)
            estimates[start : start + step] = _solved(share, bits)
    return _without_axes(J, a, b)


def _solved(share: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """Return the J with which codes of b bits agree on this share of hashes in the mean."""
    different = -1.0 / (2**bits - 1)  # the estimate where none agrees
    return share * (1.0 - different) + different


def _empty_estimates(n_a: int, n_b: int) -> NDArray[np.float64]:
    require_memory(8 * n_a * n_b, f"the estimates for {n_a} x {n_b} rows", "pass fewer rows")
    return np.empty((n_a, n_b))


def _without_axes(J: NDArray[np.float64], a: Any, b: Any) -> Any:
    """Return estimates without the axes of arguments that have one row and no axis of rows."""
    result = J.reshape([n for n, rows in zip(J.shape, (a, b), strict=True) if rows.ndim == 2])
    return result if result.ndim else float(result)


def _codes(codes: ArrayLike) -> NDArray[Any]:
    array = np.asarray(codes)
    if array.dtype.kind not in "ui":
        raise TypeError(
            f"codes must be integers, got the type {array.dtype}; give sketches and one-hot vectors as sparse matrices"
        )
    if array.ndim not in (1, 2) or array.shape[-1] == 0:
        raise ValueError(f"codes must have the shape (n, k) or (k,) with k of at least 1, got {array.shape}")
    return array


def _similarity_of_sketches(sketches: tuple[Any, Any], bits: int, n_hashes: int | None) -> Any:
    if n_hashes is None:
        raise TypeError("n_hashes is needed for sketches: k, the number of codes that were sketched")
    k = check_integer("n_hashes", n_hashes, 1, 2**20)
    A, B = (_sketch(sketch, k) for sketch in sketches)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"all sketches must have the same number of bins, got {A.shape[1]} and {B.shape[1]}")
    J = _empty_estimates(A.shape[0], B.shape[0])
    if A.shape[1] > A.nnz + B.nnz:
        A, B = _in_the_bins_they_use(A, B)
    B_by_bins = B.T.tocsr()
    step = max(1, BATCH // max(1, B.shape[0]))
    for start in range(0, A.shape[0], step):
        inner = (A[start : start + step] @ B_by_bins).toarray()
        J[start : start + step] = _solved(inner / k, bits)
    return _without_axes(J, *sketches)


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
