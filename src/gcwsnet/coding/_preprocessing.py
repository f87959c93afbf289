"""The preprocessing of columns before they are hashed: its kinds, how it is learned, and how it is kept."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, as_floats, check_choice
from gcwsnet.coding._quantiles import QuantileScaling, learn_quantiles
from gcwsnet.coding._scaling import KINDS_OF_COLUMNS, SCALINGS, ColumnScaling, kinds_of_columns, learn_scaling
from gcwsnet.coding._terms import KINDS_OF_TERMS, TermScaling, learn_terms

Preprocessing: TypeAlias = "ColumnScaling | QuantileScaling | TermScaling"
Arrays = dict[str, NDArray[Any]]

KINDS = (*SCALINGS, "quantile", *KINDS_OF_TERMS)


def learn_preprocessing(X: Matrix, scale: str = "numeric") -> Preprocessing:
    """Return the preprocessing that suits the columns of X.

    Parameters
    ----------
    X : array or CSR of shape (n, D)
        Real numbers; NaN is left out of account.
    scale : {"numeric", "standard", "minmax", "quantile", "idf", "unit", "tfidf"}, default="numeric"
        "numeric": numeric columns get mean 0 and standard deviation 1, binary ones stay 0 and 1, constant ones are
        dropped. "standard": binary columns are treated like numeric ones. "minmax": columns are put into [0, 1].
        "quantile": numeric columns are made normal by their ranks, for dense rows only. "idf": columns weigh the more
        the fewer rows have them. "unit": rows get length 1. "tfidf": both.
        Sparse rows are not shifted, only divided: by the root mean square of all entries of the column, zeros
        included, or with "minmax" by the largest absolute value. A sparse column without an entry is divided by the
        median of what the others are divided by.

    Returns
    -------
    preprocessing : ColumnScaling, QuantileScaling or TermScaling

    Examples
    --------
    >>> X = np.array([[170.0, 1.0, 5.0], [180.0, 0.0, 5.0], [190.0, 1.0, 5.0]])
    >>> scaling = learn_preprocessing(X)
    >>> scaling
    ColumnScaling('numeric': 1 numeric standardised, 1 binary left as they are, 1 constant dropped)
    >>> scaling.transform(X).round(2) + 0.0
    array([[-1.22,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ],
           [ 1.22,  1.  ,  0.  ]])
    """
    check_choice("scale", scale, KINDS)
    X = as_floats(X)
    if scale in KINDS_OF_TERMS:
        return learn_terms(X, scale)
    if scale != "quantile":
        return learn_scaling(X, scale)
    if sparse.issparse(X):
        raise ValueError("scale='quantile' is for dense rows; use 'numeric' or None for sparse ones")
    return learn_quantiles(X, kinds_of_columns(X))


def preprocessing_state(preprocessing: Preprocessing | None) -> Arrays:
    """Return the arrays that are kept of a preprocessing beside its name."""
    if preprocessing is None:
        return {}
    if isinstance(preprocessing, TermScaling):
        return {"preprocessing.weight": preprocessing.weight}
    kind = np.array([KINDS_OF_COLUMNS.index(one) for one in preprocessing.kind], dtype=np.uint8)
    if isinstance(preprocessing, QuantileScaling):
        return {"preprocessing.kind": kind, "preprocessing.quantiles": preprocessing.quantiles}
    return {
        "preprocessing.kind": kind,
        "preprocessing.shift": preprocessing.shift,
        "preprocessing.divisor": preprocessing.divisor,
    }


def preprocessing_from_state(scale: str | None, n_columns: int, arrays: Arrays) -> Preprocessing | None:
    """Return the preprocessing of `n_columns` columns that arrays were kept of."""
    if scale is None:
        return None
    if scale in KINDS_OF_TERMS:
        weight = arrays["preprocessing.weight"]
        _check_columns(len(weight), n_columns)
        return TermScaling(scale, weight)
    kind = np.array(KINDS_OF_COLUMNS)[arrays["preprocessing.kind"]]
    _check_columns(len(kind), n_columns)
    if scale == "quantile":
        return QuantileScaling(kind, arrays["preprocessing.quantiles"])
    return ColumnScaling(scale, kind, arrays["preprocessing.shift"], arrays["preprocessing.divisor"])


def _check_columns(found: int, expected: int) -> None:
    if found != expected:
        raise IndexError(f"a preprocessing of {found} columns for rows of {expected}")
