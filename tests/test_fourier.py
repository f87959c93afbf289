"""Random Fourier features: Theorem 5 of the paper, and what scikit-learn users expect."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from gcwsnet import RandomFourierFeatures, fourier, theory

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 12)) * RNG.choice([0, 1], (60, 12))
RHO = np.array([-1.0, -0.7, 0.0, 0.5, 0.9, 0.99])
GAMMAS = [0.1, 1.0, 10.0]


def at_cosines(rho: np.ndarray) -> np.ndarray:
    """A row, and rows of other lengths that have the cosines rho with it."""
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    others = rho[:, np.newaxis] * basis[0] + np.sqrt(1 - rho**2)[:, np.newaxis] * basis[1]
    return np.vstack([basis[0], others]) * np.linspace(0.1, 30, len(rho) + 1)[:, np.newaxis]


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [RandomFourierFeatures(n_components=16), RandomFourierFeatures(n_components=16, gamma=5.0, normalize=False)]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# Theorem 5


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("normalize", [True, False], ids=["NRFF", "RFF"])
def test_variance_over_many_fits(normalize: bool, gamma: float) -> None:
    """256 features, drawn 1200 times: five standard errors of a variance are 5 sqrt(2 / 1200) = 20%."""
    k, repetitions = 256, 1200
    rows = at_cosines(RHO)
    random = np.random.RandomState(4)
    estimates = np.empty((repetitions, len(RHO)))
    rff = RandomFourierFeatures(k, gamma=gamma, normalize=normalize, random_state=random)
    for i in range(repetitions):
        features = rff.fit(rows).transform(rows)
        estimates[i] = features[1:] @ features[0]
    variance = theory.nrff_variance if normalize else theory.rff_variance
    expected = variance(RHO, gamma, k)
    bias = 1 / k if normalize else 0
    error = np.abs(estimates.mean(axis=0) - theory.rbf_kernel(RHO, gamma))
    assert np.all(error <= 5 * np.sqrt(expected / repetitions) + bias)
    np.testing.assert_allclose(estimates.var(axis=0), expected, rtol=0.2)


def test_features_are_those_of_the_paper() -> None:
    rff = RandomFourierFeatures(40, gamma=3.0, normalize=False, random_state=0).fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    r = rff.random_weights_ / np.sqrt(3.0)
    paper = np.sqrt(2) * np.cos(np.sqrt(3.0) * (unit @ r) + rff.random_offset_)
    np.testing.assert_allclose(rff.transform(X), paper / np.sqrt(40), atol=1e-13)
    normalized = RandomFourierFeatures(40, gamma=3.0, random_state=0).fit_transform(X)
    np.testing.assert_allclose(normalized, paper / np.linalg.norm(paper, axis=1, keepdims=True), atol=1e-13)
    assert rff.random_weights_.shape == (12, 40)
    assert rff.random_offset_.min() > 0
    assert 2 * np.pi * 0.9 < rff.random_offset_.max() < 2 * np.pi


# Rows


def test_the_length_of_a_row_does_not_matter_however_large_or_small() -> None:
    rff = RandomFourierFeatures(30, random_state=0).fit(X)
    expected = rff.transform(X)
    for scale in (1e-300, 1e-30, 7.0, 1e300):
        np.testing.assert_allclose(rff.transform(X * scale), expected, atol=1e-12)
        np.testing.assert_allclose(rff.transform(sparse.csr_array(X * scale)), expected, atol=1e-12)
    for scale in (1e-37, 1e37):
        scaled = (X * scale).astype(np.float32)
        np.testing.assert_allclose(rff.transform(scaled), expected, atol=1e-5)
        np.testing.assert_allclose(rff.transform(sparse.csr_array(scaled)), expected, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("normalize", [True, False])
def test_a_row_of_zeros_is_the_origin(normalize: bool, form: Any) -> None:
    k, gamma = 2**16, 2.0
    rows = np.array([[0.0, 0.0], [3.0, -4.0], [0.0, -0.0]])
    features = RandomFourierFeatures(k, gamma=gamma, normalize=normalize, random_state=0).fit_transform(form(rows))
    np.testing.assert_array_equal(features[0], features[2])
    kernel = features @ features[0]
    assert abs(kernel[1] - np.exp(-gamma / 2)) <= 5 / np.sqrt(k)
    assert abs(kernel[0] - 1) <= (1e-12 if normalize else 5 / np.sqrt(k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalize", [True, False])
def test_dense_and_csr_and_any_cut_into_batches_agree(
    dtype: Any, normalize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BLAS sums in another order for one row than for many, and SciPy in yet another: last digits may differ."""
    Z = RNG.normal(size=(100, 70)).astype(dtype) * RNG.choice([0, 1], (100, 70)).astype(dtype)
    Z[::9] = 0
    atol = 1e-13 if dtype == np.float64 else 5e-6
    rff = RandomFourierFeatures(33, gamma=4.0, normalize=normalize, random_state=0).fit(Z)
    whole = rff.transform(Z)
    assert whole.dtype == dtype
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, np.asfortranarray):
        again = RandomFourierFeatures(33, gamma=4.0, normalize=normalize, random_state=0).fit(form(Z))
        np.testing.assert_array_equal(again.random_weights_, rff.random_weights_)
        np.testing.assert_array_equal(again.random_offset_, rff.random_offset_)
        np.testing.assert_allclose(again.transform(form(Z)), whole, rtol=0, atol=atol)
    for step in (1, 7, 99):
        for rows in (Z, sparse.csr_array(Z)):
            pieces = [rff.transform(rows[a : a + step]) for a in range(0, 100, step)]
            np.testing.assert_allclose(np.vstack(pieces), whole, rtol=0, atol=atol)
    for n_bytes in (1, 5000):
        monkeypatch.setattr(fourier, "BLOCK_BYTES", n_bytes)
        for rows in (Z, sparse.csr_array(Z)):
            np.testing.assert_allclose(rff.transform(rows), whole, rtol=0, atol=atol)


# scikit-learn


def test_set_output_and_feature_names() -> None:
    rff = RandomFourierFeatures(3, random_state=0).set_output(transform="pandas").fit(X)
    frame = rff.transform(X.astype(np.float32))
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == [f"randomfourierfeatures{j}" for j in range(3)]
    assert list(rff.get_feature_names_out()) == list(frame.columns)
    assert all(frame.dtypes == np.float32)
    assert isinstance(rff.set_output(transform="polars").transform(X), pl.DataFrame)
    assert isinstance(rff.transform(sparse.csr_array(X)), pl.DataFrame)


def test_random_state_chooses_the_draws() -> None:
    one, two = (RandomFourierFeatures(20).fit(X) for _ in range(2))
    assert not np.any(one.random_weights_ == two.random_weights_)
    one, two = (RandomFourierFeatures(20, random_state=np.random.RandomState(3)).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.random_weights_, two.random_weights_)


def test_draws_stay_as_they_are() -> None:
    """RandomState's streams are frozen: these numbers are the same with every NumPy."""
    rff = RandomFourierFeatures(2, gamma=4.0, random_state=0).fit([[1.0, 2.0]])
    weights = [[3.5281046919353452, 0.8003144167344466], [1.9574759682114784, 4.481786398402916]]
    np.testing.assert_allclose(rff.random_weights_, weights, rtol=1e-12)
    np.testing.assert_allclose(rff.random_offset_, [2.661901610522322, 4.058272401214204], rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"n_components": 0}, ValueError, "n_components must be from 1 to 1048576, got n_components=0"),
        ({"n_components": 2.5}, TypeError, "n_components must be an integer, got n_components=2.5"),
        ({"gamma": 0}, ValueError, "gamma must be from 1e-06 to 1e+06, got gamma=0"),
        ({"gamma": "scale"}, TypeError, "gamma must be a number, got gamma='scale'"),
        ({"normalize": "l2"}, TypeError, "normalize must be True or False, got normalize='l2'"),
    ],
    ids=str,
)
def test_parameter_out_of_its_range(parameters: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        RandomFourierFeatures(**parameters).fit(X)


def test_what_does_not_fit_in_memory_is_refused_beforehand() -> None:
    wide = sparse.csr_array((1, 2**31))
    with pytest.raises(MemoryError, match=r"the random weights of 2147483648 columns .* take 16\.0 TiB.*fewer columns"):
        RandomFourierFeatures().fit(wide)
    rff = RandomFourierFeatures(2**20).fit([[1.0]])
    many = np.broadcast_to(np.float32(1), (4_000_000, 1))
    with pytest.raises(MemoryError, match=r"4000000 rows with 1048576 components .* transform in batches"):
        rff.transform(many)
