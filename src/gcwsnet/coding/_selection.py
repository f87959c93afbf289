"""The selection of a preprocessing and of p: candidates are compared on held-out rows."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._keys import SELECTION_ROWS, random_order
from gcwsnet._validation import Matrix
from gcwsnet.coding._preprocessing import learn_preprocessing
from gcwsnet.coding._scaling import is_binary

if TYPE_CHECKING:
    from gcwsnet.coding._coder import CoderSettings

TRAINING_ROWS, VALIDATION_ROWS = 1600, 1000
LEAST_ROWS = 200
SMALL_HASHES, SMALL_BITS = 64, 8

logger = logging.getLogger("gcwsnet")


class Pair(NamedTuple):
    """A preprocessing, by its name, and a power."""

    scale: str | None
    p: float


DEFAULT = Pair("numeric", 1.0)
"""The pair that is kept unless another one is clearly better."""
PAIRS = [
    DEFAULT,
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

Codes = NDArray[Any]
Rows = NDArray[np.int64]
Score = Callable[[int, Codes, Rows, Codes, Rows], NDArray[np.float64]]
"""From the bits of codes, and the codes and the row numbers of training rows and of validation rows, to the score of
each validation row."""


@dataclass(frozen=True)
class Candidate:
    """A preprocessing and a power that were tried, and how they did.

    Attributes
    ----------
    scale, p
        The preprocessing, by its name, and the power.
    score : float
        The mean score of the validation rows: accuracy, or one minus the mean square error of standardised targets.
    error : float
        The standard error of the score.
    seconds : float
        The time that it took.
    chosen : bool
        Whether this candidate is the one in use.
    """

    scale: str | None
    p: float
    score: float
    error: float
    seconds: float
    chosen: bool = False


def select(
    X: Matrix, settings: CoderSettings, seed: int, score: Score | None
) -> tuple[str | None, float, list[Candidate]]:
    """Return the preprocessing and the power for rows, with the candidates that were compared, if any.

    Small codes are made of at most 1,600 training rows and 1,000 validation rows, once for each candidate.

    Parameters
    ----------
    X : array or canonical CSR of shape (n, D)
    settings : CoderSettings
        Where they name a preprocessing or a power, only the other one is selected; where they name p, nothing is.
    seed : int
        The seed of the hashes and of the choice of rows.
    score : callable or None
        See `Score`. With None nothing is selected.
    """
    pairs = candidate_pairs(settings.scale, settings.p, X)
    if len(pairs) == 1 or X.shape[0] < LEAST_ROWS or score is None:
        return *pairs[0], []
    training, validation = selection_rows(X.shape[0], seed)
    candidates = list(_compare(pairs, X, training, validation, settings, seed, score))
    best = best_of(candidates)
    candidates[best] = replace(candidates[best], chosen=True)
    for one in candidates:
        logger.debug("scale %s, p %g: %.4f +- %.4f%s", one.scale, one.p, one.score, one.error, " *" * one.chosen)
    return *pairs[best], candidates


def candidate_pairs(scale: str | None, p: float | str, X: Matrix) -> list[Pair]:
    """Return the pairs that settings leave open for rows like X; the default comes first."""
    if p != "auto":
        return [Pair(DEFAULT.scale if scale == "auto" else scale, float(p))]
    if scale != "auto":
        return [Pair(scale, power) for power in POWERS]
    pairs = SPARSE_PAIRS if sparse.issparse(X) else PAIRS
    if is_binary(X).any():
        return pairs
    return [pair for pair in pairs if pair.scale != "standard"]  # which is the same as "numeric" there


def selection_rows(n: int, seed: int) -> tuple[Rows, Rows]:
    """Return the numbers of training rows and of validation rows, drawn at random from n."""
    drawn = random_order(seed, SELECTION_ROWS, n)[: TRAINING_ROWS + VALIDATION_ROWS]
    end = min(TRAINING_ROWS, round(len(drawn) * TRAINING_ROWS / (TRAINING_ROWS + VALIDATION_ROWS)))
    return drawn[:end], drawn[end:]


def best_of(candidates: list[Candidate]) -> int:
    """Return the number of the best; the first one stays unless another is better by its standard error."""
    best = max(range(len(candidates)), key=lambda i: candidates[i].score)
    return best if candidates[best].score > candidates[0].score + candidates[0].error else 0


def _compare(
    pairs: list[Pair], X: Matrix, training: Rows, validation: Rows, settings: CoderSettings, seed: int, score: Score
) -> Iterator[Candidate]:
    from gcwsnet.hashing import GCWSHasher  # noqa: PLC0415 - scikit-learn takes long to import

    X_training, X_validation = X[training], X[validation]
    for scale, of_scale in groupby(pairs, key=lambda pair: pair.scale):  # rows are preprocessed once for each scale
        start = time.perf_counter()
        prepared = X_training, X_validation
        if scale is not None:
            preprocessing = learn_preprocessing(X_training, scale)
            prepared = preprocessing.transform(X_training), preprocessing.transform(X_validation)
        for pair in of_scale:
            hasher = GCWSHasher(
                SMALL_HASHES,
                p=pair.p,
                bits=SMALL_BITS,
                t_bits=settings.t_bits,
                encoding=settings.encoding,
                missing="error" if settings.missing == "error" else "zero",
                random_state=seed,
            ).fit(prepared[0])
            codes = [hasher.transform(rows) for rows in prepared]
            scores = score(hasher.code_bits, codes[0], training, codes[1], validation)
            error = float(scores.std(ddof=1) / math.sqrt(len(scores)))
            yield Candidate(*pair, float(scores.mean()), error, time.perf_counter() - start)
            start = time.perf_counter()
