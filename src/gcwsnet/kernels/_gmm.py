"""The transformation that makes real data non-negative, equation (1) of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet._memory import require_memory
from gcwsnet._validation import as_floats, check_finite, check_matrix


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
    if sparse.issparse(X):
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
