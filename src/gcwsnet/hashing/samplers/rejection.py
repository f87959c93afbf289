"""Rejection sampling: points are drawn under the caps of all columns until one lies under the row.

A. Shrivastava, "Simple and efficient weighted minwise hashing", NIPS 2016; X. Li and P. Li, "Rejection sampling for
weighted Jaccard similarity revisited", AAAI 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import REJECTION_TRIALS, keys
from gcwsnet.encoding.reference import scramble
from gcwsnet.hashing.elementary import F, log, log_of_data
from gcwsnet.hashing.parameters import unit31
from gcwsnet.hashing.reference import gcws, gmm_features, samples_of_zeros
from gcwsnet.hashing.samplers.caps import CapTable, cap_table, check_caps, drawn_features

MOST_TRIALS = 1024
BLOCK = 64  # trials looked at together


def trials(
    seed: int, hashes: ArrayLike, numbers: ArrayLike, table: CapTable
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the feature and the logarithm of the height, as a share of the cap, of points under the caps.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    hashes, numbers : arrays of int, 1-D
        Numbers of hashes and of trials, these below `MOST_TRIALS`.
    table : CapTable

    Returns
    -------
    feature : array of int64, shape (hashes, numbers)
    log_height : array of float32, shape (hashes, numbers)

    Examples
    --------
    >>> table = cap_table(np.array([1.0, 3.0, 17.0, 0.0]), p=1)
    >>> feature, log_height = trials(seed=0, hashes=[0, 1], numbers=np.arange(4), table=table)
    >>> feature
    array([[2, 2, 2, 2],
           [1, 2, 1, 1]])
    """
    n = MOST_TRIALS * np.asarray(hashes)[:, np.newaxis] + np.asarray(numbers)
    low, high = (half.astype(np.uint64) for half in keys(seed, REJECTION_TRIALS, 2 * n))
    point = ((high << np.uint64(32)) | low) >> np.uint64(1)
    return drawn_features(table, point), log(unit31(keys(seed, REJECTION_TRIALS, 2 * n + 1)[1]))


def rejection(
    X: ArrayLike, n_hashes: int, *, caps: NDArray[np.float64], p: float = 1.0, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples (i*, t*) of each row: feature and number of the first trial that lies under the row.

    P[(i*, t*) agree] is the pGMM kernel. A row that no trial of a hash accepts has its GCWS sample there, with
    a negative t*: this keeps the law (see ``docs/samplers-specification.md``).

    The other parameters and the result are those of `gcwsnet.hashing.reference.gcws`.

    Parameters
    ----------
    caps : array of float64, shape (2D,)
        Of `column_caps`. No size in X may be above its cap.

    Examples
    --------
    >>> from gcwsnet.hashing.samplers.caps import column_caps
    >>> X = np.array([[-3.0, 17.0], [1.0, 9.0], [0.0, 0.0]])
    >>> i_star, t_star = rejection(X, n_hashes=6, caps=column_caps(X))
    >>> i_star
    array([[ 2,  1,  2,  1,  2,  2],
           [ 2,  2,  0,  2,  2,  2],
           [-1, -1, -1, -1, -1, -1]])
    """
    X = np.asarray(X)
    check_caps(X, caps)
    u = gmm_features(X)
    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    rows = np.flatnonzero(u.any(axis=1))
    if len(rows) == 0:
        return i_star, t_star

    table = cap_table(caps, p)
    waiting = np.zeros((len(u), n_hashes), dtype=bool)
    waiting[rows] = True
    with np.errstate(invalid="ignore"):  # a feature that never occurred: -inf - -inf, and it is never drawn
        log_share = np.minimum(F(p) * log_of_data(u) - table.log_caps, F(0))
    for start in range(0, MOST_TRIALS, BLOCK):
        hashes = np.flatnonzero(waiting.any(axis=0))
        if len(hashes) == 0:
            break
        feature, log_height = trials(seed, hashes, np.arange(start, start + BLOCK), table)
        for row in rows:
            accepted = log_share[row, feature] >= log_height
            first = np.argmax(accepted, axis=1)
            found = accepted.any(axis=1) & waiting[row, hashes]
            i_star[row, hashes[found]] = feature[found, first[found]]
            t_star[row, hashes[found]] = start + first[found]
            waiting[row, hashes[found]] = False

    left = np.flatnonzero(waiting.any(axis=1))
    if len(left) > 0:
        i, t = gcws(X[left], n_hashes, p=p, seed=seed)
        i_star[waiting] = i[waiting[left]]
        t_star[waiting] = _marked(t[waiting[left]])
    return i_star, t_star


def _marked(t: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers from -2**23 to -1 for the t* of GCWS, so that they agree with no number of a trial."""
    return -1 - (scramble(t.astype(F).view(np.uint32)) >> np.uint32(9)).astype(np.int64)
