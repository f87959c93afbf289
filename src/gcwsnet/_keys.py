"""A counter-based generator of 64-bit keys (splitmix64): key n of a stream is a function of (seed, stream, n) alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1

FEATURES, HASHES, SALTS, SKETCH = 1, 2, 3, 4
REJECTION_TRIALS, REJECTION_SALTS = 5, 6
BINWISE_BINS, BINWISE_FILLS, BINWISE_SALTS = 7, 8, 9
EXTREMAL_POINTS, EXTREMAL_SALTS = 10, 11
SHUFFLE, SPLIT = 12, 13
INITIAL_WEIGHTS, EPOCH_ORDER, SELECTION_ROWS, ENSEMBLE = 14, 15, 16, 17
MINWISE_SALTS, ROWS_OF_SHARE = 18, 19


def _mix64(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _mix64_one(z: int) -> int:
    return int(_mix64(np.array([z & _WORD], dtype=np.uint64))[0])


def stream_state(seed: int, stream: int) -> int:
    """Return the state that the keys of a stream are counted from: key n is the mix of it and n + 1 times `GOLDEN`."""
    return _mix64_one(_mix64_one(seed + GOLDEN) + stream * GOLDEN)


def keys(seed: int, stream: int, n: ArrayLike) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the low and high halves of the keys number `n` of a stream.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    stream : int
        One of the numbers above: `FEATURES`, `HASHES`, `SALTS`, `SKETCH`, ...
    n : array of int
        The numbers of the keys.

    Returns
    -------
    low, high : arrays of uint32, of the shape of `n`

    Examples
    --------
    >>> low, high = keys(0, FEATURES, [0, 1])
    >>> [hex(h << 32 | l) for l, h in zip(low.tolist(), high.tolist())]
    ['0x238275bc38fcbe91', '0xf89a2566b5822c54']
    """
    key = _words(seed, stream, n)
    return (key & np.uint64(0xFFFFFFFF)).astype(np.uint32), (key >> np.uint64(32)).astype(np.uint32)


def _words(seed: int, stream: int, n: ArrayLike) -> NDArray[np.uint64]:
    """Return the keys number `n` of a stream. They differ: each step from a number to its key is one to one."""
    counted = np.asarray(n, dtype=np.uint64) + np.uint64(1)
    return _mix64(np.uint64(stream_state(seed, stream)) + counted * np.uint64(GOLDEN))


def random_order(seed: int, stream: int, n: int, first: int = 0) -> NDArray[np.intp]:
    """Return the numbers from 0 to n - 1 in a random order: that of the keys number `first` and so on of a stream."""
    words = _words(seed, stream, np.arange(first, first + n))  # they differ, so that any way of sorting will do
    return np.argsort(words)
