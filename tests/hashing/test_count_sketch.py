"""Count-sketch: bins, signs and sums of the specification, bit for bit; what scikit-learn users expect; bad input."""

import hashlib
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_real_numbers_are_added_in_the_order_of_their_columns(form: Any) -> None:
    """2**53 + 1 rounds to 2**53: the two ones after it are lost one by one, those before it are not."""
    _, signs = bins_and_signs(0, np.arange(3), 1)
    rows = np.array([[2.0**53, 1.0, 1.0], [1.0, 1.0, 2.0**53]]) * signs
    Z = CountSketch(n_bins=1, random_state=0).fit_transform(form(rows))
    assert Z.toarray().tolist() == [[2.0**53], [2.0**53 + 2]]


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


@pytest.mark.parametrize(
    ("parameters", "n_columns", "n_bins"),
    [
        ({"bits": 8, "reduction": 16}, 3, 48),
        ({"bits": 8, "reduction": 7}, 3, 110),
        ({"bits": 32, "reduction": 2**10}, 2**10, 2**32),
        ({"bits": 2, "n_bins": 2**32}, 3, 2**32),
        ({}, 33, 3),
        ({"bits": 8, "reduction": None}, 3, 768),
        ({"reduction": 5}, 33, 7),
        ({"bits": 7, "reduction": "8bit"}, 10, 1280),
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


def test_seeds_of_hasher_and_sketch_do_not_meet() -> None:
    """The same seed for both, as users do: no code knows of its sign."""
    codes = GCWSHasher(4096, bits=1, random_state=3).fit_transform(X[:1])[0]
    signs = bins_and_signs(3, 2 * np.arange(4096) + codes, 8)[1]
    assert abs(np.mean(signs * (2.0 * codes - 1))) < 4 / np.sqrt(4096)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [CountSketch(), CountSketch(n_bins=7, random_state=2**64 - 1), CountSketch(None)]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_random_state_is_the_seed_or_draws_one() -> None:
    assert CountSketch(random_state=2**64 - 1).fit(X).seed_ == 2**64 - 1
    one, two = CountSketch().fit(X), CountSketch().fit(X)
    assert one.seed_ != two.seed_
    assert_same(CountSketch(random_state=one.seed_).fit_transform(X), one.transform(X))
    states = [np.random.RandomState(3) for _ in range(2)]
    assert len({CountSketch(random_state=state).fit(X).seed_ for state in states}) == 1


def test_names_of_bins_and_set_output() -> None:
    sketch = CountSketch(n_bins=3, random_state=0).fit(X)
    assert list(sketch.get_feature_names_out()) == ["countsketch0", "countsketch1", "countsketch2"]
    with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
        sketch.set_output(transform="pandas").transform(X)
    with pytest.raises(ValueError, match="has 16777217 columns, too many to name one by one"):
        CountSketch(n_bins=2**24 + 1).fit(X).get_feature_names_out()


def changed(rows: NDArray[Any], value: Any, dtype: Any = None) -> NDArray[Any]:
    copy = rows.astype(dtype or rows.dtype)
    copy[6, 2] = value
    return copy


@pytest.mark.parametrize(
    ("parameters", "rows", "error", "words"),
    [
        (
            {"reduction": 8, "n_bins": 100},
            X,
            ValueError,
            "not both: one follows from the other; got reduction=8 and",
        ),
        ({"n_bins": 0}, X, ValueError, "n_bins must be from 1 to 4294967296, got n_bins=0"),
        ({"reduction": 1.5}, X, TypeError, "reduction must be an integer, got reduction=1.5"),
        ({"reduction": "16"}, X, ValueError, "reduction must be an integer, '8bit' or None, got reduction='16'"),
        ({"reduction": "8bit"}, X, ValueError, "reduction='8bit' is 2**8 bins for each hash and needs the bits of"),
        ({"bits": 33}, CODES, ValueError, "bits must be from 1 to 32, got bits=33"),
        (
            {"random_state": -1},
            X,
            ValueError,
            "must be from 0 to 18446744073709551615, got random_state=-1",
        ),
        (
            {"bits": 8},
            changed(CODES, 300, np.int64),
            ValueError,
            "codes must be from 0 to 255 with bits=8, X[6, 2] is 300; give the bits of the hasher",
        ),
        ({"bits": 32}, changed(CODES, 2**32, np.uint64), ValueError, "bits=32, X[6, 2] is 4294967296"),
        ({"bits": 8}, changed(CODES, -1, np.int64), ValueError, "X[6, 2] is -1"),
        ({"bits": 8}, X, TypeError, "must hold codes, which are integers, got the type float64; real numbers are"),
        (
            {"bits": 8},
            one_hot(CODES, 8),
            TypeError,
            "with bits=8 X must be an array of codes, got a sparse matrix; a one-hot matrix is sketched with bits=None",
        ),
        ({}, changed(X, np.nan), ValueError, "X[6, 2] is NaN; impute it or drop the row"),
        ({}, sparse.csr_array(changed(X, -np.inf)), ValueError, "X[6, 2] is -infinity"),
        ({}, sparse.csr_array((1, 2**52 + 1)), ValueError, "at most 2**52 columns, got 4503599627370497"),
        (
            {"bits": 32},
            np.zeros((1, 1025), dtype=np.uint8),
            ValueError,
            "at most 2**32 bins, got 275146342400 with reduction=16 of 4402341478400 positions; use a larger reduction",
        ),
        (
            {"bits": 32},
            np.broadcast_to(np.uint8(0), (1, 2**20 + 1)),
            ValueError,
            "at most 2**52 positions, got 2**32 for each of 1048577 hashes",
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict | str) else "",
)
def test_bad_input_is_named(parameters: dict[str, Any], rows: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        CountSketch(**parameters).fit(rows)


def test_transform_checks_as_fit_does() -> None:
    sketch = CountSketch(bits=8).fit(CODES)
    with pytest.raises(ValueError, match=r"X\[6, 2\] is 256"):
        sketch.transform(changed(CODES, 256, np.int64))
    with pytest.raises(ValueError, match="X has 29 features, but CountSketch is expecting 30"):
        sketch.transform(CODES[:, :29])
    with pytest.raises(ValueError, match=r"X\[6, 2\] is NaN"):
        CountSketch().fit(X).transform(changed(X, np.nan))
    for method in ("transform", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(CountSketch(), method)(X)


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 3e38), (np.float64, 1.7e308)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_sums_beyond_the_range_of_their_type_are_refused(dtype: Any, large: float, form: Any) -> None:
    _, signs = bins_and_signs(0, np.arange(30), 1)
    rows = np.ones((5, 30), dtype=dtype)
    rows[3] = large * signs
    with pytest.raises(ValueError, match=rf"range of {np.dtype(dtype)}, that of row 3 in bin 0 is not; scale X down"):
        CountSketch(n_bins=1, random_state=0).fit_transform(form(rows))
    assert np.isfinite(CountSketch(n_bins=1, random_state=0).fit_transform(form(rows[4:])).data).all()


def test_results_larger_than_memory_are_refused_before_they_are_made() -> None:
    many = np.broadcast_to(np.uint8(0), (10**10, 256))
    with pytest.raises(MemoryError, match=r"of 10000000000 rows would take 46\.6 TiB .*sketch them in batches"):
        CountSketch(n_bins=2**32, bits=8).fit(many[:1]).transform(many)


def test_memory_is_asked_for_what_is_stored_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gcwsnet._validation.available_bytes", lambda: 1 << 24)
    mostly_zero = np.zeros((3000, 2000), dtype=np.float32)
    mostly_zero[:, 7] = 1
    assert CountSketch(2).fit_transform(mostly_zero).nnz == 3000
    with pytest.raises(MemoryError, match=r"sketches of 3000 rows would take .* and 16\.0 MiB are available"):
        CountSketch(2).fit_transform(mostly_zero + 1)
