"""The native search equals a search in NumPy, for every instruction set and number of threads."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gcwsnet import _core
from tests.conftest import using_instruction_set
from tests.neighbors.rows import band_keys, buckets, equal_codes, ranks

DTYPES = [np.uint8, np.uint16, np.uint32]


def random_codes(n: int, k: int, dtype: Any, seed: int, n_values: int = 4) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(0, n_values, (n, k)).astype(dtype)


def scan(queries: NDArray[Any], codes: NDArray[Any], **more: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    given: dict[str, Any] = {"live": None, "first": 0, "most": 5, "before": -1, "n_threads": 1} | more
    given = {"n_hashes": queries.shape[1], "bits": 8 * codes.itemsize} | given
    given.setdefault("least", np.zeros(len(queries), np.uint32))
    return _core.scan(queries, codes, **given)


def expected(
    counts: NDArray[np.int64], most: int, least: NDArray[np.uint32], allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    found = []
    for q, rank in enumerate(ranks(counts)):
        here = rank[(counts[q] >= least[q]) & allowed[q]]
        found.append(np.sort(here)[::-1][:most])
    return np.cumsum([0, *map(len, found)]), np.concatenate(found)


@given(
    st.sampled_from(DTYPES),
    st.integers(1, 30),
    st.integers(1, 400),
    st.integers(1, 200),
    st.integers(0, 40),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_scan_equals_counting_in_numpy(
    dtype: Any, m: int, n: int, k: int, most: int, threads: int, earlier: bool, seed: int
) -> None:
    codes, queries = random_codes(n, k, dtype, seed), random_codes(m, k, dtype, seed + 1)
    rng = np.random.default_rng(seed)
    least = rng.integers(0, k // 2 + 1, m).astype(np.uint32)
    live = rng.integers(0, 4, n).astype(np.uint8)
    allowed = np.broadcast_to(live > 0, (m, n)).copy()
    before = int(rng.integers(0, n)) if earlier else -1
    if earlier:
        allowed &= np.arange(n) < before + np.arange(m)[:, np.newaxis]
    start, rank = expected(equal_codes(queries, codes), most, least, allowed)
    found = scan(queries, codes, live=live, most=most, least=least, before=before, n_threads=threads)
    np.testing.assert_array_equal(found[0], start)
    np.testing.assert_array_equal(found[1], rank)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 16, 31, 32, 64, 100, 128, 256, 9000])
def test_every_instruction_set_counts_the_same(dtype: Any, k: int) -> None:
    """9000 equal codes are more than a lane of 8 bits can count."""
    codes = random_codes(40, k, dtype, 0)
    queries = codes[:5].copy()
    queries[:, ::7] += 1
    for name in _core.instruction_sets():
        with using_instruction_set(name):
            start, rank = scan(queries, codes, most=40)
        wanted = expected(equal_codes(queries, codes), 40, np.zeros(5, np.uint32), np.ones((5, 40), bool))
        np.testing.assert_array_equal(start, wanted[0])
        np.testing.assert_array_equal(rank, wanted[1])


def test_one_query_is_divided_among_threads_without_a_difference() -> None:
    codes = random_codes(100_000, 16, np.uint8, 0)
    query = random_codes(1, 16, np.uint8, 1)
    one = scan(query, codes, most=1000, n_threads=1)
    for threads in (2, 3, 8):
        np.testing.assert_array_equal(scan(query, codes, most=1000, n_threads=threads)[1], one[1])


@given(
    st.sampled_from(DTYPES),
    st.integers(0, 300),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_buckets_are_the_stable_sort_of_keys(
    dtype: Any, n: int, n_bands: int, width: int, threads: int, seed: int
) -> None:
    codes = random_codes(n, n_bands * width + 1, dtype, seed)
    keys, rows = np.empty((n_bands, n), np.uint32), np.empty((n_bands, n), np.uint32)
    _core.build_buckets(codes, codes.shape[1], 8 * codes.itemsize, width, keys, rows, threads)
    wanted = buckets(codes, n_bands, width)
    np.testing.assert_array_equal(keys, wanted[0])
    np.testing.assert_array_equal(rows, wanted[1])


@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 4), st.integers(0, 99))
def test_merged_buckets_are_those_of_all_rows(n_a: int, n_b: int, n_bands: int, seed: int) -> None:
    codes = random_codes(n_a + n_b, 2 * n_bands, np.uint8, seed)
    a, b = buckets(codes[:n_a], n_bands, 2), buckets(codes[n_a:], n_bands, 2)
    keys, rows = np.empty((n_bands, n_a + n_b), np.uint32), np.empty((n_bands, n_a + n_b), np.uint32)
    _core.merge_buckets(*a, *b, n_a, keys, rows, 2)
    wanted = buckets(codes, n_bands, 2)
    np.testing.assert_array_equal(keys, wanted[0])
    np.testing.assert_array_equal(rows, wanted[1])


@given(
    st.sampled_from(DTYPES),
    st.integers(1, 40),
    st.integers(1, 500),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_a_search_of_buckets_finds_the_rows_that_share_one(
    dtype: Any, m: int, n: int, n_bands: int, width: int, seed: int
) -> None:
    k = n_bands * width
    codes, queries = random_codes(n, k, dtype, seed), random_codes(m, k, dtype, seed + 1)
    rng = np.random.default_rng(seed)
    least, live = rng.integers(0, k + 1, m).astype(np.uint32), rng.integers(0, 4, n).astype(np.uint8)
    keys_q, keys = band_keys(queries, n_bands, width), band_keys(codes, n_bands, width)
    share = (keys_q[:, :, np.newaxis] == keys[:, np.newaxis]).any(axis=0)
    start, rank = expected(equal_codes(queries, codes), 7, least, share & (live > 0))
    how = k, 8 * codes.itemsize, live, 0
    found = _core.search_buckets(queries, codes, *how, *buckets(codes, n_bands, width), width, 7, least, -1, 3)
    np.testing.assert_array_equal(found[0], start)
    np.testing.assert_array_equal(found[1], rank)


def test_numbers_of_rows_begin_where_they_are_told_to() -> None:
    codes = random_codes(10, 8, np.uint8, 0)
    _, rank = scan(codes[:1], codes, most=1, first=1000)
    assert int(~rank[0] & np.uint64(2**32 - 1)) == 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": np.zeros((3, 5), np.uint8)}, "as many columns"),
        ({"codes": np.zeros((3, 4), np.uint16), "bits": 8}, "uint8 for up to 8 bits"),
        ({"codes": np.zeros((3, 4), np.int64), "bits": 8}, "uint8 for up to 8 bits"),
        ({"bits": 3}, "1, 2, 4, 8, 16 or 32"),
        ({"n_hashes": 0}, "at least one hash"),
        ({"bits": 4, "n_hashes": 9}, "as many columns"),
        ({"least": np.zeros(3, np.uint32)}, "least must be"),
        ({"live": np.zeros(2, np.uint8)}, "live must be"),
        ({"first": 2**32 - 2}, "less than"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"codes": np.zeros((3, 4), np.uint8)} | change
    with pytest.raises(ValueError, match=message):
        scan(np.zeros((2, 4), np.uint8), given.pop("codes"), **given)


def test_a_bucket_that_names_a_row_that_is_not_there_is_an_error() -> None:
    codes = np.zeros((3, 4), np.uint8)
    keys, rows = buckets(codes, 2, 2)
    least = np.zeros(3, np.uint32)
    with pytest.raises(ValueError, match="damaged"):
        _core.search_buckets(codes, codes, 4, 8, None, 0, keys, rows + np.uint32(7), 2, 5, least, -1, 1)
