"""Codes know what made them, and codes of different origins are not compared."""

import copy
import pickle
from typing import Any

import joblib
import numpy as np
import pytest

from gcwsnet import HASH_VERSION, GCWSHasher, estimate_similarity
from gcwsnet.encoding import Codes, Origin

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
        lambda codes: joblib.Parallel(n_jobs=2)([joblib.delayed(copy.copy)(codes)])[0],
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


def test_a_number_of_codes_is_plain() -> None:
    codes = codes_of()
    for number in (codes[0, 0], codes.max(), codes.sum(), codes.mean()):
        assert isinstance(number, np.generic)
    assert repr(codes).startswith("array(")


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
    with pytest.raises(ValueError, match=message):
        estimate_similarity(codes_of(), codes_of(), codes_of(**other)[0], bits=8)


def test_bits_must_be_those_of_the_codes() -> None:
    with pytest.raises(ValueError, match="bits must be the bits of the codes, which is 6, got bits=4"):
        estimate_similarity(codes_of(bits=4, t_bits=2), codes_of(bits=4, t_bits=2), bits=4)


def test_codes_of_equal_hashers_and_of_unknown_origin_are_compared() -> None:
    expected = estimate_similarity(codes_of(), codes_of(n_jobs=2), bits=8)
    plain = np.asarray(codes_of())
    np.testing.assert_array_equal(estimate_similarity(codes_of(), plain, bits=8), expected)
