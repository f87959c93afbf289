"""Which scaling and which p: small nets on some of the rows decide."""

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

ROWS_TO_LEARN, ROWS_TO_JUDGE = 1600, 1000
LEAST_ROWS = 200
SMALL: dict[str, Any] = {
    "n_hashes": 64,
    "bits": 8,
    "reduction": None,
    "epochs": 2,
    "batch_size": 32,
    "oversample": 1,
    "cache": True,
    "early_stopping": False,
    "callbacks": None,
    "verbose": 0,
}
SMALL_HIDDEN = (64,)


class Pair(NamedTuple):
    """A scaling and a power."""

    scale: Any
    p: float


FIRST = Pair("numeric", 1.0)
"""What is kept unless another one is clearly better."""
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
class Tried:
    """How a pair did.

    Attributes
    ----------
    scale, p
        The pair.
    score : float
        The mean success on rows held out: accuracy, or one minus the mean square error of standardised targets.
    error : float
        The standard error of the score.
    seconds : float
    chosen : bool
    """

    scale: Any
    p: float
    score: float
    error: float
    seconds: float
    chosen: bool = False


def pairs_to_try(scale: Any, p: float | str, X: Matrix) -> list[Pair]:
    """The pairs that settings leave open for rows like X; what is kept by default comes first."""
    if p != "auto":
        return [Pair("numeric" if scale == "auto" else scale, float(p))]
    if scale != "auto":
        return [Pair(scale, power) for power in POWERS]
    pairs = SPARSE_PAIRS if sparse.issparse(X) else PAIRS
    if is_binary(X).any():
        return pairs
    return [pair for pair in pairs if pair.scale != "standard"]  # which is the same as "numeric" there


def some_rows(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of rows to learn from and of rows to judge by."""
    order = np.random.default_rng([seed, 6]).permutation(n)[: ROWS_TO_LEARN + ROWS_TO_JUDGE]
    end = min(ROWS_TO_LEARN, round(len(order) * ROWS_TO_LEARN / (ROWS_TO_LEARN + ROWS_TO_JUDGE)))
    return order[:end], order[end:]


def try_pairs(
    pairs: list[Pair], X: Matrix, X_judged: Matrix, scores: Callable[[Matrix, Matrix, float], NDArray[np.float64]]
) -> Iterator[Tried]:
    """Each pair with the mean of the scores of the rows held out.

    Parameters
    ----------
    pairs : list of Pair
        Those of one scaling stand side by side: rows are scaled once for them.
    X, X_judged : arrays or CSR
        The rows to learn from, and the rows to judge by.
    scores : callable
        From both, scaled, and from p to the score of each row that is judged by.
    """
    for scale, of_scale in groupby(pairs, key=lambda pair: pair.scale):
        start = time.perf_counter()
        scaling = learn_scaling(X, scale) if isinstance(scale, str) else scale
        scaled = (X, X_judged) if scaling is None else (scaling.transform(X), scaling.transform(X_judged))
        for pair in of_scale:
            found = scores(*scaled, pair.p)
            error = float(found.std(ddof=1) / math.sqrt(len(found)))
            yield Tried(*pair, float(found.mean()), error, time.perf_counter() - start)
            start = time.perf_counter()


def best_of(tried: list[Tried]) -> int:
    """The number of the best; the first stays unless another is better by more than half its standard error."""
    best = max(range(len(tried)), key=lambda i: tried[i].score)
    return best if tried[best].score > tried[0].score + 0.5 * tried[0].error else 0
