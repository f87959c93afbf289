"""Dask arrays and dataframes hashed chunk by chunk, when they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from gcwsnet import _sparse as sparse
from gcwsnet.hashing._gcws import GCWSHasher


def hash_array(hasher: GCWSHasher, X: Any) -> Any:
    """Return the codes of the rows of a Dask array, which are computed when they are asked for.

    Parameters
    ----------
    hasher : GCWSHasher
        A hasher for arrays with as many columns. One that is not fitted is fitted to the columns of X, which need not
        be computed for it; with ``method="rejection"`` it must be fitted.
    X : dask.array.Array of shape (n, D)
        Its chunks may have unknown numbers of rows, and be dense or CSR. Where columns are cut into chunks, they are
        joined.

    Returns
    -------
    codes : dask.array.Array of shape (n, k)
        Unsigned integers, in the chunks of rows of X: what the hasher makes of all rows.

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> from gcwsnet import GCWSHasher
    >>> from gcwsnet.distributed import hash_array
    >>> rows = np.arange(12.0).reshape(6, 2)
    >>> codes = hash_array(GCWSHasher(3, random_state=0), dask.array.from_array(rows, chunks=(4, 1)))
    >>> codes.shape, codes.chunks, codes.dtype
    ((6, 3), ((4, 2), (3,)), dtype('uint8'))
    >>> bool((codes.compute() == GCWSHasher(3, random_state=0).fit_transform(rows)).all())
    True
    """
    if getattr(X, "ndim", None) != 2 or not hasattr(X, "map_blocks"):
        raise TypeError(f"X must be a Dask array with two dimensions, got {type(X).__name__}; use hasher.transform")
    hasher = _fitted(hasher, sparse.csr_matrix((1, X.shape[1]), dtype=np.float64))
    if hasher.n_features_in_ != X.shape[1]:
        raise ValueError(f"X must have {hasher.n_features_in_} columns as in fit, got {X.shape[1]}")
    X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
    meta = _no_codes(hasher)
    return X.map_blocks(_codes, hasher, dtype=meta.dtype, chunks=(X.chunks[0], (meta.shape[1],)), meta=meta)


def hash_dataframe(hasher: GCWSHasher, frame: Any) -> Any:
    """Return the codes of the rows of a Dask dataframe, which are computed when they are asked for.

    Parameters
    ----------
    hasher : GCWSHasher
        A hasher for frames with the same columns. One that is not fitted is fitted to the columns of the frame, which
        need not be computed for it; with ``method="rejection"`` it must be fitted.
    frame : dask.dataframe.DataFrame
        All columns are numbers.

    Returns
    -------
    codes : dask.dataframe.DataFrame
        k columns of unsigned integers with the names of `get_feature_names_out`, with the index, the partitions and
        the divisions of the frame.

    Examples
    --------
    >>> import dask.dataframe
    >>> import pandas
    >>> from gcwsnet import GCWSHasher
    >>> from gcwsnet.distributed import hash_dataframe
    >>> rows = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.0, -1.0]}, index=[10, 20, 30])
    >>> codes = hash_dataframe(GCWSHasher(2, random_state=0), dask.dataframe.from_pandas(rows, npartitions=2))
    >>> list(codes.columns), codes.divisions
    (['gcwshasher0', 'gcwshasher1'], (10, 30, 30))
    >>> bool((codes.compute() == GCWSHasher(2, random_state=0).fit_transform(rows)).all(axis=None))
    True
    """
    if not hasattr(frame, "map_partitions") or not hasattr(frame, "columns"):
        raise TypeError(f"frame must be a Dask dataframe, got {type(frame).__name__}; use hasher.transform")
    hasher = _fitted(hasher, frame._meta_nonempty)
    empty = _no_codes(hasher)
    names = hasher.get_feature_names_out()
    meta = type(frame._meta)(empty, columns=names, index=frame._meta.index[:0])
    return frame.map_partitions(_frame_of_codes, hasher, names, meta=meta)


def _fitted(hasher: GCWSHasher, rows: Any) -> GCWSHasher:
    """Return a hasher that is fitted, to the columns of some rows if it was not."""
    if not hasattr(hasher, "n_features_in_"):
        if hasher.method == "rejection":
            raise ValueError(
                "method='rejection' learns the largest values of all rows; fit the hasher to rows that have them first"
            )
        hasher = clone(hasher).fit(rows)
    if hasher._output != "codes":
        raise ValueError(f"output must be 'codes', got output={hasher._output!r}; one-hot vectors are made of codes")
    return hasher


def _no_codes(hasher: GCWSHasher) -> NDArray[Any]:
    """Return no rows of codes, with the type and the number of codes of those that there may be."""
    return np.empty((0, hasher._n_features_out), dtype=np.min_scalar_type((1 << hasher.code_bits) - 1))


def _codes(X: Any, hasher: GCWSHasher) -> NDArray[Any]:
    return np.asarray(hasher.transform(X)) if X.shape[0] else _no_codes(hasher)


def _frame_of_codes(rows: Any, hasher: GCWSHasher, names: Any) -> Any:
    return type(rows)(_codes(rows, hasher), columns=names, index=rows.index)
