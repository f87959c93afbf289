"""Codes of samples (i*, t*) in plain NumPy, the judge of the native encoder (``src/cpp/samplers/encode.hpp``)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import SALTS, keys

NAN_BITS = np.uint32(0x7FC00000)  # stands for the t* of a row without non-zero entries


def scramble(h: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A one-to-one scrambling of 32 bits.

    Examples
    --------
    >>> scramble(np.array([0, 1, 2], dtype=np.uint32))
    array([         0, 1753845952, 3507691905], dtype=uint32)
    """
    x = h ^ (h >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def encode(
    i_star: NDArray[np.int64],
    t_star: NDArray[np.int64],
    *,
    seed: int,
    bits: int,
    t_bits: int | Literal["all"] = "all",
    encoding: Literal["mixed", "lowbits"] = "mixed",
    n_columns: int,
    salts: int = SALTS,
) -> NDArray[np.uint64]:
    """Codes of b bits, or of b + t_bits bits where bits of t* are appended.

    Parameters
    ----------
    i_star, t_star : arrays of int64, shape (n, k)
        Samples; -1 and 0 for a row of zeros.
    seed : int
        Of the hasher, for the salt of each hash.
    bits : int
        b, from 1 to 32.
    t_bits : "all" or int from 0 to 8
        Mix all of t* in, or append so many low bits of it.
    encoding : "mixed" or "lowbits"
        b bits of a mix, or the low b bits of i* counted column first (positive part of column i is i,
        negative part D + i).
    n_columns : int
        D, the columns of the data.
    salts : int
        The stream of the sampler's salts.

    Returns
    -------
    codes : array of uint64, shape (n, k)

    Examples
    --------
    >>> i, t = np.array([[0, 3, -1]]), np.array([[5, -1, 0]])
    >>> encode(i, t, seed=0, bits=2, t_bits=1, encoding="lowbits", n_columns=2)
    array([[1, 7, 6]], dtype=uint64)
    """
    i = i_star.astype(np.uint32)
    if encoding == "mixed":
        salt_low, salt_high = keys(seed, salts, np.arange(i.shape[1]))
        t = np.zeros_like(i)
        if t_bits == "all":
            t = np.where(i_star < 0, NAN_BITS, t_star.astype(np.float32).view(np.uint32))
        code = scramble(scramble(i ^ salt_low) ^ t ^ salt_high) >> np.uint32(32 - bits)
    else:
        column_first = np.where(i_star < 0, -1, (i_star >> 1) + (i_star & 1) * n_columns)
        code = column_first.astype(np.uint32) & np.uint32((1 << bits) - 1)
    appended = 0 if t_bits == "all" else t_bits
    low = (t_star & ((1 << appended) - 1)).astype(np.uint64)
    return (code.astype(np.uint64) << np.uint64(appended)) | low
