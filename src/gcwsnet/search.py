"""The candidates of a search: which preprocessings and powers p are compared for which rows."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._keys import EPOCH_ORDER, SELECTION_ROWS, random_order
from gcwsnet._memory import require_memory
from gcwsnet._validation import (
    Matrix,
    as_floats,
    without_nan,
)
from gcwsnet.kernels._pgmm import pgmm_kernel
from gcwsnet.kernels._ridge import Ridge, fit_ridge
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels, Targets
from gcwsnet.net._trainer import Plan, Trainer
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._coder import Candidate, Coder, CoderSettings, KernelCandidate
from gcwsnet.tables._preprocessing import (
    FOR_DENSE_ROWS,
    AnyPreprocessing,
    Recipe,
    incomplete_columns,
    learn_preprocessing,
)
from gcwsnet.tables._scaling import MAX_LOCAL_COLUMNS, code_columns, is_binary
from gcwsnet.tables._schema import Schema

if TYPE_CHECKING:
    from gcwsnet.tables._coder import Coder, CoderSettings


POWERS = (0.5, 1.0, 2.0, 5.0, 20.0, 80.0)


class Point(NamedTuple):
    """A preprocessing and a power."""

    recipe: Recipe
    p: float


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
    if has_numbers and X.shape[1] <= MAX_LOCAL_COLUMNS:
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
    return code_columns(X, target) if X.shape[1] <= MAX_LOCAL_COLUMNS else np.empty(0, dtype=np.int64)


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
    """

    @property
    def target(self) -> NDArray[Any]:
        """The encoded targets of all rows."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """The hidden layers of the net of the first stages."""

    @property
    def epochs(self) -> Sequence[int]:
        """The numbers of epochs that are compared."""

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
    search = _NetSearch(X, settings, seed, score, numeric, codes)
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


class _NetSearch:
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
        from gcwsnet.hashing._gcws import GCWSHasher  # noqa: PLC0415 - scikit-learn takes long to import

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
            codes = hasher.transform(prepared), hasher.transform(held_out)
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
                held_out = preprocessing.transform(self.X[validation])
                parts.append((training, validation, preprocessing.transform(rows), held_out))
            self._prepared = key, parts
        return self._prepared[1]


@dataclass(frozen=True, eq=False)
class CandidateScore:
    """The score of candidates by nets, as `fit_coder` takes it.

    Attributes
    ----------
    targets : Targets
    target, weight : arrays with a row for each row of the coder's X
        Encoded targets, and the factors of the rows' losses or None.
    settings : TrainingSettings
        Nets learn as these say, but for their hidden layers and their epochs.
    given_epochs : sequence of int
        The numbers of epochs that may be chosen, the preferred one first; empty for a stream.
    seed : int
    n_jobs : int
        Threads.
    """

    targets: Targets
    target: NDArray[Any]
    weight: NDArray[Any] | None
    settings: TrainingSettings
    given_epochs: Sequence[int]
    seed: int
    n_jobs: int

    @property
    def epochs(self) -> Sequence[int]:
        """The numbers of epochs that are compared; a single one is worth a run only for its temperature."""
        return self.given_epochs if len(self.given_epochs) > 1 or isinstance(self.targets, Labels) else ()

    @property
    def hidden(self) -> tuple[int, ...]:
        """The hidden layers of the net that will be trained."""
        return self.settings.layers()

    def outputs(
        self,
        codes: NDArray[Any],
        training: NDArray[np.int64],
        held_out: NDArray[Any],
        *,
        code_bits: int,
        hidden: tuple[int, ...],
        epochs: int,
    ) -> NDArray[np.float32]:
        """Return the outputs for held-out codes of a net that has learned the codes of training rows."""
        settings = replace(self.settings, hidden=hidden, ensemble=1, reduction=None, epochs=epochs)
        trainer = Trainer.begin(
            settings, self.targets, n_hashes=codes.shape[1], code_bits=code_bits, seed=self.seed, device="cpu"
        )
        weight = None if self.weight is None else self.weight[training]
        rows = Batch(codes, self.target[training], weight)

        def epoch(number: int) -> list[Batch]:
            return [rows.take(random_order(self.seed, EPOCH_ORDER, rows.n_rows, number * rows.n_rows))]

        trainer.run(Plan(epochs, rows.n_rows), epoch, n_jobs=self.n_jobs)
        return trainer.net.outputs(held_out, n_jobs=self.n_jobs)

    def outcome(self, outputs: NDArray[np.float32], rows: NDArray[np.int64]) -> Outcome:
        """Return how good the outputs for rows are, weighted as the rows are in training."""
        target = self.target[rows]
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        calibrated = self.targets.calibrated(outputs, target, weight)
        accuracy = 0.0
        if isinstance(self.targets, Labels):
            accuracy = float((self.targets.successes(outputs, target) * weight).mean())
        return Outcome(calibrated.losses(outputs, target) * weight, accuracy, calibrated.temperature)


FIRST_ROWS, SECOND_ROWS, THIRD_ROWS = 500, 1000, 3000

MOST_ROWS_OF_ALL_ALPHAS = 4000

MOST_LEFT_OUT = 2000

KERNEL_CLIMBED, KERNEL_KEPT = 2, 3

ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

USUAL_ALPHA = 0.3


class Problem(NamedTuple):
    """What is to be learned; the last rows are those that are left out, and the samples of the search.

    Attributes
    ----------
    X : array or canonical CSR of shape (n, D)
    target : array of shape (n,) or (n, m)
        What columns may be relevant for.
    columns : array of shape (n, m)
        What is learned: standardised numbers, labels of 1 and -1, or one-hot labels.
    weight : array of shape (n,)
        Positive weights.
    numeric : array of bool or None
        See `learn_preprocessing`.
    """

    X: Matrix
    target: NDArray[Any]
    columns: Floats
    weight: Floats
    numeric: NDArray[np.bool_] | None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns)

    def last(self, n: int) -> Problem:
        """Return the last n rows."""
        return Problem(self.X[-n:], self.target[-n:], self.columns[-n:], self.weight[-n:], self.numeric)


class Fitted(NamedTuple):
    """The result of a search: the preprocessing, the rows as the kernel compares them, and the fit."""

    point: Point
    preprocessing: AnyPreprocessing
    rows: Matrix
    ridge: Ridge
    candidates: tuple[KernelCandidate, ...]


def fit_kernel_machine(problem: Problem, settings: CoderSettings, alpha: float | str, threads: int) -> Fitted:
    """Return the kernel machine that suits rows, with what is "auto" chosen by the search."""
    return _KernelSearch(problem, settings, alpha, threads).run()


class _KernelSearch:
    """One search: the rows, and the candidates that were found so far."""

    def __init__(self, problem: Problem, settings: CoderSettings, alpha: float | str, threads: int) -> None:
        self.problem, self.settings, self.alpha, self.threads = problem, settings, alpha, threads
        self.found: list[KernelCandidate] = []
        self.likely_alpha = USUAL_ALPHA
        self._prepared: tuple[Any, Any] = (None, None)

    def run(self) -> Fitted:
        """Go through the stages."""
        points = open_points(self.settings, self.problem.X, self.problem.numeric)
        point = points[0]
        if len(points) > 1 or self.settings.p == "auto":
            point = self.best_point(points)
        if self.problem.n_rows > MOST_ROWS_OF_ALL_ALPHAS and self.alpha == "auto":
            self.score("third", self.problem.last(THIRD_ROWS), point)
        ridge = self.score("last", self.problem, point)
        preprocessing, rows = self._prepare("last", self.problem, point)
        return Fitted(point, preprocessing, rows, ridge, tuple(self.found))

    def best_point(self, points: list[Point]) -> Point:
        """Return the best preprocessing and power by the first two stages."""
        few = self.problem.last(FIRST_ROWS)

        def loss(stage: str, problem: Problem, point: Point) -> float:
            self.score(stage, problem, point)
            return self.found[-1].loss

        by_loss = {point: loss("first", few, point) for point in points}
        if self.settings.p == "auto":
            climb_powers(by_loss, KERNEL_CLIMBED, lambda point: loss("first", few, point))
        best = sorted(by_loss, key=lambda point: by_loss[point])
        if self.problem.n_rows <= FIRST_ROWS:
            return best[0]
        more = self.problem.last(SECOND_ROWS)
        return min(best[:KERNEL_KEPT], key=lambda point: loss("second", more, point))

    def score(self, stage: str, problem: Problem, point: Point) -> Ridge:
        """Return the fit with the best alpha, and note the candidate."""
        start = time.perf_counter()
        _, rows = self._prepare(stage, problem, point)
        n = problem.n_rows
        require_memory(8 * n * n, f"the kernel matrix of {n} rows", "give fewer rows, or use a GCWSNet")
        K = pgmm_kernel(rows, p=point.p, n_jobs=self.threads)
        scale = float(problem.weight.mean())
        n_left_out = min(n, MOST_LEFT_OUT)
        fits: dict[float, tuple[float, Floats, Ridge]] = {}

        def look(alpha: float) -> float:
            if alpha not in fits:
                ridge = fit_ridge(K, problem.columns, alpha * scale / problem.weight, n_left_out, threads=self.threads)
                weight = problem.weight[-n_left_out:]
                losses = ((ridge.left_out - problem.columns[-n_left_out:]) ** 2).sum(axis=1) * (weight / weight.mean())
                fits[alpha] = float(losses.mean()), losses, ridge
            return fits[alpha][0]

        best = self.likely_alpha if self.alpha == "auto" else float(self.alpha) / scale
        look(best)
        is_open = self.alpha == "auto" and n <= MOST_ROWS_OF_ALL_ALPHAS
        for step in (-1, 1) if is_open else ():
            place = ALPHAS.index(best) + step
            while 0 <= place < len(ALPHAS) and look(ALPHAS[place]) < fits[best][0]:
                best, place = ALPHAS[place], place + step
        if self.alpha == "auto":
            self.likely_alpha = best
        loss, losses, ridge = fits[best]
        error = float(losses.std(ddof=1) / math.sqrt(len(losses)))
        self.found.append(
            KernelCandidate(
                stage,
                **vars(point.recipe),
                p=point.p,
                alpha=best * scale,
                rows=n,
                loss=loss,
                error=error,
                seconds=time.perf_counter() - start,
                chosen=stage == "last",
            )
        )
        return ridge

    def _prepare(self, stage: str, problem: Problem, point: Point) -> tuple[AnyPreprocessing, Matrix]:
        """Return the preprocessing of rows and what it makes of them; those of the last call are kept."""
        key = stage, point.recipe
        if self._prepared[0] != key:
            preprocessing = learn_preprocessing(problem.X, point.recipe, problem.target, problem.numeric)
            self._prepared = key, (preprocessing, without_nan(preprocessing.transform(problem.X)))
        return self._prepared[1]


def fit_coder(
    X: Matrix,
    settings: CoderSettings,
    seed: int,
    score: Score | None = None,
    *,
    numeric: NDArray[np.bool_] | None = None,
    schema: Schema | None = None,
    ensemble: int = 1,
) -> Coder:
    """Return the coder that suits rows.

    Parameters
    ----------
    X : array or canonical CSR of shape (n, D)
        Rows that have been checked for finite values.
    settings : CoderSettings
    seed : int
    score : Score, optional
        How good candidates are. Without it "auto" means the scaling "numeric", p = 1 and no relevance.
    numeric : array of bool, shape (D,), optional
        The columns of a CSR matrix that are numbers of a table and treated like dense ones.
    schema : Schema, optional
        How X was made of a table.
    ensemble : int, default=1
        The nets that codes are made for.
    """
    if settings.missing == "zero":
        X = without_nan(as_floats(X))
    if not sparse.issparse(X):
        numeric = None
    found = select(X, settings, seed, score, numeric)
    target = None if score is None else score.target
    return Coder(
        settings,
        seed,
        X.shape[1],
        learn_preprocessing(X, found.point.recipe, target, numeric),
        found.point.p,
        ensemble=ensemble,
        epochs=found.epochs,
        temperature=found.temperature,
        selection=found.candidates,
        schema=schema,
    )
