"""The search for a preprocessing, p, the number of epochs and the temperature, by comparisons on held-out rows.

It goes in three stages, and each has fewer candidates and larger nets than the one before:

1. All candidates, with small nets on few rows; then other powers p for the best one.
2. The best few, with larger nets on more rows. The default stays unless another is clearly better.
3. The one that is left, with the net that will be trained: how many epochs, and which temperature.

What it may cost is fixed by the sizes below and not by a clock, so that the same rows give the same model everywhere.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import SELECTION_ROWS, random_order
from gcwsnet._validation import Matrix
from gcwsnet.coding._candidates import Candidate, Point, climb_powers, codes_among, describe, open_points
from gcwsnet.coding._preprocessing import Recipe, learn_preprocessing

if TYPE_CHECKING:
    from gcwsnet.coding._coder import CoderSettings
    from gcwsnet.hashing import GCWSHasher

SEARCHES = ("off", "fast", "thorough")
LEAST_ROWS, LEAST_ROWS_OF_LAST_STAGE = 200, 30
"""Fewer rows are not enough to compare preprocessings; and still fewer not for epochs and a temperature."""
FEW_ROWS, FOLDS = 1000, 3
"""Where there are fewer rows, all of them are validation rows in turn, by cross-validation."""
SHARE_HELD_OUT = 5

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
logger = logging.getLogger("gcwsnet")


class Stage(NamedTuple):
    """A stage of the search: its name, the size of its nets, and its rows."""

    name: str
    n_hashes: int
    hidden: tuple[int, ...]
    epochs: int
    training_rows: int
    validation_rows: int


FIRST = Stage("first", 64, (32,), 4, 1600, 1000)
SECOND = Stage("second", 128, (64,), 4, 4000, 2000)
LAST_TRAINING_ROWS, LAST_VALIDATION_ROWS = 8000, 2000
KEPT = {"fast": 3, "thorough": 8}
CLIMBED = {"fast": 1, "thorough": 8}


class Outcome(NamedTuple):
    """How a candidate did on validation rows.

    Attributes
    ----------
    losses : array of float64
        The loss of each row at the best temperature.
    accuracy : float
        The share of rows whose class is right; 0 for numbers.
    temperature : float
    """

    losses: Floats
    accuracy: float
    temperature: float


class Score(Protocol):
    """What the search needs to know about targets and nets.

    Attributes
    ----------
    target : array of shape (n,) or (n, m)
        The numbers of classes, or standardised numbers, of all rows.
    hidden : tuple of int
        The hidden layers of the net that will be trained; () makes the small nets linear, too.
    epochs : sequence of int
        The numbers of epochs that are compared, the preferred one first. Empty where rows are seen once, in a stream.
    rows_at_once : int
        The most rows that are hashed between two pauses; 0 for all of them.
    """

    @property
    def target(self) -> NDArray[Any]: ...

    @property
    def hidden(self) -> tuple[int, ...]: ...

    @property
    def epochs(self) -> Sequence[int]: ...

    @property
    def rows_at_once(self) -> int: ...

    def outputs(
        self,
        codes: NDArray[Any],
        training: Rows,
        held_out: NDArray[Any],
        *,
        code_bits: int,
        hidden: tuple[int, ...],
        epochs: int,
    ) -> NDArray[np.float32]:
        """Return the outputs for held-out codes of a net that has learned the codes of training rows."""

    def outcome(self, outputs: NDArray[np.float32], rows: Rows) -> Outcome:
        """Return how good the outputs for rows are."""

    def pause(self, turns: int = 1) -> None:
        """Let others work for some turns; called after each part of the search that takes milliseconds."""


@dataclass(frozen=True)
class Selection:
    """The result of a search.

    Attributes
    ----------
    point : Point
    epochs : int or None
        None where it was not searched for.
    temperature : float
    candidates : tuple of Candidate
    """

    point: Point
    epochs: int | None = None
    temperature: float = 1.0
    candidates: tuple[Candidate, ...] = ()


def select(
    X: Matrix,
    settings: CoderSettings,
    seed: int,
    score: Score | None,
    numeric: NDArray[np.bool_] | None = None,
) -> Selection:
    """Return the settings that suit rows, among those that are left open.

    Parameters
    ----------
    X : array or canonical CSR of shape (n, D)
    settings : CoderSettings
        What is "auto" in them is searched for. Where nothing is known about targets, or ``search="off"``, or there are
        fewer than 200 rows, the preprocessing is "numeric" and p is 1. With fewer than 30 rows the epochs are not
        searched for either, and the temperature is 1.
    seed : int
        The seed of the hashes and of the choice of rows.
    score : Score or None
    numeric : array of bool, optional
        See `learn_preprocessing`.
    """
    if score is None or settings.search == "off":
        return Selection(open_points(settings, X, numeric)[0])
    codes = codes_among(X, numeric, score.target)
    points = open_points(settings, X, numeric, has_codes=len(codes) > 0)
    search = _Search(X, settings, seed, score, numeric, codes)
    point = points[0]
    if X.shape[0] >= LEAST_ROWS and (len(points) > 1 or settings.p == "auto"):
        point = search.best_point(points)
    epochs, temperature = None, 1.0
    if has_last_stage(X.shape[0], score.epochs):
        epochs, temperature = search.best_epochs(point)
    elif search.found:
        search.choose(point)
    for one in search.found:
        logger.debug("%s", describe(one))
    return Selection(point, epochs, temperature, tuple(search.found))


def has_last_stage(n: int, epochs: Sequence[int]) -> bool:
    """Return whether epochs are compared, or at least a temperature is found.

    One number of epochs leaves only the temperature, which a part of very many rows does not tell.
    """
    if n < LEAST_ROWS_OF_LAST_STAGE or not epochs:
        return False
    return len(epochs) > 1 or n <= LAST_TRAINING_ROWS + LAST_VALIDATION_ROWS


def splits(drawn: Rows, training_rows: int, validation_rows: int) -> list[tuple[Rows, Rows]]:
    """Return the numbers of training rows and of validation rows; for few rows those of each of three folds.

    `drawn` are the numbers of all rows in the order in which they are drawn.
    """
    if len(drawn) < FEW_ROWS:
        folds = [drawn[first::FOLDS] for first in range(FOLDS)]
        return [(np.concatenate([*folds[:i], *folds[i + 1 :]]), folds[i]) for i in range(FOLDS)]
    held_out = min(LAST_VALIDATION_ROWS, len(drawn) // SHARE_HELD_OUT)
    return [(drawn[held_out : held_out + training_rows], drawn[: min(held_out, validation_rows)])]


def clearly_better(losses: Floats, than: Floats) -> bool:
    """Return whether losses are lower by more than the standard error of the difference, row by row."""
    difference = than - losses
    error = difference.std(ddof=1) / math.sqrt(len(difference)) if len(difference) > 1 else math.inf
    return bool(difference.mean() > error)


class _Search:
    """One search: the rows, and the candidates that were found so far."""

    def __init__(
        self,
        X: Matrix,
        settings: CoderSettings,
        seed: int,
        score: Score,
        numeric: NDArray[np.bool_] | None,
        codes: NDArray[np.int64],
    ) -> None:
        self.X, self.settings, self.seed, self.score = X, settings, seed, score
        self.numeric, self.codes = numeric, codes
        self.found: list[Candidate] = []
        self._prepared: tuple[Any, list[Any]] = (None, [])

    @cached_property
    def drawn(self) -> Rows:
        """The numbers of all rows in the order in which they are drawn, which is the same for all candidates."""
        return random_order(self.seed, SELECTION_ROWS, self.X.shape[0])

    def best_point(self, points: list[Point]) -> Point:
        """Return the best preprocessing and power by the first two stages."""
        by_loss = {point: self.outcome(FIRST, point).losses.mean() for point in points}
        if self.settings.p == "auto":
            climb_powers(by_loss, CLIMBED[self.settings.search], lambda point: self.outcome(FIRST, point).losses.mean())
        best = sorted(by_loss, key=lambda point: by_loss[point])[: KEPT[self.settings.search]]
        if len(best) == 1:
            return best[0]
        default = points[0]
        codes = [point for point in points if point.recipe.scale == "codes"]  # they need more rows than others
        losses = {point: self.outcome(SECOND, point).losses for point in dict.fromkeys([default, *best, *codes])}
        least = min(losses, key=lambda point: losses[point].mean())
        return least if clearly_better(losses[least], losses[default]) else default

    def best_epochs(self, point: Point) -> tuple[int, float]:
        """Return the number of epochs and the temperature by the last stage.

        Fewer epochs must have a clearly lower loss, and must not have a lower accuracy. The fast search looks at still
        fewer only if that was so.
        """
        stage = Stage(
            "last",
            self.settings.n_hashes,
            self.score.hidden,
            self.score.epochs[0],
            LAST_TRAINING_ROWS,
            LAST_VALIDATION_ROWS,
        )
        best, first = None, len(self.found)
        for number, epochs in enumerate(self.score.epochs):
            found = self.outcome(stage._replace(epochs=epochs), point)
            if best is None or (clearly_better(found.losses, best.losses) and found.accuracy >= best.accuracy):
                best, chosen = found, first + number
            elif self.settings.search == "fast":
                break
        self._mark(chosen)
        return self.found[chosen].epochs, self.found[chosen].temperature

    def choose(self, point: Point) -> None:
        """Mark the candidate that a point was chosen by: the latest one with its settings."""
        settings = vars(point.recipe) | {"p": point.p}
        numbers = [i for i, one in enumerate(self.found) if settings.items() <= vars(one).items()]
        self._mark(numbers[-1])

    def _mark(self, chosen: int) -> None:
        self.found[chosen] = replace(self.found[chosen], chosen=True)

    def outcome(self, stage: Stage, point: Point) -> Outcome:
        """Return how a net does on the validation rows, and note the candidate."""
        from gcwsnet.hashing import GCWSHasher  # noqa: PLC0415 - scikit-learn takes long to import

        start = time.perf_counter()
        hidden = stage.hidden if self.score.hidden else ()
        outputs, validated = [], []
        for training, validation, prepared, held_out in self._prepare(stage, point.recipe):
            hasher = GCWSHasher(
                min(stage.n_hashes, self.settings.n_hashes),
                p=point.p,
                bits=self.settings.bits,
                t_bits=self.settings.t_bits,
                encoding=self.settings.encoding,
                missing="error" if self.settings.missing == "error" else "zero",
                random_state=self.seed,
            ).fit(prepared[:1])
            codes = self._hashed(hasher, prepared), self._hashed(hasher, held_out)
            outputs.append(
                self.score.outputs(
                    codes[0], training, codes[1], code_bits=hasher.code_bits, hidden=hidden, epochs=stage.epochs
                )
            )
            validated.append(validation)
        found = self.score.outcome(np.concatenate(outputs), np.concatenate(validated))
        losses = found.losses
        error = float(losses.std(ddof=1) / math.sqrt(len(losses))) if len(losses) > 1 else math.inf
        seconds = time.perf_counter() - start
        recipe = vars(point.recipe)
        self.found.append(
            Candidate(
                stage=stage.name,
                **recipe,
                p=point.p,
                epochs=stage.epochs,
                loss=float(losses.mean()),
                error=error,
                accuracy=found.accuracy,
                temperature=found.temperature,
                seconds=seconds,
            )
        )
        return found

    def _prepare(self, stage: Stage, recipe: Recipe) -> list[Any]:
        """Return the rows of each split and their preprocessed numbers; those of the last call are kept."""
        key = (stage.training_rows, stage.validation_rows, recipe)
        if self._prepared[0] != key:
            parts = []
            for training, validation in splits(self.drawn, *key[:2]):
                rows = self.X[training]
                preprocessing = learn_preprocessing(rows, recipe, self.score.target[training], self.numeric, self.codes)
                self.score.pause(turns=2)  # it may have taken as long as two other parts
                prepared = preprocessing.transform(rows)
                self.score.pause()
                parts.append((training, validation, prepared, preprocessing.transform(self.X[validation])))
                self.score.pause()
            self._prepared = key, parts
        return self._prepared[1]

    def _hashed(self, hasher: GCWSHasher, rows: Matrix) -> NDArray[Any]:
        """Return the codes of preprocessed rows."""
        step = self.score.rows_at_once or max(rows.shape[0], 1)
        parts = []
        for first in range(0, rows.shape[0], step):
            parts.append(hasher.transform(rows if step >= rows.shape[0] else rows[first : first + step]))
            self.score.pause()
        return np.concatenate(parts)
