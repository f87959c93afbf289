"""The split by content: whether a row is held out depends only on its numbers and the seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet._keys import GOLDEN, SPLIT, _mix64_one, stream_state
from gcwsnet.files import read, split
from gcwsnet.files._reader import row_keys
from tests.files.conftest import Write, same, whole

WORD = (1 << 64) - 1
RNG = np.random.default_rng(0)
X = np.where(RNG.random((2000, 5)) < 0.5, RNG.standard_normal((2000, 5)).round(3), 0) + 0.0  # no -0


def reference(row: list[float], state: int) -> int:
    """The key of a row as the docstring of `split` has it."""
    total = state
    for column, value in enumerate(row):
        if value != 0:
            bits = 0x7FF8 << 48 if np.isnan(value) else int(np.float64(value).view(np.uint64))
            total += _mix64_one(_mix64_one(state + (column + 1) * GOLDEN) ^ bits)
    return _mix64_one(total & WORD)


@given(st.lists(st.floats(), min_size=0, max_size=6), st.integers(0, 2**64 - 1))
def test_keys_are_those_of_the_formula_dense_and_sparse(row: list[float], seed: int) -> None:
    state = stream_state(seed, SPLIT)
    given_ = np.array([row, row])
    expected = [reference(row, state)] * 2
    assert row_keys(given_, state).tolist() == expected
    assert row_keys(np.asfortranarray(given_), state).tolist() == expected
    for index in (np.int32, np.int64):
        csr = sparse.csr_array(given_)
        csr.indices, csr.indptr = csr.indices.astype(index), csr.indptr.astype(index)
        assert row_keys(csr, state).tolist() == expected


def test_float32_and_float64_of_the_same_number_have_one_key() -> None:
    rows = X.astype(np.float32)
    assert same(row_keys(rows, 1), row_keys(rows.astype(np.float64), 1))
    assert same(row_keys(sparse.csr_array(rows), 1), row_keys(rows, 1))


def sides(sources: object, batch_rows: int = 100, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    training, held_out = split(read(sources, batch_rows=batch_rows), 0.25, seed)
    return whole(training).X, whole(held_out).X


def test_the_sides_do_not_depend_on_batches_form_or_format(write: Write) -> None:
    training, held_out = sides(X)
    text = "".join("0 " + " ".join(f"{j + 1}:{v:.5e}" for j, v in enumerate(row) if v) + "\n" for row in X)
    table = "\n".join(",".join(f"{v:.4f}" for v in row) for row in X)
    for sources in (X, sparse.csr_array(X), write("a.svm", text), write("a.csv", table)):
        for batch_rows in (7, 3000):
            found = sides(sources, batch_rows)
            assert same(found[0], training)
            assert same(found[1], held_out)


def test_the_sides_are_all_rows_and_equal_rows_are_on_one() -> None:
    training, held_out = ({tuple(row) for row in side} for side in sides(X))
    assert training | held_out == {tuple(row) for row in X}
    assert not training & held_out


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 1.0])
def test_the_fraction_is_held_out(fraction: float) -> None:
    """Of 20,000 rows, within five standard errors."""
    rows = np.arange(20_000.0).reshape(-1, 1)
    training, held_out = split(read(rows), fraction)
    n = sum(batch.n_rows for batch in held_out)
    assert abs(n - 20_000 * fraction) <= 5 * np.sqrt(20_000 * fraction * (1 - fraction))
    assert n + sum(batch.n_rows for batch in training) == 20_000


def test_an_iterator_serves_one_side() -> None:
    training, held_out = split(read(iter([X])), 0.5)
    assert whole(training).n_rows > 0
    with pytest.raises(ValueError, match="an iterator can be read only once"):
        list(held_out)


def test_keys_stay_as_they_are() -> None:
    state = stream_state(7, SPLIT)
    assert [hex(key) for key in row_keys(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-2.5, 1e300]]), state)] == KEYS


KEYS = ["0xde95aae9960a2402", "0xd3b25400378dd6d4", "0xa49699c084a40c30", "0x9c2b2b29623fe51d"]


def test_parameters_out_of_range() -> None:
    with pytest.raises(ValueError, match="fraction must be from 0 to 1"):
        split(read(X), 1.5)
    with pytest.raises(ValueError, match="seed must be from 0"):
        split(read(X), 0.5, -1)
