"""The other samplers of `GCWSHasher` in plain NumPy: minwise, bin-wise, extremal and rejection sampling.

Like `gcwsnet.hashing.reference`, they are slow and short, and the native core is tested to be equal to them.
``docs/samplers-specification.md`` specifies them. Each takes rows of shape (n, D) and returns the samples (i*, t*), two
int64 arrays of shape (n, k). A row of zeros has -1 and 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import BINWISE_BINS, BINWISE_FILLS, EXTREMAL_POINTS, FEATURES, HASHES, REJECTION_TRIALS, keys
from gcwsnet.hashing._caps import CapTable, cap_table, check_caps
from gcwsnet.hashing.elementary import F, exp, log, log_of_data, minus_log1m
from gcwsnet.hashing.parameters import mix, parameters, unit31, words
from gcwsnet.hashing.reference import Samples, gcws, gmm_features, samples_of_zeros


def minwise_words(seed: int, features: ArrayLike, hashes: ArrayLike) -> NDArray[np.int32]:
    """Return the word of each feature for each hash, which orders the features, of shape (features, hashes)."""
    mixed = words(seed, features, hashes, 0)
    return (mixed ^ (mixed >> np.uint32(16))).view(np.int32)  # this undoes the last step of the mix


def minwise(X: ArrayLike, n_hashes: int, *, seed: int = 0) -> Samples:
    """Return the samples of minwise hashing: i*, the non-zero feature with the least word, and t* = 0.

    P[i* agrees] is the Jaccard similarity of the sets of features of two rows: what the pGMM kernel tends to as p goes
    to 0. A number that is not zero counts as there, whatever its size. Its sign matters, since it decides the feature.

    A. Z. Broder, "On the resemblance and containment of documents", Compression and Complexity of Sequences, 1997.

    Examples
    --------
    >>> i_star, t_star = minwise([[-3.0, 17.0], [0.0, 0.0]], n_hashes=4)
    >>> i_star
    array([[ 1,  2,  2,  2],
           [-1, -1, -1, -1]])
    """
    u = gmm_features(X)
    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    order = minwise_words(seed, np.arange(u.shape[1]), np.arange(n_hashes))
    for row in np.flatnonzero(u.any(axis=1)):
        i = np.flatnonzero(u[row])
        i_star[row] = i[np.argmin(order[i], axis=0)]  # on a tie the lowest feature
    return i_star, t_star


MAX_ATTEMPTS = 64  # to find the donor of an empty bin at random


def _below(n: int, words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return words as whole numbers below n, each as often as the others."""
    return ((words.astype(np.uint64) * np.uint64(n)) >> np.uint64(32)).astype(np.int64)


def bins_of_columns(seed: int, columns: ArrayLike, n_bins: int) -> NDArray[np.int64]:
    """Return the bin of each column."""
    return _below(n_bins, keys(seed, BINWISE_BINS, columns)[1])


def donors(seed: int, full: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the bin that gives the columns for each sample of a row: the bin itself, or for an empty one its donor.

    The donor is the first full one of 64 drawn bins, or, if none of them is full, the first full one behind the
    empty bin, counted cyclically. `full` says which bins have an entry of the row, at least one.
    """
    own = np.arange(len(full))
    numbers = MAX_ATTEMPTS * own[:, np.newaxis] + np.arange(MAX_ATTEMPTS)
    drawn = _below(len(full), keys(seed, BINWISE_FILLS, numbers)[1])
    first = drawn[own, np.argmax(full[drawn], axis=1)]
    all_full = np.flatnonzero(full)
    behind = all_full[np.searchsorted(all_full, own) % len(all_full)]
    return np.where(full, own, np.where(full[first], first, behind))


def binwise(X: ArrayLike, n_hashes: int, *, p: float = 1.0, seed: int = 0) -> Samples:
    """Return the samples of bin-wise CWS: GCWS under hash j of the columns of bin j, or of its donor.

    Given the bins, P[(i*, t*) agree] of hash j is the pGMM kernel of the columns of bin j. If bin j is empty in
    both rows, it is that of the first donor that is not empty in both.

    Examples
    --------
    >>> i_star, t_star = binwise([[-3.0, 17.0], [0.0, 0.0]], n_hashes=4)
    >>> i_star
    array([[ 2,  1,  2,  1],
           [-1, -1, -1, -1]])
    """
    u = gmm_features(X)
    features = np.arange(u.shape[1])
    bins = bins_of_columns(seed, features >> 1, n_hashes)
    q = parameters(seed, features, np.arange(n_hashes))

    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    for row in np.flatnonzero(u.any(axis=1)):
        L = F(p) * log_of_data(u[row])[:, np.newaxis]
        full = np.isin(np.arange(n_hashes), bins[u[row] > 0])
        here = np.where(bins[:, np.newaxis] == donors(seed, full), L, F(-np.inf))  # a is infinite for what is not there
        t = np.floor(here * (F(1) / q.r) + q.beta)
        a = (q.log_c - q.r * (F(1) - q.beta)) - q.r * t
        i_star[row] = np.argmin(a, axis=0)  # on a tie the lowest feature
        t_star[row] = np.take_along_axis(t, i_star[row][np.newaxis], axis=0)[0].astype(np.int64)
    return i_star, t_star


CELL = F(8)  # the axis of L is cut into cells of this width; a power of two, so that cutting rounds nothing
WIDTH = F(2979.9579870417283)  # of a cell in s, where its lower end is 1: e^8 - 1
E8 = [F(1), F(2980.9579870417283), F(8886110.520507872), F(26489122129.84347), F(78962960182680.69)]  # e^0 to e^32
MAX_STEPS = 64
CELL_NUMBERS = 1 << 18


class Points(NamedTuple):
    """The lowest point under each weight: its height times exp(8 cell), for the cell of the weight, and its number."""

    y: NDArray[np.float32]
    number: NDArray[np.int64]


def number_of(cell: NDArray[np.int64], step: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return 64 times the cell plus the step, with the cell reduced to 18 bits: from -2**23 to 2**23 - 1."""
    half = CELL_NUMBERS // 2
    return ((cell + half) % CELL_NUMBERS - half) * MAX_STEPS + step


def lowest_points(seed: int, features: ArrayLike, L: NDArray[np.float32], n_hashes: int) -> Points:
    """Return the lowest point with s <= exp(L) of each feature and hash, for logarithms L of the features' weights.

    The arrays have the shape (features, hashes). The cell of a weight is floor(L / 8).
    """
    of_feature = keys(seed, FEATURES, features)
    position, height = (keys(seed, HASHES, 4 * np.arange(n_hashes) + number) for number in (0, 1))
    cell = np.floor(L / CELL).astype(np.int64)
    w = exp((L - CELL * cell.astype(F)).astype(np.float64)).astype(F)  # in the cell, whose lower end is 1
    shape = (len(L), n_hashes)
    e, j = (places.ravel() for places in np.indices(shape))

    def uniform(
        of_hash: tuple[NDArray[np.uint32], ...], cell: NDArray[np.int64], step: int, on: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the position or the height of a step, for the features and hashes that are on."""
        of_step = keys(seed, EXTREMAL_POINTS, (MAX_STEPS * cell + step).view(np.uint64))
        halves = zip(of_feature, of_step, of_hash, strict=True)
        return unit31(mix(*((feature ^ point)[e[on]] ^ by_hash[j[on]] for feature, point, by_hash in halves)))

    going = np.arange(e.size)
    best, number = np.full(e.size, np.inf, dtype=F), np.zeros(e.size, dtype=np.int64)
    for lower in (1, 2):  # cells below: of each only its lowest point matters
        y = minus_log1m(uniform(height, cell - lower, 0, going)) / WIDTH * E8[lower]
        number = np.where(y < best, number_of(cell - lower, 0)[e], number)
        best = np.minimum(y, best)

    # The own cell: the lowest point of [1, 1 + z), then the lowest one to its left, until one is under the weight.
    y, z = np.zeros(e.size, dtype=F), np.full(e.size, WIDTH)
    for step in range(MAX_STEPS):
        y = y + minus_log1m(uniform(height, cell, step, going)) / z
        z = z * uniform(position, cell, step, going)
        low = y < best[going]  # else no further point can be the lowest
        under = low & (z <= w[e[going]] - F(1))
        best[going[under]] = y[under]
        number[going[under]] = number_of(cell, step)[e[going[under]]]
        on = low & ~under
        going, y, z = going[on], y[on], z[on]
        if len(going) == 0:
            break
    return Points(best.reshape(shape), number.reshape(shape))


def extremal(X: ArrayLike, n_hashes: int, *, p: float = 1.0, seed: int = 0) -> Samples:
    """Return the samples of an extremal process: the feature whose point is the lowest, and the number of this point.

    P[(i*, t*) agree] is the pGMM kernel J. With m and M for the smaller and the larger weight of a feature, and S
    for the total weight of the row that has the smaller one, P[i* agree] = J + sum (M - m) m / (S sum M).

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


MAX_TRIALS = 1024


def drawn_features(table: CapTable, points: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the feature that each point below 2**63 belongs to."""
    return np.searchsorted(table.ends, points, side="right")


def trials(
    seed: int, hashes: ArrayLike, numbers: ArrayLike, table: CapTable
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return points under the caps, of shape (hashes, numbers): features, and ln of heights as shares of the cap.

    The numbers of trials are below `MAX_TRIALS`.
    """
    n = MAX_TRIALS * np.asarray(hashes)[:, np.newaxis] + np.asarray(numbers)
    low, high = (half.astype(np.uint64) for half in keys(seed, REJECTION_TRIALS, 2 * n))
    point = ((high << np.uint64(32)) | low) >> np.uint64(1)
    return drawn_features(table, point), log(unit31(keys(seed, REJECTION_TRIALS, 2 * n + 1)[1]))


def rejection(X: ArrayLike, n_hashes: int, *, caps: NDArray[np.float64], p: float = 1.0, seed: int = 0) -> Samples:
    """Return the samples of rejection sampling: feature and number of the first trial that lies under the row.

    P[(i*, t*) agree] is the pGMM kernel. A row that no trial of a hash accepts has its GCWS sample there, with
    a negative t*: this keeps the law. No size in X may be above its cap, see `gcwsnet.hashing._caps.column_caps`.

    Examples
    --------
    >>> X = np.array([[-3.0, 17.0], [1.0, 9.0], [0.0, 0.0]])
    >>> i_star, t_star = rejection(X, n_hashes=6, caps=np.array([1.0, 3.0, 17.0, 0.0]))
    >>> i_star
    array([[ 2,  1,  2,  1,  2,  2],
           [ 2,  2,  0,  2,  2,  2],
           [-1, -1, -1, -1, -1, -1]])
    """
    X = np.asarray(X)
    check_caps(X, caps)
    u = gmm_features(X)
    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    table = cap_table(caps, p)
    for row in np.flatnonzero(u.any(axis=1)):
        with np.errstate(invalid="ignore"):  # a feature that never occurred: -inf - -inf, and it is never drawn
            log_share = np.minimum(F(p) * log_of_data(u[row]) - table.log_caps, F(0))
        waiting = np.arange(n_hashes)
        for start in range(0, MAX_TRIALS, step := 64):
            feature, log_height = trials(seed, waiting, np.arange(start, start + step), table)
            accepted = log_share[feature] >= log_height
            first = np.argmax(accepted, axis=1)
            found = accepted.any(axis=1)
            i_star[row, waiting[found]] = feature[found, first[found]]
            t_star[row, waiting[found]] = start + first[found]
            waiting = waiting[~found]
        if len(waiting):
            i, t = gcws(X[row : row + 1], waiting, p=p, seed=seed)
            i_star[row, waiting], t_star[row, waiting] = i[0], _marked(t[0])
    return i_star, t_star


def _marked(t: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers from -2**23 to -1 for the t* of GCWS, so that they agree with no number of a trial."""
    return -1 - (mix(t.astype(F).view(np.uint32)) >> np.uint32(9)).astype(np.int64)
