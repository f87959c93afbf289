"""The random parameters of Algorithm 1, a pure function of (seed, feature, hash).

``docs/hash-specification.md`` says it in words, ``src/cpp/gcws/parameters.hpp`` is the same in C++.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import FEATURES, HASHES, keys
from gcwsnet.hashing.logarithm import F, log, minus_log1m

HASH_VERSION = 1
"""Changes with anything that changes a code: parameters, logarithm, order of operations, encoding."""

SMALLEST_R = F(2**-20)


class Parameters(NamedTuple):
    """r and c of Gamma(2, 1), as r and ln c, and beta of Uniform(0, 1): features x hashes each."""

    r: NDArray[np.float32]
    log_c: NDArray[np.float32]
    beta: NDArray[np.float32]


def word(low: NDArray[np.uint32], high: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """32 bits of the two halves of keys that are themselves uniform.

    Examples
    --------
    >>> word(np.array([0, 1], dtype=np.uint32), np.array([1, 0], dtype=np.uint32))
    array([2221679335, 1753845952], dtype=uint32)
    """
    x = low ^ (low >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15)) ^ high
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def unit31(h: NDArray[np.uint32]) -> NDArray[np.float32]:
    """An odd multiple of 2**-31 below 1, rounded to a float: fine steps where it is small.

    Examples
    --------
    >>> unit31(np.array([0, 2**31, 2**32 - 1], dtype=np.uint32))
    array([4.656613e-10, 5.000000e-01, 1.000000e+00], dtype=float32)
    """
    return ((h >> np.uint32(1)) | np.uint32(1)).astype(np.int32).astype(F) * F(2**-31)


def _unit24(h: NDArray[np.uint32]) -> NDArray[np.float32]:
    return ((h >> np.uint32(8)) | np.uint32(1)).astype(np.int32).astype(F) * F(2**-24)


def parameters(seed: int, features: ArrayLike, hashes: ArrayLike) -> Parameters:
    """Parameters of all pairs of a feature and a hash.

    With uniforms w1, u2, v2, let E1 = -ln(1 - w1), E2 = -ln v2, c = E1 + E2 and u1 = E1 / c. Then c is
    Gamma(2, 1), u1 is uniform and independent of it, and r = -ln(u1 u2) is Gamma(2, 1).

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    features, hashes : arrays of int, 1-D
        Numbers of features (columns of `gmm_transform`) and of hashes.

    Returns
    -------
    q : Parameters
        Arrays of shape (features, hashes).

    Examples
    --------
    >>> q = parameters(seed=0, features=[0, 1], hashes=[0, 1, 2])
    >>> q.r.shape
    (2, 3)
    >>> bool((parameters(seed=0, features=[1], hashes=[2]).r == q.r[1, 2]).all())
    True
    """
    low_i, high_i = (half[:, np.newaxis] for half in keys(seed, FEATURES, features))
    h = []
    for w in range(4):
        low_j, high_j = keys(seed, HASHES, 4 * np.asarray(hashes, dtype=np.uint64) + np.uint64(w))
        h.append(word(low_i ^ low_j, high_i ^ high_j))
    w1 = unit31((h[0] & np.uint32(0xFFFF0000)) | (h[1] >> np.uint32(16)))
    u2 = unit31((h[0] << np.uint32(16)) | (h[1] & np.uint32(0xFFFF)))
    e1 = minus_log1m(w1)
    e2 = -log(_unit24(h[2]))
    beta = _unit24(h[3])
    log_c = log(e1 + e2)
    r = np.maximum(log_c - log(e1 * u2), SMALLEST_R)
    return Parameters(r, log_c, beta)
