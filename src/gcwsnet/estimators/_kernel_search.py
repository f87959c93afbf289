"""The search for a preprocessing, p and alpha of kernel machines, by predictions for rows that are left out.

It goes in stages, and each has fewer candidates and more rows than the one before:

1. All candidates on 500 rows; then other powers p for the best ones.
2. The best few on 1,000 rows.
3. Where there are more than 4,000 rows: the one that is left on 3,000 rows, which tell its alpha.
4. The last stage, all rows: the model itself, with that alpha or, up to 4,000 rows, with the alpha that suits them.

Each candidate is scored with the alpha that suits it; alphas are tried downwards and upwards from that of the candidate
before, as long as that helps. The best alpha changes little with the number of rows, and each takes a factorisation,
whose time grows with the third power of it: hence the third stage. What is compared is the squared error of the
predictions for rows, each made without the row, of a regularised least squares fit on all the others; see `fit_ridge`.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet._memory import require_memory
from gcwsnet._validation import Matrix, without_nan
from gcwsnet.coding import CoderSettings
from gcwsnet.coding._candidates import Point, climb_powers, open_points
from gcwsnet.coding._preprocessing import AnyPreprocessing, learn_preprocessing
from gcwsnet.estimators._fitted_machine import KernelCandidate
from gcwsnet.estimators._ridge import Floats, Ridge, fit_ridge
from gcwsnet.kernels import pgmm_kernel

FIRST_ROWS, SECOND_ROWS, THIRD_ROWS = 500, 1000, 3000
MOST_ROWS_OF_ALL_ALPHAS = 4000
MOST_LEFT_OUT = 2000
CLIMBED, KEPT = 2, 3
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
    return _Search(problem, settings, alpha, threads).run()


class _Search:
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
            climb_powers(by_loss, CLIMBED, lambda point: loss("first", few, point))
        best = sorted(by_loss, key=lambda point: by_loss[point])
        if self.problem.n_rows <= FIRST_ROWS:
            return best[0]
        more = self.problem.last(SECOND_ROWS)
        return min(best[:KEPT], key=lambda point: loss("second", more, point))

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
