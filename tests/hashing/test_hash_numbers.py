"""Hashes by their numbers: a hash does not depend on the others that are computed."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from gcwsnet import GCWSHasher, _core, estimate_similarity
from gcwsnet.hashing import reference

NUMBERS = [3, 130, 0, 77, 5, 130, 199]


def rows(kind: str) -> Any:
    rng = np.random.default_rng(0)
    if kind == "binary":
        return (rng.random((90, 50)) < 0.3).astype(np.float64)
    X = rng.normal(size=(90, 50)) * (rng.random((90, 50)) < 0.6)
    X[4] = 0
    return sparse.csr_matrix(X) if kind == "csr" else X


@pytest.mark.parametrize("kind", ["dense", "csr", "binary"])
@pytest.mark.parametrize("table_memory", [0, 2**28])
@pytest.mark.parametrize("scan", [_core.Scan.AUTO, _core.Scan.SORTED, _core.Scan.FULL])
def test_codes_are_columns_of_the_codes_of_all_hashes(kind: str, table_memory: int, scan: _core.Scan) -> None:
    X = rows(kind)
    settings: dict[str, Any] = {"bits": 16, "p": 1.5, "random_state": 9, "table_memory": table_memory}
    of_all = GCWSHasher(200, **settings).fit(X)
    some = GCWSHasher(len(NUMBERS), hash_numbers=NUMBERS, **settings).fit(X)
    for hasher in (of_all, some):
        hasher._make_core(scan)
    assert_array_equal(some.transform(X), of_all.transform(X)[:, NUMBERS])
    for found, expected in zip(some.samples(X), of_all.samples(X), strict=True):
        assert_array_equal(found, expected[:, NUMBERS])


def test_a_large_number_is_that_of_the_reference() -> None:
    X = rows("dense")[:5]
    number = 2**31 - 1
    found = GCWSHasher(1, hash_numbers=[number], random_state=4).fit(X).samples(X)
    i_star, t_star = reference.gcws(X, np.array([number]), seed=4)
    assert_array_equal(found[0], i_star)
    assert_array_equal(found[1], t_star)


def test_numbers_survive_clone_and_pickle() -> None:
    X = rows("dense")
    hasher = GCWSHasher(len(NUMBERS), hash_numbers=np.array(NUMBERS), random_state=1).fit(X)
    codes = hasher.transform(X)
    assert_array_equal(pickle.loads(pickle.dumps(hasher)).transform(X), codes)
    assert_array_equal(clone(hasher).fit(X).transform(X), codes)


def test_codes_of_other_hashes_are_not_compared() -> None:
    X = rows("dense")[:4]
    some = GCWSHasher(3, hash_numbers=[1, 2, 3], random_state=1).fit_transform(X)
    others = GCWSHasher(3, hash_numbers=[1, 2, 4], random_state=1).fit_transform(X)
    first = GCWSHasher(3, random_state=1).fit_transform(X)
    estimate_similarity(some, some[:1], bits=8)
    for codes in (others, first):
        with pytest.raises(ValueError, match="hash_numbers"):
            estimate_similarity(some, codes, bits=8)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"hash_numbers": [1, 2]}, ValueError, "must hold n_hashes=3 numbers, got 2"),
        ({"hash_numbers": [1, 2, -1]}, ValueError, r"hash_numbers\[2\] is -1"),
        ({"hash_numbers": [1, 2**31, 0]}, ValueError, r"hash_numbers\[1\] is 2147483648"),
        ({"hash_numbers": [0.0, 1.0, 2.0]}, TypeError, "vector of integers, got float64"),
        ({"hash_numbers": [[0, 1, 2]]}, TypeError, r"shape \(1, 3\)"),
        ({"hash_numbers": [0, 1, 2], "method": "binwise"}, ValueError, "method='gcws' alone"),
    ],
)
def test_bad_numbers_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        GCWSHasher(3, **settings).fit(rows("dense"))


def test_the_native_core_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="n_hashes hash numbers"):
        _core.Hasher(0, 4, 2, 0, _core.Scan.AUTO, _core.Method.GCWS, [1])
    with pytest.raises(ValueError, match="only the method GCWS"):
        _core.Hasher(0, 4, 1, 0, _core.Scan.AUTO, _core.Method.REJECTION, [1])
