"""Codes: what the options of the encoding mean, what codes remember of their hasher, and one-hot vectors."""

import copy
import pickle
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from scipy import sparse

from gcwsnet import HASH_VERSION, GCWSHasher, estimate_similarity
from gcwsnet.hashing._hasher import Codes, Origin
from gcwsnet.hashing.reference import encode

DATA = np.random.default_rng(0).lognormal(0, 2, (40, 23)) * np.random.default_rng(1).choice([-1, 0, 1], (40, 23))
DATA[5] = 0


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize(("encoding", "t_bits"), [("mixed", "all"), *product(["mixed", "lowbits"], [0, 1, 3, 8])])
@pytest.mark.parametrize("bits", [1, 2, 7, 8, 9, 16, 25, 32])
@pytest.mark.parametrize("p", [1.0, 1e5])
def test_native_codes_equal_the_reference(
    bits: int, encoding: Literal["mixed", "lowbits"], t_bits: int | Literal["all"], p: float
) -> None:
    hasher = GCWSHasher(21, p=p, bits=bits, t_bits=t_bits, encoding=encoding, random_state=3).fit(DATA)
    i_star, t_star = hasher.samples(DATA)
    expected = encode(i_star, t_star, seed=3, bits=bits, t_bits=t_bits, encoding=encoding, n_columns=23)
    np.testing.assert_array_equal(hasher.transform(DATA), expected)


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
    codes = GCWSHasher(50, bits=bits, t_bits=t_bits, random_state=0).fit_transform(DATA)
    assert codes.dtype == dtype
    total = bits + (0 if t_bits == "all" else t_bits)
    assert int(codes.max()) < 2**total
    assert int(codes.max()) >= 2 ** (total - 1)


def test_lowbits_counts_features_column_first() -> None:
    """Positive part of column i is i, negative part is D + i; the low bits of that."""
    D = 23
    hasher = GCWSHasher(64, bits=5, t_bits=0, encoding="lowbits", random_state=1).fit(DATA)
    i_star, _ = hasher.samples(DATA)
    rows = np.arange(len(DATA)) != 5
    column, negative = i_star // 2, i_star % 2
    np.testing.assert_array_equal(hasher.transform(DATA)[rows], ((column + D * negative) % 32)[rows])
    assert np.all(hasher.transform(DATA)[5] == 31)


def test_a_row_of_zeros_agrees_with_rows_of_zeros_and_else_by_chance() -> None:
    K = 65_536
    Z = np.array([[0.0, 0.0], [0.0, -0.0], [1.0, -2.0]])
    codes = GCWSHasher(K, bits=4, random_state=2).fit_transform(Z)
    assert np.array_equal(codes[0], codes[1])
    share = np.mean(codes[0] == codes[2])
    assert abs(share - 1 / 16) < 4 * np.sqrt(15 / 256 / K)


X = np.random.default_rng(0).random((20, 5))


def codes_of(**parameters: Any) -> Codes:
    codes: Codes = GCWSHasher(**{"n_hashes": 32, "random_state": 0, **parameters}).fit_transform(X)
    return codes


def test_codes_say_what_made_them() -> None:
    assert codes_of(p=2, random_state=7).origin == Origin("gcws", HASH_VERSION, 7, 2.0, 8, "all", "mixed")
    appended = codes_of(bits=4, t_bits=2, encoding="lowbits")
    assert appended.origin == Origin("gcws", HASH_VERSION, 0, 1.0, 6, 2, "lowbits", columns=5)


@pytest.mark.parametrize(
    "changed",
    [
        lambda codes: codes[3:7],
        lambda codes: codes[np.array([5, 1])],
        lambda codes: codes[2],
        lambda codes: codes.copy(),
        copy.deepcopy,
        lambda codes: codes.astype(np.int64),
        lambda codes: pickle.loads(pickle.dumps(codes)),
    ],
)
def test_slices_and_copies_keep_it(changed: Any) -> None:
    codes = codes_of()
    assert changed(codes).origin == codes.origin


@pytest.mark.parametrize(
    "computed",
    [
        lambda codes: codes + codes,
        lambda codes: codes == codes[0],
        lambda codes: np.bitwise_and(codes, 3),
        lambda codes: codes.sum(axis=0),
        lambda codes: codes.mean(axis=1),
        lambda codes: np.concatenate([codes, codes]),
        np.asarray,
    ],
)
def test_what_is_computed_from_codes_is_plain(computed: Any) -> None:
    assert type(computed(codes_of())) is np.ndarray


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"random_state": 1}, "seed=0 and seed=1"),
        ({"p": 2}, r"p=1\.0 and p=2\.0"),
        ({"t_bits": 0}, "t_bits='all' and t_bits=0"),
        ({"encoding": "lowbits", "t_bits": 0}, "t_bits='all' and t_bits=0"),
    ],
)
def test_codes_of_different_origins_are_not_compared(other: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate_similarity(codes_of(), codes_of(**other), bits=8)


def test_bits_must_be_those_of_the_codes() -> None:
    with pytest.raises(ValueError, match="bits must be the bits of the codes, which is 6, got bits=4"):
        estimate_similarity(codes_of(bits=4, t_bits=2), codes_of(bits=4, t_bits=2), bits=4)


def test_codes_of_equal_hashers_and_of_unknown_origin_are_compared() -> None:
    expected = estimate_similarity(codes_of(), codes_of(n_jobs=2), bits=8)
    plain = np.asarray(codes_of())
    np.testing.assert_array_equal(estimate_similarity(codes_of(), plain, bits=8), expected)


ROWS = np.random.default_rng(0).normal(size=(30, 7))
ROWS[3] = 0


@pytest.mark.parametrize(("bits", "t_bits"), [(1, 0), (3, 2), (8, 0), (20, 0)])
def test_one_hot_has_one_one_per_hash_at_its_code(bits: int, t_bits: int) -> None:
    codes = GCWSHasher(9, bits=bits, t_bits=t_bits, random_state=0).fit_transform(ROWS)
    Z = GCWSHasher(9, bits=bits, t_bits=t_bits, output="onehot", random_state=0).fit_transform(ROWS)
    width = 2 ** (bits + t_bits)
    assert sparse.isspmatrix_csr(Z)
    assert Z.shape == (30, 9 * width)
    assert Z.has_canonical_format
    np.testing.assert_array_equal(Z.data, 1)
    np.testing.assert_array_equal(Z.indices.reshape(30, 9), codes + width * np.arange(9))
    np.testing.assert_array_equal(np.diff(Z.indptr), 9)


def test_wide_one_hot_has_64_bit_indices() -> None:
    Z = GCWSHasher(3, bits=32, t_bits=8, output="onehot", random_state=0).fit_transform(ROWS)
    assert Z.shape[1] == 3 * 2**40
    assert Z.indices.dtype == np.int64
    assert Z.indices.max() > 2**41
    np.testing.assert_array_equal(Z.sum(axis=1), np.full((30, 1), 3))
