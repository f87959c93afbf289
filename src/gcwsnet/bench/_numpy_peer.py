"""Algorithm 1 in NumPy, float32, as fast as it gets without compiled code of one's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.bench._tables import ByHash, Floats

BLOCK = 2**18  # numbers worked on at a time: some 1 MB, which stays in the cache


def hash_blocks(n_hashes: int, n_features: int) -> Iterator[slice]:
    """Slices of the hashes, so few that their features fit in a block."""
    size = max(8, BLOCK // n_features)
    return (slice(first, min(first + size, n_hashes)) for first in range(0, n_hashes, size))


class NumpyDense:
    """Samples of dense rows of weights: one row with a block of hashes at a time, in place."""

    def __init__(self, table: ByHash, p: float) -> None:
        self.table, self.p = table, np.float32(p)

    def i_star(self, X: Floats) -> NDArray[np.intp]:
        """Position of the sampled feature, (n, k)."""
        with np.errstate(divide="ignore"):
            L = self.p * np.log(X)  # of zeros -inf, and a = inf never wins
        n_hashes, n_features = self.table.r.shape
        winners = np.empty((len(X), n_hashes), dtype=np.intp)
        for hashes in hash_blocks(n_hashes, n_features):
            inverse_r, beta, g, r = (one[hashes] for one in self.table)
            a = np.empty_like(r)
            for row, L_of_row in enumerate(L):
                np.multiply(inverse_r, L_of_row, out=a)
                a += beta
                np.floor(a, out=a)
                a *= r
                np.subtract(g, a, out=a)
                np.argmin(a, axis=1, out=winners[row, hashes])
        return winners

    def __call__(self, X: Floats) -> NDArray[np.uint8]:
        """Codes of 8 bits."""
        return self.i_star(X).astype(np.uint8)


class NumpySparse:
    """Samples of CSR rows of weights: the parameters of one row's entries at a time."""

    def __init__(self, table: Floats, p: float) -> None:
        self.table, self.p = table, np.float32(p)

    def i_star(self, X: sparse.csr_matrix) -> NDArray[np.intp]:
        """Position of the sampled feature, (n, k)."""
        L = self.p * np.log(X.data)
        winners = np.empty((X.shape[0], self.table.shape[2]), dtype=np.intp)
        for row in range(X.shape[0]):
            entries = slice(X.indptr[row], X.indptr[row + 1])
            features = X.indices[entries]
            parameters = self.table[features]
            r, beta, g = parameters[:, 0], parameters[:, 1], parameters[:, 2]
            a = L[entries, np.newaxis] / r
            a += beta
            np.floor(a, out=a)
            a *= r
            np.subtract(g, a, out=a)
            winners[row] = features[np.argmin(a, axis=0)]
        return winners

    def __call__(self, X: sparse.csr_matrix) -> NDArray[np.uint8]:
        """Codes of 8 bits."""
        return self.i_star(X).astype(np.uint8)
