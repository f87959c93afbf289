"""The native sums by row and steps of Adam equal NumPy's to the bit, for any number of threads."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcwsnet import _core
from gcwsnet.hashing._count_sketch import bins_and_signs
from tests.beside import another_thread_runs_during

FACTORS: dict[str, Any] = {"rate": 0.01, "new_square": 0.25, "epsilon": 1e-6, "decay": 0.875}


def random_codes(n: int, n_hashes: int, bits: int, seed: int) -> Any:
    """Few of the codes are frequent, as in real data, and many are rare."""
    codes = np.random.default_rng(seed).random((n, n_hashes)) ** 3 * 2**bits
    return codes.astype(np.int64)


def numbers(shape: Any, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def sums_by_row(gradient: Any, rows: Any, signs: Any) -> tuple[Any, Any]:
    """The rows that occur and their sums: sample by sample, hash by hash."""
    found, place = np.unique(rows, return_inverse=True)
    sums = np.zeros((len(found), gradient.shape[1]), dtype=np.float32)
    np.add.at(sums, place.reshape(rows.shape), signs[:, :, None].astype(np.float32) * gradient[:, None])
    return found, sums


def adam(gradient: Any, weight: Any, mean: Any, square: Any, new_mean: float, **others: float) -> tuple[Any, Any, Any]:
    """The formula, each operation rounded to float32; `others` than the usual factors may be given."""
    rate, new_square, epsilon, decay = (np.float32(factor) for factor in (FACTORS | others).values())
    mean = mean + (gradient - mean) * np.float32(new_mean) if new_mean != 1 else gradient
    square = square + (gradient * gradient - square) * new_square
    return weight * decay - rate * (mean / (np.sqrt(square) + epsilon)), mean, square


def layout(n_hashes: int, bits: int, n_rows: int | None, codes: Any, seed: int) -> tuple[Any, int, Any, Any]:
    """Which row each code looks up, natively and in NumPy; n_rows are the bins of a sketch."""
    positions = codes + (np.arange(n_hashes) << bits)
    if n_rows is None:
        return _core.CodeToRow(n_hashes, bits, n_hashes << bits, False, 0), n_hashes << bits, positions, positions**0
    bins, signs = bins_and_signs(seed, positions, n_rows)
    return _core.CodeToRow(n_hashes, bits, n_rows, True, seed), n_rows, bins.astype(np.int64), signs


def assert_steps_are_numpys(
    n: int, n_hashes: int, bits: int, n_rows: int | None, width: int, new_mean: float, n_threads: int, seed: int = 0
) -> None:
    codes = random_codes(n, n_hashes, bits, seed)
    gradient = numbers((n, width), seed + 1)
    native, n_table_rows, rows, signs = layout(n_hashes, bits, n_rows, codes, seed)
    expected_rows, expected_sums = sums_by_row(gradient, rows, signs)

    lookups = _core.LookupsByRow(native, codes, n_threads)
    found, sums = np.empty((1, lookups.n_rows_used), np.int64), np.empty((lookups.n_rows_used, width), np.float32)
    lookups.row_sums(gradient, found, sums, n_threads)
    np.testing.assert_array_equal(found[0], expected_rows)
    np.testing.assert_array_equal(sums, expected_sums)

    weight, mean = numbers((n_table_rows, width), 2), numbers((n_table_rows, width), 3)
    square = numbers((n_table_rows, width), 4) ** 2
    before = weight[expected_rows], mean[expected_rows], square[expected_rows]
    others = [np.delete(array, expected_rows, 0) for array in (weight, mean, square)]
    lookups.adam(
        gradient, weight, None if new_mean == 1 else mean, square, new_mean=new_mean, n_threads=n_threads, **FACTORS
    )
    expected = adam(expected_sums, *before, new_mean)
    np.testing.assert_array_equal(weight[expected_rows], expected[0])
    np.testing.assert_array_equal(mean[expected_rows], before[1] if new_mean == 1 else expected[1])
    np.testing.assert_array_equal(square[expected_rows], expected[2])
    for array, other in zip((weight, mean, square), others, strict=True):
        np.testing.assert_array_equal(np.delete(array, expected_rows, 0), other)


@given(
    n=st.integers(1, 60),
    n_hashes=st.integers(1, 40),
    bits=st.integers(1, 9),
    n_rows=st.none() | st.integers(1, 3000),
    width=st.sampled_from([1, 3, 16, 33]),
    new_mean=st.sampled_from([0.125, 1.0]),
    n_threads=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_any_batch_is_summed_and_applied_as_by_numpy(**settings: Any) -> None:
    assert_steps_are_numpys(**settings)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("n", "n_hashes", "bits", "n_rows"),
    [
        (200, 64, 6, None),  # groups are hashes
        (3000, 3, 12, None),
        (700, 10, 14, None),  # groups are ranges of rows
        (1, 9000, 1, None),
        (200, 64, 6, 999),  # a sketch
        (300, 50, 16, 2**17),
        (20_000, 1, 20, 2**20 - 1),  # of which the groups are wide
        (9000, 2, 3, 1),
    ],
)
def test_batches_that_several_threads_sort(
    n: int, n_hashes: int, bits: int, n_rows: int | None, n_threads: int
) -> None:
    assert_steps_are_numpys(n, n_hashes, bits, n_rows, 5, 0.125, n_threads)


@pytest.mark.parametrize("n_rows", [None, 100])
def test_every_instruction_set_gives_the_bits_of_numpy(n_rows: int | None, instruction_set: str) -> None:
    assert instruction_set == _core.instruction_set()
    for width in (1, 7, 8, 100, 200):
        for new_mean in (0.125, 1.0):
            assert_steps_are_numpys(30, 12, 5, n_rows, width, new_mean, 2)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (200,), (31, 5), (500, 300)])
@pytest.mark.parametrize("new_mean", [0.125, 1.0])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_a_step_on_all_weights_is_that_of_numpy(shape: Any, new_mean: float, n_threads: int) -> None:
    gradient, weight, mean = (np.asarray(numbers(shape, seed)) for seed in range(3))
    square = np.asarray(numbers(shape, 3) ** 2)
    expected = adam(gradient, weight, mean, square, new_mean)
    given_mean = None if new_mean == 1 else mean
    _core.adam(gradient, weight, given_mean, square, new_mean=new_mean, n_threads=n_threads, **FACTORS)
    np.testing.assert_array_equal(weight, expected[0])
    np.testing.assert_array_equal(square, expected[2])
    if new_mean != 1:
        np.testing.assert_array_equal(mean, expected[1])


def test_moments_of_a_unit_without_a_gradient_end_at_zero_and_move_the_weights_as_before(instruction_set: str) -> None:
    """Subnormal numbers, at which they would stay, take many processors a hundred times as long."""
    assert instruction_set == _core.instruction_set()
    weight, mean, square = (np.zeros(40, np.float32) for _ in range(3))
    expected: tuple[Any, Any, Any] = weight, mean, square
    smallest = np.finfo(np.float32).smallest_normal
    n_subnormal = 0
    for step in range(2000):
        gradient = numbers(40, step) * np.float32(step < 10)
        expected = adam(gradient, *expected, new_mean=0.125, decay=1.0)
        _core.adam(gradient, weight, mean, square, new_mean=0.125, n_threads=1, **FACTORS | {"decay": 1.0})
        n_subnormal += bool(((expected[1] != 0) & (np.abs(expected[1]) < smallest)).any())
        assert not ((mean != 0) & (np.abs(mean) < smallest)).any()
    np.testing.assert_array_equal(weight, expected[0])
    assert n_subnormal > 1000
    assert (mean == 0).all()
    assert (square == 0).all()


def test_small_gradients_count_where_epsilon_is_zero(instruction_set: str) -> None:
    assert instruction_set == _core.instruction_set()
    gradient = np.geomspace(1e-21, 1e-15, 40, dtype=np.float32)
    weight, mean, square = np.ones(40, np.float32), np.zeros(40, np.float32), np.zeros(40, np.float32)
    expected = adam(gradient, weight, mean, square, new_mean=0.125, epsilon=0.0)
    assert (expected[0] != FACTORS["decay"]).all()
    _core.adam(gradient, weight, mean, square, new_mean=0.125, n_threads=1, **FACTORS | {"epsilon": 0.0})
    np.testing.assert_array_equal(weight, expected[0])


def test_other_threads_run_while_codes_are_checked() -> None:
    """Of the codes only the last is out of range, so that nothing but the check is done."""
    codes = np.zeros((2**21, 16), dtype=np.uint32)
    codes[-1, -1] = 256
    rows = _core.CodeToRow(16, 8, 16 << 8, False, 0)

    def check() -> None:
        with pytest.raises(ValueError, match=r"codes must be from 0 to 255 .*codes\[2097151, 15\] is 256"):
            _core.LookupsByRow(rows, codes, 1)

    assert another_thread_runs_during(check)
