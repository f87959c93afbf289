"""The GMM transformation and the exact pGMM kernel, equations (1) and (4) of the paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._threads import n_threads
from gcwsnet._validation import Matrix, as_floats, check_finite, check_matrix, check_power, require_memory

BLOCK_BYTES = 1 << 24  # of powered dense rows; besides the result, at most six times this is needed
ROWS_PER_CALL = 64
CHUNK_ENTRIES = 1 << 20  # of sparse rows; besides the result, some 110 bytes for each
MAX_MULTIPLIED = 80  # powers above are formed by logarithms
DENSE_ENOUGH = 0.1  # share of columns in which both rows of a pair have an entry, from which dense blocks win


def gmm_transform(X: Any) -> Any:
    """Return non-negative data with two columns for each column of X: its positive and its negative part.

    Column i of X becomes column 2i, which holds its positive entries, and column 2i + 1, which holds the
    absolute values of its negative ones (equation (1) of the paper, counted from zero).

    Parameters
    ----------
    X : array, CSR matrix or array, or frame, of shape (n, D)
        Finite numbers.

    Returns
    -------
    U : array or CSR of shape (n, 2D)
        float32 for float32 and small integer types, else float64. CSR for sparse X, without explicit zeros.

    Examples
    --------
    >>> from gcwsnet import gmm_transform
    >>> gmm_transform([[-3, 17]])
    array([[ 0.,  3., 17.,  0.]])
    """
    X = check_matrix(X)
    check_finite(X)
    X = as_floats(X)
    n, n_columns = X.shape
    if not isinstance(X, np.ndarray):
        features = 2 * X.indices.astype(np.int64) + (X.data < 0)
        small = 2 * n_columns <= np.iinfo(X.indptr.dtype).max
        index_type = X.indptr.dtype if small else np.int64
        parts = (np.abs(X.data), features.astype(index_type), X.indptr.astype(index_type))
        U = type(X)(parts, shape=(n, 2 * n_columns))
        U.eliminate_zeros()
        return U
    require_memory(
        2 * X.size * X.itemsize,
        f"the transformed matrix of {n} x {2 * n_columns} numbers",
        "use CSR or batches",
    )
    U = np.empty((n, 2 * n_columns), dtype=X.dtype)
    np.maximum(X, 0, out=U[:, 0::2])
    np.maximum(-X, 0, out=U[:, 1::2])
    U += 0.0  # minus zero becomes zero
    return U


class PoweredRows(NamedTuple):
    """A block of dense rows with their signs, filled up with zeros to a multiple of 8 columns."""

    values: NDArray[np.float64]
    log2_scale: NDArray[np.float64]


class PoweredEntries(NamedTuple):
    """The entries of sparse rows in the features of `gmm_transform`; `start` is the index pointer of the rows."""

    values: NDArray[np.float64]
    feature: NDArray[np.int64]
    start: NDArray[np.int64]
    log2_scale: NDArray[np.float64]
    row: NDArray[np.int64]
    sums: NDArray[np.float64]


def _is_multiplied(p: float) -> bool:
    """Return whether powers are formed by multiplications and a root, which round alike on every machine."""
    return 2 * p == int(2 * p) and 0 < p <= MAX_MULTIPLIED


def _exponents(largest: NDArray[np.float64], p: float) -> NDArray[np.int32]:
    """Return what powers of two rows are divided by; even ones where a root is drawn."""
    exponents = np.frexp(largest)[1]
    return exponents if p == int(p) else exponents + (exponents & 1)


def _log2_scale(largest: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return the scale of rows with these largest entries; 0 for a row of zeros."""
    if _is_multiplied(p):
        return p * _exponents(largest, p).astype(np.float64)
    with np.errstate(divide="ignore"):
        return np.where(largest > 0, p * np.log2(largest), 0.0)


def _raise_to_power(size: NDArray[np.float64], largest: NDArray[np.float64], p: float) -> None:
    """Replace each size by its p-th power on the scale of its row; a zero stays zero."""
    with np.errstate(divide="ignore", under="ignore"):
        if _is_multiplied(p):
            np.ldexp(size, -_exponents(largest, p), out=size)
            square, left = size.copy(), int(p)
            if left < p:
                np.sqrt(size, out=size)
            elif left & 1 == 0:
                size[...] = 1.0
            if left & 1 and left < p:
                size *= square
            while left := left >> 1:
                square *= square
                if left & 1:
                    size *= square
            return
        np.log2(size, out=size)
        size -= np.log2(np.where(largest > 0, largest, 1.0))
        size *= p
        np.exp2(size, out=size)


def power_dense(block: NDArray[Any], p: float) -> PoweredRows:
    """Return sign(u) |u|**p of each entry of a dense block, scaled row by row."""
    n, n_columns = block.shape
    values = np.zeros((n, -(-n_columns // 8) * 8))  # the native core reads columns in groups of 8
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
    return PoweredEntries(values, U.indices.astype(np.int64), start, _log2_scale(largest, p), row, sums)


def gmm_kernel(X: Any, Y: Any = None, *, n_jobs: int | None = None) -> Any:
    """Return the GMM kernel between the rows of X and Y: `pgmm_kernel` with p = 1.

    Examples
    --------
    >>> from gcwsnet import gmm_kernel
    >>> gmm_kernel([[-3, 17]], [[-3, 17], [3, 17]]).round(3)
    array([[1.   , 0.739]])
    """
    return pgmm_kernel(X, Y, p=1.0, n_jobs=n_jobs)


def pgmm_kernel(X: Any, Y: Any = None, *, p: float = 1.0, n_jobs: int | None = None) -> Any:
    """Return the exact pGMM kernel between the rows of X and Y.

    It is the sum over columns of the p-th powers of minima divided by that of maxima, after `gmm_transform`. Powers
    are formed on a scale of each row's own, so that any p and any finite entry give the right number.

    Parameters
    ----------
    X : array, CSR matrix or array, or frame, of shape (n, D)
        Finite numbers.
    Y : the same of shape (m, D), default=None
        None is X. If X and Y are both 1-D, they are one row each and the result is a number.
    p : float, default=1.0
        The power, from 1e-6 to 1e6.
    n_jobs : int, default=None
        Number of threads; None is 1 and -1 is all. The result is the same for any number.

    Returns
    -------
    K : float64 array of shape (n, m), or float
        From 0 to 1. Two rows of zeros have 1, a row of zeros and another row have 0.

    Notes
    -----
    The sums have the same bits on every machine. With p = 0.5, 1, 1.5, 2 and so on up to 80, the whole kernel has.
    Other powers are formed with NumPy's logarithms, whose last bit may differ from machine to machine.

    Examples
    --------
    >>> from gcwsnet import pgmm_kernel
    >>> pgmm_kernel([[1.0, 2.0], [2.0, 1.0]], p=2)
    array([[1.  , 0.25],
           [0.25, 1.  ]])

    As the kernel of a support vector machine:

    >>> from functools import partial
    >>> from sklearn.svm import SVC
    >>> SVC(kernel=partial(pgmm_kernel, p=2)).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1]).predict([[1.0, 3.0]])
    array([0])

    scikit-learn's `pairwise_kernels` calls it pair by pair, with 1-D rows of a dense matrix but with matrices of one
    row of a CSR matrix, for which it wants a number too:

    >>> from scipy.sparse import csr_array
    >>> from sklearn.metrics.pairwise import pairwise_kernels
    >>> rows = [[1.0, 2.0], [2.0, 1.0]]
    >>> pairwise_kernels(rows, metric=pgmm_kernel, p=2)
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    >>> pairwise_kernels(csr_array(rows), metric=lambda x, y: pgmm_kernel(x, y, p=2).item())
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """
    p = check_power(p)
    threads = n_threads(n_jobs)
    if Y is not None and np.ndim(X) == np.ndim(Y) == 1 and not sparse.issparse(X) and not sparse.issparse(Y):
        return float(pgmm_kernel(np.reshape(X, (1, -1)), np.reshape(Y, (1, -1)), p=p, n_jobs=n_jobs)[0, 0])
    symmetric = Y is None or Y is X
    X = check_matrix(X)
    check_finite(X)
    if symmetric:
        Y = X
    else:
        Y = check_matrix(Y, name="Y")
        check_finite(Y, name="Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X and Y must have the same number of columns, got {X.shape[1]} and {Y.shape[1]}")
    return kernel_of_checked(X, Y, p=p, threads=threads)


def kernel_of_checked(X: Matrix, Y: Matrix, *, p: float, threads: int) -> NDArray[np.float64]:
    """Return the pGMM kernel between rows that were checked before: finite, and with the same number of columns."""
    n, m = X.shape[0], Y.shape[0]
    require_memory(8 * n * m, f"the kernel matrix of {n} x {m} numbers", "pass fewer rows")
    out = np.empty((n, m))
    all_dense = isinstance(X, np.ndarray) and isinstance(Y, np.ndarray)
    fill = _fill_dense if all_dense or _density(X) * _density(Y) >= DENSE_ENOUGH else _fill_sparse
    fill(X, Y, p, out, threads)
    if Y is X:
        _mirror(out)
    return out


def _density(X: Matrix) -> float:
    stored = np.count_nonzero(X) if isinstance(X, np.ndarray) else X.nnz
    return float(stored / (X.shape[0] * X.shape[1]))


def _has_negative(X: Matrix) -> bool:
    values = X if isinstance(X, np.ndarray) else X.data
    return bool(values.size and values.min() < 0)


def _mirror(K: NDArray[np.float64]) -> None:
    """Fill the upper half of K from its lower half, and the diagonal: K is then symmetric to the last bit."""
    for first in range(0, len(K), ROWS_PER_CALL):
        rows = slice(first, first + ROWS_PER_CALL)
        K[:first, rows] = K[rows, :first].T
        block = K[rows, rows]
        below = np.tril_indices(len(block), -1)
        block.T[below] = block[below]
    np.fill_diagonal(K, 1.0)


def _fill_dense(X: Matrix, Y: Matrix, p: float, out: NDArray[np.float64], threads: int) -> None:
    """Write the kernel, or its lower half if Y is X, block by block of dense rows."""
    negative = _has_negative(X) or _has_negative(Y)
    step = max(8, BLOCK_BYTES // (8 * X.shape[1]))
    for i in range(0, X.shape[0], step):
        x = power_dense(_dense(X[i : i + step]), p)
        for j in range(0, i + 1 if Y is X else Y.shape[0], step):
            y = x if Y is X and i == j else power_dense(_dense(Y[j : j + step]), p)
            rows_per_call = ROWS_PER_CALL if y is x else step
            for k in range(0, len(x.values), rows_per_call):
                rows = slice(k, k + rows_per_call)
                most = k + rows_per_call if y is x else len(y.values)
                _core.pgmm_dense(
                    x.values[rows],
                    x.log2_scale[rows],
                    y.values[:most],
                    y.log2_scale[:most],
                    negative,
                    out[i : i + step, j : j + step][rows, :most],
                    threads,
                )


def _dense(X: Matrix) -> NDArray[Any]:
    return X if isinstance(X, np.ndarray) else X.toarray()


def _csr(X: Matrix) -> Any:
    return sparse.csr_array(X) if isinstance(X, np.ndarray) else X


def _fill_sparse(X: Matrix, Y: Matrix, p: float, out: NDArray[np.float64], threads: int) -> None:
    """Write the kernel, or its lower half if Y is X, chunk by chunk of sparse rows."""
    step_x, step_y = (max(1, CHUNK_ENTRIES // max(1, round(_density(Z) * Z.shape[1]))) for Z in (X, Y))
    for j in range(0, Y.shape[0], step_y):
        y = power_sparse(_csr(Y[j : j + step_y]), p)
        for i in range(j if Y is X else 0, X.shape[0], step_x):
            x = y if Y is X and i == j else power_sparse(_csr(X[i : i + step_x]), p)
            _sparse_kernel(x, y, out[i : i + step_x, j : j + step_y], threads)


def _sparse_kernel(x: PoweredEntries, y: PoweredEntries, out: NDArray[np.float64], threads: int) -> None:
    """Write the kernel, computed through the features that x has, numbered from 0."""
    by_feature = np.argsort(x.feature, kind="stable")
    features, x_start = np.unique(x.feature[by_feature], return_index=True)
    slot = np.searchsorted(features, y.feature)
    shared = np.append(features, -1)[slot] == y.feature
    y_start = np.append(0, np.cumsum(shared))[y.start]
    _core.pgmm_sparse(
        np.append(x_start, len(x.feature)).astype(np.int64),
        x.row[by_feature],
        x.values[by_feature],
        x.log2_scale,
        x.sums,
        y_start.astype(np.int64),
        slot[shared].astype(np.int64),
        y.values[shared],
        y.log2_scale,
        y.sums,
        out,
        threads,
    )


def pgmm_pairs(X: Any, Y: Any, pairs: NDArray[np.int64], *, p: float, threads: int) -> NDArray[np.float64]:
    """Return the pGMM kernel of single pairs of checked rows, a row of X and a row of Y each, up to rounding.

    If Y is CSR, entries are compared one by one. For p = 1 rows that no pair names cost nothing.
    """
    out = np.empty(len(pairs))
    pairs = np.ascontiguousarray(pairs, np.int64)
    is_dense = isinstance(Y, np.ndarray)
    X = _dense(X) if is_dense else _csr(X)
    compare: Any = _core.pairs_of_dense if is_dense else _core.pairs_of_csr
    if p == 1:
        # Without scales: rows that no pair names cost nothing, but a sum may be beyond the range of doubles.
        compare(*_unscaled(X, Y), *_unscaled(Y, X), pairs, out, threads)
        if np.isfinite(out).all():
            return out
    powered = [power_dense(one, p) if is_dense else power_sparse(one, p)[:4] for one in (X, Y)]
    compare(*powered[0], *powered[1], pairs, out, threads)
    return out


def _unscaled(X: Matrix, other: Matrix) -> tuple[Any, ...]:
    """Return the numbers of X, of a type that holds those of the other matrix too, and no scale."""
    dtype = np.result_type(X.dtype, other.dtype)
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype), None
    index = np.result_type(X.indices.dtype, other.indices.dtype)
    indices, indptr = (each.astype(index, copy=False) for each in (X.indices, X.indptr))
    return X.data.astype(dtype, copy=False), indices, indptr, None
