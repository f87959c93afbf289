"""Rows with known neighbours, and references in NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

BASIS, PRIME = 0xCBF29CE484222325, 0x100000001B3


def clustered(n: int, d: int = 20, seed: int = 0, noise: float = 0.3) -> NDArray[np.float64]:
    """Return rows of any sign in groups of about ten similar ones."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, n // 10), d))
    return centres[rng.integers(0, len(centres), n)] + noise * rng.normal(size=(n, d))


def pairs_of_similarity(n: int, J: float, seed: int = 0) -> tuple[Any, Any]:
    """Return n pairs of rows with the kernel J, in columns of their own, so that pairs are independent."""
    shared = np.random.default_rng(seed).uniform(1, 2, n)
    rest = shared * (1 - J) / (2 * J)  # sum of minima / sum of maxima = s / (s + 2 r) = J
    rows = np.arange(n)
    made = []
    for other in (1, 2):
        columns = np.stack([3 * rows, 3 * rows + other], axis=1).ravel()
        values = np.stack([shared, rest], axis=1).ravel()
        made.append(sparse.csr_array((values, columns, np.arange(0, 2 * n + 1, 2)), shape=(n, 3 * n)))
    return made[0], made[1]


def band_keys(codes: NDArray[Any], n_bands: int, width: int) -> NDArray[np.uint32]:
    """Return the 32-bit keys of the bands of each row, of the shape (bands, rows)."""
    keys = np.empty((n_bands, len(codes)), np.uint32)
    for band in range(n_bands):
        state = np.full(len(codes), BASIS, np.uint64)
        for j in range(band * width, (band + 1) * width):
            state = (state ^ codes[:, j].astype(np.uint64)) * np.uint64(PRIME)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys[band] = (state ^ (state >> np.uint64(31))) >> np.uint64(32)
    return keys


def buckets(codes: NDArray[Any], n_bands: int, width: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the buckets as the native core builds them."""
    keys = band_keys(codes, n_bands, width)
    rows = np.argsort(keys, axis=1, kind="stable")
    return np.take_along_axis(keys, rows, axis=1), rows.astype(np.uint32)


def equal_codes(queries: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return on how many hashes each query agrees with each row."""
    return (queries[:, np.newaxis] == codes[np.newaxis]).sum(axis=2)


def ranks(counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the ranks of rows with these counts: the more equal codes the greater, then the lower the number."""
    rows = np.arange(counts.shape[-1], dtype=np.uint64)
    return (counts.astype(np.uint64) << np.uint64(32)) | (np.uint64(2**32 - 1) - rows)
