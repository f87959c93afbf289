"""What holds for the samples of every further sampler, on all kinds of rows."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gcwsnet import gmm_transform
from gcwsnet.hashing._caps import column_caps
from gcwsnet.hashing.samplers import MAX_TRIALS, binwise, extremal, rejection
from tests.hashing.laws import Samples

EXTREMES = [0.0, -0.0, 5e-324, -1e-300, 1e-40, 1.0, -1.0, 1 - 2**-53, 1e300, -1.79e308]
Sampler = Callable[..., Samples]


def with_caps(X: np.ndarray, n_hashes: int, *, p: float, seed: int, caps_of: np.ndarray | None = None) -> Samples:
    """Rejection sampling under the caps of X, or of other rows."""
    return rejection(X, n_hashes, p=p, seed=seed, caps=column_caps(X if caps_of is None else caps_of))


def without_caps(sampler: Sampler) -> Sampler:
    """A sampler that is not fitted to data, with the signature of `with_caps`."""

    def sample(X: np.ndarray, n_hashes: int, *, p: float, seed: int, caps_of: np.ndarray | None = None) -> Samples:
        del caps_of
        return sampler(X, n_hashes, p=p, seed=seed)

    return sample


every_sampler = pytest.mark.parametrize(
    ("sample", "least_t", "most_t"),
    [
        pytest.param(with_caps, -(2**23), MAX_TRIALS - 1, id="rejection"),
        pytest.param(without_caps(binwise), -(2**63), 2**63 - 1, id="binwise"),
        pytest.param(without_caps(extremal), -(2**23), 2**23 - 1, id="extremal"),
    ],
)


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    numbers = st.one_of(st.floats(-10, 10), st.sampled_from(EXTREMES), st.floats(allow_nan=False, allow_infinity=False))
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 16)))
    return draw(hnp.arrays(np.float64, shape, elements=numbers, fill=st.sampled_from([0.0, 1.0, -2.0])))


@every_sampler
@given(
    X=matrices(), k=st.integers(1, 12), p=st.sampled_from([1e-6, 0.01, 1.0, 80.0, 1e6]), seed=st.integers(0, 2**64 - 1)
)
@settings(max_examples=60)
def test_samples_are_features_of_the_row_and_numbers_that_can_be_encoded(
    sample: Sampler, least_t: int, most_t: int, X: np.ndarray, k: int, p: float, seed: int
) -> None:
    i_star, t_star = sample(X, k, p=p, seed=seed)
    u = gmm_transform(X)
    for row in range(len(X)):
        if not u[row].any():
            assert i_star[row].tolist() == [-1] * k
            assert t_star[row].tolist() == [0] * k
        else:
            assert np.all(u[row, i_star[row]] > 0)
    assert np.all((least_t <= t_star) & (t_star <= most_t))
    np.testing.assert_array_equal(t_star.astype(np.float32).astype(np.int64), t_star)


@every_sampler
@given(X=matrices(), k=st.integers(1, 12), p=st.sampled_from([0.01, 1.0, 80.0]))
@settings(max_examples=40)
def test_neither_other_rows_nor_columns_of_zeros_nor_the_type_matter(
    sample: Sampler, least_t: int, most_t: int, X: np.ndarray, k: int, p: float
) -> None:
    del least_t, most_t
    whole = sample(X, k, p=p, seed=1)
    wider = sample(np.hstack([X, np.zeros((len(X), 3))]), k, p=p, seed=1)
    alone = sample(X[-1:], k, p=p, seed=1, caps_of=X)
    for a, b, c in zip(whole, wider, alone, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a[-1:], c)
    with np.errstate(over="ignore", under="ignore"):
        narrow = X.astype(np.float32)
    narrow[~np.isfinite(narrow)] = 0
    from_float32, from_float64 = (sample(form, k, p=p, seed=1) for form in (narrow, narrow.astype(np.float64)))
    np.testing.assert_array_equal(from_float32, from_float64)


@every_sampler
@given(
    X=matrices(), k=st.integers(1, 12), p=st.sampled_from([0.01, 1.0, 80.0]), factor=st.floats(1, 100), data=st.data()
)
@settings(max_examples=40)
def test_a_larger_number_takes_samples_over_and_changes_no_other(
    sample: Sampler, least_t: int, most_t: int, X: np.ndarray, k: int, p: float, factor: float, data: st.DataObject
) -> None:
    del least_t, most_t
    column = data.draw(st.integers(0, X.shape[1] - 1))
    raised = X[:1].copy()
    largest = np.finfo(np.float64).max
    raised[0, column] = np.clip(float(X[0, column]) * factor, -largest, largest)
    both = np.vstack([X, raised])
    (i, t), (new_i, new_t) = (sample(Z, k, p=p, seed=2, caps_of=both) for Z in (X[:1], raised))
    same = (i == new_i) & (t == new_t)
    assert np.all(same | (new_i == 2 * column + (raised[0, column] < 0)))
    if sample is with_caps:  # a larger number accepts the same trial or an earlier one
        assert np.all((new_t <= t)[(t >= 0) & (new_t >= 0)])
