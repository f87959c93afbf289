"""Which hashes: more are drawn than are used, and those stay whose codes alone say most about the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_ROWS = 4000
SHARE_TO_LEARN = 5 / 8
PRIOR = 2.0
"""How many rows the mean of all rows counts as, beside the rows of a code."""


def rows_for_hashes(n: int, seed: int) -> NDArray[np.int64]:
    """Numbers of the rows that the hashes are judged by."""
    return np.random.default_rng([seed, 7]).permutation(n)[:MOST_ROWS]


def best_hashes(codes: NDArray[np.unsignedinteger], target: NDArray[Any], n_kept: int) -> NDArray[np.int64]:
    """The numbers of the columns of codes with the best scores, ascending.

    Parameters
    ----------
    codes : array of shape (n, hashes)
    target : array of shape (n,) with the numbers of classes, or (n, m) with numbers near mean 0 and deviation 1
    n_kept : int
    """
    scores = hash_scores(codes, target)
    return np.sort(np.argsort(-scores, kind="stable")[:n_kept])


def hash_scores(codes: NDArray[np.unsignedinteger], target: NDArray[Any]) -> NDArray[np.float64]:
    """How well each column of codes predicts the target of rows that are held out, by a table of its own.

    The table has, for each code, the mean of its rows' targets and of `PRIOR` rows that are as all rows are. The score
    is the mean logarithm of the probability of the class, or minus the mean square error.
    """
    end = round(len(codes) * SHARE_TO_LEARN)
    if target.ndim == 1:
        n_classes = int(target.max()) + 1
        counts = np.bincount(target[:end], minlength=n_classes)
        prior = (counts + 1) / (end + n_classes)
        scores = [_mean_log_probability(code, target, end, prior) for code in codes.T]
    else:
        scores = [_minus_square_error(code, target, end) for code in codes.T]
    return np.array(scores)


def _mean_log_probability(
    code: NDArray[np.unsignedinteger], target: NDArray[Any], end: int, prior: NDArray[np.float64]
) -> float:
    place, n_places = _places(code)
    pair = place * len(prior) + target
    of_pair = np.bincount(pair[:end], minlength=n_places * len(prior))
    of_place = np.bincount(place[:end], minlength=n_places)
    judged = target[end:]
    probability = (of_pair[pair[end:]] + PRIOR * prior[judged]) / (of_place[place[end:]] + PRIOR)
    return float(np.log(probability).mean())


def _minus_square_error(code: NDArray[np.unsignedinteger], target: NDArray[Any], end: int) -> float:
    place, n_places = _places(code)
    of_place = np.bincount(place[:end], minlength=n_places)[place[end:]] + PRIOR
    error = 0.0
    for column in target.T:
        total = np.bincount(place[:end], column[:end], n_places)[place[end:]] + PRIOR * column[:end].mean()
        error += float(np.mean((column[end:] - total / of_place) ** 2))
    return -error


def _places(code: NDArray[np.unsignedinteger]) -> tuple[NDArray[np.int64], int]:
    """Codes of many bits as their places among those that occur."""
    if code.itemsize == 1:
        return code.astype(np.int64), 256
    values, place = np.unique(code, return_inverse=True)
    return place, len(values)
