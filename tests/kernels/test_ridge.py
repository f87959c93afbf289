"""Regularised least squares: predictions for rows that are left out are those of fits without them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet.kernels._exact import pgmm_kernel
from gcwsnet.kernels._ridge import fit_ridge, left_out_by_lapack, predict_left_out
from tests.conftest import using_instruction_set


def problem(n: int, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(n)
    return pgmm_kernel(rng.normal(size=(n, 3))), rng.normal(size=(n, m)), rng.uniform(0.1, 2, n)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (7, 2), (16, 1), (17, 3), (40, 1)])
def test_a_row_is_predicted_as_by_a_fit_without_it(n: int, m: int) -> None:
    K, targets, penalty = problem(n, m)
    left_out = predict_left_out(K, targets, penalty)
    for row in range(n):
        others = np.delete(np.arange(n), row)
        fit = fit_ridge(K[np.ix_(others, others)], targets[others], penalty[others], 0)
        np.testing.assert_allclose(left_out[row], K[row, others] @ fit.coefficients + fit.bias, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("n", "m"), [(33, 1), (100, 4), (391, 2)])
def test_predictions_of_the_native_core_and_of_lapack_are_alike(n: int, m: int) -> None:
    K, targets, penalty = problem(n, m)
    before = K.copy()
    left_out = predict_left_out(K, targets, penalty)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(left_out, fit_ridge(K, targets, penalty, n).left_out, rtol=1e-8, atol=1e-10)


def test_left_out_rows_have_the_same_bits_on_every_instruction_set() -> None:
    K, targets, penalty = problem(101, 3)
    found = []
    for name in _core.instruction_sets():
        with using_instruction_set(name):
            found.append(predict_left_out(K, targets, penalty))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_a_matrix_that_is_not_positive_definite_is_an_error() -> None:
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    for wrong in (K, np.full((2, 2), np.nan)):
        with pytest.raises(np.linalg.LinAlgError, match="give a larger alpha"):
            predict_left_out(wrong, np.ones((2, 1)), np.full(2, 1e-3))


@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_a_factor_in_float32_gives_the_solution_for_the_kernel_in_float32(alpha: float) -> None:
    K, targets, _ = problem(500, 2)
    rounded = K.astype(np.float32)
    exact = fit_ridge(rounded.astype(np.float64), targets, np.full(500, alpha), 500)
    found = fit_ridge(rounded, targets, np.full(500, alpha), 500)
    scale = np.abs(exact.coefficients).max()
    np.testing.assert_allclose(found.coefficients, exact.coefficients, atol=1e-8 * scale)
    np.testing.assert_allclose(found.left_out, exact.left_out, atol=1e-3)


def test_left_out_predictions_by_lapack_are_those_of_the_native_core() -> None:
    K, targets, penalty = problem(120, 3)
    before = K.copy()
    found = left_out_by_lapack(K, targets, penalty)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(found, predict_left_out(K, targets, penalty), rtol=1e-8, atol=1e-10)
    with pytest.raises(np.linalg.LinAlgError, match="give a larger alpha"):
        left_out_by_lapack(-K, targets, penalty)
