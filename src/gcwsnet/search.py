"""The search for what users leave open: preprocessing and p, epochs and temperature of nets, alpha of kernel machines.

Preprocessings and powers are compared by the exact kernel, for nets too: a kernel machine on some hundred rows takes
milliseconds, and gives for each row a prediction that was made without it. Nets are then trained on some of the rows
to find their temperature and, where several numbers of epochs are compared, those.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._keys import SELECTION_ROWS, random_order
from gcwsnet._validation import Matrix, as_floats, require_memory, without_nan
from gcwsnet.kernels._columns import Learned, learn_columns, signed_powers
from gcwsnet.kernels._exact import _dense, kernel_of_checked
from gcwsnet.kernels._ridge import Ridge, fit_ridge, left_out_by_lapack, predict_left_out
from gcwsnet.net._packed import mixed
from gcwsnet.net._settings import EPOCHS, TrainingSettings
from gcwsnet.net._targets import LabelIndicators, Labels, Numbers, Targets
from gcwsnet.net._trainer import Plan, Trainer
from gcwsnet.tables._batch import Batch, shuffled_epochs
from gcwsnet.tables._bins import Bins
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._preprocessing import (
    AnyPreprocessing,
    PreprocessingFit,
    Recipe,
    categorical_columns,
    fit_preprocessing,
    incomplete_columns,
)
from gcwsnet.tables._scaling import FOR_DENSE_ROWS, MAX_LOCAL_COLUMNS, is_binary
from gcwsnet.tables._schema import Schema

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

POWERS = (0.5, 1.0, 2.0, 5.0, 20.0, 80.0)
MIN_ROWS, MIN_ROWS_OF_LAST_STAGE = 100, 30
"""Fewer rows are not enough to compare preprocessings; and still fewer not for epochs and a temperature."""
MAX_FITTED_ROWS = 10_000
"""Preprocessings that are compared are learned from at most that many rows."""
MAX_COMPARED_COLUMNS = 64
"""Of more classes or numbers, those with the largest variance are learned when preprocessings are compared."""
ALPHA_OF_CODES = 0.3
"""The regularisation in the search for nets. The share of equal codes is the kernel with noise, so that differences of
similarity which only a kernel machine with little regularisation can use are lost to nets."""
MIN_ROWS_OF_NETS, MANY_ROWS = 1000, 10_000
MAX_TRAINING_ROWS, MAX_VALIDATION_ROWS, MAX_HASHES = 3000, 1000, 96
"""Of the nets that are compared."""
ADDITIVE_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MAX_ADDITIVE_COLUMNS = 256
"""Tables with more columns are not tried with an additive model."""
MAX_TRAINING_ROWS_OF_LAST_STAGE = 8000
"""Where there are many rows, as many as a fourth of them."""
ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
DEFAULT_ALPHA = 0.3
MAX_ROWS_OF_DOUBLES, ROWS_AT_ONCE = 2000, 512
"""A kernel of more rows is of float32."""
MIN_ROUGH_PENALTY = 5e-4
"""What float32 tells from 0 on a diagonal of 1."""
MAX_ROWS_OF_ALL_ALPHAS, ROWS_FOR_ALPHA = 2000, 2000
"""Where there are more rows than the first number, alpha is chosen by as many as the second."""
MAX_LEFT_OUT = 2000
ROWS_FOR_COLUMNS, FOLDS, MAX_LEARNED_COLUMNS = 600, 3, 300
"""Of what learns weights of columns by the gradient."""

logger = logging.getLogger("gcwsnet")


@dataclass(frozen=True)
class Candidate:
    """Settings that a search compared, and how they did.

    Attributes
    ----------
    stage : {"first", "second", "columns", "third", "last"}
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
    additive : float
        The share of the additive model in the outputs.
    alpha : float or None
        The regularisation of a kernel machine.
    chosen : bool
        Whether these are the settings in use.
    """

    stage: str
    scale: str | None
    relevance: float | Literal["learned"]
    indicators: bool
    p: float
    loss: float
    error: float
    seconds: float
    epochs: int | None = None
    accuracy: float = 0.0
    temperature: float = 1.0
    additive: float = 0.0
    alpha: float | None = None
    chosen: bool = False


def selected_training(selection: Sequence[Candidate]) -> tuple[int | None, float, float]:
    """Return the epochs, the temperature and the share of the additive model that were selected.

    They are None, 1 and 0 where the search left them open.
    """
    for one in selection:
        if one.chosen and one.stage == "last":
            return one.epochs, one.temperature, one.additive
    return None, 1.0, 0.0


def selection_state(selection: Sequence[Candidate], *, timings: bool) -> list[dict[str, Any]]:
    """Return candidates as JSON can hold them; without timings their seconds are 0, so that equal ones are equal."""
    return [asdict(one if timings else replace(one, seconds=0.0)) for one in selection]


class Point(NamedTuple):
    """A preprocessing and a power."""

    recipe: Recipe
    p: float


class Choice(NamedTuple):
    """A point, and learned factors of the columns or None."""

    point: Point
    factors: Floats | None


class Effort(NamedTuple):
    """The rows of two stages of a search, the points from which powers are searched, and the best that are kept.

    A scaling may need more rows than those to show what it is worth: so the best points of `n_scales` are kept too.
    """

    first_rows: int
    second_rows: int
    n_starts: int
    n_kept: int
    n_scales: int = 1


EFFORTS = {"fast": Effort(300, 500, 1, 2), "thorough": Effort(600, 1500, 8, 8)}
EFFORT_OF_KERNEL_MACHINES = Effort(500, 1000, 2, 3)


def open_points(
    settings: CoderSettings,
    X: Matrix,
    numeric: NDArray[np.bool_] | None = None,
    *,
    has_levels: bool = False,
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
    scales += ["levels"] if has_levels else []
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


def relevance_in_words(candidate: Candidate) -> str:
    """Return the power of the relevance, or that weights of columns were learned."""
    return candidate.relevance if isinstance(candidate.relevance, str) else f"{candidate.relevance:g}"


def describe(candidate: Candidate) -> str:
    """Return a candidate as a line of text."""
    last = f"alpha {candidate.alpha:g}" if candidate.alpha is not None else f"epochs {candidate.epochs}"
    return (
        f"{candidate.stage} stage: scale {candidate.scale}, relevance {relevance_in_words(candidate)}, "
        f"p {candidate.p:g}, "
        f"{last}: loss {candidate.loss:.4f} +- {candidate.error:.4f}" + (", chosen" if candidate.chosen else "")
    )


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
        See `PreprocessingFit`.
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

    def some(self, rows: NDArray[Any]) -> Problem:
        """Return some of the rows."""
        return Problem(self.X[rows], self.target[rows], self.columns[rows], self.weight[rows], self.numeric)

    @property
    def is_regression(self) -> bool:
        """Whether numbers are learned, and not classes."""
        return self.target.dtype.kind == "f"

    def penalty(self, alpha: float) -> Floats:
        """Return what is added to the diagonal of the kernel, for weights whose mean is 1."""
        return alpha * (float(self.weight.mean()) / self.weight)

    def losses(self, left_out: Floats) -> Floats:
        """Return the weighted losses of the last rows, which were predicted without the row itself."""
        n = len(left_out)
        return ((left_out - self.columns[-n:]) ** 2).sum(axis=1) * (self.weight[-n:] / self.weight[-n:].mean())


def columns_to_learn(target: NDArray[Any], targets: Targets) -> Floats:
    """Return what least squares learns from encoded targets."""
    if isinstance(targets, LabelIndicators):
        return 2.0 * target - 1.0
    if not isinstance(targets, Labels):
        return target.astype(np.float64)
    if targets.n_outputs == 2:
        return np.where(target == 1, 1.0, -1.0)[:, np.newaxis]
    return np.eye(targets.n_outputs)[target]


class KernelSearch:
    """A search by kernel machines: the candidates that were compared so far, and the alpha of the latest.

    Parameters
    ----------
    problem : Problem
    fits : PreprocessingFit
        What preprocessings are learned from.
    alphas : sequence of float
        The regularisations to choose from.
    threads : int
    left_out : callable, optional
        `predict_left_out`, or what does the same.
    """

    def __init__(
        self,
        problem: Problem,
        fits: PreprocessingFit,
        alphas: Sequence[float],
        threads: int,
        left_out: Callable[[Floats, Floats, Floats], Floats] = predict_left_out,
    ) -> None:
        self.problem, self.fits, self.alphas, self.threads = problem, fits, alphas, threads
        self.left_out = left_out
        self.candidates: list[Candidate] = []
        self.likely_alpha = DEFAULT_ALPHA if DEFAULT_ALPHA in alphas else alphas[0]
        self.factors: Floats | None = None
        self._prepared: tuple[Any, Matrix] = (None, np.empty((0, 0)))

    def best_points(self, points: Sequence[Point], effort: Effort, p: float | str) -> dict[Point, Floats]:
        """Return the losses of the best points in the last stage, and of the first point and that of levels."""
        by_loss: dict[Point, Floats] = {}

        def loss(point: Point) -> float:
            by_loss[point] = self.losses("first", effort.first_rows, point)
            return float(by_loss[point].mean())

        best = best_points(points, loss, n_starts=effort.n_starts, open_powers=p == "auto")
        of_recipes: dict[Recipe, Point] = {}
        of_scales: dict[str | None, Point] = {}
        for point in best:
            of_recipes.setdefault(point.recipe, point)
            of_scales.setdefault(point.recipe.scale, point)
        levels = [point for point in points if point.recipe.scale == "levels"]
        likely = [*[*of_recipes.values()][: effort.n_kept], *[*of_scales.values()][: effort.n_scales]]
        kept = dict.fromkeys([points[0], *likely, *levels])
        if effort.second_rows and self.problem.n_rows > effort.first_rows:
            kept |= dict.fromkeys(best[: effort.n_kept])
            return {point: self.losses("second", effort.second_rows, point) for point in kept}
        return {point: by_loss[point] for point in kept}

    def losses(self, stage: str, n_rows: int, point: Point) -> Floats:
        """Return the losses of the last rows with the best alpha, and note the candidate."""
        problem = self.problem.last(n_rows)
        start = time.perf_counter()
        K = self._kernel(problem, point)
        found: dict[float, Floats] = {}

        def loss(alpha: float) -> float:
            if alpha not in found:
                found[alpha] = problem.losses(self.left_out(K, problem.columns, problem.penalty(alpha)))
            return float(found[alpha].mean())

        best = self.best_alpha(loss)
        self.note(stage, problem, point, best, found[best], start)
        return found[best]

    def best_alpha(self, loss: Callable[[float], float]) -> float:
        """Return the alpha with the least loss, from the likely one downwards and upwards as long as that helps."""
        best = self.likely_alpha
        least = loss(best)
        for step in (-1, 1):
            place = self.alphas.index(best) + step
            while 0 <= place < len(self.alphas) and loss(self.alphas[place]) < least:
                best, least, place = self.alphas[place], loss(self.alphas[place]), place + step
        self.likely_alpha = best
        return best

    def fit(self, stage: str, n_rows: int, point: Point) -> tuple[Ridge, Matrix]:
        """Return the kernel machine of the last rows with the best alpha, and the rows that it compares with."""
        problem = self.problem.last(n_rows)
        start = time.perf_counter()
        is_rough = problem.n_rows > MAX_ROWS_OF_DOUBLES and problem.penalty(self.alphas[0]).min() >= MIN_ROUGH_PENALTY
        K = self._kernel(problem, point, np.float32 if is_rough else np.float64)
        fits: dict[float, tuple[Ridge, Floats]] = {}

        def loss(alpha: float) -> float:
            nonlocal K
            if alpha not in fits:
                given = problem.columns, problem.penalty(alpha), min(problem.n_rows, MAX_LEFT_OUT)
                try:
                    ridge = fit_ridge(K, *given, threads=self.threads)
                except np.linalg.LinAlgError:  # alpha is too small for the rounding of so many rows
                    if K.dtype == np.float64:
                        raise
                    K = self._kernel(problem, point)
                    ridge = fit_ridge(K, *given, threads=self.threads)
                fits[alpha] = ridge, problem.losses(ridge.left_out)
            return float(fits[alpha][1].mean())

        best = self.best_alpha(loss)
        self.note(stage, problem, point, best, fits[best][1], start)
        return fits[best][0], self._prepared[1]

    def learn_columns(self, point: Point, default: Point, *, open_p: bool) -> Choice | None:
        """Return weights of columns that were learned with p and alpha, if they are better than the point without.

        All is learned on two thirds of some rows and scored on the others, three times. Where columns matter only
        together with others, the best point without learned weights may be a bad start: so the learning also starts
        from the default, and the first two thirds decide from where.
        """
        problem, fixed = self.problem.last(ROWS_FOR_COLUMNS), (not open_p, len(self.alphas) == 1)
        if problem.n_rows < MIN_ROWS or len(self.fits.fit(point.recipe).source) > MAX_LEARNED_COLUMNS:
            return None
        zeros = np.zeros(problem.X.shape[1])
        begin = Learned(zeros, point.p, self.likely_alpha)
        plain = Learned(zeros, default.p, begin.alpha if fixed[1] else DEFAULT_ALPHA)
        starts = {default: plain, point: begin}  # one, if they are the same
        losses, start = np.empty((2, problem.n_rows)), time.perf_counter()
        found: list[Learned] = []
        for number in range(FOLDS):
            is_left_out = np.arange(problem.n_rows) % FOLDS == number
            parts = problem.some(~is_left_out), problem.some(is_left_out)
            before = _Fold(point.recipe, *parts, self.threads)
            losses[0, is_left_out] = before.losses(begin)
            folds = {one: before if one == point else _Fold(one.recipe, *parts, self.threads) for one in starts}
            learned = {one: fold.learn(starts[one], fixed) for one, fold in folds.items()}
            best = min(learned, key=lambda one: learned[one].objective)
            losses[1, is_left_out] = folds[best].losses(learned[best])
            found.append(learned[best])
            starts = {best: starts[best]}
        p, alpha = (
            float(np.exp(np.mean(np.log(one)))) for one in ([one.p for one in found], [one.alpha for one in found])
        )
        p = float(f"{p:.2g}") if open_p else point.p
        if not np.isfinite(losses).all():  # of powers that floats cannot hold
            return None
        self.note("columns", problem, point, begin.alpha, losses[0], start)
        self.note("columns", problem, Point(replace(best.recipe, relevance="learned"), p), alpha, losses[1], start)
        if losses[1].mean() >= losses[0].mean():
            return None
        self.likely_alpha = min(self.alphas, key=lambda one: abs(math.log(one / alpha)))
        return Choice(Point(best.recipe, p), np.exp(np.mean([one.theta for one in found], axis=0) / p))

    def best_choice(self, choices: Sequence[Choice]) -> Choice:
        """Return the choice with the least loss on more rows, with its alpha as the likely one.

        Where weights of columns were learned, only rows count that they were not learned from: those weights may be
        worth less, the more rows there are.
        """
        n_learned = ROWS_FOR_COLUMNS if len(choices) > 1 else 0
        found: list[tuple[float, float]] = []
        for one in choices:
            losses = self.use(one).losses("third", ROWS_FOR_ALPHA, one.point)
            found.append((float(losses[: len(losses) - n_learned].mean()), self.likely_alpha))
        best = min(range(len(choices)), key=lambda number: found[number][0])
        self.use(choices[best]).likely_alpha = found[best][1]
        return choices[best]

    def use(self, choice: Choice) -> KernelSearch:
        """Go on with the learned factors of a choice, or with none."""
        self.factors, self._prepared = choice.factors, (None, np.empty((0, 0)))
        return self

    def note(self, stage: str, problem: Problem, point: Point, alpha: float, losses: Floats, start: float) -> None:
        """Note a candidate."""
        recipe = point.recipe if self.factors is None else replace(point.recipe, relevance="learned")
        self.candidates.append(
            Candidate(
                stage,
                **vars(recipe),
                p=point.p,
                alpha=alpha * float(problem.weight.mean()),
                loss=float(losses.mean()),
                error=_standard_error(losses),
                seconds=time.perf_counter() - start,
            )
        )

    def rows(self, recipe: Recipe, problem: Problem) -> Matrix:
        """Return rows as the kernel compares them."""
        preprocessing = self.fits.fit(recipe)
        if self.factors is not None:
            preprocessing = preprocessing.with_factors(self.factors)
        return without_nan(as_floats(preprocessing.transform(problem.X)))

    def _kernel(self, problem: Problem, point: Point, dtype: Any = np.float64) -> NDArray[Any]:
        """Return the kernel of preprocessed rows; of float32 only what is above the diagonal."""
        n = problem.n_rows
        require_memory(
            np.dtype(dtype).itemsize * n * n, f"the kernel matrix of {n} rows", "give fewer rows, or use a GCWSNet"
        )
        key = n, point.recipe
        if self._prepared[0] != key:  # points of one recipe follow each other
            self._prepared = key, self.rows(point.recipe, problem)
        rows = self._prepared[1]
        if dtype == np.float64:
            return kernel_of_checked(rows, rows, p=point.p, threads=self.threads)
        K = np.zeros((n, n), dtype)
        for first in range(0, n, ROWS_AT_ONCE):
            some, others = rows[first : first + ROWS_AT_ONCE], rows[first:]
            K[first : first + ROWS_AT_ONCE, first:] = kernel_of_checked(some, others, p=point.p, threads=self.threads)
        return K


class _Fold:
    """Rows to learn weights of columns from and others to score them by, preprocessed by what the former say."""

    def __init__(self, recipe: Recipe, learned: Problem, left_out: Problem, threads: int) -> None:
        preprocessing = fit_preprocessing(learned.X, recipe, learned.target, learned.numeric)
        parts = (as_floats(preprocessing.transform(one.X)) for one in (learned, left_out))
        self.Z, self.others = (_dense(without_nan(rows)).astype(np.float64) for rows in parts)
        self.source, self.learned, self.left_out, self.threads = preprocessing.source, learned, left_out, threads

    def learn(self, start: Learned, fixed: tuple[bool, bool]) -> Learned:
        """Return the weights of columns, p and alpha that suit the rows to learn from."""
        weight = self.learned.weight / self.learned.weight.mean()
        return learn_columns(
            self.Z, self.source, self.learned.columns, weight, start, fixed=fixed, threads=self.threads
        )

    def losses(self, learned: Learned) -> Floats:
        """Return the losses of the rows to score by."""
        factors = np.exp(learned.theta[self.source])
        rows, others = (signed_powers(Z, learned.p) * factors for Z in (self.Z, self.others))
        if not (np.isfinite(rows).all() and np.isfinite(others).all()):
            return np.full(len(others), np.nan)
        K = kernel_of_checked(rows, rows, p=1.0, threads=self.threads)
        ridge = fit_ridge(K, self.learned.columns, self.learned.penalty(learned.alpha), 0, threads=self.threads)
        K = kernel_of_checked(others, rows, p=1.0, threads=self.threads)
        return self.left_out.losses(K @ ridge.coefficients + ridge.bias)


class KernelFit(NamedTuple):
    """A fitted kernel machine: its preprocessing, its rows as the kernel compares them, and its coefficients."""

    point: Point
    preprocessing: AnyPreprocessing
    rows: Matrix
    ridge: Ridge
    candidates: list[Candidate]


def fit_kernel_machine(problem: Problem, settings: CoderSettings, alpha: float | str, threads: int) -> KernelFit:
    """Return the kernel machine that suits rows, with what is "auto" chosen by the search."""
    alphas = ALPHAS if alpha == "auto" else (float(alpha) / float(problem.weight.mean()),)
    some = problem.last(MAX_FITTED_ROWS)
    fits = PreprocessingFit(some.X, some.target, some.numeric)
    search = KernelSearch(problem, fits, alphas, threads, left_out_by_lapack)
    points = open_points(settings, problem.X, problem.numeric)
    point = points[0]
    if len(points) > 1 or settings.p == "auto":
        losses = search.best_points(points, EFFORT_OF_KERNEL_MACHINES, settings.p)
        point = min(losses, key=lambda point: losses[point].mean())
    choices = [Choice(point, None)]
    if settings.relevance == "auto" and problem.is_regression:
        learned = search.learn_columns(point, points[0], open_p=settings.p == "auto")
        choices += [] if learned is None else [learned]
    n = problem.n_rows
    is_alpha_open = n > MAX_ROWS_OF_ALL_ALPHAS and alpha == "auto"
    if is_alpha_open or (len(choices) > 1 and n > 2 * ROWS_FOR_COLUMNS):
        choices = [search.best_choice(choices)]
    search.use(choices[-1])
    point = choices[-1].point
    if n > MAX_ROWS_OF_ALL_ALPHAS:
        search.alphas = (search.likely_alpha,)
    preprocessing = fit_preprocessing(problem.X, point.recipe, problem.target, problem.numeric)
    if search.factors is not None:
        preprocessing = preprocessing.with_factors(search.factors)
    ridge, rows = search.fit("last", n, point)
    search.candidates[-1] = replace(search.candidates[-1], chosen=True)
    return KernelFit(point, preprocessing, rows, ridge, search.candidates)


# Nets


class Outcome(NamedTuple):
    """The losses of validation rows, the share of right classes (0 for numbers), and what the losses are best with."""

    losses: Floats
    accuracy: float
    temperature: float
    additive: float = 0.0


@dataclass(frozen=True, eq=False)
class NetScore:
    """The score of candidates by nets that learn their codes.

    Attributes
    ----------
    targets : Targets
    target, weight : arrays with a row for each row of X
        Encoded targets, and the factors of the rows' losses or None.
    settings : TrainingSettings
        Nets learn as these say, but for their epochs.
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
        is_open = isinstance(self.targets, Labels) or self.settings.additive == "auto"
        return self.given_epochs if len(self.given_epochs) > 1 or is_open else ()

    def outputs(
        self, codes: NDArray[Any], training: Rows, held_out: NDArray[Any], *, coder: Coder, epochs: int
    ) -> list[NDArray[np.float32]]:
        """Return the outputs for held-out codes of a net that has learned the codes of training rows.

        Those of an additive model that has learned the bins follow, if there are bins.
        """
        settings = replace(self.settings, ensemble=1, reduction=None, epochs=epochs)
        made = {"n_hashes": coder.n_codes, "code_bits": coder.code_bits, "seed": self.seed, "n_bins": coder.n_bins}
        trainer = Trainer.begin(settings, self.targets, **made, device="cpu")
        rows = Batch(codes, self.target[training], None if self.weight is None else self.weight[training])
        trainer.run(Plan(epochs, rows.n_rows), shuffled_epochs(rows, self.seed), n_jobs=self.n_jobs)
        return trainer.net.outputs_of_cores(held_out, n_jobs=self.n_jobs)

    def outcome(self, outputs: list[NDArray[np.float32]], rows: Rows) -> Outcome:
        """Return how good the outputs for rows are, weighted as the rows are in training.

        An open share of an additive model is the best one, for classes only if it is clearly better than none. Squared
        errors vary too much from row to row to tell that.
        """
        nets, *additive = outputs
        if not additive:
            return self._outcome(nets, rows, 0.0)
        shares = ADDITIVE_SHARES if self.settings.additive == "auto" else (self.settings.share(),)
        found = [self._outcome(mixed(nets, additive[0], share), rows, share) for share in shares]
        best = min(found, key=lambda one: one.losses.mean())
        return best if isinstance(self.targets, Numbers) or clearly_better(best.losses, found[0].losses) else found[0]

    def _outcome(self, outputs: NDArray[np.float32], rows: Rows, additive: float) -> Outcome:
        target = self.target[rows]
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        calibrated = self.targets.calibrated(outputs, target, weight)
        accuracy = 0.0
        if isinstance(self.targets, Labels):
            accuracy = float((self.targets.successes(outputs, target) * weight).mean())
        return Outcome(calibrated.losses(outputs, target) * weight, accuracy, calibrated.temperature, additive)


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
        What is "auto" in them is searched for. Without a score, with ``search="off"`` or fewer than 100 rows, the
        preprocessing is "numeric" and p is 1. Without a score or with fewer than 30 rows the epochs are not searched
        for either, and the temperature is 1; so it is after one epoch with ``search="off"``.
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
    point, candidates = open_points(settings, X, numeric)[0], list[Candidate]()
    if score is not None and (settings.search != "off" or max(score.epochs, default=1) > 1):
        search = _NetSearch(X, settings, seed, score, numeric)
        point, candidates = search.best_point(), search.candidates
        for one in candidates:
            logger.debug("%s", describe(one))
    target = None if score is None else score.target
    preprocessing = fit_preprocessing(X, point.recipe, target, numeric)
    made = Coder(settings, seed, X.shape[1], preprocessing, point.p, ensemble * settings.n_hashes, schema)
    if score is not None and (score.settings.share() or selected_training(candidates)[2]):
        made = replace(made, bins=Bins.fit(X))
    return made, candidates


class _NetSearch:
    """A search for nets: its rows, and the candidates that were compared so far."""

    def __init__(
        self, X: Matrix, settings: CoderSettings, seed: int, score: NetScore, numeric: NDArray[np.bool_] | None
    ) -> None:
        self.X, self.settings, self.seed, self.score, self.numeric = X, settings, seed, score, numeric
        self.candidates: list[Candidate] = []
        drawn = random_order(seed, SELECTION_ROWS, X.shape[0])
        self.drawn = drawn[:MAX_FITTED_ROWS]
        n = len(drawn)
        n_held_out = n // 3 if n < MIN_ROWS_OF_NETS else min(MAX_VALIDATION_ROWS, n // 5)
        n_last = min(max(MAX_TRAINING_ROWS, n // 4), MAX_TRAINING_ROWS_OF_LAST_STAGE)
        self.held_out, self.training = np.split(drawn[: n_held_out + n_last], [n_held_out])
        is_off = settings.search == "off"
        self.levels = np.empty(0, dtype=np.int64) if is_off else _levels(X, score.target, numeric)
        self.fits = PreprocessingFit(X[self.drawn], score.target[self.drawn], numeric, self.levels)
        is_open = score.settings.additive == "auto" and not sparse.issparse(X) and X.shape[1] <= MAX_ADDITIVE_COLUMNS
        self.bins = Bins.fit(X[self.drawn]) if is_open or score.settings.share() else None

    def best_point(self) -> Point:
        """Return the best preprocessing and power, and note the candidates; the epochs are those of the chosen one.

        Few rows say more when each of them is left out in turn, so that nets compare only where there are more.
        """
        settings, score, n = self.settings, self.score, self.X.shape[0]
        points = open_points(settings, self.X, self.numeric, has_levels=len(self.levels) > 0)
        point, default = points[0], points[0]
        has_nets = n >= MIN_ROWS_OF_NETS and len(score.given_epochs) > 0
        if settings.search != "off" and n >= MIN_ROWS and (len(points) > 1 or settings.p == "auto"):
            search = KernelSearch(self._problem(), self.fits, (ALPHA_OF_CODES,), score.n_jobs)
            effort = EFFORTS[settings.search]
            if n > MANY_ROWS:
                effort = effort._replace(n_scales=4)
            best = search.best_points(points, effort._replace(second_rows=0) if has_nets else effort, settings.p)
            self.candidates = search.candidates
            if has_nets:
                point = self.best_by_nets([default, *best])
            else:
                point = min(best, key=lambda one: best[one].mean())
                point = point if clearly_better(best[point], best[default]) else default
        if has_last_stage(n, score.epochs):
            self.choose_epochs(point)
        elif self.candidates:
            settings_of = vars(point.recipe) | {"p": point.p}
            self._mark(max(i for i, one in enumerate(self.candidates) if settings_of.items() <= vars(one).items()))
        return point

    def best_by_nets(self, points: Sequence[Point]) -> Point:
        """Return the point whose net has the least loss."""
        score = replace(self.score, settings=self.score.settings.for_comparison())
        same = score.settings == self.score.settings and self.score.given_epochs[0] == EPOCHS[0]
        losses = {
            point: self.outcome("last" if same else "second", point, EPOCHS[0], score).losses.mean()
            for point in dict.fromkeys(points)
        }
        return min(losses, key=losses.__getitem__)

    def choose_epochs(self, point: Point) -> None:
        """Choose the number of epochs, and with it the temperature.

        Fewer epochs must have a clearly lower loss, and must not have a lower accuracy. The fast search looks at still
        fewer only if that was so.
        """
        best, chosen = None, 0
        for epochs in self.score.epochs:
            key = vars(point.recipe) | {"p": point.p, "epochs": epochs, "stage": "last"}
            known = [i for i, one in enumerate(self.candidates) if key.items() <= vars(one).items()]
            if known and len(self.score.epochs) == 1:
                self._mark(known[0])
                return
            found = self.outcome("last", point, epochs, self.score)
            if best is None or (clearly_better(found.losses, best.losses) and found.accuracy >= best.accuracy):
                best, chosen = found, len(self.candidates) - 1
        self._mark(chosen)

    def outcome(self, stage: str, point: Point, epochs: int, score: NetScore) -> Outcome:
        """Return how a net does on held-out rows, and note the candidate."""
        start = time.perf_counter()
        preprocessing = self.fits.fit(point.recipe)
        n_hashes = min(self.settings.n_hashes, MAX_HASHES)
        bins = self.bins if stage == "last" else None
        coder = Coder(self.settings, self.seed, self.X.shape[1], preprocessing, point.p, n_hashes, bins=bins)
        training = self.training if stage == "last" else self.training[:MAX_TRAINING_ROWS]
        codes, held_out = (coder.codes(self.X[rows], n_jobs=score.n_jobs) for rows in (training, self.held_out))
        outputs = score.outputs(codes, training, held_out, coder=coder, epochs=epochs)
        found = score.outcome(outputs, self.held_out)
        self.candidates.append(
            Candidate(
                stage,
                **vars(point.recipe),
                p=point.p,
                epochs=epochs,
                loss=float(found.losses.mean()),
                error=_standard_error(found.losses),
                accuracy=found.accuracy,
                temperature=found.temperature,
                additive=found.additive,
                seconds=time.perf_counter() - start,
            )
        )
        return found

    def _problem(self) -> Problem:
        score, rows = self.score, self.drawn
        columns = columns_to_learn(score.target[rows], score.targets)
        if columns.shape[1] > MAX_COMPARED_COLUMNS:
            columns = columns[:, np.argsort(-columns.var(axis=0), kind="stable")[:MAX_COMPARED_COLUMNS]]
        weight = np.ones(len(rows)) if score.weight is None else score.weight[rows].astype(np.float64)
        return Problem(self.X[rows], score.target[rows], columns, weight, self.numeric)

    def _mark(self, chosen: int) -> None:
        self.candidates[chosen] = replace(self.candidates[chosen], chosen=True)


def _levels(X: Matrix, target: NDArray[Any], numeric: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Return the categorical integers among the columns of numbers, by all rows: few say little about many levels."""
    none = np.empty(0, dtype=np.int64)
    if sparse.issparse(X):
        if numeric is None:
            return none
        X = X[:, np.flatnonzero(numeric)].toarray()
    return categorical_columns(X, target) if X.shape[1] <= MAX_LOCAL_COLUMNS else none


def has_last_stage(n: int, epochs: Sequence[int]) -> bool:
    """Return whether epochs are compared, or at least a temperature is found.

    A single pass over very many rows leaves the temperature at 1, which a part of the rows would not tell.
    """
    return n >= MIN_ROWS_OF_LAST_STAGE and len(epochs) > 0 and (max(epochs) > 1 or n <= MAX_FITTED_ROWS)


def clearly_better(losses: Floats, than: Floats) -> bool:
    """Return whether losses are lower by more than the standard error of the difference, row by row."""
    difference = than - losses
    return bool(difference.mean() > _standard_error(difference))


def _standard_error(losses: Floats) -> float:
    return float(losses.std(ddof=1) / math.sqrt(len(losses))) if len(losses) > 1 else math.inf
