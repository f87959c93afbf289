"""The pGMM kernel is what the paper says it is: by hand, and in what holds for all data."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from gcwsnet import _core, gmm_kernel, pgmm_kernel
from gcwsnet.kernels import _exact

from .matrices import DENSE_BLOCKS, POWERS, SPARSE_CHUNKS, Floats, forms, pairs, random_rows

PATHS = pytest.mark.parametrize("path", [DENSE_BLOCKS, SPARSE_CHUNKS])


@pytest.mark.parametrize(
    ("x", "y", "p", "expected"),
    [
        ([-3, 17], [-3, 17], 1, 1),
        ([-3, 17], [3, 17], 1, 17 / 23),
        ([-5, 3], [-1, 3], 1, 4 / 8),
        ([1, 2], [2, 1], 1, 2 / 4),
        ([1, 2], [2, 1], 2, 2 / 8),
        ([1, 4], [4, 1], 0.5, 2 / 4),
        ([1, 2, 0], [0, 2, 3], 3, 8 / 36),
        ([-2, 1], [-1, 1], 2, 2 / 5),
        ([1, 0], [0, 1], 1, 0),
        ([1, 1], [-1, -1], 1, 0),
        ([1e300, 1e-300], [1e300, 1e300], 1, 1 / 2),
        ([1e-300, 1e-300], [1e-300, 0], 1000, 1 / 2),
        ([1e300, 1], [1e-300, 1], 0.01, (1e-3 + 1) / (1e3 + 1)),
    ],
)
def test_known_by_hand(x: list[float], y: list[float], p: float, expected: float) -> None:
    for a, b in ((x, y), (y, x)):
        assert pgmm_kernel(a, b, p=p) == pytest.approx(expected, rel=1e-12)
        assert pgmm_kernel(sparse.csr_array([a]), sparse.csr_array([b]), p=p)[0, 0] == pytest.approx(
            expected, rel=1e-12
        )


def test_of_two_zero_rows_is_one_and_of_one_is_zero() -> None:
    X = np.array([[0.0, 0.0], [1e-300, 0.0], [0.0, 0.0], [-1e300, 1.0]])
    expected = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    for p in (0.01, 1.0, 1000.0):
        for form in forms(X):
            np.testing.assert_array_equal(pgmm_kernel(form, p=p), expected)
            np.testing.assert_array_equal(pgmm_kernel(form, X, p=p), expected)


@given(pairs(), POWERS)
@settings(max_examples=40)
def test_is_a_number_for_two_rows(pair: tuple[Floats, Floats], p: float) -> None:
    x, y = pair[0][0], pair[1][0]
    found = pgmm_kernel(x, y, p=p)
    assert type(found) is float
    assert found == pgmm_kernel(x[np.newaxis], y[np.newaxis], p=p)[0, 0]
    assert found == pgmm_kernel(list(x), list(y), p=p)


@PATHS
@given(pair=pairs(), p=POWERS)
@settings(max_examples=40)
def test_is_symmetric_from_zero_to_one_with_a_diagonal_of_one(
    path: float, pair: tuple[Floats, Floats], p: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_exact, "DENSE_ENOUGH", path)
        for X in (np.vstack(pair), sparse.csr_array(np.vstack(pair))):
            K = pgmm_kernel(X, p=p)
            np.testing.assert_array_equal(K, K.T)
            np.testing.assert_array_equal(np.diagonal(K), 1.0)
            assert np.all((K >= 0) & (K <= 1))
            np.testing.assert_array_equal(np.diagonal(pgmm_kernel(X, X.copy(), p=p)), 1.0)


@pytest.mark.parametrize("p", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_is_positive_semidefinite(p: float, density: float) -> None:
    X = random_rows(120, 10, density=density)
    X[60:] = X[:60] + 0.01 * X[60:]
    for form in forms(X):
        assert np.linalg.eigvalsh(pgmm_kernel(form, p=p)).min() >= -1e-10


@pytest.mark.parametrize("p", [0.01, 1.0, 2.0, 1000.0])
@pytest.mark.parametrize("n_columns", [1, 13, 1100])
def test_of_binary_rows_is_their_jaccard_similarity_to_the_last_bit(p: float, n_columns: int) -> None:
    X, Y = (np.random.default_rng(seed).random((12, n_columns)) < 0.3 for seed in (0, 1))
    common = X.astype(int) @ Y.T.astype(int)
    union = X.sum(1)[:, np.newaxis] + Y.sum(1) - common
    expected = np.where(union > 0, common / np.maximum(union, 1), 1.0)
    for x in (X, 7.5 * X, sparse.csr_array(X), sparse.csr_array(-3.0 * X)):
        factor = x.max() if x.max() > 0 else x.min()
        np.testing.assert_array_equal(pgmm_kernel(x, factor * Y.astype(float), p=p), expected)


def test_of_gmm_is_pgmm_with_power_one() -> None:
    X, Y = random_rows(9, 5), random_rows(4, 5, seed=1)
    np.testing.assert_array_equal(gmm_kernel(X, Y), pgmm_kernel(X, Y, p=1))
    np.testing.assert_array_equal(gmm_kernel(X, n_jobs=2), pgmm_kernel(X))


@pytest.mark.parametrize("density", [1.0, 0.5, 0.1])
def test_has_the_same_bits_on_any_number_of_threads(density: float) -> None:
    X, Y = random_rows(300, 50, density=density), random_rows(90, 50, density=density, seed=1)
    for x, y in [(X, Y), (sparse.csr_array(X), sparse.csr_array(Y)), (X, None), (sparse.csr_array(X), None)]:
        one = pgmm_kernel(x, y, p=1.7)
        for n_jobs in (1, 2, 3, 7, -1, None):
            np.testing.assert_array_equal(pgmm_kernel(x, y, p=1.7, n_jobs=n_jobs), one)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("n_columns", [1, 8, 12, 100, 1500])
@pytest.mark.parametrize("p", [1.0, 2.5])
def test_has_the_same_bits_on_any_instruction_set(instruction_set: str, signed: bool, n_columns: int, p: float) -> None:
    X, Y = random_rows(37, n_columns, signed=signed), random_rows(29, n_columns, signed=signed, seed=1)
    assert _core.instruction_set() == instruction_set
    found = pgmm_kernel(X, Y, p=p)
    _core.use_instruction_set("baseline")
    np.testing.assert_array_equal(found, pgmm_kernel(X, Y, p=p))


def test_does_not_depend_on_how_numpy_treats_floating_point_errors() -> None:
    X = np.array([[1e300, 1e-300, 0.0], [5e-324, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for p in (0.01, 1.0, 1000.0):
        for form in forms(X):
            expected = pgmm_kernel(form, p=p)
            with np.errstate(all="raise"):
                np.testing.assert_array_equal(pgmm_kernel(form, p=p), expected)
