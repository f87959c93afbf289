"""Codes of up to 4 bits share bytes: what is found is what unpacked codes give."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet.neighbors import GCWSIndex
from gcwsnet.neighbors._settings import PackedCodes
from tests.conftest import using_instruction_set
from tests.neighbors.rows import buckets, clustered, equal_codes, ranks

X = clustered(500)
Q = X[::25] * 1.1


def unpacked(packed: NDArray[Any], n_hashes: int, bits: int) -> NDArray[np.int64]:
    """Return codes by their places, bit by bit."""
    places = np.arange(n_hashes)[:, np.newaxis] * bits + np.arange(bits)
    bit = packed[:, places // 8] >> (places % 8) & 1
    return (bit.astype(np.int64) << np.arange(bits)).sum(axis=2)


def random_codes(n: int, k: int, bits: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 2**bits, (n, k)).astype(np.uint8)


@given(st.sampled_from([1, 2, 4]), st.integers(1, 20), st.integers(1, 300), st.integers(0, 99))
def test_packed_codes_are_all_there(bits: int, n: int, k: int, seed: int) -> None:
    codes = random_codes(n, k, bits, seed)
    packed = PackedCodes(k, bits).pack(codes)
    assert packed.shape == (n, -(-k * bits // 8))
    np.testing.assert_array_equal(unpacked(packed, k, bits), codes)


@given(
    st.sampled_from([1, 2, 4]),
    st.integers(1, 8),
    st.integers(1, 300),
    st.sampled_from([1, 7, 8, 63, 64, 65, 127, 128, 256, 300, 511, 8192, 9001]),
    st.integers(0, 99),
)
def test_a_scan_equals_counting_in_numpy(bits: int, m: int, n: int, k: int, seed: int) -> None:
    n = min(n, 40_000 // k + 1)
    codes, queries = random_codes(n, k, bits, seed), random_codes(m, k, bits, seed + 1)
    codes[0] = queries[0]
    wanted = np.sort(ranks(equal_codes(queries, codes)), axis=1)[:, ::-1]
    pack = PackedCodes(k, bits).pack
    for name in _core.instruction_sets():
        with using_instruction_set(name):
            found = _core.scan(pack(queries), pack(codes), k, bits, None, 0, n, np.zeros(m, np.uint32), -1, 1)
        np.testing.assert_array_equal(found[1].reshape(m, n), wanted)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_buckets_are_those_of_unpacked_codes(bits: int) -> None:
    codes = random_codes(300, 50, bits, 0)
    keys, rows = np.empty((5, 300), np.uint32), np.empty((5, 300), np.uint32)
    _core.build_buckets(PackedCodes(50, bits).pack(codes), 50, bits, 9, keys, rows, 2)
    wanted = buckets(codes, 5, 9)
    np.testing.assert_array_equal(keys, wanted[0])
    np.testing.assert_array_equal(rows, wanted[1])


@pytest.mark.parametrize("bits", range(1, 9))
def test_an_index_of_few_bits_finds_the_rows_with_most_equal_codes(bits: int) -> None:
    index = GCWSIndex(100, bits=bits, keep_rows=False).add(X)
    held = next(one for one in (1, 2, 4, 8) if one >= bits)
    assert index.nbytes == 500 * (-(-100 * held // 8) + 8)
    counts = equal_codes(np.asarray(index.codes(Q)), np.asarray(index.codes(X)))
    wanted = np.argsort(~ranks(counts), axis=1)[:, :10]
    np.testing.assert_array_equal(index.query(Q, 10).ids, wanted)


@pytest.mark.parametrize("bits", [1, 3, 4])
def test_bands_of_packed_codes_find_what_a_scan_does(bits: int) -> None:
    settings: dict[str, Any] = {"bits": bits, "threshold": 0.7, "recall": 0.9999, "random_state": 3}
    by_scan = GCWSIndex(512, method="scan", **settings).add(X).query_threshold(Q, 0.75)
    by_bands = GCWSIndex(512, method="bands", **settings).add(X).query_threshold(Q, 0.75)
    assert len(by_scan.ids) > len(Q)
    np.testing.assert_array_equal(by_bands.ids, by_scan.ids)
