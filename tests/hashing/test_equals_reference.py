"""The native hasher gives the very samples and codes of the NumPy reference: on any data, path, set and cut."""

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from gcwsnet import GCWSHasher, _core
from gcwsnet.hashing.reference import encode, gcws
from tests.conftest import using_instruction_set

POWERS = [1e-6, 0.01, 0.25, 1.0, 2.0, 20.0, 80.0, 1000.0, 1e6]
EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-300, 1e-40, 1.0, -1.0, 1 + 2**-52, 1 - 2**-53, 1e300, 1.79e308]


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Rows of ordinary and of extreme numbers, with zeros, both signs, equal rows and equal columns."""
    width: Literal[32, 64] = draw(st.sampled_from([32, 64]))
    dtype = np.dtype(f"float{width}")
    largest = float(np.finfo(dtype).max)
    numbers = st.one_of(
        st.floats(-10, 10, width=width),
        st.sampled_from([float(dtype.type(x)) for x in EXTREMES if abs(x) < largest]),
        st.floats(allow_nan=False, allow_infinity=False, width=width),
    )
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 40)))
    X = draw(hnp.arrays(dtype, shape, elements=numbers, fill=st.sampled_from([0.0, 1.0, -2.0])))
    if draw(st.booleans()):
        X[:, -1] = X[:, 0]
    if draw(st.booleans()):
        X[-1] = X[0]
    return X


def assert_equal_to_reference(
    X: np.ndarray, k: int, p: float, seed: int, scan: _core.Scan = _core.Scan.AUTO, **params: Any
) -> None:
    hasher = GCWSHasher(k, p=p, random_state=seed, **params).fit(X)
    hasher._hasher = hasher._hasher.replace(scan=scan)
    i_star, t_star = gcws(X, k, p=p, seed=seed)
    codes = encode(i_star, t_star, seed=seed, bits=hasher.bits, n_columns=X.shape[1])
    for form in (X, sparse.csr_matrix(X)):
        for _ in range(2):  # the first call generates the parameters, a later one has them in a table
            found_i, found_t = hasher.samples(form)
            np.testing.assert_array_equal(found_i, i_star)
            np.testing.assert_array_equal(found_t, t_star)
            np.testing.assert_array_equal(hasher.transform(form), codes)


@given(
    X=matrices(),
    k=st.integers(1, 40),
    p=st.sampled_from(POWERS) | st.floats(1e-6, 1e6),
    seed=st.integers(0, 2**64 - 1),
    bits=st.integers(1, 32),
)
@settings(max_examples=150)
def test_equal_on_any_data(X: np.ndarray, k: int, p: float, seed: int, bits: int) -> None:
    assert_equal_to_reference(X, k, p, seed, bits=bits)


@given(X=matrices(), p=st.sampled_from(POWERS), threads=st.integers(1, 4))
@settings(max_examples=50)
def test_every_instruction_set_is_equal(X: np.ndarray, p: float, threads: int) -> None:
    for name in _core.instruction_sets():
        with using_instruction_set(name):
            assert _core.instruction_set() == name
            assert_equal_to_reference(X, 19, p, 4, n_jobs=threads)


@pytest.mark.usefixtures("instruction_set")
def test_a_row_longer_than_a_piece_of_work_is_one_row() -> None:
    """The scan looks at the stop sign every 65,536 entries; the samples go on where they were."""
    X = sparse.random(2, 100_000, density=0.8, format="csr", random_state=0, dtype=np.float32)
    hasher = GCWSHasher(3, random_state=5).fit(X)
    i_star, t_star = hasher.samples(X)
    columns = X[0].indices
    found_i, found_t = gcws(X[0].toarray(), 3, seed=5)
    assert len(columns) > 65_536
    np.testing.assert_array_equal(i_star[0], found_i[0])
    np.testing.assert_array_equal(t_star[0], found_t[0])
