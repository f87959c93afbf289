"""GCWSHasher(method=...): every sampler as a user meets it, with its law."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel
from gcwsnet.hashing._caps import column_caps
from gcwsnet.hashing.samplers import bins_of_columns, binwise, donors, extremal, rejection

METHODS = ["gcws", "rejection", "binwise", "extremal", "minwise"]
OTHERS = METHODS[1:]
WITH_POWERS = ["rejection", "binwise", "extremal"]
K = 16_384
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 12)) * RNG.choice([0, 1], (60, 12))


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [GCWSHasher(n_hashes=16, method=method) for method in OTHERS]
)
@pytest.mark.filterwarnings("ignore:method='rejection' needs")
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def reference(method: str, rows: np.ndarray, k: int, p: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if method == "rejection":
        return rejection(rows, k, caps=column_caps(rows), p=p, seed=seed)
    return {"binwise": binwise, "extremal": extremal}[method](rows, k, p=p, seed=seed)


@pytest.mark.parametrize("method", WITH_POWERS)
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_samples_are_those_of_the_reference(method: str, p: float) -> None:
    expected = reference(method, X, 40, p, 3)
    hasher = GCWSHasher(40, p=p, method=method, random_state=3).fit(X)
    for form in (X, sparse.csr_array(X), sparse.csr_matrix(X.astype(np.float64))):
        for found, wanted in zip(hasher.samples(form), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


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


def rows_of_any_likeness() -> np.ndarray:
    rng = np.random.default_rng(5)
    L = rng.normal(0, 0.8, 40)
    rows = np.exp(np.array([L + rng.normal(0, noise, 40) for noise in (0, 0.05, 0.2, 0.6, 1.5)]))
    rows *= rng.choice([-1, 1], 40)
    rows[2:, :5] *= -1
    rows[3:, 6:12] = 0
    return rows


@pytest.mark.parametrize("method", ["gcws", "rejection", "extremal"])
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_theorems_1_and_2_hold_for_the_exact_methods(method: str, p: float) -> None:
    """Within four standard errors, and a kernel of another power is not."""
    rows = rows_of_any_likeness()
    J = pgmm_kernel(rows[:1], rows, p=p)[0]
    hasher = GCWSHasher(K, p=p, bits=16, method=method, random_state=2).fit(rows)
    i_star, t_star = hasher.samples(rows)
    share = ((i_star == i_star[0]) & (t_star == t_star[0])).mean(axis=1)
    bound = 4 * np.sqrt(J * (1 - J) / K)
    assert np.all(np.abs(share - J) <= bound)
    codes = hasher.transform(rows)
    assert np.all(np.abs(estimate_similarity(codes[0], codes, bits=16) - J) <= bound + 2.0**-15)
    assert np.any(np.abs(share - pgmm_kernel(rows[:1], rows, p=1.2 * p)[0]) > bound)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_binwise_estimates_the_mean_of_the_kernels_of_its_bins(p: float) -> None:
    """Given the bins, hashes are independent, each with the kernel of its bin or donor: four standard errors."""
    rng = np.random.default_rng(6)
    D, k = 3000, 500
    a = rng.lognormal(0, 3, D)
    b = a * np.exp(rng.normal(0, 0.5, D))

    def law(seed: int, power: float) -> np.ndarray:
        bins = bins_of_columns(seed, np.arange(D), k)
        powered = np.stack([a, b]) ** power
        least, most = (np.bincount(bins, side, k) for side in (powered.min(axis=0), powered.max(axis=0)))
        return (least / np.maximum(most, 1e-300))[donors(seed, most > 0)]

    hashers = [GCWSHasher(k, p=p, bits=16, method="binwise", random_state=seed) for seed in range(40)]
    share = np.mean([estimate_similarity(*hasher.fit_transform([a, b]), bits=16) for hasher in hashers])
    expected = np.array([law(seed, p) for seed in range(40)])
    bound = 4 * np.sqrt(np.sum(expected * (1 - expected))) / expected.size
    assert abs(share - expected.mean()) <= bound
    assert abs(share - np.mean([law(seed, 1.2 * p) for seed in range(40)])) > bound
    if p >= 1:
        assert abs(share - pgmm_kernel([a], [b], p=p)[0, 0]) > bound  # it is not the pGMM kernel


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_extremal_codes_of_i_alone_have_their_own_law(p: float) -> None:
    rows = np.abs(rows_of_any_likeness())[:4]
    u = rows**p
    codes = GCWSHasher(K, p=p, bits=16, t_bits=0, method="extremal", random_state=4).fit_transform(rows)
    for v, of_v in zip(u[1:], codes[1:], strict=True):
        least, most = np.minimum(u[0], v), np.maximum(u[0], v)
        total = np.where(u[0] < v, u[0].sum(), v.sum())
        law = (least.sum() + np.sum((most - least) * least / total)) / most.sum()
        bound = 4 * np.sqrt(law * (1 - law) / K) + 2.0**-15
        assert abs(np.mean(codes[0] == of_v) - law) <= bound


@pytest.mark.filterwarnings("ignore:method='rejection' needs")
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_zeros_and_extreme_numbers(method: str) -> None:
    rows = np.array([[0.0, 0.0, 0.0], [1e-300, -1e300, 1.0], [5e-324, 0.0, 1e308]])
    hasher = GCWSHasher(30, method=method, random_state=0).fit(rows)
    i_star, t_star = hasher.samples(rows)
    assert np.all(i_star[0] == -1)
    assert np.all(t_star[0] == 0)
    assert np.all((i_star[1:] >= 0) & (i_star[1:] < 6))


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


@pytest.mark.filterwarnings("ignore:method='rejection' needs")
def test_the_law_holds_where_rows_fall_back() -> None:
    """One far larger row: after 1024 trials most hashes have none, and GCWS steps in."""
    rows = RNG.random((3, 30))
    hasher = GCWSHasher(K, bits=16, method="rejection", random_state=1).fit(np.vstack([rows, 1e6 + rows]))
    codes = hasher.transform(rows)
    J = pgmm_kernel(rows)
    error = np.abs(estimate_similarity(codes, codes, bits=16) - J)
    assert np.all(error <= 4 * np.sqrt(J * (1 - J) / K) + 2.0**-15)
    assert np.mean(hasher.samples(rows)[1] < 0) > 0.9


def test_only_zeros_have_been_seen() -> None:
    hasher = GCWSHasher(4, method="rejection", random_state=0).fit(np.zeros((3, 2)))
    assert np.all(hasher.samples(np.zeros((1, 2)))[0] == -1)
    with pytest.raises(ValueError, match="its cap 0"):
        hasher.transform([[0.0, 1.0]])


@pytest.mark.parametrize(("name", "value"), [("method", "minhash"), ("method", None), ("missing", "drop")])
def test_unknown_choices_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be one of .*got {name}={value!r}"):
        GCWSHasher(**{name: value}).fit(X)
