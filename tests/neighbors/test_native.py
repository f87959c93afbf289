"""The native search equals a search in NumPy, for every instruction set and number of threads."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet.neighbors._index_settings import PackedCodes
from tests.conftest import using_instruction_set
from tests.neighbors.rows import band_keys, buckets, equal_codes, ranks

BITS = [1, 2, 4, 8, 16, 32]


def random_codes(n: int, k: int, bits: int, seed: int) -> NDArray[Any]:
    codes = np.random.default_rng(seed).integers(0, min(4, 2**bits), (n, k))
    return codes.astype(PackedCodes(k, bits).dtype)


def scan(queries: NDArray[Any], codes: NDArray[Any], bits: int = 8, **more: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    pack = PackedCodes(queries.shape[1], bits).pack
    given: dict[str, Any] = {"live": None, "first": 0, "most": 5, "before": -1, "n_threads": 1} | more
    given.setdefault("least", np.zeros(len(queries), np.uint32))
    return _core.scan(pack(queries), pack(codes), n_hashes=queries.shape[1], bits=bits, **given)


@given(st.sampled_from([1, 2, 4]), st.integers(1, 20), st.integers(1, 300), st.integers(0, 99))
def test_packed_codes_are_all_there(bits: int, n: int, k: int, seed: int) -> None:
    codes = random_codes(n, k, bits, seed)
    packed = PackedCodes(k, bits).pack(codes)
    assert packed.shape == (n, -(-k * bits // 8))
    places = np.arange(k)[:, np.newaxis] * bits + np.arange(bits)
    bit = (packed[:, places // 8] >> (places % 8) & 1).astype(np.int64)
    np.testing.assert_array_equal((bit << np.arange(bits)).sum(axis=2), codes)


def expected(
    counts: NDArray[np.int64], most: int, least: NDArray[np.uint32], allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    found = []
    for q, rank in enumerate(ranks(counts)):
        here = rank[(counts[q] >= least[q]) & allowed[q]]
        found.append(np.sort(here)[::-1][:most])
    return np.cumsum([0, *map(len, found)]), np.concatenate(found)


@given(
    st.sampled_from(BITS),
    st.integers(1, 30),
    st.integers(1, 400),
    st.integers(1, 200),
    st.integers(0, 40),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_scan_equals_counting_in_numpy(
    bits: int, m: int, n: int, k: int, most: int, threads: int, earlier: bool, seed: int
) -> None:
    codes, queries = random_codes(n, k, bits, seed), random_codes(m, k, bits, seed + 1)
    rng = np.random.default_rng(seed)
    least = rng.integers(0, k // 2 + 1, m).astype(np.uint32)
    live = rng.integers(0, 4, n).astype(np.uint8)
    allowed = np.broadcast_to(live > 0, (m, n)).copy()
    before = int(rng.integers(0, n)) if earlier else -1
    if earlier:
        allowed &= np.arange(n) < before + np.arange(m)[:, np.newaxis]
    start, rank = expected(equal_codes(queries, codes), most, least, allowed)
    found = scan(queries, codes, bits, live=live, most=most, least=least, before=before, n_threads=threads)
    np.testing.assert_array_equal(found[0], start)
    np.testing.assert_array_equal(found[1], rank)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("k", [1, 7, 16, 31, 32, 63, 65, 100, 127, 128, 256, 300, 511, 8192, 9001])
def test_every_instruction_set_counts_the_same(bits: int, k: int) -> None:
    """9001 equal codes are more than a lane of 8 bits can count."""
    codes = random_codes(40, k, bits, 0)
    queries = codes[:5].copy()
    queries[:, ::7] ^= 1
    wanted = expected(equal_codes(queries, codes), 40, np.zeros(5, np.uint32), np.ones((5, 40), bool))
    for name in _core.instruction_sets():
        with using_instruction_set(name):
            start, rank = scan(queries, codes, bits, most=40)
        np.testing.assert_array_equal(start, wanted[0])
        np.testing.assert_array_equal(rank, wanted[1])


def test_one_query_is_divided_among_threads_without_a_difference() -> None:
    codes = random_codes(100_000, 16, 8, 0)
    query = random_codes(1, 16, 8, 1)
    one = scan(query, codes, most=1000, n_threads=1)
    for threads in (2, 3, 8):
        np.testing.assert_array_equal(scan(query, codes, most=1000, n_threads=threads)[1], one[1])


@given(
    st.sampled_from(BITS),
    st.integers(0, 300),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_buckets_are_the_stable_sort_of_keys(
    bits: int, n: int, n_bands: int, width: int, threads: int, seed: int
) -> None:
    codes = random_codes(n, n_bands * width + 1, bits, seed)
    keys, rows = np.empty((n_bands, n), np.uint32), np.empty((n_bands, n), np.uint32)
    packing = PackedCodes(codes.shape[1], bits)
    _core.build_buckets(packing.pack(codes), *packing, width, keys, rows, threads)
    wanted = buckets(codes, n_bands, width)
    np.testing.assert_array_equal(keys, wanted[0])
    np.testing.assert_array_equal(rows, wanted[1])


@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 4), st.integers(0, 99))
def test_merged_buckets_are_those_of_all_rows(n_a: int, n_b: int, n_bands: int, seed: int) -> None:
    codes = random_codes(n_a + n_b, 2 * n_bands, 8, seed)
    a, b = buckets(codes[:n_a], n_bands, 2), buckets(codes[n_a:], n_bands, 2)
    keys, rows = np.empty((n_bands, n_a + n_b), np.uint32), np.empty((n_bands, n_a + n_b), np.uint32)
    _core.merge_buckets(*a, *b, n_a, keys, rows, 2)
    wanted = buckets(codes, n_bands, 2)
    np.testing.assert_array_equal(keys, wanted[0])
    np.testing.assert_array_equal(rows, wanted[1])


@given(
    st.sampled_from(BITS),
    st.integers(1, 40),
    st.integers(1, 500),
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_a_search_of_buckets_finds_the_rows_that_share_one(
    bits: int, m: int, n: int, n_bands: int, width: int, seed: int
) -> None:
    k = n_bands * width
    codes, queries = random_codes(n, k, bits, seed), random_codes(m, k, bits, seed + 1)
    rng = np.random.default_rng(seed)
    least, live = rng.integers(0, k + 1, m).astype(np.uint32), rng.integers(0, 4, n).astype(np.uint8)
    keys_q, keys = band_keys(queries, n_bands, width), band_keys(codes, n_bands, width)
    share = (keys_q[:, :, np.newaxis] == keys[:, np.newaxis]).any(axis=0)
    start, rank = expected(equal_codes(queries, codes), 7, least, share & (live > 0))
    packing, of_rows = PackedCodes(k, bits), buckets(codes, n_bands, width)
    arrays = packing.pack(queries), packing.pack(codes), *packing, live, 0, *of_rows
    found = _core.search_buckets(*arrays, width, 7, least, -1, 3)
    np.testing.assert_array_equal(found[0], start)
    np.testing.assert_array_equal(found[1], rank)


def test_a_bucket_that_names_a_row_that_is_not_there_is_an_error() -> None:
    codes = np.zeros((3, 4), np.uint8)
    keys, rows = buckets(codes, 2, 2)
    least = np.zeros(3, np.uint32)
    with pytest.raises(ValueError, match="damaged"):
        _core.search_buckets(codes, codes, 4, 8, None, 0, keys, rows + np.uint32(7), 2, 5, least, -1, 1)
