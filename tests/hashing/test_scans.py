"""Every way to scan a row gives the samples of the full scan and of the reference, on data made to hurt too."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gcwsnet import GCWSHasher, _core
from gcwsnet.hashing.elementary import log_of_data
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import gcws
from tests.conftest import using_instruction_set
from tests.hashing.hurtful import HURTFUL
from tests.hashing.test_equals_reference import POWERS, assert_equal_to_reference, matrices

SCANS = [_core.Scan.FULL, _core.Scan.SORTED, _core.Scan.HEAVY, _core.Scan.RANKS]
RNG = np.random.default_rng(0)


@pytest.fixture(params=SCANS, ids=lambda scan: scan.name.lower())
def scan(request: pytest.FixtureRequest) -> _core.Scan:
    chosen: _core.Scan = request.param
    return chosen


def scanning_hasher(X: Any, n_hashes: int, scan: _core.Scan, **params: Any) -> GCWSHasher:
    """A fitted hasher that scans rows in one given way."""
    hasher = GCWSHasher(n_hashes, **params).fit(X)
    hasher._hasher = hasher._hasher.replace(scan=scan)
    return hasher


@cache
def samples_of_hurtful(name: str, p: float) -> tuple[np.ndarray, np.ndarray]:
    """The samples of the reference, which all instruction sets and ways to scan are compared with."""
    return gcws(HURTFUL[name], 35, p=p, seed=3)


@given(X=matrices(), p=st.sampled_from(POWERS), k=st.integers(1, 40), repeat=st.sampled_from([1, 4, 7]))
@settings(max_examples=50)
def test_equal_on_any_data(X: np.ndarray, p: float, k: int, repeat: int) -> None:
    """One row by one or in groups of sixteen, full and not."""
    rows = np.vstack([X] * repeat)
    for way in SCANS:
        assert_equal_to_reference(rows, k, p, 11, scan=way)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("name", HURTFUL)
@pytest.mark.parametrize("p", [1.0, 20.0])
def test_equal_on_data_made_to_hurt(name: str, p: float, scan: _core.Scan) -> None:
    X = HURTFUL[name]
    k = 35
    i_star, t_star = samples_of_hurtful(name, p)
    hasher = scanning_hasher(X, k, scan, p=p, random_state=3)
    for form in (X, sparse.csr_array(X)):
        for found, expected in zip(hasher.samples(form), (i_star, t_star), strict=True):
            np.testing.assert_array_equal(found, expected)
    for found, expected in zip(hasher.samples(X[5:7]), (i_star[5:7], t_star[5:7]), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("name", HURTFUL)
@pytest.mark.parametrize("p", [1.0, 20.0, 1e6])
def test_generated_parameters_are_equal_on_data_made_to_hurt(name: str, p: float) -> None:
    X = HURTFUL[name]
    samples = GCWSHasher(35, p=p, random_state=3, table_memory=0).fit(X).samples(sparse.csr_array(X))
    for found, expected in zip(samples, samples_of_hurtful(name, p), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize(("value", "n"), [(1e10, 20), (1e10, 100), (1e-3, 100)])
def test_the_slack_of_the_reject_test_covers_rounding(value: float, n: int) -> None:
    """With p ln u near 2e7 a float32 has steps of 2: without slack a third of these samples come out wrong."""
    X = np.full((1, n), value)
    i_star, t_star = gcws(X, 256, p=1e6, seed=0)
    found = GCWSHasher(256, p=1e6, random_state=0, table_memory=0).fit(X).samples(X)
    np.testing.assert_array_equal(found[0], i_star)
    np.testing.assert_array_equal(found[1], t_star)


@pytest.mark.parametrize("n", [1, 11, 12, 13, 47, 48, 255, 256, 1023, 1024, 1025, 5000])
def test_generated_parameters_are_equal_for_any_number_of_entries(n: int) -> None:
    rng = np.random.default_rng(n)
    D = 50_000
    columns = np.stack([np.sort(rng.choice(D, n, replace=False)) for _ in range(3)])
    data = rng.lognormal(0, 2, (3, n)) * rng.choice([-1, 1], (3, n))
    X = sparse.csr_array((data.ravel(), columns.ravel(), np.arange(4) * n), shape=(3, D))
    samples = gcws(X.toarray(), 20, seed=4)
    for name in _core.instruction_sets():
        with using_instruction_set(name):
            found = GCWSHasher(20, random_state=4, table_memory=0).fit(X).samples(X)
        for result, expected in zip(found, samples, strict=True):
            np.testing.assert_array_equal(result, expected)


def test_rows_sorted_against_the_lists(scan: _core.Scan) -> None:
    """The larger s = ln c - r of a feature, the larger its entry: the winners stand far behind in the lists."""
    D, k = 1500, 16
    r, log_c, _ = parameters(5, np.arange(0, 2 * D, 2), np.arange(k))
    order = np.argsort(np.argsort((log_c - r)[:, 0]))
    X = np.stack([np.exp(order * step) for step in np.linspace(0, 0.4, 40)])
    assert_equal_to_reference(X, k, 1.0, 5, scan=scan)


@cache
def rows_on_the_edge_of_the_bound(D: int, k: int, p: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two entries that a sorted scan without slack gets wrong, and the hash in which it does.

    The later feature in the list has L = M and wins, but in float32 its a lies below s - M, and the a of the
    earlier one lies between: the scan would stop before it comes to the winner.
    """
    F = np.float32
    r, log_c, beta = parameters(seed, np.arange(0, 2 * D, 2), np.arange(k))
    offset = log_c - r * (F(1) - beta)
    s = offset - r * beta
    rows, hashes = [], []
    for x in np.exp(np.linspace(60, 60.4, 1000)):
        M = F(p) * log_of_data(np.array([x]))[0]
        a = offset - r * np.floor(M * (F(1) / r) + beta)
        for hash_number in range(k):
            r_j, offset_j, beta_j, s_j, a_j = (q[:, hash_number] for q in (r, offset, beta, s, a))
            place = np.argsort(np.argsort(s_j, kind="stable"))
            # The bound is checked before every fourth place.
            for later in np.flatnonzero((a_j < s_j - M) & (place % 4 == 0) & (place > 0)):
                t = np.ceil((offset_j - (s_j[later] - M)) / r_j)
                earlier_a = offset_j - r_j * t
                L = (t + F(0.5) - beta_j) * r_j
                fits = (earlier_a > a_j[later]) & (earlier_a <= s_j[later] - M) & (L < M) & (place < place[later])
                for earlier in np.flatnonzero(fits)[:1]:
                    row = np.zeros(D)
                    row[later], row[earlier] = x, np.exp(np.float64(L[earlier]) / p)
                    rows.append(row)
                    hashes.append(hash_number)
    return np.array(rows), np.array(hashes)


@pytest.mark.usefixtures("instruction_set")
def test_the_slack_covers_the_rounding_of_the_bound() -> None:
    X, hashes = rows_on_the_edge_of_the_bound(D=120, k=16, p=1000.0, seed=9)
    assert len(X) > 50
    i_star, t_star = gcws(X, 16, p=1000.0, seed=9)
    largest = np.argmax(X, axis=1)
    assert np.mean(i_star[np.arange(len(X)), hashes] == 2 * largest) > 0.9  # the later feature wins
    hasher = scanning_hasher(X, 16, _core.Scan.SORTED, p=1000.0, random_state=9)
    together = np.repeat(X, 32, axis=0)  # a group of rows goes on until its last row is done: 32 equal ones stop
    found = hasher.samples(together)
    np.testing.assert_array_equal(found[0], np.repeat(i_star, 32, axis=0))
    np.testing.assert_array_equal(found[1], np.repeat(t_star, 32, axis=0))


@pytest.mark.usefixtures("instruction_set")
def test_of_features_that_tie_the_lowest_wins(scan: _core.Scan) -> None:
    """With p ln u near 2e6 an a has steps of an eighth, so that many samples have several features to choose from."""
    X, k, p = np.repeat(RNG.random((40, 1)) + 5, 200, axis=1), 16, 1e6
    F = np.float32
    r, log_c, beta = parameters(2, np.arange(0, 400, 2), np.arange(k))
    L = F(p) * log_of_data(X)[:, :, np.newaxis]
    a = log_c - r * (F(1) - beta) - r * np.floor(L * (F(1) / r) + beta)
    n_best = np.sum(a == a.min(axis=1, keepdims=True), axis=1)
    assert np.mean(n_best > 1) > 0.01
    found = scanning_hasher(X, k, scan, p=p, random_state=2).samples(X)
    np.testing.assert_array_equal(found[0], 2 * np.argmin(a, axis=1))
    for result, expected in zip(found, gcws(X, k, p=p, seed=2), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.usefixtures("instruction_set")
def test_features_of_the_same_rank_are_told_apart() -> None:
    """A rank has four bits: among six samples one has a rival of the same rank."""
    X = (np.random.default_rng(2).random((400, 200)) < 0.1).astype(np.float32)
    for found, expected in zip(GCWSHasher(512, random_state=0).fit(X).samples(X), gcws(X, 512, seed=0), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("n", "k"), [(254, 3), (255, 3), (256, 3), (511, 3), (100_000, 3), (2000, 272)])
def test_more_ones_than_are_ranked_at_once(n: int, k: int, scan: _core.Scan) -> None:
    """2000 ones are eight pieces, and some four of them share the least rank of each hash."""
    X = sparse.csr_array(np.ones((2, n), dtype=np.float32))
    found = scanning_hasher(X, k, scan, random_state=8).samples(X)
    for result, expected in zip(found, gcws(X.toarray(), k, seed=8), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_lists_are_only_built_for_enough_rows_and_change_nothing() -> None:
    X = RNG.random((500, 60))
    hasher = GCWSHasher(48, random_state=1).fit(X)
    singly = np.vstack([hasher.transform(X[r : r + 1]) for r in range(100)])
    np.testing.assert_array_equal(singly, GCWSHasher(48, random_state=1).fit(X).transform(X)[:100])


@pytest.mark.parametrize("table_memory", [0, 16 * 120 * 48, 16 * 120 * 48 + 30_000, 1 << 28])
def test_any_amount_of_memory_for_tables_gives_the_same_codes(table_memory: int) -> None:
    X = RNG.normal(size=(200, 60))
    expected = GCWSHasher(48, random_state=1).fit(X).transform(X)
    limited = GCWSHasher(48, random_state=1, table_memory=table_memory).fit(X)
    np.testing.assert_array_equal(limited.transform(X), expected)
