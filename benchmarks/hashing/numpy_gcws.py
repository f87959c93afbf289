"""Algorithm 1 in NumPy, float32: the fastest version that needs no compiled code, for comparison with the hasher.

With g = ln c - r (1 - beta), a feature of weight u has t = floor(L / r + beta) and a = g - r t, where L = p ln u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._validation import require_memory

BLOCK = 2**18  # numbers worked on at a time: about 1 MB, which stays in the cache
FEATURES_AT_ONCE = 4096
Floats = NDArray[np.float32]
Parameters = tuple[Floats, Floats, Floats]  # r, ln c and beta, each of shape (features, hashes)
Draw = Callable[[Sequence[int], Sequence[int]], Parameters]


class HashMajorTable(NamedTuple):
    """The parameters for dense rows, each of shape (hashes, features): a hash reads its features in order."""

    inverse_r: Floats
    beta: Floats
    g: Floats
    r: Floats


def random_parameters(features: Sequence[int], hashes: Sequence[int]) -> Parameters:
    """Return parameters with the law of Algorithm 1, which are drawn faster than those of the hasher."""
    rng = np.random.default_rng(features[0])
    shape = (len(features), len(hashes))
    r, c = (rng.standard_gamma(2, shape, dtype=np.float32) for _ in range(2))
    return r, np.log(c, out=c), rng.random(shape, dtype=np.float32)


def _hash_major_table(features: Sequence[int], n_hashes: int, draw: Draw = random_parameters) -> HashMajorTable:
    """Return the table for dense rows."""
    require_memory(28 * len(features) * n_hashes, "a table of parameters", "use fewer columns or hashes")
    r, log_c, beta = (np.ascontiguousarray(q.T) for q in draw(features, range(n_hashes)))
    return HashMajorTable(np.reciprocal(r), beta, log_c - r * (1 - beta), r)


def _feature_major_table(features: Sequence[int], n_hashes: int, draw: Draw = random_parameters) -> Floats:
    """Return the table for sparse rows: r, beta and g, of shape (features, 3, hashes); an entry reads one slice."""
    require_memory(12 * len(features) * n_hashes, "a table of parameters", "use fewer columns or hashes")
    table = np.empty((len(features), 3, n_hashes), dtype=np.float32)
    for first in range(0, len(features), FEATURES_AT_ONCE):
        some = slice(first, first + FEATURES_AT_ONCE)
        r, log_c, beta = draw(features[some], range(n_hashes))
        table[some, 0], table[some, 1], table[some, 2] = r, beta, log_c - r * (1 - beta)
    return table


def make_table(
    X: Any, features: Sequence[int], n_hashes: int, draw: Draw = random_parameters
) -> HashMajorTable | Floats:
    """Return the table for rows like X, dense or CSR."""
    return (_feature_major_table if sparse.issparse(X) else _hash_major_table)(features, n_hashes, draw)


def hash_blocks(n_hashes: int, n_features: int) -> Iterator[slice]:
    """Yield slices of the hashes, each so small that the parameters of all features fit in a block."""
    size = max(8, BLOCK // n_features)
    return (slice(first, min(first + size, n_hashes)) for first in range(0, n_hashes, size))


class NumpyGCWS:
    """A sampler of rows of non-negative weights by Algorithm 1.

    Parameters
    ----------
    table : HashMajorTable or array
        From `make_table`.
    p : float
        The power of the pGMM kernel.
    """

    def __init__(self, table: HashMajorTable | Floats, p: float) -> None:
        self.table: Any = table
        self.p = np.float32(p)

    def i_star(self, X: Any) -> NDArray[np.intp]:
        """Return the positions of the sampled features, of shape (n, k)."""
        return self._sparse_i_star(X) if sparse.issparse(X) else self._dense_i_star(X)

    def __call__(self, X: Any) -> NDArray[np.uint8]:
        """Return codes of 8 bits, the low bits of `i_star`."""
        return self.i_star(X).astype(np.uint8)

    def _dense_i_star(self, X: Floats) -> NDArray[np.intp]:
        """Work on one row and one block of hashes at a time, in place."""
        with np.errstate(divide="ignore"):
            L = self.p * np.log(X)  # -inf for a zero, whose a = inf never wins
        n_hashes, n_features = self.table.r.shape
        winners = np.empty((len(X), n_hashes), dtype=np.intp)
        for hashes in hash_blocks(n_hashes, n_features):
            inverse_r, beta, g, r = (one[hashes] for one in self.table)
            a = np.empty_like(r)
            for row, L_of_row in enumerate(L):
                np.multiply(inverse_r, L_of_row, out=a)
                np.argmin(_a_of(a, beta, g, r), axis=1, out=winners[row, hashes])
        return winners

    def _sparse_i_star(self, X: sparse.csr_matrix) -> NDArray[np.intp]:
        """Work on the parameters of one row's entries at a time."""
        L = self.p * np.log(X.data)
        winners = np.empty((X.shape[0], self.table.shape[2]), dtype=np.intp)
        for row in range(X.shape[0]):
            entries = slice(X.indptr[row], X.indptr[row + 1])
            features = X.indices[entries]
            parameters = self.table[features]
            r, beta, g = parameters[:, 0], parameters[:, 1], parameters[:, 2]
            winners[row] = features[np.argmin(_a_of(L[entries, np.newaxis] / r, beta, g, r), axis=0)]
        return winners


def _a_of(L_over_r: Floats, beta: Floats, g: Floats, r: Floats) -> Floats:
    """Return a = g - r floor(L / r + beta), written over L / r."""
    a = L_over_r
    a += beta
    np.floor(a, out=a)
    a *= r
    return np.subtract(g, a, out=a)
