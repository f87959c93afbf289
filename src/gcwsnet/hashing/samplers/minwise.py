"""Minwise hashing: a row is the set of its non-zero entries, and each hash takes the one with the least random word.

A. Z. Broder, "On the resemblance and containment of documents", Compression and Complexity of Sequences, 1997.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import FEATURES, HASHES, keys
from gcwsnet.hashing.reference import gmm_features, samples_of_zeros

HASH_WORDS = 4
"""The keys that each hash has, of which minwise hashing takes the first."""


def minwise_words(seed: int, features: ArrayLike, hashes: ArrayLike) -> NDArray[np.int32]:
    """Return the word of each feature for each hash, which orders the features.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    features, hashes : arrays of int
        Numbers of features and of hashes.

    Returns
    -------
    words : array of int32, shape (features, hashes)

    Examples
    --------
    >>> minwise_words(seed=0, features=[0, 1], hashes=[0, 1, 2]).shape
    (2, 3)
    """
    of_feature = keys(seed, FEATURES, features)
    of_hash = keys(seed, HASHES, HASH_WORDS * np.asarray(hashes, dtype=np.uint64))
    low, high = (a[:, np.newaxis] ^ b for a, b in zip(of_feature, of_hash, strict=True))
    word = (low ^ (low >> np.uint32(16))) * np.uint32(0x7FEB352D)
    word = (word ^ (word >> np.uint32(15)) ^ high) * np.uint32(0x846CA68B)
    return word.view(np.int32)


def minwise(X: ArrayLike, n_hashes: int, *, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples of each row: i*, the feature with the least word, and t* = 0.

    P[i* agrees] is the Jaccard similarity of the sets of features of two rows: what the pGMM kernel tends to as p goes
    to 0. A number that is not zero counts as there, whatever its size. Its sign matters, since it decides the feature.

    Parameters
    ----------
    X : array of shape (n, D)
    n_hashes : int
    seed : int, default=0

    Returns
    -------
    i_star, t_star : arrays of int64, shape (n, n_hashes)

    Examples
    --------
    >>> i_star, t_star = minwise([[-3.0, 17.0], [0.0, 0.0]], n_hashes=4)
    >>> i_star
    array([[ 1,  2,  2,  2],
           [-1, -1, -1, -1]])
    """
    u = gmm_features(X)
    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    words = minwise_words(seed, np.arange(u.shape[1]), np.arange(n_hashes))
    for row, there in enumerate(u > 0):
        features = np.flatnonzero(there)
        if len(features):
            i_star[row] = features[np.argmin(words[features], axis=0)]  # on a tie the lowest feature
    return i_star, t_star
