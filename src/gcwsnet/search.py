"""The search for what users leave open: preprocessing, p, epochs and temperature of nets, and alpha of kernel machines.

Candidates are compared on few rows first, and the best of them on more rows. Nets are scored by held-out rows, kernel
machines by predictions for training rows that are each made without the row.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._keys import SELECTION_ROWS, random_order
from gcwsnet._memory import require_memory
from gcwsnet._validation import Matrix, as_floats, without_nan
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.kernels._exact import pgmm_kernel
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Labels, Targets
from gcwsnet.net._trainer import Plan, Trainer
from gcwsnet.tables._batch import Batch, shuffled_epochs
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._preprocessing import (
    AnyPreprocessing,
    Recipe,
    fit_preprocessing,
    incomplete_columns,
)
from gcwsnet.tables._scaling import FOR_DENSE_ROWS, MAX_LOCAL_COLUMNS, categorical_columns, is_binary
from gcwsnet.tables._schema import Schema

if TYPE_CHECKING:
    from gcwsnet.kernels._ridge import Ridge

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

POWERS = (0.5, 1.0, 2.0, 5.0, 20.0, 80.0)
MIN_ROWS, MIN_ROWS_OF_LAST_STAGE = 200, 30
"""Fewer rows are not enough to compare preprocessings; and still fewer not for epochs and a temperature."""
FEW_ROWS, FOLDS = 1000, 3
"""Where there are fewer rows, all of them are validation rows in turn, by cross-validation."""
LAST_TRAINING_ROWS, LAST_VALIDATION_ROWS = 8000, 2000
ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
MAX_ROWS_OF_ALL_ALPHAS, ROWS_FOR_ALPHA = 4000, 3000
"""Where there are more rows than the first number, alpha is chosen by as many as the second."""
MAX_LEFT_OUT = 2000

logger = logging.getLogger("gcwsnet")


@dataclass(frozen=True)
class Candidate:
    """Settings that a search compared, and how they did.

    Attributes
    ----------
    stage : {"first", "second", "third", "last"}
    scale, relevance, indicators
        The preprocessing, see `GCWSNetClassifier`.
    p : float
        The power.
    loss : float
        The mean loss. Of nets on validation rows: the cross-entropy at the best temperature, or the squared error of
        standardised targets. Of kernel machines for rows that were left out: the weighted mean squared error of
        standardised numbers, of labels 1 and -1, or summed over the columns of one-hot labels.
    error : float
        The standard error of the loss.
    seconds : float
        The time that it took.
    epochs : int or None
        The epochs of a net.
    accuracy : float
        The share of validation rows whose class is right, for nets; 0 for numbers.
    temperature : float
        What outputs of a net are divided by; 1 for numbers.
    alpha : float or None
        The regularisation of a kernel machine.
    chosen : bool
        Whether these are the settings in use.
    """

    stage: str
    scale: str | None
    relevance: float
    indicators: bool
    p: float
    loss: float
    error: float
    seconds: float
    epochs: int | None = None
    accuracy: float = 0.0
    temperature: float = 1.0
    alpha: float | None = None
    chosen: bool = False


def selected_training(selection: Sequence[Candidate]) -> tuple[int | None, float]:
    """Return the epochs and the temperature that were selected; None and 1 where the search left them open."""
    for one in selection:
        if one.chosen and one.stage == "last":
            return one.epochs, one.temperature
    return None, 1.0


def selection_state(selection: Sequence[Candidate], *, timings: bool) -> list[dict[str, Any]]:
    """Return candidates as JSON can hold them; without timings their seconds are 0, so that equal ones are equal."""
    return [asdict(one if timings else replace(one, seconds=0.0)) for one in selection]


class Point(NamedTuple):
    """A preprocessing and a power."""

    recipe: Recipe
    p: float


class Stage(NamedTuple):
    """A stage of the search for nets: its name, the size of its nets, and its rows."""

    name: str
    n_hashes: int
    hidden: tuple[int, ...]
    epochs: int
    training_rows: int
    validation_rows: int


FIRST = Stage("first", 64, (32,), 4, 1600, 1000)
SECOND = Stage("second", 128, (64,), 4, 4000, 2000)


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
    has_numbers = not is_sparse and (numeric is None or bool(numeric.any()))
    scales: list[str | None] = ["numeric"]
    scales += ["tfidf", "unit", "idf"] if is_sparse else []
    scales += ["quantile"] if has_numbers else []
    scales += ["local"] if has_numbers and X.shape[1] <= MAX_LOCAL_COLUMNS else []
    scales += ["codes"] if has_codes else []
    scales += [None, "minmax"] if numeric is None else []
    scales += ["standard"] if is_binary(X).any() else []  # without binary columns it is the same as "numeric"
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


def best_points(
    points: Sequence[Point], loss: Callable[[Point], float], *, n_starts: int, open_powers: bool
) -> list[Point]:
    """Return points in the order of their losses, with other powers of the best ones if the power is open.

    From each of the `n_starts` best points, powers go downwards and upwards as long as that helps.
    """
    by_loss = {point: loss(point) for point in points}
    for start in sorted(by_loss, key=by_loss.__getitem__)[:n_starts] if open_powers else ():
        for step in (-1, 1):
            before, place = by_loss[start], POWERS.index(start.p) + step
            while 0 <= place < len(POWERS):
                point = Point(start.recipe, POWERS[place])
                if point not in by_loss:
                    by_loss[point] = loss(point)
                if by_loss[point] >= before:
                    break
                before, place = by_loss[point], place + step
    return sorted(by_loss, key=by_loss.__getitem__)


def describe(candidate: Candidate) -> str:
    """Return a candidate as a line of text."""
    last = f"alpha {candidate.alpha:g}" if candidate.alpha is not None else f"epochs {candidate.epochs}"
    return (
        f"{candidate.stage} stage: scale {candidate.scale}, relevance {candidate.relevance:g}, p {candidate.p:g}, "
        f"{last}: loss {candidate.loss:.4f} +- {candidate.error:.4f}" + (", chosen" if candidate.chosen else "")
    )


# Nets


class Outcome(NamedTuple):
    """The losses of validation rows at the best temperature, the share of right classes (0 for numbers), and that."""

    losses: Floats
    accuracy: float
    temperature: float


@dataclass(frozen=True, eq=False)
class NetScore:
    """The score of candidates by nets that learn their codes.

    Attributes
    ----------
    targets : Targets
    target, weight : arrays with a row for each row of X
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
        training: Rows,
        held_out: NDArray[Any],
        *,
        code_bits: int,
        hidden: tuple[int, ...],
        epochs: int,
    ) -> NDArray[np.float32]:
        """Return the outputs for held-out codes of a net that has learned the codes of training rows."""
        settings = replace(self.settings, hidden=hidden, ensemble=1, reduction=None, epochs=epochs)
        made = {"n_hashes": codes.shape[1], "code_bits": code_bits, "seed": self.seed}
        trainer = Trainer.begin(settings, self.targets, **made, device="cpu")
        rows = Batch(codes, self.target[training], None if self.weight is None else self.weight[training])
        trainer.run(Plan(epochs, rows.n_rows), shuffled_epochs(rows, self.seed), n_jobs=self.n_jobs)
        return trainer.net.outputs(held_out, n_jobs=self.n_jobs)

    def outcome(self, outputs: NDArray[np.float32], rows: Rows) -> Outcome:
        """Return how good the outputs for rows are, weighted as the rows are in training."""
        target = self.target[rows]
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        calibrated = self.targets.calibrated(outputs, target, weight)
        accuracy = 0.0
        if isinstance(self.targets, Labels):
            accuracy = float((self.targets.successes(outputs, target) * weight).mean())
        return Outcome(calibrated.losses(outputs, target) * weight, accuracy, calibrated.temperature)


def fit_coder(
    X: Matrix,
    settings: CoderSettings,
    seed: int,
    score: NetScore | None = None,
    *,
    numeric: NDArray[np.bool_] | None = None,
    schema: Schema | None = None,
    ensemble: int = 1,
) -> tuple[Coder, list[Candidate]]:
    """Return the coder that suits rows, and the candidates that were compared for it.

    Parameters
    ----------
    X : array or canonical CSR of shape (n, D)
        Rows that have been checked for finite values.
    settings : CoderSettings
        What is "auto" in them is searched for. Without a score, with ``search="off"`` or fewer than 200 rows, the
        preprocessing is "numeric" and p is 1. With fewer than 30 rows the epochs are not searched for either, and the
        temperature is 1.
    seed : int
        The seed of the hashes and of the choice of rows.
    score : NetScore, optional
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
    n = X.shape[0]
    candidates: list[Candidate] = []
    if score is None or settings.search == "off":
        point = open_points(settings, X, numeric)[0]
    else:
        search = _NetSearch(X, settings, seed, score, numeric)
        points = open_points(settings, X, numeric, has_codes=len(search.codes) > 0)
        point = points[0]
        if n >= MIN_ROWS and (len(points) > 1 or settings.p == "auto"):
            point = search.best_point(points)
        if has_last_stage(n, score.epochs):
            search.compare_epochs(point)
        elif search.candidates:
            search.mark(point)
        candidates = search.candidates
        for one in candidates:
            logger.debug("%s", describe(one))
    preprocessing = fit_preprocessing(X, point.recipe, None if score is None else score.target, numeric)
    n_codes = ensemble * settings.n_hashes
    return Coder(settings, seed, X.shape[1], preprocessing, point.p, n_codes, schema), candidates


def has_last_stage(n: int, epochs: Sequence[int]) -> bool:
    """Return whether epochs are compared, or at least a temperature is found.

    One number of epochs leaves only the temperature, which a part of very many rows does not tell.
    """
    if n < MIN_ROWS_OF_LAST_STAGE or not epochs:
        return False
    return len(epochs) > 1 or n <= LAST_TRAINING_ROWS + LAST_VALIDATION_ROWS


def splits(drawn: Rows, training_rows: int, validation_rows: int) -> list[tuple[Rows, Rows]]:
    """Return the numbers of training rows and of validation rows; for few rows those of each of three folds.

    `drawn` are the numbers of all rows in the order in which they are drawn.
    """
    if len(drawn) < FEW_ROWS:
        folds = [drawn[first::FOLDS] for first in range(FOLDS)]
        return [(np.concatenate([*folds[:i], *folds[i + 1 :]]), folds[i]) for i in range(FOLDS)]
    held_out = min(LAST_VALIDATION_ROWS, len(drawn) // 5)
    return [(drawn[held_out : held_out + training_rows], drawn[: min(held_out, validation_rows)])]


def clearly_better(losses: Floats, than: Floats) -> bool:
    """Return whether losses are lower by more than the standard error of the difference, row by row."""
    difference = than - losses
    return bool(difference.mean() > _standard_error(difference))


def _standard_error(losses: Floats) -> float:
    return float(losses.std(ddof=1) / math.sqrt(len(losses))) if len(losses) > 1 else math.inf


class _NetSearch:
    """A search for nets: its rows, and the candidates that were compared so far."""

    def __init__(
        self,
        X: Matrix,
        settings: CoderSettings,
        seed: int,
        score: NetScore,
        numeric: NDArray[np.bool_] | None,
    ) -> None:
        self.X, self.settings, self.seed, self.score, self.numeric = X, settings, seed, score, numeric
        self.candidates: list[Candidate] = []
        self._prepared: tuple[Any, list[Any]] = (None, [])

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The columns of codes among those of numbers, by all rows: few rows say little about many codes."""
        X = self.X
        if sparse.issparse(X):
            if self.numeric is None:
                return np.empty(0, dtype=np.int64)
            X = X[:, np.flatnonzero(self.numeric)].toarray()
        none = np.empty(0, dtype=np.int64)
        return categorical_columns(X, self.score.target) if X.shape[1] <= MAX_LOCAL_COLUMNS else none

    @cached_property
    def drawn(self) -> Rows:
        """The numbers of all rows in the order in which they are drawn, which is the same for all candidates."""
        return random_order(self.seed, SELECTION_ROWS, self.X.shape[0])

    def best_point(self, points: list[Point]) -> Point:
        """Return the best preprocessing and power by the first two stages; the default unless it is clearly worse."""
        n_starts, n_kept = (8, 8) if self.settings.search == "thorough" else (1, 3)
        best = best_points(
            points,
            lambda point: float(self.outcome(FIRST, point).losses.mean()),
            n_starts=n_starts,
            open_powers=self.settings.p == "auto",
        )[:n_kept]
        if len(best) == 1:
            return best[0]
        default = points[0]
        codes = [point for point in points if point.recipe.scale == "codes"]  # they need more rows than others
        losses = {point: self.outcome(SECOND, point).losses for point in dict.fromkeys([default, *best, *codes])}
        least = min(losses, key=lambda point: losses[point].mean())
        return least if clearly_better(losses[least], losses[default]) else default

    def compare_epochs(self, point: Point) -> None:
        """Choose the number of epochs, and with it the temperature, by the last stage.

        Fewer epochs must have a clearly lower loss, and must not have a lower accuracy. The fast search looks at still
        fewer only if that was so.
        """
        rows = LAST_TRAINING_ROWS, LAST_VALIDATION_ROWS
        best, chosen = None, 0
        for epochs in self.score.epochs:
            found = self.outcome(Stage("last", self.settings.n_hashes, self.score.hidden, epochs, *rows), point)
            if best is None or (clearly_better(found.losses, best.losses) and found.accuracy >= best.accuracy):
                best, chosen = found, len(self.candidates) - 1
            elif self.settings.search == "fast":
                break
        self.candidates[chosen] = replace(self.candidates[chosen], chosen=True)

    def mark(self, point: Point) -> None:
        """Mark the candidate that a point was chosen by: the latest one with its settings."""
        settings = vars(point.recipe) | {"p": point.p}
        chosen = max(i for i, one in enumerate(self.candidates) if settings.items() <= vars(one).items())
        self.candidates[chosen] = replace(self.candidates[chosen], chosen=True)

    def outcome(self, stage: Stage, point: Point) -> Outcome:
        """Return how a net does on the validation rows, and note the candidate."""
        start = time.perf_counter()
        hidden = stage.hidden if self.score.hidden else ()
        outputs, validated = [], []
        for training, validation, prepared, held_out in self._prepare(stage, point.recipe):
            settings = self.settings
            hasher = Hasher(
                min(stage.n_hashes, settings.n_hashes),
                p=point.p,
                bits=settings.bits,
                t_bits=settings.t_bits,
                encoding=settings.encoding,
                missing="error" if settings.missing == "error" else "zero",
                seed=self.seed,
                n_features=prepared.shape[1],
            )
            codes = hasher.codes(prepared, 1), hasher.codes(held_out, 1)
            outputs.append(
                self.score.outputs(
                    codes[0], training, codes[1], code_bits=hasher.code_bits, hidden=hidden, epochs=stage.epochs
                )
            )
            validated.append(validation)
        found = self.score.outcome(np.concatenate(outputs), np.concatenate(validated))
        self.candidates.append(
            Candidate(
                stage.name,
                **vars(point.recipe),
                p=point.p,
                epochs=stage.epochs,
                loss=float(found.losses.mean()),
                error=_standard_error(found.losses),
                accuracy=found.accuracy,
                temperature=found.temperature,
                seconds=time.perf_counter() - start,
            )
        )
        return found

    def _prepare(self, stage: Stage, recipe: Recipe) -> list[Any]:
        """Return the rows of each split and their preprocessed numbers; those of the last call are kept."""
        key = (stage.training_rows, stage.validation_rows, recipe)
        if self._prepared[0] != key:
            parts = []
            for training, validation in splits(self.drawn, *key[:2]):
                rows, target = self.X[training], self.score.target[training]
                preprocessing = fit_preprocessing(rows, recipe, target, self.numeric, self.codes)
                prepared = preprocessing.transform(rows), preprocessing.transform(self.X[validation])
                parts.append((training, validation, *prepared))
            self._prepared = key, parts
        return self._prepared[1]


# Kernel machines


class Problem(NamedTuple):
    """What a kernel machine is to learn; the last rows are those that are left out, and the samples of the search.

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
        See `fit_preprocessing`.
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


class KernelFit(NamedTuple):
    """A fitted kernel machine: its preprocessing, its rows as the kernel compares them, and its coefficients."""

    point: Point
    preprocessing: AnyPreprocessing
    rows: Matrix
    ridge: Ridge
    candidates: list[Candidate]


def fit_kernel_machine(problem: Problem, settings: CoderSettings, alpha: float | str, threads: int) -> KernelFit:
    """Return the kernel machine that suits rows, with what is "auto" chosen by the search."""
    search = _KernelSearch(settings, alpha, threads)
    points = open_points(settings, problem.X, problem.numeric)
    point = points[0]
    if len(points) > 1 or settings.p == "auto":
        first, second = problem.last(500), problem.last(1000)
        best = best_points(
            points,
            lambda point: search.loss("first", first, point),
            n_starts=2,
            open_powers=settings.p == "auto",
        )
        point = best[0]
        if problem.n_rows > first.n_rows:
            point = min(best[:3], key=lambda point: search.loss("second", second, point))
    if problem.n_rows > MAX_ROWS_OF_ALL_ALPHAS and alpha == "auto":
        search.fit("third", problem.last(ROWS_FOR_ALPHA), point)
    ridge = search.fit("last", problem, point)
    preprocessing, rows = search.prepare("last", problem, point)
    return KernelFit(point, preprocessing, rows, ridge, search.candidates)


class _KernelSearch:
    """A search for kernel machines: the candidates that were compared so far, and the alpha of the latest."""

    def __init__(self, settings: CoderSettings, alpha: float | str, threads: int) -> None:
        self.settings, self.alpha, self.threads = settings, alpha, threads
        self.candidates: list[Candidate] = []
        self.likely_alpha = 0.3
        self._prepared: tuple[Any, Any] = (None, None)

    def loss(self, stage: str, problem: Problem, point: Point) -> float:
        """Return the loss of a fit."""
        self.fit(stage, problem, point)
        return self.candidates[-1].loss

    def fit(self, stage: str, problem: Problem, point: Point) -> Ridge:
        """Return the fit with the best alpha, and note the candidate."""
        from gcwsnet.kernels._ridge import fit_ridge  # noqa: PLC0415 - it needs SciPy, and nets do without

        start = time.perf_counter()
        _, rows = self.prepare(stage, problem, point)
        n = problem.n_rows
        require_memory(8 * n * n, f"the kernel matrix of {n} rows", "give fewer rows, or use a GCWSNet")
        K = pgmm_kernel(rows, p=point.p, n_jobs=self.threads)
        scale = float(problem.weight.mean())
        n_left_out = min(n, MAX_LEFT_OUT)
        fits: dict[float, tuple[float, Floats, Ridge]] = {}

        def loss(alpha: float) -> float:
            if alpha not in fits:
                ridge = fit_ridge(K, problem.columns, alpha * scale / problem.weight, n_left_out, threads=self.threads)
                weight = problem.weight[-n_left_out:]
                losses = ((ridge.left_out - problem.columns[-n_left_out:]) ** 2).sum(axis=1) * (weight / weight.mean())
                fits[alpha] = float(losses.mean()), losses, ridge
            return fits[alpha][0]

        best = self.likely_alpha if self.alpha == "auto" else float(self.alpha) / scale
        loss(best)
        is_open = self.alpha == "auto" and n <= MAX_ROWS_OF_ALL_ALPHAS
        for step in (-1, 1) if is_open else ():
            place = ALPHAS.index(best) + step
            while 0 <= place < len(ALPHAS) and loss(ALPHAS[place]) < fits[best][0]:
                best, place = ALPHAS[place], place + step
        if self.alpha == "auto":
            self.likely_alpha = best
        mean, losses, ridge = fits[best]
        self.candidates.append(
            Candidate(
                stage,
                **vars(point.recipe),
                p=point.p,
                alpha=best * scale,
                loss=mean,
                error=_standard_error(losses),
                seconds=time.perf_counter() - start,
                chosen=stage == "last",
            )
        )
        return ridge

    def prepare(self, stage: str, problem: Problem, point: Point) -> tuple[AnyPreprocessing, Matrix]:
        """Return the preprocessing of rows and what it makes of them; those of the last call are kept."""
        key = stage, point.recipe
        if self._prepared[0] != key:
            preprocessing = fit_preprocessing(problem.X, point.recipe, problem.target, problem.numeric)
            self._prepared = key, (preprocessing, without_nan(preprocessing.transform(problem.X)))
        return self._prepared[1]
