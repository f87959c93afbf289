"""The native samplers give the very samples and codes of their NumPy references: on any data, path, set and cut."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gcwsnet import _core
from gcwsnet._keys import BINWISE_SALTS, EXTREMAL_SALTS, MINWISE_SALTS, REJECTION_SALTS
from gcwsnet.hashing._caps import column_caps
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.hashing.elementary import log_of_data
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import encode
from gcwsnet.hashing.samplers import (
    MAX_TRIALS,
    bins_of_columns,
    binwise,
    donors,
    extremal,
    lowest_points,
    minwise,
    rejection,
)
from tests.conftest import using_instruction_set
from tests.hashing.hurtful import HURTFUL
from tests.hashing.test_equals_reference import matrices
from tests.hashing.test_long_work import assert_ctrl_c_ends

POWERS = [1e-6, 0.5, 1.0, 2.0, 20.0, 1000.0, 1e6]
ENOUGH = 2**28
Samples = tuple[np.ndarray, np.ndarray]

METHODS: dict[str, tuple[Callable[..., Samples], int]] = {
    "rejection": (rejection, REJECTION_SALTS),
    "binwise": (binwise, BINWISE_SALTS),
    "extremal": (extremal, EXTREMAL_SALTS),
    "minwise": (minwise, MINWISE_SALTS),
}


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def native(
    method: str, X: Any, k: int, p: float = 1.0, seed: int = 0, *, table_bytes: int = ENOUGH, caps: Any = None
) -> Hasher:
    """Return a native hasher of one method, with the caps of X or others where it needs them."""
    more: dict[str, Any] = {} if method == "minwise" else {"p": p}
    if method in ("rejection", "binwise"):
        more["table_memory"] = table_bytes
    if method == "rejection":
        more["caps"] = column_caps(X) if caps is None else caps
    return Hasher(k, seed=seed, n_features=X.shape[1], bits=13, method=method, **more)


def expected_samples(method: str, X: np.ndarray, k: int, p: float, seed: int) -> Samples:
    more: dict[str, Any] = {} if method == "minwise" else {"p": p}
    if method == "rejection":
        more["caps"] = column_caps(X)
    return METHODS[method][0](X, k, seed=seed, **more)


def assert_same(found: Samples, expected: Samples) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_equal_to_reference(
    method: str, X: np.ndarray, k: int, p: float, seed: int, expected: Samples | None = None, **how: Any
) -> None:
    expected = expected_samples(method, X, k, p, seed) if expected is None else expected
    codes = encode(*expected, seed=seed, bits=13, n_columns=X.shape[1], salts=METHODS[method][1])
    hasher = native(method, X, k, p, seed, **how)
    for form in (X, sparse.csr_matrix(X)):
        for _ in range(2):  # the first call generates what a later one finds in a table
            assert_same(hasher.samples(form), expected)
            np.testing.assert_array_equal(hasher.codes(form), codes)


@given(
    X=matrices(),
    k=st.integers(1, 40),
    p=st.sampled_from(POWERS),
    seed=st.integers(0, 2**64 - 1),
    table_bytes=st.sampled_from([0, 20_000, ENOUGH]),
)
@settings(max_examples=60)
@pytest.mark.parametrize("name", METHODS)
def test_equal_on_any_data(name: str, X: np.ndarray, k: int, p: float, seed: int, table_bytes: int) -> None:
    assert_equal_to_reference(name, X, k, p, seed, table_bytes=table_bytes)


@given(X=matrices(), p=st.floats(1e-6, 1e6))
@settings(max_examples=25)
@pytest.mark.parametrize("name", METHODS)
def test_every_instruction_set_is_equal_for_any_power(name: str, X: np.ndarray, p: float) -> None:
    for instruction_set in _core.instruction_sets():
        with using_instruction_set(instruction_set):
            assert _core.instruction_set() == instruction_set
            assert_equal_to_reference(name, X, 19, p, 4)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("k", [1, 2, 15, 16, 17, 35, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_for_any_number_of_hashes(method: str, k: int, dtype: Any) -> None:
    rng = np.random.default_rng(k)
    X = (rng.lognormal(0, 2, (12, 45)) * rng.choice([-1, 0, 1], (12, 45))).astype(dtype)
    X[3] = 0
    assert_equal_to_reference(method, X, k, 1.0, 8)


@cache
def samples_of_hurtful(method: str, name: str, p: float) -> Samples:
    """The samples of the reference, which all instruction sets are compared with."""
    return expected_samples(method, HURTFUL[name][:12], 21, p, 3)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("p", [1.0, 20.0])
@pytest.mark.parametrize("name", HURTFUL)
def test_equal_on_data_made_to_hurt(method: str, name: str, p: float) -> None:
    assert_equal_to_reference(method, HURTFUL[name][:12], 21, p, 3, samples_of_hurtful(method, name, p))


@pytest.mark.usefixtures("instruction_set")
def test_a_row_longer_than_a_piece_of_work_is_one_row(method: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.lognormal(0, 1, (2, 70_000)) * (rng.random((2, 70_000)) < 0.97)
    assert_same(native(method, X, 3, seed=5).samples(sparse.csr_array(X)), expected_samples(method, X, 3, 1.0, 5))


@pytest.mark.parametrize("n", [1023, 1024, 1025, 2047, 2048, 2049])
def test_equal_where_a_piece_of_work_ends(method: str, n: int) -> None:
    X = np.random.default_rng(n).random((2, n))
    for table_bytes in (0, ENOUGH):
        hasher = native(method, X, 5, seed=5, table_bytes=table_bytes)
        assert_same(hasher.samples(X), expected_samples(method, X, 5, 1.0, 5))


# Rejection


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("table_bytes", [0, 3 * 1028, 300_000, ENOUGH])
def test_rows_that_no_trial_accepts_fall_back_to_gcws(table_bytes: int) -> None:
    """Shares from e^-0.7 to e^-30: some hashes need one trial, some hundreds, and some have none."""
    X = np.random.default_rng(3).random((9, 40))
    X[0] = 1
    X[1:] *= np.exp(-np.array([1, 3, 5, 6, 7, 8, 15, 30]))[:, np.newaxis]
    X[4, :20] = 0
    expected = expected_samples("rejection", X, 35, 1.0, 6)
    fell_back = (expected[1] < 0).mean(axis=1)
    assert fell_back[0] == 0
    assert 0.1 < fell_back[5] < 0.9
    assert fell_back[-1] == 1
    assert expected[1].max() > MAX_TRIALS // 2
    assert_equal_to_reference("rejection", X, 35, 1.0, 6, table_bytes=table_bytes)


@pytest.mark.slow
@pytest.mark.usefixtures("instruction_set")
def test_many_features_are_searched_for_in_the_row() -> None:
    """With more than 2**20 features no array of all of them is made for a row."""
    rng = np.random.default_rng(7)
    columns = np.sort(rng.choice(600_000, 50, replace=False))
    narrow = rng.lognormal(0, 1, (8, 50)) * rng.choice([-1, 0, 1], (8, 50), p=[0.4, 0.1, 0.5])
    narrow[3] = 0
    narrow[5] *= 1e-3
    X = sparse.csr_array(narrow)
    X = sparse.csr_array((X.data, columns[X.indices], X.indptr), shape=(8, 600_000))
    X.sort_indices()
    found = native("rejection", X, 5, seed=1).samples(X)
    assert (found[1] > 0).any()
    assert (found[1] < 0).any()
    assert_same(found, expected_samples("rejection", X.toarray(), 5, 1.0, 1))


# Bin-wise and extremal


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize(("density", "k"), [(0.02, 300), (0.3, 300), (0.004, 2000)])
def test_empty_bins_have_their_donors(density: float, k: int) -> None:
    """With one full bin of 2000 no draw of an empty bin may be full: the next full one behind gives."""
    rng = np.random.default_rng(9)
    X = rng.lognormal(0, 1, (6, 250)) * (rng.random((6, 250)) < density)
    X[0] = 0
    X[0, 17] = 2.0
    for table_bytes in (0, ENOUGH):
        assert_equal_to_reference("binwise", X, k, 1.0, 7, table_bytes=table_bytes)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize(("cell", "L"), [(0, 7.9999), (-1, 0.0)], ids=["own cell", "cell below"])
def test_ties_of_points_are_for_the_lowest_feature(cell: int, L: float) -> None:
    """Of 20,000 features some have a point of the same height: the sample of a weight at the end of its cell."""
    n = 20_000
    y, number = (each[:, 0] for each in lowest_points(0, 2 * np.arange(n), np.full(n, L, dtype=np.float32), 1))
    order = np.flatnonzero(number == 64 * cell)
    order = order[np.argsort(y[order], kind="stable")]
    equal = np.flatnonzero(np.diff(y[order]) == 0)
    assert len(equal) > 3
    X = np.zeros((len(equal), n))
    for row, place in enumerate(equal):
        X[row, order[place : place + 2]] = np.exp(L)
    assert_equal_to_reference("extremal", X, 1, 1.0, 0)


@pytest.mark.usefixtures("instruction_set")
def test_ties_are_for_the_lowest_feature_of_a_donor_too() -> None:
    X = np.full((2, 800), 1e30, dtype=np.float32)
    X[:, bins_of_columns(6, np.arange(800), 40) > 2] = 0  # three full bins of some twenty columns
    r, log_c, beta = parameters(6, 2 * np.flatnonzero(X[0])[:15], np.arange(3, 40))
    t = np.floor(np.float32(1e6) * log_of_data(X[0, :1].clip(1e30))[0] * (np.float32(1) / r) + beta)
    a = (log_c - r * (np.float32(1) - beta)) - r * t
    assert np.sum(np.sum(a == a.min(axis=0), axis=0) > 1) > 3
    for table_bytes in (0, ENOUGH):
        assert_equal_to_reference("binwise", X, 40, 1e6, 6, table_bytes=table_bytes)


WIDE = {"first and last": [0, 2**31 - 1], "a few": [5, 1000, 2**30, 2**31 - 2, 2**31 - 1]}


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("columns", WIDE.values(), ids=WIDE)
def test_two_thousand_million_columns_take_no_memory(columns: list[int]) -> None:
    """The references would need all columns. What they are made of is a function of the column's number."""
    k = 30
    features = 2 * np.array(columns, dtype=np.int64)
    weights = np.linspace(1, 3, len(columns))
    L = log_of_data(weights)
    X = sparse.csr_array((weights, features >> 1, np.array([0, len(columns)])), shape=(1, 2**31))

    y, number = lowest_points(0, features, L, k)
    winner = np.argmin(y, axis=0)  # all weights are in one cell
    assert_same(
        native("extremal", X, k).samples(X), (features[winner][np.newaxis], number[winner, np.arange(k)][np.newaxis])
    )

    bins = bins_of_columns(0, columns, k)
    source = donors(0, np.isin(np.arange(k), bins))
    r, log_c, beta = parameters(0, features, np.arange(k))
    t = np.floor(L[:, np.newaxis] * (np.float32(1) / r) + beta)
    a = (log_c - r * (np.float32(1) - beta)) - r * t
    winner = np.argmin(np.where(bins[:, np.newaxis] == source, a, np.inf), axis=0)
    assert_same(
        native("binwise", X, k).samples(X),
        (features[winner][np.newaxis], t[winner, np.arange(k)].astype(np.int64)[np.newaxis]),
    )


# Long work

PROGRAM = """
import numpy as np
from gcwsnet import _core
method, D, n, k = _core.Method.{name}, {D}, {n}, {k}
X = np.random.default_rng(0).random((n, D), dtype=np.float32)
core = _core.Hasher(0, D, k, {table_bytes}, _core.Scan.AUTO, method)
if method == _core.Method.REJECTION:
    ends = np.linspace(0, 1, 2 * D + 1)[1:] * 2.0**63
    core.use_caps(np.full(2 * D, 20, dtype=np.float32), ends.astype(np.uint64))
codes = np.empty((n, k), dtype=np.uint8)
print("ready", flush=True)
while True:
    core.codes_of_dense(X, 1.0, False, _core.Encoding(True, True, 8, 0, D), codes, {threads})
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("name", "D", "n", "k", "table_bytes"),
    [
        ("REJECTION", 100, 1000, 100_000, 0),
        ("REJECTION", 100, 1000, 100_000, ENOUGH),
        ("BINWISE", 3, 100, 2**20, ENOUGH),
        ("BINWISE", 3_000_000, 2, 2**20, 0),
        ("EXTREMAL", 1_000_000, 1, 2**20, ENOUGH),
    ],
)
def test_ctrl_c_ends_long_work(name: str, D: int, n: int, k: int, table_bytes: int, threads: int) -> None:
    assert_ctrl_c_ends(PROGRAM.format(name=name, D=D, n=n, k=k, table_bytes=table_bytes, threads=threads))
