"""Codes: the native encoder is equal to the reference, and does what its options say."""

from itertools import product
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet import GCWSHasher
from gcwsnet.hashing.parameters import mix
from gcwsnet.hashing.reference import encode

X = np.random.default_rng(0).lognormal(0, 2, (40, 23)) * np.random.default_rng(1).choice([-1, 0, 1], (40, 23))
X[5] = 0


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize(("encoding", "t_bits"), [("mixed", "all"), *product(["mixed", "lowbits"], [0, 1, 3, 8])])
@pytest.mark.parametrize("bits", [1, 2, 7, 8, 9, 16, 25, 32])
@pytest.mark.parametrize("p", [1.0, 1e5])
def test_native_codes_equal_the_reference(
    bits: int, encoding: Literal["mixed", "lowbits"], t_bits: int | Literal["all"], p: float
) -> None:
    hasher = GCWSHasher(21, p=p, bits=bits, t_bits=t_bits, encoding=encoding, random_state=3).fit(X)
    i_star, t_star = hasher.samples(X)
    expected = encode(i_star, t_star, seed=3, bits=bits, t_bits=t_bits, encoding=encoding, n_columns=23)
    np.testing.assert_array_equal(hasher.transform(X), expected)


@pytest.mark.parametrize(
    ("bits", "t_bits", "dtype"),
    [
        (1, "all", np.uint8),
        (8, "all", np.uint8),
        (8, 1, np.uint16),
        (9, "all", np.uint16),
        (16, 0, np.uint16),
        (17, 0, np.uint32),
        (32, "all", np.uint32),
        (32, 1, np.uint64),
        (32, 8, np.uint64),
    ],
)
def test_codes_have_the_smallest_unsigned_type(bits: int, t_bits: int | Literal["all"], dtype: type) -> None:
    codes = GCWSHasher(50, bits=bits, t_bits=t_bits, random_state=0).fit_transform(X)
    assert codes.dtype == dtype
    total = bits + (0 if t_bits == "all" else t_bits)
    assert int(codes.max()) < 2**total
    assert int(codes.max()) >= 2 ** (total - 1)


def test_lowbits_counts_features_column_first() -> None:
    """Positive part of column i is i, negative part is D + i; the low bits of that."""
    D = 23
    hasher = GCWSHasher(64, bits=5, t_bits=0, encoding="lowbits", random_state=1).fit(X)
    i_star, _ = hasher.samples(X)
    rows = np.arange(len(X)) != 5
    column, negative = i_star // 2, i_star % 2
    np.testing.assert_array_equal(hasher.transform(X)[rows], ((column + D * negative) % 32)[rows])
    assert np.all(hasher.transform(X)[5] == 31)


def test_appended_bits_are_the_low_bits_of_t() -> None:
    Z = np.vstack([X, X / 1e4])
    hasher = GCWSHasher(64, bits=4, t_bits=3, p=30, random_state=1).fit(Z)
    _, t_star = hasher.samples(Z)
    codes = hasher.transform(Z)
    np.testing.assert_array_equal(codes % 8, t_star % 8)
    assert t_star.min() < 0 < t_star.max()
    plain = GCWSHasher(64, bits=4, t_bits=0, p=30, random_state=1).fit_transform(Z)
    np.testing.assert_array_equal(codes // 8, plain)


def test_a_row_of_zeros_agrees_with_rows_of_zeros_and_else_by_chance() -> None:
    K = 65_536
    Z = np.array([[0.0, 0.0], [0.0, -0.0], [1.0, -2.0]])
    codes = GCWSHasher(K, bits=4, random_state=2).fit_transform(Z)
    assert np.array_equal(codes[0], codes[1])
    share = np.mean(codes[0] == codes[2])
    assert abs(share - 1 / 16) < 4 * np.sqrt(15 / 256 / K)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_the_mix_is_one_to_one(a: int, b: int) -> None:
    x, y = mix(np.array([a, b], dtype=np.uint32))
    assert (x == y) == (a == b)


def test_seed_and_hash_number_salt_the_mix() -> None:
    """The same samples give other codes under another hash or seed."""
    i_star, t_star = np.zeros((1, 4096), dtype=np.int64), np.zeros((1, 4096), dtype=np.int64)
    first, second = (encode(i_star, t_star, seed=seed, bits=8, n_columns=1)[0] for seed in (0, 1))
    assert len(np.unique(first)) == 256
    assert abs(np.mean(first == second) - 1 / 256) < 4 * np.sqrt(1 / 256 / 4096)
