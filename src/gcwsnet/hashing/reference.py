"""Algorithm 1 of the paper in plain NumPy: slow and short. Every fast path is tested to be equal to it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import SALTS, keys
from gcwsnet.hashing.elementary import F, log_of_data
from gcwsnet.hashing.parameters import mix, parameters
from gcwsnet.kernels._exact import gmm_transform

Samples = tuple[NDArray[np.int64], NDArray[np.int64]]
NAN_BITS = np.uint32(0x7FC00000)  # stands for the t* of a row without non-zero entries


def gmm_features(X: ArrayLike) -> NDArray[np.floating]:
    """Return the GMM transformation of X in the precision in which it is hashed: float32 if X is, else float64."""
    X = np.asarray(X)
    features: NDArray[np.floating] = gmm_transform(X if X.dtype == F else X.astype(np.float64))
    return features


def samples_of_zeros(n_rows: int, n_hashes: int) -> Samples:
    """Return the reserved samples (i*, t*) of rows of zeros: -1 and 0."""
    return np.full((n_rows, n_hashes), -1, dtype=np.int64), np.zeros((n_rows, n_hashes), dtype=np.int64)


def gcws(X: ArrayLike, n_hashes: int | NDArray[np.int64], *, p: float = 1.0, seed: int = 0) -> Samples:
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


def encode(
    i_star: NDArray[np.int64],
    t_star: NDArray[np.int64],
    *,
    seed: int,
    bits: int,
    t_bits: int | Literal["all"] = "all",
    encoding: Literal["mixed", "lowbits"] = "mixed",
    n_columns: int,
    salts: int = SALTS,
) -> NDArray[np.uint64]:
    """Return codes of b bits, or of b + t_bits bits where bits of t* are appended.

    Parameters
    ----------
    i_star, t_star : arrays of int64, shape (n, k)
        Samples; -1 and 0 for a row of zeros.
    seed, bits, t_bits, encoding
        Those of the hasher, see `GCWSHasher`. The seed gives each hash its salt.
    n_columns : int
        D, the columns of the data.
    salts : int
        The stream of the sampler's salts.

    Returns
    -------
    codes : array of uint64, shape (n, k)

    Examples
    --------
    >>> i, t = np.array([[0, 3, -1]]), np.array([[5, -1, 0]])
    >>> encode(i, t, seed=0, bits=2, t_bits=1, encoding="lowbits", n_columns=2)
    array([[1, 7, 6]], dtype=uint64)
    """
    i = i_star.astype(np.uint32)
    if encoding == "mixed":
        salt_low, salt_high = keys(seed, salts, np.arange(i.shape[1]))
        t = np.zeros_like(i)
        if t_bits == "all":
            t = np.where(i_star < 0, NAN_BITS, t_star.astype(np.float32).view(np.uint32))
        code = mix(mix(i ^ salt_low) ^ t ^ salt_high) >> np.uint32(32 - bits)
    else:
        column_first = np.where(i_star < 0, -1, (i_star >> 1) + (i_star & 1) * n_columns)
        code = column_first.astype(np.uint32) & np.uint32((1 << bits) - 1)
    appended = 0 if t_bits == "all" else t_bits
    low = (t_star & ((1 << appended) - 1)).astype(np.uint64)
    return (code.astype(np.uint64) << np.uint64(appended)) | low
