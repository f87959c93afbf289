"""Codes as sparse binary vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def one_hot(codes: NDArray[Any], bits: int) -> Any:
    """Concatenated one-hot vectors of codes: 2**bits columns for each hash, exactly one 1 in each.

    Parameters
    ----------
    codes : array of unsigned integers, shape (n, k)
        Each below 2**bits.
    bits : int
        Bits of a code, with those appended from t*.

    Returns
    -------
    Z : CSR matrix of float32, shape (n, 2**bits * k)

    Examples
    --------
    The paper's example, k = 3 and b = 2 (the paper counts the places of a block from the right):

    >>> one_hot(np.array([[3, 0, 1]], dtype=np.uint8), bits=2).toarray().astype(int)
    array([[0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0]])
    """
    n, k = codes.shape
    n_columns = k << bits
    index_type = np.dtype(np.int32 if max(n_columns, n * k) <= np.iinfo(np.int32).max else np.int64)
    indices: NDArray[Any] = codes.astype(index_type)
    indices += np.arange(0, n_columns, 1 << bits, dtype=index_type)
    indptr = np.arange(0, n * k + 1, k, dtype=index_type)
    return sparse.csr_matrix((np.ones(n * k, dtype=np.float32), indices.reshape(-1), indptr), shape=(n, n_columns))
