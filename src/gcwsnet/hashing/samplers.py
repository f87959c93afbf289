"""Minwise hashing: a row is the set of its non-zero entries, and each hash takes the one with the least random word.

A. Z. Broder, "On the resemblance and containment of documents", Compression and Complexity of Sequences, 1997.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from gcwsnet._keys import BINWISE_BINS, BINWISE_FILLS, EXTREMAL_POINTS, FEATURES, HASHES, REJECTION_TRIALS, keys
from gcwsnet._validation import BATCH_BYTES, Matrix, as_floats
from gcwsnet.hashing.elementary import F, exp, log, log_of_data, minus_log1m
from gcwsnet.hashing.parameters import parameters, unit31, word
from gcwsnet.hashing.reference import gcws, gmm_features, samples_of_zeros, scramble
from gcwsnet.kernels._pgmm import gmm_transform

HASH_WORDS = 4

"""The keys that each hash has, of which minwise hashing takes the first."""


def minwise_words(seed: int, features: ArrayLike, hashes: ArrayLike) -> NDArray[np.int32]:
    """Return the word of each feature for each hash, which orders the features.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    features, hashes : arrays of int
        Numbers of features and of hashes.

    Returns
    -------
    words : array of int32, shape (features, hashes)

    Examples
    --------
    >>> minwise_words(seed=0, features=[0, 1], hashes=[0, 1, 2]).shape
    (2, 3)
    """
    of_feature = keys(seed, FEATURES, features)
    of_hash = keys(seed, HASHES, HASH_WORDS * np.asarray(hashes, dtype=np.uint64))
    low, high = (a[:, np.newaxis] ^ b for a, b in zip(of_feature, of_hash, strict=True))
    word = (low ^ (low >> np.uint32(16))) * np.uint32(0x7FEB352D)
    word = (word ^ (word >> np.uint32(15)) ^ high) * np.uint32(0x846CA68B)
    return word.view(np.int32)


def minwise(X: ArrayLike, n_hashes: int, *, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples of each row: i*, the feature with the least word, and t* = 0.

    P[i* agrees] is the Jaccard similarity of the sets of features of two rows: what the pGMM kernel tends to as p goes
    to 0. A number that is not zero counts as there, whatever its size. Its sign matters, since it decides the feature.

    Parameters
    ----------
    X : array of shape (n, D)
    n_hashes : int
    seed : int, default=0

    Returns
    -------
    i_star, t_star : arrays of int64, shape (n, n_hashes)

    Examples
    --------
    >>> i_star, t_star = minwise([[-3.0, 17.0], [0.0, 0.0]], n_hashes=4)
    >>> i_star
    array([[ 1,  2,  2,  2],
           [-1, -1, -1, -1]])
    """
    u = gmm_features(X)
    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    words = minwise_words(seed, np.arange(u.shape[1]), np.arange(n_hashes))
    for row, there in enumerate(u > 0):
        features = np.flatnonzero(there)
        if len(features):
            i_star[row] = features[np.argmin(words[features], axis=0)]  # on a tie the lowest feature
    return i_star, t_star


MOST_ATTEMPTS = 64


def _below(n: int, words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return words as whole numbers below n, each as often as the others."""
    return ((words.astype(np.uint64) * np.uint64(n)) >> np.uint64(32)).astype(np.int64)


def bins_of_columns(seed: int, columns: ArrayLike, n_bins: int) -> NDArray[np.int64]:
    """Return the bin of each column.

    Examples
    --------
    >>> bins_of_columns(seed=0, columns=np.arange(8), n_bins=4)
    array([1, 0, 2, 0, 2, 0, 2, 1])
    """
    return _below(n_bins, keys(seed, BINWISE_BINS, columns)[1])


def donors(seed: int, full: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the bin that gives the columns for each sample of a row: the bin itself, or for an empty one its donor.

    The donor is the first full one of 64 drawn bins, or, if none of them is full, the first full one behind the
    empty bin, counted cyclically.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    full : array of bool, shape (bins,)
        Which bins have an entry of the row; at least one.

    Returns
    -------
    donor : array of int64, shape (bins,)

    Examples
    --------
    >>> donors(seed=0, full=np.array([False, True, False, False, True]))
    array([1, 1, 1, 4, 4])
    """
    own = np.arange(len(full))
    numbers = MOST_ATTEMPTS * own[:, np.newaxis] + np.arange(MOST_ATTEMPTS)
    drawn = _below(len(full), keys(seed, BINWISE_FILLS, numbers)[1])
    first = drawn[own, np.argmax(full[drawn], axis=1)]
    all_full = np.flatnonzero(full)
    behind = all_full[np.searchsorted(all_full, own) % len(all_full)]
    return np.where(full, own, np.where(full[first], first, behind))


def binwise(
    X: ArrayLike, n_hashes: int, *, p: float = 1.0, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples (i*, t*) of each row: GCWS under hash j of the columns of bin j, or of its donor.

    Given the bins, P[(i*, t*) agree] of hash j is the pGMM kernel of the columns of bin j. If bin j is empty in
    both rows, it is that of the first donor that is not empty in both.

    The parameters and the result are those of `gcwsnet.hashing.reference.gcws`.

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

    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    rows = np.flatnonzero(u.any(axis=1))
    L = F(p) * log_of_data(u[rows])
    full = np.zeros((len(rows), n_hashes), dtype=bool)
    for number, row in enumerate(rows):
        full[number, bins[u[row] > 0]] = True
    source = np.array([donors(seed, each) for each in full]).reshape(full.shape)

    q = parameters(seed, features, np.arange(n_hashes))
    for j, (r, log_c, beta) in enumerate(zip(q.r.T, q.log_c.T, q.beta.T, strict=True)):
        here = np.where(bins == source[:, [j]], L, F(-np.inf))  # a is infinite for what is not there
        t = np.floor(here * (F(1) / r) + beta)
        a = (log_c - r * (F(1) - beta)) - r * t
        winner = np.argmin(a, axis=1)  # on a tie the lowest feature
        i_star[rows, j] = winner
        t_star[rows, j] = t[np.arange(len(rows)), winner].astype(np.int64)
    return i_star, t_star


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


POINTS = 1 << 63  # a table divides the whole numbers below it among the features


class CapTable(NamedTuple):
    """A table that draws features with probability cap**p / sum.

    Feature f has the whole numbers from ``ends[f - 1]`` to ``ends[f] - 1``, of all below 2**63.
    """

    log_caps: NDArray[np.float32]
    ends: NDArray[np.uint64]


def column_caps(X: Matrix, caps: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the largest size of each feature in X, or the given caps where they are larger.

    Parameters
    ----------
    X : array or CSR of shape (n, D)
        Numbers; NaN counts as zero.
    caps : array of float64, shape (2D,), default=None
        Caps of earlier rows.

    Returns
    -------
    caps : array of float64, shape (2D,)
        Of the columns of `gmm_transform`; 0 for a feature that did not occur.

    Examples
    --------
    >>> caps = column_caps(np.array([[-3.0, 17.0], [1.0, 2.0]]))
    >>> caps
    array([ 1.,  3., 17.,  0.])
    >>> column_caps(np.array([[2.0, -5.0]]), caps)
    array([ 2.,  3., 17.,  5.])
    """
    raised = np.zeros(2 * X.shape[1]) if caps is None else caps.copy()
    X = as_floats(X)
    if sparse.issparse(X):
        features = 2 * X.indices.astype(np.int64) + (X.data < 0)
        np.fmax.at(raised, features, np.abs(X.data).astype(np.float64))
    else:
        for sign, part in ((1, raised[0::2]), (-1, raised[1::2])):
            np.fmax(part, np.fmax.reduce(sign * X, axis=0, initial=0.0), out=part)
    return raised + 0.0  # minus zero becomes zero


def check_caps(X: Matrix, caps: NDArray[np.float64], *, columns: Any = None) -> None:
    """Raise a ValueError that names the first entry of X whose size is above its cap, if there is one.

    Examples
    --------
    >>> check_caps(np.array([[-4.0, 9.0]]), np.array([1.0, 3.0, 17.0, 0.0]))
    Traceback (most recent call last):
    ...
    ValueError: no size may be above the cap of its column and sign, the largest seen in fit; X[0, 0] is -4.0 and \
its cap 3.0; fit on such rows too, call partial_fit with them, or clip them to caps_
    """
    step = X.shape[0] if sparse.issparse(X) else max(1, BATCH_BYTES // X.shape[1])
    for first in range(0, X.shape[0], step):
        above = _above(X[first : first + step], caps)
        if above.any():
            break
    else:
        return
    entry = int(np.argmax(above))
    if sparse.issparse(X):
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        column, value = int(X.indices[entry]), float(X.data[entry])
    else:
        row, column = first + entry // X.shape[1], entry % X.shape[1]
        value = float(X[row, column])
    called = "" if columns is None else f" (column {columns[column]!r})"
    raise ValueError(
        "no size may be above the cap of its column and sign, the largest seen in fit; "
        f"X[{row}, {column}]{called} is {value} and its cap {float(caps[2 * column + (value < 0)])}; "
        "fit on such rows too, call partial_fit with them, or clip them to caps_"
    )


def _above(X: Matrix, caps: NDArray[np.float64]) -> NDArray[np.bool_]:
    values, positive, negative = X, caps[0::2], caps[1::2]
    if sparse.issparse(X):
        values, positive, negative = X.data, positive[X.indices], negative[X.indices]
    above: NDArray[np.bool_] = (values > positive) | (values < -negative)
    return above


def cap_table(caps: NDArray[np.float64], p: float) -> CapTable:
    """Return the table that draws features with probability cap**p / sum.

    A share is right to 2**-44 of itself and to 2**-63. Features whose share is below 2**-63 are never drawn.

    Parameters
    ----------
    caps : array of float64, shape (2D,)
    p : float
        The power of the pGMM kernel.

    Returns
    -------
    table : CapTable
        Arrays of length 2D. The last end is 2**63. If all caps are zero, so are all rows, and nothing is drawn.

    Examples
    --------
    >>> table = cap_table(np.array([1.0, 3.0, 0.0, 4.0]), p=1)
    >>> (table.ends / 2.0**63).round(6).tolist()
    [0.125, 0.5, 0.5, 1.0]
    """
    log_caps = F(p) * log_of_data(caps)
    heaviest = int(np.argmax(log_caps))
    if caps[heaviest] == 0:
        return CapTable(log_caps, np.full(len(caps), POINTS, dtype=np.uint64))
    relative = exp(log_caps.astype(np.float64) - float(log_caps[heaviest]))
    share = relative / math.fsum(relative)  # fsum rounds once: no order of the sum changes it
    points = np.floor(share * float(POINTS)).astype(np.uint64)
    points[heaviest] = 0
    points[heaviest] = POINTS - int(points.sum())
    return CapTable(log_caps, np.cumsum(points))


def drawn_features(table: CapTable, points: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the feature that each point below 2**63 belongs to.

    Examples
    --------
    >>> table = cap_table(np.array([1.0, 3.0, 0.0, 4.0]), p=1)
    >>> drawn_features(table, np.array([0, 2**61, 2**63 - 1], dtype=np.uint64))
    array([0, 1, 3])
    """
    return np.searchsorted(table.ends, points, side="right")


def expected_trials(X: Matrix, caps: NDArray[np.float64], p: float) -> NDArray[np.float64]:
    """Return how many trials each row needs on average: the sum of cap**p over that of u**p, 0 for a row of zeros.

    No sample depends on it. X holds no NaN.

    Examples
    --------
    >>> expected_trials(np.array([[-3.0, 17.0], [1.0, 4.0], [0.0, 0.0]]), np.array([1.0, 3.0, 17.0, 0.0]), p=1)
    array([1.05, 4.2 , 0.  ])
    """
    U = sparse.csr_array(gmm_transform(X))
    log_caps = p * np.log(caps[caps > 0])
    stored = np.diff(U.indptr)
    if len(log_caps) == 0:
        return np.zeros(len(stored))
    largest = log_caps.max()
    row = np.repeat(np.arange(len(stored)), stored)
    with np.errstate(under="ignore", divide="ignore"):
        weight = np.bincount(row, np.exp(p * np.log(U.data.astype(np.float64)) - largest), len(stored))
        trials: NDArray[np.float64] = np.where(stored > 0, np.exp(log_caps - largest).sum() / weight, 0.0)
    return trials


MOST_TRIALS = 1024

BLOCK = 64  # trials looked at together


def trials(
    seed: int, hashes: ArrayLike, numbers: ArrayLike, table: CapTable
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the feature and the logarithm of the height, as a share of the cap, of points under the caps.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.
    hashes, numbers : arrays of int, 1-D
        Numbers of hashes and of trials, these below `MOST_TRIALS`.
    table : CapTable

    Returns
    -------
    feature : array of int64, shape (hashes, numbers)
    log_height : array of float32, shape (hashes, numbers)

    Examples
    --------
    >>> table = cap_table(np.array([1.0, 3.0, 17.0, 0.0]), p=1)
    >>> feature, log_height = trials(seed=0, hashes=[0, 1], numbers=np.arange(4), table=table)
    >>> feature
    array([[2, 2, 2, 2],
           [1, 2, 1, 1]])
    """
    n = MOST_TRIALS * np.asarray(hashes)[:, np.newaxis] + np.asarray(numbers)
    low, high = (half.astype(np.uint64) for half in keys(seed, REJECTION_TRIALS, 2 * n))
    point = ((high << np.uint64(32)) | low) >> np.uint64(1)
    return drawn_features(table, point), log(unit31(keys(seed, REJECTION_TRIALS, 2 * n + 1)[1]))


def rejection(
    X: ArrayLike, n_hashes: int, *, caps: NDArray[np.float64], p: float = 1.0, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the samples (i*, t*) of each row: feature and number of the first trial that lies under the row.

    P[(i*, t*) agree] is the pGMM kernel. A row that no trial of a hash accepts has its GCWS sample there, with
    a negative t*: this keeps the law (see ``docs/samplers-specification.md``).

    The other parameters and the result are those of `gcwsnet.hashing.reference.gcws`.

    Parameters
    ----------
    caps : array of float64, shape (2D,)
        Of `column_caps`. No size in X may be above its cap.

    Examples
    --------
    >>> from gcwsnet.hashing.samplers.caps import column_caps
    >>> X = np.array([[-3.0, 17.0], [1.0, 9.0], [0.0, 0.0]])
    >>> i_star, t_star = rejection(X, n_hashes=6, caps=column_caps(X))
    >>> i_star
    array([[ 2,  1,  2,  1,  2,  2],
           [ 2,  2,  0,  2,  2,  2],
           [-1, -1, -1, -1, -1, -1]])
    """
    X = np.asarray(X)
    check_caps(X, caps)
    u = gmm_features(X)
    i_star, t_star = samples_of_zeros(len(u), n_hashes)
    rows = np.flatnonzero(u.any(axis=1))
    if len(rows) == 0:
        return i_star, t_star

    table = cap_table(caps, p)
    waiting = np.zeros((len(u), n_hashes), dtype=bool)
    waiting[rows] = True
    with np.errstate(invalid="ignore"):  # a feature that never occurred: -inf - -inf, and it is never drawn
        log_share = np.minimum(F(p) * log_of_data(u) - table.log_caps, F(0))
    for start in range(0, MOST_TRIALS, BLOCK):
        hashes = np.flatnonzero(waiting.any(axis=0))
        if len(hashes) == 0:
            break
        feature, log_height = trials(seed, hashes, np.arange(start, start + BLOCK), table)
        for row in rows:
            accepted = log_share[row, feature] >= log_height
            first = np.argmax(accepted, axis=1)
            found = accepted.any(axis=1) & waiting[row, hashes]
            i_star[row, hashes[found]] = feature[found, first[found]]
            t_star[row, hashes[found]] = start + first[found]
            waiting[row, hashes[found]] = False

    left = np.flatnonzero(waiting.any(axis=1))
    if len(left) > 0:
        i, t = gcws(X[left], n_hashes, p=p, seed=seed)
        i_star[waiting] = i[waiting[left]]
        t_star[waiting] = _marked(t[waiting[left]])
    return i_star, t_star


def _marked(t: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers from -2**23 to -1 for the t* of GCWS, so that they agree with no number of a trial."""
    return -1 - (scramble(t.astype(F).view(np.uint32)) >> np.uint32(9)).astype(np.int64)
