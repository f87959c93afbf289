"""Extremal sampling: the lowest of random points that stand under the weights of a row.

P. Li, X. Li, G. Samorodnitsky and W. Zhao, "Consistent sampling through extremal process", WWW 2021.

Each feature and hash has a Poisson process of points (s, y), shared by all rows. X(w) = min{y : s <= w}, as a function
of w, is an extremal process. The sample of a row is the feature with the least X(w), w = exp(L), and the point of that
minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import EXTREMAL_POINTS, FEATURES, HASHES, keys
from gcwsnet.hashing.elementary import F, exp, log_of_data, minus_log1m
from gcwsnet.hashing.parameters import unit31, word
from gcwsnet.hashing.reference import gmm_features, samples_of_zeros

CELL = F(8)  # the axis of L is cut into cells of this width; a power of two, so that cutting rounds nothing
WIDTH = F(2979.9579870417283)  # of a cell in s, where its lower end is 1: e^8 - 1
E8 = [F(1), F(2980.9579870417283), F(8886110.520507872), F(26489122129.84347), F(78962960182680.69)]  # e^0 to e^32
MOST_STEPS = 64
CELL_NUMBERS = 1 << 18


class Points(NamedTuple):
    """The lowest point under each weight: its height times exp(8 cell), for the cell of the weight, and its number."""

    y: NDArray[np.float32]
    number: NDArray[np.int64]


class Uniforms:
    """A function that gives two uniform numbers for each feature, hash, cell and step of a point: position and height.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    features : array of int64, 1-D
    n_hashes : int
    """

    POSITION, HEIGHT = 0, 1

    def __init__(self, seed: int, features: NDArray[np.int64], n_hashes: int) -> None:
        self.seed = seed
        self.of_feature = keys(seed, FEATURES, features)
        self.of_hash = [keys(seed, HASHES, 4 * np.arange(n_hashes) + w) for w in (self.POSITION, self.HEIGHT)]

    def __call__(
        self, w: int, cell: NDArray[np.int64], step: int, e: NDArray[np.int64], j: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the numbers of a step for the features at the places `e` and the hashes `j`; `cell` is per feature."""
        of_step = keys(self.seed, EXTREMAL_POINTS, (MOST_STEPS * cell + step).view(np.uint64))
        low, high = (
            (feature ^ point)[e] ^ of_hash[j]
            for feature, point, of_hash in zip(self.of_feature, of_step, self.of_hash[w], strict=True)
        )
        return unit31(word(low, high))


def number_of(cell: NDArray[np.int64], step: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return 64 times the cell plus the step, with the cell reduced to 18 bits: from -2**23 to 2**23 - 1.

    Examples
    --------
    >>> number_of(np.array([0, -1, 2**18 + 3]), 5)
    array([  5, -59, 197])
    """
    half = CELL_NUMBERS // 2
    return ((cell + half) % CELL_NUMBERS - half) * MOST_STEPS + step


def lowest_points(seed: int, features: ArrayLike, L: NDArray[np.float32], n_hashes: int) -> Points:
    """Return the lowest point with s <= exp(L) of each feature and hash.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    features : array of int, 1-D
    L : array of float32, of the length of `features`
        Logarithms of their weights.
    n_hashes : int

    Returns
    -------
    points : Points
        Arrays of shape (features, hashes). The cell of a weight is floor(L / 8).

    Examples
    --------
    >>> points = lowest_points(0, [0, 0, 0], np.array([1.0, 2.0, 7.0], dtype=np.float32), n_hashes=1)
    >>> points.number[:, 0].tolist()
    [-64, -64, 1]
    """
    features = np.asarray(features, dtype=np.int64)
    uniform = Uniforms(seed, features, n_hashes)
    cell = np.floor(L / CELL).astype(np.int64)
    w = exp((L - CELL * cell.astype(F)).astype(np.float64)).astype(F)  # in the cell, whose lower end is 1
    shape = (len(features), n_hashes)
    e, j = (places.ravel() for places in np.indices(shape))

    best, number = np.full(e.size, np.inf, dtype=F), np.zeros(e.size, dtype=np.int64)
    for lower in (1, 2):  # cells below: of each only its lowest point matters
        y = minus_log1m(uniform(Uniforms.HEIGHT, cell - lower, 0, e, j)) / WIDTH * E8[lower]
        number = np.where(y < best, number_of(cell - lower, 0)[e], number)
        best = np.minimum(y, best)

    # The own cell: the lowest point of [1, 1 + z), then the lowest one to its left, until one is under the weight.
    going, y, z = np.arange(e.size), np.zeros(e.size, dtype=F), np.full(e.size, WIDTH)
    for step in range(MOST_STEPS):
        y = y + minus_log1m(uniform(Uniforms.HEIGHT, cell, step, e[going], j[going])) / z
        z = z * uniform(Uniforms.POSITION, cell, step, e[going], j[going])
        low = y < best[going]  # else no further point can be the lowest
        under = low & (z <= w[e[going]] - F(1))
        best[going[under]] = y[under]
        number[going[under]] = number_of(cell, step)[e[going[under]]]
        on = low & ~under
        going, y, z = going[on], y[on], z[on]
        if len(going) == 0:
            break
    return Points(best.reshape(shape), number.reshape(shape))


def extremal(
    X: ArrayLike, n_hashes: int, *, p: float = 1.0, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples (i*, t*) of each row: the feature whose point is the lowest, and the number of this point.

    P[(i*, t*) agree] is the pGMM kernel J. With m and M for the smaller and the larger weight of a feature, and S
    for the total weight of the row that has the smaller one, P[i* agree] = J + sum (M - m) m / (S sum M).

    The parameters and the result are those of `gcwsnet.hashing.reference.gcws`.

    Examples
    --------
    >>> i_star, t_star = extremal([[-3.0, 17.0], [0.0, 0.0]], n_hashes=6)
    >>> i_star
    array([[ 2,  1,  1,  1,  1,  2],
           [-1, -1, -1, -1, -1, -1]])
    """
    u = gmm_features(X)
    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    scales = np.array(E8)
    for row in np.flatnonzero(u.any(axis=1)):
        i = np.flatnonzero(u[row])  # a zero entry is not there
        L = F(p) * log_of_data(u[row, i])
        cell = np.floor(L / CELL).astype(np.int64)
        lag = cell.max() - cell
        i, L, lag = (each[lag < len(E8)] for each in (i, L, lag))  # others cannot win
        y, number = lowest_points(seed, i, L, n_hashes)
        winner = np.argmin(y * scales[lag][:, np.newaxis], axis=0)  # on a tie the lowest feature
        i_star[row] = i[winner]
        t_star[row] = np.take_along_axis(number, winner[np.newaxis], axis=0)[0]
    return i_star, t_star
