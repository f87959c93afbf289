"""The random parameters of Algorithm 1, a pure function of (seed, feature, hash).

``docs/hash-specification.md`` specifies them; the native core has the same functions in C++.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import FEATURES, HASHES, keys
from gcwsnet.hashing.elementary import F, log, minus_log1m

HASH_VERSION = 1
"""The version of the hash. It changes with everything that changes a code: parameters, logarithm, encoding, ..."""


class GCWSParameters(NamedTuple):
    """The parameters r, c and beta of Algorithm 1, with ln c for c, each of shape (features, hashes)."""

    r: NDArray[np.float32]
    log_c: NDArray[np.float32]
    beta: NDArray[np.float32]


def mix(low: NDArray[np.uint32], high: NDArray[np.uint32] | int = 0) -> NDArray[np.uint32]:
    """Return 32 uniform bits of the two halves of uniform keys; for one `high` they are one to one in `low`."""
    x = low ^ (low >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15)) ^ high
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def words(seed: int, features: ArrayLike, hashes: ArrayLike, number: int) -> NDArray[np.uint32]:
    """Return one of the four random words of all pairs of a feature and a hash, of shape (features, hashes)."""
    of_feature = keys(seed, FEATURES, features)
    of_hash = keys(seed, HASHES, 4 * np.asarray(hashes, dtype=np.uint64) + np.uint64(number))
    return mix(*(a[:, np.newaxis] ^ b for a, b in zip(of_feature, of_hash, strict=True)))


def unit31(h: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Return odd multiples of 2**-31 below 1, rounded to floats: fine steps where they are small."""
    return ((h >> np.uint32(1)) | np.uint32(1)).astype(np.int32).astype(F) * F(2**-31)


def _unit24(h: NDArray[np.uint32]) -> NDArray[np.float32]:
    return ((h >> np.uint32(8)) | np.uint32(1)).astype(np.int32).astype(F) * F(2**-24)


def parameters(seed: int, features: ArrayLike, hashes: ArrayLike) -> GCWSParameters:
    """Return the parameters of all pairs of a feature (a column of `gmm_transform`) and a hash.

    With uniforms w1, u2, v2, let E1 = -ln(1 - w1), E2 = -ln v2, c = E1 + E2 and u1 = E1 / c. Then c is
    Gamma(2, 1), u1 is uniform and independent of it, and r = -ln(u1 u2) is Gamma(2, 1).
    """
    h = [words(seed, features, hashes, number) for number in range(4)]
    w1 = unit31((h[0] & np.uint32(0xFFFF0000)) | (h[1] >> np.uint32(16)))
    u2 = unit31((h[0] << np.uint32(16)) | (h[1] & np.uint32(0xFFFF)))
    e1 = minus_log1m(w1)
    e2 = -log(_unit24(h[2]))
    log_c = log(e1 + e2)
    r = np.maximum(log_c - log(e1 * u2), F(2**-20))
    return GCWSParameters(r, log_c, beta=_unit24(h[3]))
