"""Weights of columns by the gradient of the leave-one-out loss: derivatives against differences, and what is found."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet.kernels._columns import Learned, learn_columns, left_out_loss, signed_powers
from gcwsnet.kernels._exact import pgmm_kernel
from gcwsnet.kernels._ridge import fit_ridge
from tests.conftest import using_instruction_set

Floats = NDArray[np.float64]
ALPHA = 0.2


def problem(n: int = 30, d: int = 4) -> tuple[Floats, Floats, Floats]:
    """Rows of any sign, with equal and zero entries, two targets, and weights whose mean is 1."""
    rng = np.random.default_rng(0)
    Z = np.where(rng.random((n, d)) < 0.3, np.round(rng.normal(size=(n, d))), rng.normal(size=(n, d)))
    weight = rng.uniform(0.5, 2.0, n)
    return Z, rng.normal(size=(n, 2)), weight / weight.mean()


def test_the_loss_is_that_of_rows_that_are_left_out() -> None:
    S, targets, weight = problem()
    left_out = fit_ridge(pgmm_kernel(S), targets, ALPHA / weight, len(S)).left_out
    expected = (weight[:, np.newaxis] * (left_out - targets) ** 2).sum() / len(S)
    assert left_out_loss(S, targets, weight, ALPHA).loss == pytest.approx(expected, rel=1e-10)


def test_the_derivatives_are_the_limits_of_differences() -> None:
    """Central differences of 1e-6 differ from derivatives by rounding alone; equal entries have no derivative."""
    S, targets, weight = problem()
    found = left_out_loss(S, targets, weight, ALPHA)

    def loss(rows: Floats, alpha: float = ALPHA) -> float:
        return left_out_loss(rows, targets, weight, alpha).loss

    step = 1e-6
    smooth = [(a, j) for a, j in np.ndindex(S.shape) if S[a, j] and np.count_nonzero(S[:, j] == S[a, j]) == 1]
    assert len(smooth) > 50
    for place in smooth:
        moved = np.zeros_like(S)
        moved[place] = step
        difference = (loss(S + moved) - loss(S - moved)) / (2 * step)
        assert found.by_rows[place] == pytest.approx(difference, rel=1e-5, abs=1e-8)
    difference = (loss(S, ALPHA * np.exp(step)) - loss(S, ALPHA * np.exp(-step))) / (2 * step)
    assert found.by_log_alpha == pytest.approx(difference, rel=1e-5)


def test_sums_of_signs_are_those_of_numpy_on_every_instruction_set_and_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    for n, d in [(1, 1), (7, 2), (16, 3), (45, 4)]:
        weights, columns = rng.normal(size=(n, n)), rng.integers(-3, 4, size=(d, n)).astype(np.float64)
        signs = np.sign(columns[:, :, np.newaxis] - columns[:, np.newaxis])
        found = []
        for name in _core.instruction_sets():
            with using_instruction_set(name):
                for threads in (1, 3):
                    out = np.empty((n, d))
                    _core.sum_signs(weights, columns, out, threads)
                    found.append(out.tobytes())
        np.testing.assert_allclose(out, np.einsum("ab,jab->aj", weights, signs), atol=1e-12)
        assert len(set(found)) == 1


def interacting(n: int, d: int) -> tuple[Floats, Floats]:
    """Rows whose first two columns matter, and only together."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d))
    return X, (X[:, :1] * X[:, 1:2])


def test_columns_that_matter_only_together_get_the_largest_weights() -> None:
    X, y = interacting(150, 8)
    start = Learned(np.zeros(8), 1.0, 0.1)
    found = learn_columns(X, np.arange(8), y, np.ones(150), start)
    assert found.theta[:2].min() > found.theta[2:].max() + 1
    before = left_out_loss(X, y, np.ones(150), 0.1).loss
    S = signed_powers(X, found.p) * np.exp(found.theta)
    assert left_out_loss(S, y, np.ones(150), found.alpha).loss < 0.5 * before


def test_columns_that_were_made_of_one_share_a_weight_and_what_is_given_stays() -> None:
    X, y = interacting(80, 3)
    twice = np.hstack([X, X[:, :1]])
    start = Learned(np.zeros(3), 2.0, 0.3)
    found = learn_columns(twice, np.array([0, 1, 2, 0]), y, np.ones(80), start, fixed=(True, True))
    assert found.theta.shape == (3,)
    assert [found.p, found.alpha] == pytest.approx([2.0, 0.3])
    assert found.theta[1] > found.theta[2]
    free = learn_columns(twice, np.array([0, 1, 2, 0]), y, np.ones(80), start)
    assert free.objective < found.objective
    assert free.p != 2.0
    assert free.alpha != 0.3
