"""Count-sketch: bins, signs and sums are those of the specification, bit for bit."""

import hashlib
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from gcwsnet import CountSketch, GCWSHasher
from gcwsnet._keys import SKETCH, keys
from gcwsnet.hashing import _count_sketch
from gcwsnet.hashing._count_sketch import bins_and_signs
from gcwsnet.hashing._hasher import one_hot

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 256, (40, 30), dtype=np.uint8)
X = RNG.normal(size=(40, 30)) * RNG.choice([0, 1], (40, 30))
SPECIFICATION = Path(__file__).parents[2] / "docs" / "hash-specification.md"
WORD, GOLDEN = 2**64 - 1, 0x9E3779B97F4A7C15
SEEDS = st.one_of(st.sampled_from([0, 2**64 - 1]), st.integers(0, 2**64 - 1))


def mix64(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def bin_and_sign(seed: int, position: int, n_bins: int) -> tuple[int, int]:
    """The specification again, in Python's integers."""
    stream = mix64(mix64((seed + GOLDEN) & WORD) + 4 * GOLDEN & WORD)
    key = mix64((stream + (position + 1) * GOLDEN) & WORD)
    return (key >> 32) * n_bins >> 32, -1 if key & 1 else 1


def sketch_by_definition(row: dict[int, Any], seed: int, n_bins: int) -> dict[int, Any]:
    """Equation (z, w) of the paper: z_j is the sum of x_i r_i over the i with h(i) = j; zeros are left out."""
    z: dict[int, Any] = {}
    for i, x in sorted(row.items()):
        j, r = bin_and_sign(seed, i, n_bins)
        z[j] = z.get(j, 0) + r * x
    return {j: value for j, value in sorted(z.items()) if value != 0}


def stored(Z: Any) -> list[dict[int, Any]]:
    """The rows of canonical CSR."""
    Z.check_format(full_check=True)
    assert Z.has_canonical_format
    assert not np.any(Z.data == 0)
    rows = zip(Z.indptr[:-1], Z.indptr[1:], strict=True)
    return [dict(zip(Z.indices[a:b].tolist(), Z.data[a:b].tolist(), strict=True)) for a, b in rows]


def assert_same(Z: Any, W: Any) -> None:
    assert Z.shape == W.shape
    assert stored(Z) == stored(W)


def table(first_cells: str) -> list[list[str]]:
    """The rows of the table of the specification whose head begins so."""
    lines = SPECIFICATION.read_text().split(first_cells)[1].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]


def test_bins_and_signs_of_the_specification() -> None:
    number = {"0": 0, "1": 1, "2": 2, "42": 42, "255": 255, "2^32": 2**32, "2^52 - 1": 2**52 - 1, "2^64 - 1": 2**64 - 1}
    rows = table("| seed | position |")
    assert len(rows) == 6
    for seed, position, key, sign, *bins in rows:
        low, high = keys(number[seed], SKETCH, [number[position]])
        assert f"{high[0]:08x}{low[0]:08x}" == key
        for n_bins, expected in zip((10, 4096, 2**32), bins, strict=True):
            found, signs = bins_and_signs(number[seed], [number[position]], n_bins)
            assert (found.tolist(), signs.tolist()) == ([int(expected)], [int(sign)])


def test_sketches_of_the_specification() -> None:
    rows = table("| codes | sketch |")
    codes, sketches = (np.array([row[i].split() for row in rows], dtype=np.int64) for i in (0, 1))
    Z = CountSketch(n_bins=8, bits=8, random_state=42).fit_transform(codes)
    np.testing.assert_array_equal(Z.toarray(), sketches)


def test_golden_vectors() -> None:
    bins, signs = bins_and_signs(7, [0, 1, 2, 3, 2**40, 2**52 - 1], 1000)
    assert bins.tolist() == [372, 449, 67, 23, 491, 809]
    assert signs.tolist() == [-1, -1, 1, 1, 1, -1]
    codes = (np.arange(200)[:, np.newaxis] * 7919 + np.arange(100) * 104729) % 65521
    sketches = [CountSketch(m, bits=16, random_state=7).fit_transform(codes).toarray() for m in (2**8, 2**14)]
    digest = hashlib.sha256(b"".join(Z.tobytes() for Z in sketches)).hexdigest()
    assert digest[:16] == "7885e3e07bbc4cba"


@given(SEEDS, st.lists(st.integers(0, 2**52 - 1), min_size=1, max_size=5), st.integers(1, 2**32))
def test_bins_and_signs_are_those_of_the_specification_for_any_position(
    seed: int, positions: list[int], n_bins: int
) -> None:
    bins, signs = bins_and_signs(seed, positions, n_bins)
    assert list(zip(bins.tolist(), signs.tolist(), strict=True)) == [bin_and_sign(seed, n, n_bins) for n in positions]


@given(SEEDS, st.integers(1, 32), st.integers(1, 12), st.data())
@settings(max_examples=60)
def test_sketch_of_codes_is_that_of_the_definition(seed: int, bits: int, k: int, data: st.DataObject) -> None:
    n_bins = data.draw(st.one_of(st.integers(1, 8), st.sampled_from([2**31, 2**31 + 1, 2**32])))
    codes = np.array(data.draw(st.lists(st.lists(st.integers(0, 2**bits - 1), min_size=k, max_size=k), min_size=1)))
    Z = CountSketch(n_bins=n_bins, bits=bits, random_state=seed).fit_transform(codes)
    one_hot_rows = [{j * 2**bits + code: 1 for j, code in enumerate(row)} for row in codes.tolist()]
    assert stored(Z) == [sketch_by_definition(row, seed, n_bins) for row in one_hot_rows]
    assert Z.dtype == np.int8


@given(SEEDS, st.integers(1, 10), st.sampled_from([np.float32, np.float64]), st.data())
@settings(max_examples=60)
def test_sketch_of_real_rows_is_that_of_the_definition(seed: int, n_bins: int, dtype: Any, data: st.DataObject) -> None:
    n, n_columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 12))
    numbers = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0]), st.floats(-1e6, 1e6, width=8 * dtype().itemsize))
    dense = np.array(data.draw(st.lists(numbers, min_size=n * n_columns, max_size=n * n_columns)), dtype=dtype)
    dense = dense.reshape(n, n_columns)
    Z = CountSketch(n_bins=n_bins, random_state=seed).fit_transform(dense)
    sums = [sketch_by_definition(dict(enumerate(row)), seed, n_bins) for row in dense.tolist()]
    rounded = [{j: float(dtype(value)) for j, value in row.items() if dtype(value) != 0} for row in sums]
    assert stored(Z) == rounded
    assert Z.dtype == dtype
    for form in (sparse.csr_matrix, sparse.csr_array):
        W = CountSketch(n_bins=n_bins, random_state=seed).fit_transform(form(dense))
        assert type(W) is form
        assert_same(W, Z)


@pytest.mark.parametrize(("bits", "t_bits"), [(1, 0), (8, 0), (4, 3), (16, 0), (32, 0)])
@pytest.mark.parametrize("n_bins", [1, 17, 4096, 2**32])
def test_codes_and_their_one_hot_vectors_have_the_same_sketch(bits: int, t_bits: int, n_bins: int) -> None:
    codes, Z = (
        GCWSHasher(25, bits=bits, t_bits=t_bits, output=output, random_state=1).fit_transform(X)
        for output in ("codes", "onehot")
    )
    of_codes = CountSketch(n_bins=n_bins, bits=bits + t_bits, random_state=2).fit_transform(codes)
    of_one_hot = CountSketch(n_bins=n_bins, random_state=2).fit_transform(Z)
    assert_same(of_codes, of_one_hot)
    assert of_codes.dtype == np.int8
    assert of_one_hot.dtype == np.float32


def test_it_is_the_product_with_the_matrix_of_signs() -> None:
    bins, signs = bins_and_signs(3, np.arange(30), 9)
    S = np.zeros((30, 9))
    S[np.arange(30), bins.astype(np.intp)] = signs
    Z = CountSketch(n_bins=9, random_state=3).fit_transform(X)
    np.testing.assert_allclose(Z.toarray(), X @ S, atol=1e-12)
    np.testing.assert_allclose(
        CountSketch(n_bins=9, random_state=3).fit_transform(2 * X - X[::-1]).toarray(),
        2 * Z.toarray() - Z.toarray()[::-1],
        atol=1e-12,
    )


@pytest.mark.parametrize("batch", [1, 31, 100])
def test_batches_change_nothing(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sparse.csr_array(X)
    rows.data[30:90] = 0  # stored zeros, rows of nothing else among them
    empty = sparse.csr_array((5, 30))
    inputs: list[tuple[int | None, Any]] = [(8, CODES), (None, X), (None, rows), (None, empty)]
    whole = [CountSketch(n_bins=11, bits=bits, random_state=0).fit_transform(Z) for bits, Z in inputs]
    monkeypatch.setattr(_count_sketch, "BATCH", batch)
    for (bits, Z), expected in zip(inputs, whole, strict=True):
        assert_same(CountSketch(n_bins=11, bits=bits, random_state=0).fit_transform(Z), expected)


def test_a_row_does_not_depend_on_the_others() -> None:
    sketch = CountSketch(n_bins=50, bits=8, random_state=0).fit(CODES)
    assert_same(sketch.transform(CODES[::-1]), sketch.transform(CODES)[::-1])
    assert_same(sketch.transform(CODES[7:8]), sketch.transform(CODES)[7:8])


def test_entries_that_cancel_are_not_stored() -> None:
    bins, signs = bins_and_signs(0, np.arange(30), 4)
    a, b = next((a, b) for a in range(30) for b in range(a) if bins[a] == bins[b] and signs[a] != signs[b])
    row = np.zeros((1, 30))
    row[0, [a, b]] = 0.1
    Z = CountSketch(n_bins=4, random_state=0).fit_transform(row)
    assert Z.nnz == 0
    assert Z.shape == (1, 4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_real_numbers_are_added_in_the_order_of_their_columns(form: Any) -> None:
    """2**53 + 1 rounds to 2**53: the two ones after it are lost one by one, those before it are not."""
    _, signs = bins_and_signs(0, np.arange(3), 1)
    rows = np.array([[2.0**53, 1.0, 1.0], [1.0, 1.0, 2.0**53]]) * signs
    Z = CountSketch(n_bins=1, random_state=0).fit_transform(form(rows))
    assert Z.toarray().tolist() == [[2.0**53], [2.0**53 + 2]]


def test_unsorted_indices_and_duplicates_are_added_up_and_left_alone() -> None:
    for form in (sparse.csr_matrix, sparse.csr_array):
        Z = form(([1.0, 2.0, 0.0, 3.0, -1.0, 5.0, -5.0], [3, 0, 1, 2, 2, 1, 1], [0, 3, 7]), shape=(2, 4))
        before = Z.data.copy(), Z.indices.copy()
        dense = np.array([[2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]])
        assert_same(*(CountSketch(n_bins=3, random_state=0).fit_transform(rows) for rows in (Z, dense)))
        np.testing.assert_array_equal(Z.data, before[0])
        np.testing.assert_array_equal(Z.indices, before[1])


@pytest.mark.parametrize(
    ("k", "dtype"), [(1, np.int8), (127, np.int8), (128, np.int16), (32_767, np.int16), (32_768, np.int32)]
)
def test_sketches_of_codes_have_the_smallest_signed_type(k: int, dtype: type) -> None:
    codes = np.zeros((1, k), dtype=np.uint8)
    Z = CountSketch(n_bins=1, bits=1, random_state=0).fit_transform(codes)
    assert Z.dtype == dtype
    assert Z.sum() == bins_and_signs(0, 2 * np.arange(k), 1)[1].sum(dtype=np.int64)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.uint64, ">i4"])
def test_any_integer_type_holds_codes(dtype: Any) -> None:
    codes = CODES % 128
    expected = CountSketch(bits=7, random_state=0).fit_transform(codes)
    assert_same(CountSketch(bits=7, random_state=0).fit_transform(codes.astype(dtype)), expected)
    assert_same(CountSketch(bits=7, random_state=0).fit_transform(np.asfortranarray(codes)), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.int8, np.uint16, np.int32, bool, ">f8"])
def test_any_type_of_number_is_sketched_without_loss(dtype: Any) -> None:
    rows = RNG.integers(0, 2 if dtype is bool else 100, (6, 9)).astype(dtype)
    Z = CountSketch(n_bins=4, random_state=0).fit_transform(rows)
    assert_same(Z, CountSketch(n_bins=4, random_state=0).fit_transform(rows.astype(np.float64)))
    assert Z.dtype in (np.float32, np.float64)


@pytest.mark.parametrize(
    ("parameters", "n_columns", "n_bins"),
    [
        ({"bits": 8}, 256, 4096),
        ({"bits": 8, "reduction": 16}, 3, 48),
        ({"bits": 8, "reduction": 7}, 3, 110),
        ({"bits": 1, "reduction": 100}, 3, 1),
        ({"bits": 32, "reduction": 2**10}, 2**10, 2**32),
        ({"bits": 8, "n_bins": 5}, 3, 5),
        ({"bits": 2, "n_bins": 2**32}, 3, 2**32),
        ({}, 33, 3),
        ({"reduction": None}, 33, 33),
        ({"bits": 8, "reduction": None}, 3, 768),
        ({"reduction": 5}, 33, 7),
        ({"reduction": 100}, 33, 1),
        ({"bits": 7, "reduction": "8bit"}, 10, 1280),
        ({"bits": np.uint8(7), "reduction": "8bit"}, 10, 1280),
        ({"bits": 8, "reduction": "8bit"}, 10, 2560),
        ({"bits": 9, "reduction": "8bit"}, 10, 2560),
        ({"bits": 32, "reduction": "8bit"}, 10, 2560),
    ],
    ids=str,
)
def test_number_of_bins(parameters: dict[str, Any], n_columns: int, n_bins: int) -> None:
    rows = np.zeros((2, n_columns), dtype=np.uint8)
    sketch = CountSketch(**parameters).fit(rows)
    assert sketch.n_bins_ == n_bins
    assert sketch.transform(rows).shape == (2, n_bins)


@pytest.mark.parametrize(
    ("reduction", "bits"), [(1, 1), (1, 8), (1, 16), (None, 1), (None, 32), ("8bit", 1), ("8bit", 7), ("8bit", 8)]
)
def test_no_reduction_is_the_one_hot_vector(reduction: Any, bits: int) -> None:
    codes = RNG.integers(0, 2**bits, (5, 12))
    Z = CountSketch(reduction, bits=bits, random_state=0).fit_transform(codes)
    assert_same(Z, one_hot(codes, bits))
    assert Z.dtype == np.int8


def test_no_reduction_leaves_other_rows_as_they_are() -> None:
    for rows in (X.copy(), sparse.csr_matrix(X), sparse.csr_array(X)):
        Z = CountSketch(None).fit_transform(rows)
        assert_same(Z, sparse.csr_matrix(X))
        Z.data[:] = 99
        assert_same(CountSketch(1).fit_transform(rows), sparse.csr_matrix(X))


def test_as_many_bins_as_positions_are_still_a_sketch() -> None:
    Z = CountSketch(n_bins=256 * 30, bits=8, random_state=0).fit_transform(CODES)
    assert Z.data.min() < 0
    assert Z.nnz < CODES.size


def test_widest_rows() -> None:
    D = 2**52
    rows = sparse.csr_array(([1.5, -2.0], [0, D - 1], [0, 2]), shape=(1, D))
    Z = CountSketch(n_bins=2**32, random_state=5).fit_transform(rows)
    assert stored(Z) == [sketch_by_definition({0: 1.5, D - 1: -2.0}, 5, 2**32)]
    assert CountSketch(2**20, random_state=5).fit(rows).n_bins_ == 2**32
    assert_same(CountSketch(1).fit_transform(rows), rows)


def test_nothing_of_the_size_of_the_one_hot_vectors_is_made() -> None:
    """2**32 positions for each of 64 hashes and 2**30 bins, in less than four times the memory of the result."""
    codes = np.random.default_rng(0).integers(0, 2**32, (20_000, 64), dtype=np.uint32)
    sketch = CountSketch(n_bins=2**30, bits=32, random_state=0).fit(codes[:1])
    tracemalloc.start()
    try:
        Z = sketch.transform(codes)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * (Z.data.nbytes + Z.indices.nbytes + Z.indptr.nbytes)


def test_bins_are_uniform_and_signs_fair_and_independent_of_them() -> None:
    """Chi-square over bins and signs, also of pairs of positions 1 and 2**8 apart; four standard deviations."""
    n = 1_000_000
    bins, signs = bins_and_signs(1, np.arange(n + 256), 16)
    cells = bins.astype(np.int64) * 2 + (signs > 0)
    for values, n_cells in [
        (cells[:n], 32),
        (cells[:n] * 32 + cells[1 : n + 1], 1024),
        (cells[:n] * 32 + cells[256:], 1024),
    ]:
        counts = np.bincount(values, minlength=n_cells)
        chi2 = np.sum((counts - n / n_cells) ** 2) / (n / n_cells)
        assert abs(chi2 - (n_cells - 1)) < 4 * np.sqrt(2 * n_cells)


def test_seeds_of_hasher_and_sketch_do_not_meet() -> None:
    """The same seed for both, as users do: no code knows of its sign."""
    codes = GCWSHasher(4096, bits=1, random_state=3).fit_transform(X[:1])[0]
    signs = bins_and_signs(3, 2 * np.arange(4096) + codes, 8)[1]
    assert abs(np.mean(signs * (2.0 * codes - 1))) < 4 / np.sqrt(4096)
