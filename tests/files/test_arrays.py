"""Arrays in memory, and iterables of them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.files import DataError, read
from tests.files.conftest import same, whole

RNG = np.random.default_rng(0)
X = np.where(RNG.random((500, 7)) < 0.5, RNG.standard_normal((500, 7)), 0)
Y = RNG.integers(0, 3, 500)
WEIGHT = RNG.random(500)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_arrays_in_pieces_of_any_size_are_one_stream(form: Any) -> None:
    cuts = [0, 1, 1, 100, 350, 500]
    pieces = [(form(X[a:b]), Y[a:b], WEIGHT[a:b]) for a, b in pairwise(cuts)]
    batches = read(pieces, batch_rows=120)
    for _ in range(2):
        assert [batch.n_rows for batch in batches] == [120, 120, 120, 120, 20]
        found = whole(batches)
        assert same(found.X, X)
        assert same(found.y, Y)
        assert same(found.weight, WEIGHT)
    assert batches.n_features == 7
    assert batches.survey().labels == (0, 1, 2)


def test_one_array_or_one_tuple_is_a_stream() -> None:
    assert same(whole(read(X, batch_rows=99)).X, X)
    assert same(whole(read((X, Y), batch_rows=99)).y, Y)
    assert same(whole(read(sparse.csr_array(X), batch_rows=99)).X, X)


def test_an_iterator_is_read_once() -> None:
    def pieces() -> Iterator[Any]:
        yield X[:10], Y[:10]
        yield X[10:30], Y[10:30]

    batches = read(pieces())
    assert batches.n_features == 7
    assert whole(batches).n_rows == 30
    with pytest.raises(ValueError, match="an iterator can be read only once, and it was read already; give a list"):
        list(batches)


def test_the_float_dtype_is_kept_or_chosen() -> None:
    assert next(iter(read(X.astype("f4")))).X.dtype == np.float32
    assert next(iter(read(Y.reshape(-1, 1)))).X.dtype == np.float64
    assert next(iter(read(X, dtype="float32"))).X.dtype == np.float32
    assert [batch.X.dtype for batch in read([X.astype("f4"), X], batch_rows=500)] == [np.float32] * 2


def test_duplicate_and_unsorted_indices_become_canonical() -> None:
    given = sparse.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    found = next(iter(read(given))).X
    assert (found.indices.tolist(), found.data.tolist()) == ([0, 2], [2, 4])
    assert given.indices.tolist() == [2, 0, 2]


WRONG: list[tuple[Any, str]] = [
    ([X, X[:, :3]], "rows must have 7 columns, got 3; give all rows the same width"),
    ([X, np.full((1, 7), np.nan)], "501:0: a value must not be missing"),
    ([X, np.full((1, 7), -np.inf)], "501:0: a number must be finite in float64, got -inf"),
    ([np.ones(3)], "X must be real numbers with two dimensions, got float64 of shape"),
    ([np.full((1, 1), "a")], "X must be real numbers with two dimensions, got <U1"),
    ([(X, Y[:3])], "y must be 500 numbers or strings, got int64 of shape"),
    ([(X, Y, WEIGHT[:3])], "weight must be 500 numbers, got float64 of shape"),
    ([(X, Y, -WEIGHT)], "1: a weight must be a finite number of at least 0, got -"),
    ([(X[:2], np.array(["a", 1], object))], "labels must be all numbers or all strings"),
    ([(X[:2], np.array([1, np.nan]))], "2: a label must be a finite number, got nan"),
    (iter([]), "there must be at least one row, got an empty iterable"),
    ([X[:0]], "there must be at least one row, got none"),
]


@pytest.mark.parametrize(("given", "rule"), WRONG)
def test_arrays_that_break_a_rule(given: Any, rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        list(read(given))
