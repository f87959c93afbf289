"""The choice of scaling and p, by small nets on some of the rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._validation import Matrix
from gcwsnet.estimators._scaling import is_binary, learn_scaling

TRAIN_ROWS, VALIDATION_ROWS = 1600, 1000
LEAST_ROWS = 200
SMALL: dict[str, Any] = {
    "n_hashes": 64,
    "bits": 8,
    "reduction": None,
    "epochs": 2,
    "batch_size": 32,
    "early_stopping": False,
    "callbacks": None,
    "verbose": 0,
}
SMALL_HIDDEN = (64,)


class Pair(NamedTuple):
    """A scaling and a power."""

    scale: str | None
    p: float


FIRST = Pair("numeric", 1.0)
"""The pair that is used unless another one is clearly better."""
PAIRS = [
    FIRST,
    Pair("numeric", 0.5),
    Pair("numeric", 2.0),
    Pair(None, 1.0),
    Pair(None, 5.0),
    Pair(None, 20.0),
    Pair(None, 80.0),
    Pair("standard", 1.0),
    Pair("quantile", 1.0),
    Pair("quantile", 2.0),
    Pair("minmax", 1.0),
]
TERM_PAIRS = [Pair("tfidf", 1.0), Pair("tfidf", 0.5), Pair("unit", 1.0), Pair("idf", 1.0)]
SPARSE_PAIRS = [*(pair for pair in PAIRS if pair.scale != "quantile"), *TERM_PAIRS]
POWERS = (1.0, 0.5, 2.0, 5.0, 20.0, 80.0)


@dataclass(frozen=True)
class Candidate:
    """A scaling and a p with their score on held-out rows.

    Attributes
    ----------
    scale, p
        The pair.
    score : float
        The mean over the held-out rows: accuracy, or one minus the mean square error of standardised targets.
    error : float
        The standard error of the score.
    seconds : float
    chosen : bool
    """

    scale: str | None
    p: float
    score: float
    error: float
    seconds: float
    chosen: bool = False


def pairs_to_try(scale: str | None, p: float | str, X: Matrix) -> list[Pair]:
    """Return the pairs that settings leave open for rows like X; the default comes first."""
    if p != "auto":
        return [Pair("numeric" if scale == "auto" else scale, float(p))]
    if scale != "auto":
        return [Pair(scale, power) for power in POWERS]
    pairs = SPARSE_PAIRS if sparse.issparse(X) else PAIRS
    if is_binary(X).any():
        return pairs
    return [pair for pair in pairs if pair.scale != "standard"]  # which is the same as "numeric" there


def some_rows(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers of rows to learn from, and of validation rows."""
    order = np.random.default_rng([seed, 6]).permutation(n)[: TRAIN_ROWS + VALIDATION_ROWS]
    end = min(TRAIN_ROWS, round(len(order) * TRAIN_ROWS / (TRAIN_ROWS + VALIDATION_ROWS)))
    return order[:end], order[end:]


def score_pairs(
    pairs: list[Pair], X: Matrix, X_validation: Matrix, scores: Callable[[Matrix, Matrix, float], NDArray[np.float64]]
) -> Iterator[Candidate]:
    """Yield each pair with the mean of the scores of the validation rows.

    Parameters
    ----------
    pairs : list of Pair
        Pairs of one scaling stand side by side: rows are scaled once for them.
    X, X_validation : arrays or CSR
        The rows to learn from, and the validation rows.
    scores : callable
        Returns the score of each validation row, from both kinds of rows, scaled, and from p.
    """
    for scale, of_scale in groupby(pairs, key=lambda pair: pair.scale):
        start = time.perf_counter()
        scaling = None if scale is None else learn_scaling(X, scale)
        scaled = (X, X_validation) if scaling is None else (scaling.transform(X), scaling.transform(X_validation))
        for pair in of_scale:
            found = scores(*scaled, pair.p)
            error = float(found.std(ddof=1) / math.sqrt(len(found)))
            yield Candidate(*pair, float(found.mean()), error, time.perf_counter() - start)
            start = time.perf_counter()


def best_of(candidates: list[Candidate]) -> int:
    """Return the number of the best; the first stays unless another is better by more than half its standard error."""
    best = max(range(len(candidates)), key=lambda i: candidates[i].score)
    return best if candidates[best].score > candidates[0].score + 0.5 * candidates[0].error else 0
