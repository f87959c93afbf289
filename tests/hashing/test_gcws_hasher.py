"""GCWSHasher as scikit-learn users expect it, on every kind of input, with every method."""

import ctypes
import ctypes.util
import pickle
import platform
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from gcwsnet import GCWSHasher, estimate_similarity

METHODS = ["gcws", "rejection", "binwise", "extremal", "minwise"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 12)) * RNG.choice([0, 1], (60, 12))


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        GCWSHasher(n_hashes=16),
        GCWSHasher(n_hashes=16, bits=4, output="onehot"),
        GCWSHasher(n_hashes=16, missing="zero"),
        GCWSHasher(n_hashes=16, encoding="lowbits", t_bits=2, p=20),
        *(GCWSHasher(n_hashes=16, method=method) for method in METHODS[1:]),
    ]
)
@pytest.mark.filterwarnings("ignore:method='rejection' needs")
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def codes_of(Z: Any, **params: Any) -> np.ndarray:
    codes: np.ndarray = GCWSHasher(37, random_state=1, **params).fit(Z).transform(Z)
    return codes


def test_batches_of_converted_rows_are_put_together_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    integers = RNG.integers(-50, 50, (500, 9))
    whole = codes_of(integers)
    monkeypatch.setattr("gcwsnet._validation.BATCH_BYTES", 9 * 8 * 7)
    np.testing.assert_array_equal(codes_of(integers), whole)
    np.testing.assert_array_equal(codes_of(np.asfortranarray(integers.astype(float))), whole)


def test_frames_of_integers_booleans_and_missing_values() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "c": pd.array([1, None, 2], dtype="Int64")})
    with pytest.raises(ValueError, match=r"X\[1, 2\] \(column 'c'\) is NaN"):
        codes_of(frame)
    np.testing.assert_array_equal(
        codes_of(frame, missing="zero"), codes_of(np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 0.0], [3.0, 1.0, 2.0]]))
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_zero_takes_nan_as_zero_and_no_infinity(form: Any, dtype: Any) -> None:
    holes = X.astype(dtype)
    holes[::3, 1] = np.nan
    np.testing.assert_array_equal(codes_of(form(holes), missing="zero"), codes_of(np.nan_to_num(holes)))
    holes[4, 5] = -np.inf
    with pytest.raises(ValueError, match=r"X\[4, 5\] is -infinity; impute it or drop the row$"):
        codes_of(form(holes), missing="zero")


def test_two_to_the_31_columns() -> None:
    D = 2**31
    Z = sparse.csr_array((np.array([1.0, -2.0, 3.0]), np.array([0, D - 1, D - 1]), np.array([0, 2, 3])), shape=(2, D))
    hasher = GCWSHasher(64, random_state=1).fit(Z)
    i_star, _ = hasher.samples(Z)
    assert set(i_star[0]) == {0, 2 * D - 1}
    assert set(i_star[1]) == {2 * D - 2}
    for params in ({"t_bits": 0, "encoding": "lowbits", "bits": 32}, {"bits": 32}, {"output": "onehot"}):
        assert GCWSHasher(64, random_state=1, **params).fit(Z).transform(Z).shape[0] == 2


def test_a_pickle_holds_no_tables() -> None:
    hasher = GCWSHasher(20, p=3, random_state=5).fit(X)
    hasher.transform(X)
    assert len(pickle.dumps(hasher)) < 2000


def test_random_state_draws_a_seed_once() -> None:
    one, two = GCWSHasher(20).fit(X), GCWSHasher(20).fit(X)
    assert one.seed_ != two.seed_
    np.testing.assert_array_equal(one.transform(X), one.transform(X))
    np.testing.assert_array_equal(GCWSHasher(20, random_state=one.seed_).fit_transform(X), one.transform(X))
    states = [np.random.RandomState(3) for _ in range(2)]
    assert len({GCWSHasher(20, random_state=state).fit(X).seed_ for state in states}) == 1


def test_first_hashes_do_not_depend_on_their_number() -> None:
    small, large = GCWSHasher(20, random_state=0).fit_transform(X), GCWSHasher(50, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(small, large[:, :20])


def test_set_output_and_feature_names() -> None:
    hasher = GCWSHasher(3, random_state=0).set_output(transform="pandas").fit(X)
    frame = hasher.transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["gcwshasher0", "gcwshasher1", "gcwshasher2"]
    assert all(frame.dtypes == np.uint8)
    assert isinstance(hasher.set_output(transform="polars").transform(X), pl.DataFrame)
    assert len(GCWSHasher(3, bits=2, t_bits=1, output="onehot").fit(X).get_feature_names_out()) == 24
    with pytest.raises(ValueError, match="too many to name one by one"):
        GCWSHasher(3, bits=32, output="onehot").fit(X).get_feature_names_out()


def test_rounding_mode_of_the_thread_does_not_matter() -> None:
    """With p = 1e6 an error of one rounding in p ln u changes t* of many samples."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    expected = GCWSHasher(200, p=1e6, random_state=5).fit(X).samples(X)
    hasher = GCWSHasher(200, p=1e6, random_state=5).fit(X)
    nearest = library.fegetround()
    upward = 0x400000 if platform.machine() in ("aarch64", "arm64") else 0x800
    try:
        assert library.fesetround(upward) == 0
        found = hasher.samples(X)
    finally:
        library.fesetround(nearest)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_codes_depend_on_the_row_and_the_fit_alone(method: str) -> None:
    hasher = GCWSHasher(50, method=method, random_state=1, n_jobs=1).fit(X)
    codes = hasher.transform(X)
    order = RNG.permutation(len(X))
    np.testing.assert_array_equal(hasher.transform(X[order]), codes[order])
    np.testing.assert_array_equal(np.vstack([hasher.transform(X[r : r + 7]) for r in range(0, 60, 7)]), codes)
    np.testing.assert_array_equal(hasher.transform(sparse.csr_array(X)), codes)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(hasher)).transform(X), codes)
    for n_jobs in (2, 5):
        np.testing.assert_array_equal(clone(hasher).set_params(n_jobs=n_jobs).fit(X).transform(X), codes)


@pytest.mark.parametrize("method", METHODS)
def test_bad_input_is_named(method: str) -> None:
    hasher = GCWSHasher(4, method=method, random_state=0).fit(X)
    wrong = X.copy()
    wrong[7, 3] = np.nan
    with pytest.raises(ValueError, match=r"X\[7, 3\] is NaN"):
        hasher.transform(wrong)
    with pytest.raises(ValueError, match=r"X\[7, 3\] is NaN"):
        GCWSHasher(4, method=method).fit(wrong)
    with pytest.raises(ValueError, match="X has 11 features"):
        hasher.partial_fit(X[:, :11])
    codes = GCWSHasher(4, method=method, missing="zero", random_state=0).fit(wrong).transform(wrong)
    np.testing.assert_array_equal(codes[:7], hasher.transform(X[:7]))


def test_codes_of_different_methods_do_not_meet() -> None:
    rows = RNG.random((2, 30))
    all_codes = {m: GCWSHasher(4096, method=m, bits=8, random_state=0).fit_transform(rows) for m in METHODS}
    for method, codes in all_codes.items():
        for other, other_codes in all_codes.items():
            if method == other:
                continue
            with pytest.raises(ValueError, match=f"method='{method}' and method='{other}'"):
                estimate_similarity(codes, other_codes, bits=8)
            by_chance = np.mean(np.asarray(codes) == np.asarray(other_codes))
            assert abs(by_chance - 2.0**-8) < 4 * np.sqrt(2.0**-8 / codes.size)


def test_caps_are_the_largest_sizes_seen() -> None:
    hasher = GCWSHasher(4, method="rejection", random_state=0).fit([[1.0, -3.0], [0.5, 2.0]])
    np.testing.assert_array_equal(hasher.caps_, [1.0, 0.0, 2.0, 3.0])
    assert hasher.partial_fit([[-7.0, 1.0]]) is hasher
    np.testing.assert_array_equal(hasher.caps_, [1.0, 7.0, 2.0, 3.0])
    hasher.fit([[1.0, 1.0]])
    np.testing.assert_array_equal(hasher.caps_, [1.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("method", METHODS)
def test_partial_fit_over_a_stream_ends_where_fit_does(method: str) -> None:
    whole = GCWSHasher(40, method=method, random_state=5).fit(X)
    stream = GCWSHasher(40, method=method, random_state=5)
    for first in range(0, 60, 11):
        stream.partial_fit(X[first : first + 11])
    np.testing.assert_array_equal(stream.transform(X), whole.transform(X))
    assert stream.transform(X).origin == whole.transform(X).origin


def test_codes_of_lower_caps_are_not_compared_with_those_of_higher_ones() -> None:
    hasher = GCWSHasher(8, method="rejection", random_state=0).fit(X)
    before = hasher.transform(X)
    after = hasher.partial_fit(3 * X).transform(X)
    with pytest.raises(ValueError, match="caps="):
        estimate_similarity(before, after, bits=8)


def test_a_value_above_its_cap_is_named() -> None:
    hasher = GCWSHasher(8, method="rejection", random_state=0).fit([[1.0, -3.0], [0.5, 2.0]])
    with pytest.raises(ValueError, match=r"X\[1, 1\] is -4\.0 and its cap 3\.0; fit on such rows too"):
        hasher.transform([[1.0, -3.0], [0.5, -4.0]])
    with pytest.raises(ValueError, match=r"X\[1, 0\] is -0\.5 and its cap 0\.0"):
        hasher.transform(sparse.csr_array([[1.0, -3.0], [-0.5, 0.0]]))


def test_rows_clipped_to_the_caps_are_hashed() -> None:
    """The way out that the error names."""
    hasher = GCWSHasher(64, method="rejection", random_state=0).fit([[1.0, -3.0], [0.5, 2.0]])
    above = np.array([[9.0, -3.0], [-0.5, 2.0]])  # of column 0 no negative number has been seen
    clipped = np.clip(above, -hasher.caps_[1::2], hasher.caps_[::2])
    np.testing.assert_array_equal(hasher.transform(clipped), hasher.transform([[1.0, -3.0], [0.0, 2.0]]))


def test_many_trials_are_warned_of() -> None:
    rows = RNG.random((50, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = GCWSHasher(4, method="rejection").fit(rows)
    exact = np.mean(rows.max(axis=0).sum() / rows.sum(axis=1))
    assert few.expected_trials_ == pytest.approx(exact)
    with pytest.warns(UserWarning, match=r"needs [0-9.e+]+ trials for each hash.*use method='gcws'"):
        GCWSHasher(4, method="rejection", p=80).fit(rows)


def test_only_zeros_have_been_seen() -> None:
    hasher = GCWSHasher(4, method="rejection", random_state=0).fit(np.zeros((3, 2)))
    assert np.all(hasher.samples(np.zeros((1, 2)))[0] == -1)
    with pytest.raises(ValueError, match="its cap 0"):
        hasher.transform([[0.0, 1.0]])
