"""Matrices for the tests of the kernels, and the closeness that the kernels promise."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

POWERS = st.one_of(st.sampled_from([0.01, 0.5, 1.0, 2.0, 80.0, 1000.0]), st.floats(0.01, 1000))
DENSE_BLOCKS, SPARSE_CHUNKS = 0.0, 2.0  # for DENSE_ENOUGH: the one or the other path for every sparse matrix


def assert_promised(found: Any, expected: Any) -> None:
    """Relative error under 1e-6 or absolute error under 1e-12, and never outside of 0 to 1."""
    error = np.abs(found - expected)
    assert found.shape == expected.shape
    assert np.all((error <= 1e-6 * np.abs(expected)) | (error <= 1e-12)), error.max()
    assert np.all((found >= 0) & (found <= 1))


def forms(X: Floats) -> list[Any]:
    """X as an array, a CSR matrix and a CSR array."""
    return [X, sparse.csr_matrix(X), sparse.csr_array(X)]


SIZES = [0.0, 5e-324, 1e-310, 1 - 2**-53, 1 + 2**-52]
SIZES += [mantissa * 10.0**exponent for exponent in range(-300, 301, 20) for mantissa in (1.0, 1.7)]
NUMBERS = st.one_of(st.sampled_from([sign * size for size in SIZES for sign in (1, -1)]), st.floats(-10, 10))


@st.composite
def pairs(draw: st.DrawFn, most_columns: int = 20) -> tuple[Floats, Floats]:
    """Two small matrices of any numbers with as many columns; the second may repeat rows of the first."""
    n_columns = draw(st.integers(1, most_columns))
    X, Y = (
        draw(hnp.arrays(np.float64, (draw(st.integers(1, 6)), n_columns), elements=NUMBERS, fill=st.nothing()))
        for _ in range(2)
    )
    if draw(st.booleans()):
        Y[0] = X[0]
    return X, Y


@st.composite
def scaled_pairs(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Two matrices whose rows have wildly different scales, of any density, as wide as several registers or chunks."""
    n_columns = draw(st.sampled_from([1, 7, 8, 9, 31, 64, 1024, 1025, 2100]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread, density, signed = (
        draw(st.sampled_from([0, 3, 290])),
        draw(st.sampled_from([0.05, 0.5, 1])),
        draw(st.booleans()),
    )

    def matrix(n: int) -> Floats:
        exponents = rng.uniform(-spread, spread, (n, 1)) + rng.normal(
            0, draw(st.sampled_from([0.01, 1, 3])), (n, n_columns)
        )
        sign = rng.choice([-1.0, 1.0], exponents.shape) if signed else 1.0
        return np.asarray(sign * 10.0 ** exponents.clip(-300, 300) * (rng.random(exponents.shape) < density))

    X, Y = matrix(draw(st.integers(1, 9))), matrix(draw(st.integers(1, 9)))
    if draw(st.booleans()):
        Y[-1] = X[-1] * (1 + 1e-4 * rng.random(n_columns))
    return X, Y


def random_rows(n: int, n_columns: int, *, density: float = 1.0, signed: bool = True, seed: int = 0) -> Floats:
    """Rows of everyday numbers, of which a share are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns)) if signed else rng.random((n, n_columns))
    return np.asarray(X * (rng.random((n, n_columns)) < density))
