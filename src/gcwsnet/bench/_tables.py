"""The parameters of Algorithm 1 as the peers hold them: in the order in which they are read.

With g = ln c - r (1 - beta), a feature of weight u has t = floor(L / r + beta) and a = g - r t, where L = p ln u.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet._memory import require_memory
from gcwsnet.hashing.parameters import GCWSParameters

Floats = NDArray[np.float32]
Draw = Callable[[Sequence[int], Sequence[int]], GCWSParameters]


class ByHash(NamedTuple):
    """For dense rows, hashes x features each: one hash reads all features, one after the other."""

    inverse_r: Floats
    beta: Floats
    g: Floats
    r: Floats


def random_parameters(features: Sequence[int], hashes: Sequence[int]) -> GCWSParameters:
    """Parameters with the law of Algorithm 1, drawn more quickly than those of the hasher."""
    rng = np.random.default_rng(features[0])
    shape = (len(features), len(hashes))
    r, c = (rng.standard_gamma(2, shape, dtype=np.float32) for _ in range(2))
    return GCWSParameters(r, np.log(c, out=c), rng.random(shape, dtype=np.float32))


def by_hash(features: Sequence[int], n_hashes: int, draw: Draw = random_parameters) -> ByHash:
    """Tables for dense rows."""
    require_memory(28 * len(features) * n_hashes, "tables for a peer", "it is left out")
    r, log_c, beta = (np.ascontiguousarray(q.T) for q in draw(features, range(n_hashes)))
    return ByHash(np.reciprocal(r), beta, log_c - r * (1 - beta), r)


def by_feature(features: Sequence[int], n_hashes: int, draw: Draw = random_parameters) -> Floats:
    """One table for sparse rows, features x (r, beta, g) x hashes: an entry reads one piece of memory."""
    require_memory(12 * len(features) * n_hashes, "the table of a peer", "it is left out")
    table = np.empty((len(features), 3, n_hashes), dtype=np.float32)
    for first in range(0, len(features), 4096):
        some = slice(first, first + 4096)
        r, log_c, beta = draw(features[some], range(n_hashes))
        table[some, 0], table[some, 1], table[some, 2] = r, beta, log_c - r * (1 - beta)
    return table
