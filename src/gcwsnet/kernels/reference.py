"""The pGMM kernel in the log domain, pair by pair: slow and short. The fast one is tested against it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gcwsnet.kernels._exact import gmm_transform


def pgmm(X: ArrayLike, Y: ArrayLike, p: float = 1.0) -> NDArray[np.float64]:
    """Return equation (4) of the paper for dense X and Y: exp(ln of the sum of minima - ln of the sum of maxima).

    Examples
    --------
    >>> pgmm([[1.0, 2.0]], [[2.0, 1.0], [0.0, 0.0]], p=2).round(6)
    array([[0.25, 0.  ]])
    """
    with np.errstate(divide="ignore"):
        log_u, log_v = (np.log(gmm_transform(np.asarray(Z, dtype=np.float64))) for Z in (X, Y))
    K = np.empty((len(log_u), len(log_v)))
    for i, u in enumerate(log_u):
        for j, v in enumerate(log_v):
            if np.all(u == -np.inf) and np.all(v == -np.inf):
                K[i, j] = 1.0
            else:
                K[i, j] = np.exp(logsumexp(p * np.minimum(u, v)) - logsumexp(p * np.maximum(u, v)))
    return K
