"""The formulas of the paper: at their ends, against each other, and against what they describe, with fixed seeds.

Theorem 2 is compared with the hasher in tests/hashing/test_theorems.py, Theorems 3 and 4 with `CountSketch` in
tests/hashing/test_count_sketch_theorems.py, and Theorem 5 with `RandomFourierFeatures` in tests/test_fourier.py.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gcwsnet
from gcwsnet import theory


def assert_mean(values: np.ndarray, expected: float) -> None:
    """The mean of simulated values is `expected`, within five standard errors."""
    assert abs(values.mean() - expected) <= 5 * values.std() / np.sqrt(len(values))


def test_the_estimates_of_the_hasher_have_this_variance() -> None:
    X = [[1.0, 5.0, -2.0], [1.5, 4.0, 3.0]]
    J = gcwsnet.pgmm_kernel(X)[0, 1]
    k, repetitions = 8, 40_000
    codes = gcwsnet.GCWSHasher(k * repetitions, bits=2, random_state=0).fit_transform(X).reshape(2, repetitions, k)
    share = (codes[0] == codes[1]).mean(axis=1)
    assert_mean(share, theory.collision_probability(J, 2))
    estimates = (share - 1 / 4) / (1 - 1 / 4)
    assert estimates.var() == pytest.approx(theory.similarity_variance(J, 2, k), rel=0.05)  # seven standard errors


def test_inner_product_variance_takes_stacks_of_vectors() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 1, 5)), rng.normal(size=(2, 5))
    found = theory.inner_product_variance(x, y, [10, 20])
    assert found.shape == (3, 2)
    assert found[2, 1] == pytest.approx(theory.inner_product_variance(x[2, 0], y[1], 20))
    assert theory.inner_product_variance([0.1, 0.0], [0.1, 0.0], 7) == 0.0


def test_ratio_is_theorem_4_for_many_hashes() -> None:
    J, bits, m, k = np.array([0.0, 0.2, 0.8]), np.array([[2], [16]]), 3.0, 10**9
    P = theory.collision_probability(J, bits)
    without = P * (1 - P) / k
    added = theory.count_sketch_variance(J, bits, k, 2.0**bits * k / m) - without
    np.testing.assert_allclose(theory.count_sketch_ratio(bits, J, m), added / without, rtol=1e-6)


def test_ratio_at_the_ends() -> None:
    assert theory.count_sketch_ratio(8, 1.0, 16) == np.inf
    assert theory.count_sketch_ratio(32, 0.0, 1) == pytest.approx(1.0)
    assert theory.count_sketch_ratio(1, 0.0, 2) == pytest.approx(2 * (1 + 1 / 4) / (1 / 2))


def test_variances_of_theorem_5_as_they_are_written() -> None:
    rho, gamma = np.linspace(-1, 1, 21), np.array([[0.0], [0.1], [1.0], [10.0]])
    V = 1 / 2 + (1 - np.exp(-2 * gamma * (1 - rho))) ** 2 / 2
    V_n = V - np.exp(-2 * gamma * (1 - rho)) * (3 - np.exp(-4 * gamma * (1 - rho))) / 4
    np.testing.assert_allclose(theory.rff_variance(rho, gamma), V, rtol=1e-12)
    np.testing.assert_allclose(theory.nrff_variance(rho, gamma), V_n, rtol=1e-9, atol=1e-15)
    assert np.all(theory.nrff_variance(rho, gamma) <= theory.rff_variance(rho, gamma))
    np.testing.assert_allclose(theory.nrff_variance(rho, gamma, 64) * 64, theory.nrff_variance(rho, gamma))


def test_random_fourier_features_at_the_ends() -> None:
    for rho, gamma in ((1.0, 5.0), (0.3, 0.0), (1.0, 0.0)):
        assert theory.rbf_kernel(rho, gamma) == 1.0
        assert theory.rff_variance(rho, gamma) == 0.5
        assert theory.nrff_variance(rho, gamma) == 0.0
    assert theory.nrff_variance(1 - 1e-9, 1.0) == pytest.approx(5e-18, rel=1e-6)
    assert theory.rbf_kernel(-1.0, 1e6) == 0.0
    assert theory.rff_variance(-1.0, 1e6) == theory.nrff_variance(-1.0, 1e6) == 1.0


@pytest.mark.parametrize("degrees_of_freedom", [np.inf, 2.5])
@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.9])
def test_gmm_kernel_of_elliptical_data_has_this_limit(rho: float, degrees_of_freedom: float) -> None:
    """30 pairs of rows with 20,000 columns of a normal or a t distribution; the bias is of the order of 1 / columns."""
    rng = np.random.default_rng(3)
    found = np.empty(30)
    for i in range(len(found)):
        u, noise = rng.standard_normal((2, 20_000))
        v = rho * u + np.sqrt(1 - rho**2) * noise
        if np.isfinite(degrees_of_freedom):
            common = np.sqrt(degrees_of_freedom / rng.chisquare(degrees_of_freedom, len(u)))
            u, v = u * common, v * common
        found[i] = gcwsnet.gmm_kernel(u, v)
    assert found.std() < 0.01
    assert_mean(found, theory.gmm_limit(rho))


def test_gmm_limit_at_the_ends() -> None:
    assert theory.gmm_limit(1.0) == 1.0
    assert theory.gmm_limit(-1.0) == 0.0
    assert theory.gmm_limit(-1 + 2.0**-50) == pytest.approx(2.0**-53, rel=1e-12)
    rho = np.linspace(-1, 1, 101)
    s = np.sqrt((1 - rho) / 2)
    np.testing.assert_allclose(theory.gmm_limit(rho), (1 - s) / (1 + s), atol=1e-15)


CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "collision_probability": (theory.collision_probability, {"J": 0.3, "bits": 8}),
    "similarity_variance": (theory.similarity_variance, {"J": 0.3, "bits": 8, "n_hashes": 64}),
    "count_sketch_variance": (theory.count_sketch_variance, {"J": 0.3, "bits": 8, "n_hashes": 64, "n_bins": 256}),
    "count_sketch_ratio": (theory.count_sketch_ratio, {"bits": 8, "J": 0.3, "m": 16}),
    "rbf_kernel": (theory.rbf_kernel, {"rho": 0.3, "gamma": 2.0}),
    "rff_variance": (theory.rff_variance, {"rho": 0.3, "gamma": 2.0, "n_components": 64}),
    "nrff_variance": (theory.nrff_variance, {"rho": 0.3, "gamma": 2.0, "n_components": 64}),
    "gmm_limit": (theory.gmm_limit, {"rho": 0.3}),
}


def test_every_formula_is_called_here() -> None:
    assert set(CALLS) | {"inner_product_variance"} == set(theory.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_numbers_give_a_float_and_arrays_are_broadcast(name: str) -> None:
    function, arguments = CALLS[name]
    one = function(**arguments)
    assert type(one) is float
    for dtype in (np.float64, np.float32):
        arrays = {
            key: np.full((3, *[1] * i), value, dtype=dtype if isinstance(value, float) else np.int32)
            for i, (key, value) in enumerate(arguments.items())
        }
        found = function(**arrays)
        assert found.dtype == np.float64
        assert found.shape == (3,) * len(arguments)
        np.testing.assert_allclose(found, one, rtol=1e-6)
    assert function(**{key: [value] for key, value in arguments.items()}).shape == (1,)


@pytest.mark.parametrize(
    ("name", "changed", "error", "words"),
    [
        ("collision_probability", {"J": 1.5}, ValueError, "J must be from 0 to 1, got J=1.5; clip an estimate"),
        ("collision_probability", {"J": [0.5, -0.1]}, ValueError, r"J must be from 0 to 1, got J\[1\]=-0.1;"),
        ("collision_probability", {"J": np.nan}, ValueError, "J must be from 0 to 1, got J=nan"),
        ("collision_probability", {"J": "0.5"}, TypeError, "J must be a number or an array of such, got J='0.5'"),
        ("collision_probability", {"J": [True]}, TypeError, "J must be a number .* got an array of the type bool"),
        ("collision_probability", {"bits": 0}, ValueError, "bits must be from 1 to 32, got bits=0"),
        ("collision_probability", {"bits": 8.0}, TypeError, "bits must be an integer .* got bits=8.0"),
        ("similarity_variance", {"n_hashes": 0}, ValueError, "n_hashes must be finite and at least 1, got n_hashes=0"),
        ("count_sketch_variance", {"n_bins": 0.5}, ValueError, "n_bins must be finite and at least 1, got n_bins=0.5"),
        ("count_sketch_ratio", {"m": 0}, ValueError, "m must be finite and above 0, got m=0"),
        ("rff_variance", {"rho": -1.1}, ValueError, "rho must be from -1 to 1, got rho=-1.1; clip an estimate"),
        ("rbf_kernel", {"gamma": -1}, ValueError, "gamma must be finite and at least 0, got gamma=-1"),
        ("gmm_limit", {"rho": 1 + 1j}, TypeError, "rho must be a number"),
    ],
)
def test_arguments_out_of_range_are_named(name: str, changed: dict[str, Any], error: type, words: str) -> None:
    function, arguments = CALLS[name]
    with pytest.raises(error, match=words):
        function(**{**arguments, **changed})


@pytest.mark.parametrize(
    ("x", "y", "rest", "words"),
    [
        ([1.0, 2.0], [1.0], {}, r"vectors of one length, got the shapes \(2,\) and \(1,\)"),
        (1.0, [1.0], {}, r"vectors of one length, got the shapes \(\) and \(1,\)"),
        ([1.0, np.inf], [1.0, 2.0], {}, r"x must be finite, got x\[1\]=inf"),
        ([1.0], [1.0], {"fourth_moment": 0.5}, "fourth_moment must be finite and at least 1, got fourth_moment=0.5"),
    ],
)
def test_bad_vectors_are_named(x: Any, y: Any, rest: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        theory.inner_product_variance(x, y, 10, **rest)


def test_theory_is_there_after_a_plain_import_and_needs_only_numpy() -> None:
    program = (
        "import sys, gcwsnet\n"
        "assert 'numpy' not in sys.modules and 'gcwsnet.theory' not in sys.modules\n"
        "assert gcwsnet.theory.collision_probability(0.5, 1) == 0.75\n"
        "assert not {'sklearn', 'scipy', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
