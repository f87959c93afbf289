"""Bin-wise consistent weighted sampling: columns fall into k bins, and each bin gives one GCWS sample.

P. Li, X. Li and C.-H. Zhang, "Re-randomized densification for one permutation hashing and bin-wise consistent
weighted sampling", NeurIPS 2019.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import BINWISE_BINS, BINWISE_FILLS, keys
from gcwsnet.hashing.elementary import F, log_of_data
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import gmm_features, samples_of_zeros

MOST_ATTEMPTS = 64


def _below(n: int, words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return words as whole numbers below n, each as often as the others."""
    return ((words.astype(np.uint64) * np.uint64(n)) >> np.uint64(32)).astype(np.int64)


def bins_of_columns(seed: int, columns: ArrayLike, n_bins: int) -> NDArray[np.int64]:
    """Return the bin of each column.

    Examples
    --------
    >>> bins_of_columns(seed=0, columns=np.arange(8), n_bins=4)
    array([1, 0, 2, 0, 2, 0, 2, 1])
    """
    return _below(n_bins, keys(seed, BINWISE_BINS, columns)[1])


def donors(seed: int, full: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the bin that gives the columns for each sample of a row: the bin itself, or for an empty one its donor.

    The donor is the first full one of 64 drawn bins, or, if none of them is full, the first full one behind the
    empty bin, counted cyclically.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    full : array of bool, shape (bins,)
        Which bins have an entry of the row; at least one.

    Returns
    -------
    donor : array of int64, shape (bins,)

    Examples
    --------
    >>> donors(seed=0, full=np.array([False, True, False, False, True]))
    array([1, 1, 1, 4, 4])
    """
    own = np.arange(len(full))
    numbers = MOST_ATTEMPTS * own[:, np.newaxis] + np.arange(MOST_ATTEMPTS)
    drawn = _below(len(full), keys(seed, BINWISE_FILLS, numbers)[1])
    first = drawn[own, np.argmax(full[drawn], axis=1)]
    all_full = np.flatnonzero(full)
    behind = all_full[np.searchsorted(all_full, own) % len(all_full)]
    return np.where(full, own, np.where(full[first], first, behind))


def binwise(
    X: ArrayLike, n_hashes: int, *, p: float = 1.0, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples (i*, t*) of each row: GCWS under hash j of the columns of bin j, or of its donor.

    Given the bins, P[(i*, t*) agree] of hash j is the pGMM kernel of the columns of bin j. If bin j is empty in
    both rows, it is that of the first donor that is not empty in both.

    The parameters and the result are those of `gcwsnet.hashing.reference.gcws`.

    Examples
    --------
    >>> i_star, t_star = binwise([[-3.0, 17.0], [0.0, 0.0]], n_hashes=4)
    >>> i_star
    array([[ 2,  1,  2,  1],
           [-1, -1, -1, -1]])
    """
    u = gmm_features(X)
    features = np.arange(u.shape[1])
    bins = bins_of_columns(seed, features >> 1, n_hashes)

    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    rows = np.flatnonzero(u.any(axis=1))
    L = F(p) * log_of_data(u[rows])
    full = np.zeros((len(rows), n_hashes), dtype=bool)
    for number, row in enumerate(rows):
        full[number, bins[u[row] > 0]] = True
    source = np.array([donors(seed, each) for each in full]).reshape(full.shape)

    q = parameters(seed, features, np.arange(n_hashes))
    for j, (r, log_c, beta) in enumerate(zip(q.r.T, q.log_c.T, q.beta.T, strict=True)):
        here = np.where(bins == source[:, [j]], L, F(-np.inf))  # a is infinite for what is not there
        t = np.floor(here * (F(1) / r) + beta)
        a = (log_c - r * (F(1) - beta)) - r * t
        winner = np.argmin(a, axis=1)  # on a tie the lowest feature
        i_star[rows, j] = winner
        t_star[rows, j] = t[np.arange(len(rows)), winner].astype(np.int64)
    return i_star, t_star
