"""Regularised least squares in closed form, with the predictions for rows that are left out of it.

With the kernel matrix K, weights w and A = K + alpha / w on the diagonal, the function f(x) = sum_i c_i k(x, x_i) + b
that minimises sum_i w_i (y_i - f(x_i))**2 + alpha |f|**2 has c = A^-1 (y - b) and b = 1' A^-1 y / 1' A^-1 1. Fitted
without row i, it would be wrong at that row by c_i / (B^-1)_ii, where B is A bordered by ones (Cawley and Talbot,
2004): (B^-1)_ii = (A^-1)_ii - (A^-1 1)_i**2 / 1' A^-1 1.

If the rows that are left out stand last, the factor A = L L' gives their (A^-1)_ii by its last rows and columns alone.
So one factorisation, a third of n**3 multiplications, is nearly all the work.

A K of float32 is factorised in half the time, and the solution is then refined in float64.

`predict_left_out` predicts all rows that are left out, by the native core, with the same bits on every machine.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet._threads import one_blas_thread

BLOCK = 384
MAX_REFINEMENTS, LEAST_ERROR = 20, 1e-9
"""Of a solution by a factor in float32: the steps, and the residual next to the targets that ends them."""

NOT_DEFINITE = "the kernel matrix is not positive definite; give a larger alpha"

Floats = NDArray[np.float64]


class Ridge(NamedTuple):
    """Regularised least squares: c and b for each column of the targets, and the predictions for the rows left out."""

    coefficients: Floats
    bias: Floats
    left_out: Floats


def fit_ridge(K: NDArray[Any], targets: Floats, penalty: Floats, n_left_out: int, *, threads: int = 1) -> Ridge:
    """Return the regularised least squares fit of targets (n, m), and predictions for the last rows without each one.

    The diagonal of K, of float64 or float32, is 1; only what is above it is read, and the rest is overwritten. The
    penalty is alpha / w of each row. The result is the same for any number of threads.

    Examples
    --------
    >>> K = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    >>> y = np.array([[0.0], [1.0], [3.0]])
    >>> whole = fit_ridge(K.copy(), y, np.full(3, 0.1), 3)
    >>> part = fit_ridge(K[:2, :2], y[:2], np.full(2, 0.1), 0)
    >>> without_last = K[2, :2] @ part.coefficients + part.bias
    >>> bool(np.allclose(whole.left_out[2], without_last))
    True
    """
    n, first = len(K), len(K) - n_left_out
    with one_blas_thread():
        pivots, inverses = _factorise(K, 1.0 + penalty, threads)
        solved = _refined(K, 1.0 + penalty, inverses, np.hstack([targets, np.ones((n, 1))]))
        of_ones = solved[:, -1:]
        total = of_ones.sum()
        bias = solved[:, :-1].sum(axis=0) / total
        coefficients = solved[:, :-1] - of_ones * bias
        diagonal = _diagonal_of_inverse(K[first:, first:], pivots[first:])[:, np.newaxis] - of_ones[first:] ** 2 / total
        left_out = targets[first:] - coefficients[first:] / diagonal
    return Ridge(coefficients, bias, left_out)


def predict_left_out(K: Floats, targets: Floats, penalty: Floats) -> Floats:
    """Return the predictions of `fit_ridge` for all rows, each made without the row itself; K is not changed.

    The bits are the same on every machine. `fit_ridge` is faster for many rows.
    """
    n, m = targets.shape
    right = np.ascontiguousarray(np.hstack([targets, np.ones((n, 1))]))
    diagonal, solved = np.empty(n), np.empty((m + 1, n))
    if not _core.solve_ridge(np.ascontiguousarray(K), penalty, right, diagonal, solved):
        raise np.linalg.LinAlgError(NOT_DEFINITE)
    of_ones = solved[-1]
    total = of_ones.sum()
    coefficients = solved[:-1] - of_ones * (solved[:-1].sum(axis=1, keepdims=True) / total)
    return targets - (coefficients / (diagonal - of_ones**2 / total)).T


def left_out_by_lapack(K: Floats, targets: Floats, penalty: Floats) -> Floats:
    """Return the same predictions in less time, with bits that depend on the version of BLAS."""
    _, trtri = _lapack(K)
    with one_blas_thread():
        inverse, _ = trtri(_upper_factor(K, penalty), lower=0, overwrite_c=1)
        solved = inverse @ (inverse.T @ np.hstack([targets, np.ones((len(K), 1))]))
        of_ones = solved[:, -1:]
        total = of_ones.sum()
        diagonal = np.einsum("ij,ij->i", inverse, inverse)[:, np.newaxis] - of_ones**2 / total
    return targets - (solved[:, :-1] - of_ones * (solved[:, :-1].sum(axis=0) / total)) / diagonal


def _upper_factor(K: Floats, penalty: Floats) -> Floats:
    """Return U with U' U = K + penalty."""
    potrf, _ = _lapack(K)
    A = K.copy()
    A.flat[:: len(K) + 1] += penalty
    factor, failed = potrf(A.T, lower=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(NOT_DEFINITE)
    found: Floats = factor
    return found


def bordered_inverse(K: Floats, penalty: Floats) -> Floats:
    """Return the inverse of K + penalty, bordered by ones, without the border."""
    from scipy.linalg import lapack  # noqa: PLC0415 - it takes long to import

    factor, _ = lapack.dpotri(_upper_factor(K, penalty), lower=0, overwrite_c=1)
    inverse: Floats = factor + factor.T  # below its diagonal the factor is zero
    inverse.flat[:: len(K) + 1] /= 2
    of_ones = inverse.sum(axis=1)
    inverse -= np.outer(of_ones, of_ones / of_ones.sum())
    return inverse


def _blocks(n: int) -> list[slice]:
    return [slice(first, min(n, first + BLOCK)) for first in range(0, n, BLOCK)]


def _factorise(K: NDArray[Any], diagonal: Floats, threads: int) -> tuple[Floats, list[Floats]]:
    """Write the Cholesky factor of K with another diagonal below the diagonal of K.

    It is done by columns of blocks, each of which is made of the kernel above the diagonal and of the blocks to its
    left, in one order of sums whatever thread does it. Return the diagonal of the factor, and the inverses of its
    blocks on the diagonal.
    """
    potrf, trtri = _lapack(K)
    pivots, inverses = np.empty(len(K), K.dtype), []
    blocks = _blocks(len(K))
    with ThreadPoolExecutor(threads) as pool:
        for here in blocks:
            left = K[here, : here.start]
            block = np.triu(K[here, here], 1)
            block += block.T
            np.fill_diagonal(block, diagonal[here])
            block -= left @ left.T
            factor, failed = potrf(block.T, lower=1, overwrite_a=1)
            if failed:
                raise np.linalg.LinAlgError(NOT_DEFINITE)
            below = np.tril_indices(len(block), -1)
            K[here, here][below] = factor[below]
            pivots[here] = factor.diagonal()
            inverse = np.ascontiguousarray(trtri(factor, lower=1)[0])
            inverses.append(inverse)

            def fill(rows: slice, here: slice = here, left: Floats = left, inverse: Floats = inverse) -> None:
                K[rows, here] = (K[here, rows].T - K[rows, : here.start] @ left.T) @ inverse.T

            list(pool.map(fill, blocks[len(inverses) :]))
    return pivots, inverses


def _lapack(K: NDArray[Any]) -> tuple[Any, Any]:
    """Return what factorises and what inverts a triangle, for the type of K."""
    from scipy.linalg import get_lapack_funcs  # noqa: PLC0415 - it takes long to import

    potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (K,))
    return potrf, trtri


def _refined(K: NDArray[Any], diagonal: Floats, inverses: list[Floats], right: Floats) -> Floats:
    """Return A^-1 times `right` in float64, whatever the type of the factor is."""
    solved = _solve(K, inverses, right.astype(K.dtype)).astype(np.float64)
    if K.dtype == np.float64:
        return solved
    least = LEAST_ERROR * np.abs(right).max()
    for _ in range(MAX_REFINEMENTS):
        residual = right - _times(K, diagonal, solved)
        if np.abs(residual).max() <= least:
            return solved
        solved += _solve(K, inverses, residual.astype(K.dtype))
    raise np.linalg.LinAlgError(NOT_DEFINITE)


def _times(K: NDArray[Any], diagonal: Floats, right: Floats) -> Floats:
    """Return A times `right`, by what is above the diagonal of K."""
    out = diagonal[:, np.newaxis] * right
    for here in _blocks(len(K)):
        above = np.triu(K[here, here.start :], 1).astype(np.float64)
        out[here] += above @ right[here.start :]
        out[here.start :] += above.T @ right[here]
    return out


def _solve(K: NDArray[Any], inverses: list[Floats], right: Floats) -> Floats:
    """Return A^-1 times `right`, by the factor that `_factorise` wrote."""
    blocks = _blocks(len(K))
    solved = np.empty_like(right)
    for here, inverse in zip(blocks, inverses, strict=True):
        solved[here] = inverse @ (right[here] - K[here, : here.start] @ solved[: here.start])
    for here, inverse in zip(reversed(blocks), reversed(inverses), strict=True):
        solved[here] = inverse.T @ (solved[here] - K[here.stop :, here].T @ solved[here.stop :])
    return solved


def _diagonal_of_inverse(factor: Floats, pivots: Floats) -> Floats:
    """Return the diagonal of (L L')^-1, where L is what is below the diagonal of `factor`, with the pivots on it."""
    if not len(factor):
        return np.empty(0)
    _, trtri = _lapack(factor)
    lower = np.tril(factor, -1)
    np.fill_diagonal(lower, pivots)
    inverse, _ = trtri(lower.T, lower=0, overwrite_c=1)  # of L', without a copy
    return np.einsum("ij,ij->i", inverse, inverse, dtype=np.float64)
