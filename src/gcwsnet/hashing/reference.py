"""Algorithm 1 of the paper in plain NumPy: slow and short. Every fast path is tested to be equal to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet.hashing.elementary import F, log_of_data
from gcwsnet.hashing.parameters import parameters
from gcwsnet.kernels import gmm_transform

NO_FEATURE, NO_T = -1, 0  # the sample of a row without non-zero entries


def gmm_features(X: ArrayLike) -> NDArray[np.floating]:
    """Return the GMM transformation of X in the precision in which it is hashed: float32 if X is, else float64."""
    X = np.asarray(X)
    features: NDArray[np.floating] = gmm_transform(X if X.dtype == F else X.astype(np.float64))
    return features


def samples_of_zeros(n_rows: int, n_hashes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the reserved samples (i*, t*) of rows of zeros: -1 and 0."""
    return np.full((n_rows, n_hashes), NO_FEATURE, dtype=np.int64), np.full((n_rows, n_hashes), NO_T, dtype=np.int64)


def gcws(
    X: ArrayLike, n_hashes: int | NDArray[np.int64], *, p: float = 1.0, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples (i*, t*) of each row: Algorithm 1 with the parameters of `seed`.

    Parameters
    ----------
    X : array of shape (n, D)
        Finite float32 or float64 numbers; other numbers are taken as float64.
    n_hashes : int or array of int64
        k, the number of samples of a row, or the numbers of the hashes.
    p : float, default=1.0
        The power of the pGMM kernel.
    seed : int, default=0
        Chooses the parameters.

    Returns
    -------
    i_star, t_star : arrays of int64, shape (n, k)
        `i_star` counts the 2D columns of `gmm_transform`. A row of zeros has -1 and 0.

    Examples
    --------
    >>> i_star, t_star = gcws([[-3.0, 17.0], [0.0, 0.0]], n_hashes=4)
    >>> i_star[1].tolist(), t_star[1].tolist()
    ([-1, -1, -1, -1], [0, 0, 0, 0])
    """
    u = gmm_features(X)
    hashes = n_hashes if isinstance(n_hashes, np.ndarray) else np.arange(n_hashes)
    r, log_c, beta = parameters(seed, np.arange(u.shape[1]), hashes)

    i_star, t_star = samples_of_zeros(len(u), len(hashes))
    for row in np.flatnonzero(u.any(axis=1)):
        i = np.flatnonzero(u[row])  # a zero entry is not there
        L = F(p) * log_of_data(u[row, i])[:, np.newaxis]
        t = np.floor(L * (F(1) / r[i]) + beta[i])
        # a = log c - r (t + 1 - beta), in the order of operations that every path keeps
        a = (log_c[i] - r[i] * (F(1) - beta[i])) - r[i] * t
        winner = np.argmin(a, axis=0)  # on a tie the lowest feature
        i_star[row] = i[winner]
        t_star[row] = np.take_along_axis(t, winner[np.newaxis], axis=0)[0].astype(np.int64)
    return i_star, t_star
