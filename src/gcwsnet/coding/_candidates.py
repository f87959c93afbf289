"""The candidates of a search: which preprocessings and powers p are compared for which rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix
from gcwsnet.coding._codes import code_columns
from gcwsnet.coding._local import MOST_COLUMNS
from gcwsnet.coding._preprocessing import FOR_DENSE_ROWS, Recipe, incomplete_columns
from gcwsnet.coding._scaling import is_binary

if TYPE_CHECKING:
    from gcwsnet.coding._coder import CoderSettings

POWERS = (0.5, 1.0, 2.0, 5.0, 20.0, 80.0)


class Point(NamedTuple):
    """A preprocessing and a power."""

    recipe: Recipe
    p: float


@dataclass(frozen=True)
class Candidate:
    """Settings that were compared, and how they did.

    Attributes
    ----------
    stage : {"first", "second", "last"}
    scale, relevance, indicators
        The preprocessing, see `GCWSNetClassifier`.
    p : float
        The power.
    epochs : int
    loss : float
        The mean loss of the validation rows: the cross-entropy at the best temperature, or the squared error of
        standardised targets.
    error : float
        The standard error of the loss.
    accuracy : float
        The share of validation rows whose class is right; 0 for numbers.
    temperature : float
        What outputs are divided by; 1 for numbers.
    seconds : float
        The time that it took.
    chosen : bool
        Whether these are the settings in use.
    """

    stage: str
    scale: str | None
    relevance: float
    indicators: bool
    p: float
    epochs: int
    loss: float
    error: float
    accuracy: float
    temperature: float
    seconds: float
    chosen: bool = False


def open_points(
    settings: CoderSettings,
    X: Matrix,
    numeric: NDArray[np.bool_] | None = None,
    *,
    has_codes: bool = False,
) -> list[Point]:
    """Return what the first stage compares for rows like X; the default comes first, and p is 1 unless it is given."""
    p = 1.0 if settings.p == "auto" else float(settings.p)
    indicators = settings.missing == "auto"
    powers = (0.0, 0.5, 1.0) if settings.relevance == "auto" else (float(settings.relevance),)
    if settings.scale != "auto":
        return [Point(Recipe(settings.scale, power, indicators), p) for power in powers]
    is_sparse = sparse.issparse(X) and numeric is None
    scales: list[str | None] = ["numeric"]
    has_numbers = not is_sparse and (numeric is None or bool(numeric.any()))
    scales += ["tfidf", "unit", "idf"] if is_sparse else []
    scales += ["quantile"] if has_numbers else []
    if has_numbers and X.shape[1] <= MOST_COLUMNS:
        scales.append("local")
    if has_codes:
        scales.append("codes")
    if numeric is None:
        scales += [None, "minmax"]
    if is_binary(X).any():
        scales.append("standard")  # without binary columns it is the same as "numeric"
    points = [
        Point(Recipe(scale, power, indicators), p)
        for scale in scales
        for power in powers
        if power == powers[0] or (scale == "numeric" or (scale in FOR_DENSE_ROWS and power < 1))
    ]
    if settings.p == "auto":
        points += [Point(Recipe(None, powers[0], indicators), 20.0)] if numeric is None else []
        points += [Point(Recipe("tfidf", powers[0], indicators), 0.5)] if is_sparse else []
    if indicators and len(incomplete_columns(X)):
        points.append(Point(Recipe("numeric", powers[0], False), p))
    return points


def codes_among(X: Matrix, numeric: NDArray[np.bool_] | None, target: NDArray[Any]) -> NDArray[np.int64]:
    """Return the columns of codes among those of numbers, by all rows: few rows say little about many codes."""
    if sparse.issparse(X):
        if numeric is None:
            return np.empty(0, dtype=np.int64)
        X = X[:, np.flatnonzero(numeric)].toarray()
    return code_columns(X, target) if X.shape[1] <= MOST_COLUMNS else np.empty(0, dtype=np.int64)


def climb_powers(by_loss: dict[Point, float], n_starts: int, loss: Callable[[Point], float]) -> None:
    """Add other powers of the best points to their losses, downwards and upwards as long as that helps."""
    for start in sorted(by_loss, key=lambda point: by_loss[point])[:n_starts]:
        for step in (-1, 1):
            before, place = by_loss[start], POWERS.index(start.p) + step
            while 0 <= place < len(POWERS):
                point = Point(start.recipe, POWERS[place])
                if point not in by_loss:
                    by_loss[point] = loss(point)
                if by_loss[point] >= before:
                    break
                before, place = by_loss[point], place + step


def describe(candidate: Candidate) -> str:
    """Return a candidate as a line of text."""
    return (
        f"{candidate.stage} stage: scale {candidate.scale}, relevance {candidate.relevance:g}, p {candidate.p:g}, "
        f"epochs {candidate.epochs}: loss {candidate.loss:.4f} +- {candidate.error:.4f}"
        + (", chosen" if candidate.chosen else "")
    )
