"""Theorems 3 and 4 of the paper: inner products of sketches have the mean and the variance of `gcwsnet.theory`.

50,000 to 100,000 trials: the standard error of a mean square is at most 1.2% of it for the laws here, so that 5% is
four of them. Means are bounded by four standard errors. Trials with the same seed have positions of their own, but for
few, so that they are as good as independent.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from gcwsnet import CountSketch, GCWSHasher, pgmm_kernel, theory
from gcwsnet._keys import SKETCH, keys
from gcwsnet.hashing import _count_sketch
from gcwsnet.hashing._count_sketch import bins_and_signs

Floats = NDArray[np.float64]
Signs = Callable[[int, Any, int], tuple[NDArray[np.uint64], Any]]


def holds(products: Floats, mean: float, variance: float) -> bool:
    right_mean = abs(products.mean() - mean) <= 4 * np.sqrt(variance / len(products))
    return bool(right_mean and abs(np.mean((products - mean) ** 2) / variance - 1) <= 0.05)


def inner_products(Z: Any, W: Any) -> Floats:
    """Of each row of Z with the same row of W."""
    return np.asarray(Z.astype(np.float64).multiply(W.astype(np.float64)).sum(axis=1), dtype=np.float64).reshape(-1)


def gaussian_signs(seed: int, positions: Any, n_bins: int) -> tuple[NDArray[np.uint64], Any]:
    """Mean 0, variance 1 and third moment 0 like signs, but the fourth moment s is 3."""
    low, _ = keys(seed, SKETCH, positions)
    return bins_and_signs(seed, positions, n_bins)[0], ndtri((low + 0.5) / 2**32)


def no_signs(seed: int, positions: Any, n_bins: int) -> tuple[NDArray[np.uint64], Any]:
    bins, signs = bins_and_signs(seed, positions, n_bins)
    return bins, np.ones_like(signs)


def signs_that_follow_bins(seed: int, positions: Any, n_bins: int) -> tuple[NDArray[np.uint64], Any]:
    bins, _ = bins_and_signs(seed, positions, n_bins)
    return bins, 1 - 2 * (bins % np.uint64(2)).astype(np.int8)


WRONG_SIGNS = [gaussian_signs, no_signs, signs_that_follow_bins]

RNG = np.random.default_rng(0)
VECTORS = {
    "real": (RNG.normal(size=16), RNG.normal(size=16)),
    "alike": (np.arange(1.0, 9.0), np.arange(1.0, 9.0) + RNG.normal(size=8)),
    "sparse": (RNG.normal(size=40) * (RNG.random(40) < 0.3), RNG.lognormal(size=40) * (RNG.random(40) < 0.3)),
}


def products_of_sketches(x: Floats, y: Floats, n_bins: int, n_seeds: int = 50, n_blocks: int = 2000) -> Floats:
    """Inner products of sketches of x and y, at n_blocks places of a long vector for each seed."""
    X, Y = (sparse.kron(sparse.eye_array(n_blocks), sparse.csr_array(v[np.newaxis]), format="csr") for v in (x, y))
    sketches = [CountSketch(n_bins=n_bins, random_state=seed).fit(X) for seed in range(n_seeds)]
    return np.concatenate([inner_products(sketch.transform(X), sketch.transform(Y)) for sketch in sketches])


@pytest.mark.parametrize("n_bins", [4, 100])
@pytest.mark.parametrize("name", VECTORS)
def test_theorem_3(name: str, n_bins: int) -> None:
    x, y = VECTORS[name]
    assert holds(products_of_sketches(x, y, n_bins), float(x @ y), theory.inner_product_variance(x, y, n_bins))


@pytest.mark.parametrize("signs", [bins_and_signs, *WRONG_SIGNS])
def test_theorem_3_holds_with_fair_signs_only(signs: Signs, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = VECTORS["alike"]
    monkeypatch.setattr(_count_sketch, "bins_and_signs", signs)
    products = products_of_sketches(x, y, n_bins=100)
    for fourth_moment, right in ((1.0, bins_and_signs), (3.0, gaussian_signs)):
        variance = theory.inner_product_variance(x, y, 100, fourth_moment=fourth_moment)
        assert holds(products, float(x @ y), variance) == (signs is right)


PAIR = np.exp(np.random.default_rng(1).normal(size=(2, 12)) * [[1.0], [0.4]])
PAIR[1] *= PAIR[0]
PAIR[1, 0] *= -1
J = float(pgmm_kernel(PAIR)[0, 1])


def gcws_codes(bits: int, k: int, seed: int) -> NDArray[Any]:
    """Codes of one pair of rows, again and again, each time with hashes of their own: shape (2, trials, k)."""
    n_trials = 2000
    codes = GCWSHasher(n_trials * k, bits=bits, random_state=seed).fit_transform(PAIR)
    return np.asarray(codes).reshape(2, n_trials, k)


@pytest.mark.parametrize(
    ("bits", "k", "reduction", "n_bins"),
    [(8, 16, 16, 256), (16, 4, 2**14, 16), (10, 8, 2**8, 32), (12, 8, "8bit", 2048)],
)
def test_theorem_4_of_gcws(bits: int, k: int, reduction: Any, n_bins: int) -> None:
    products = []
    for seed in range(50):
        u, v = gcws_codes(bits, k, seed)
        sketch = CountSketch(reduction, bits=bits, random_state=seed).fit(u)
        products.append(inner_products(sketch.transform(u), sketch.transform(v)))
    shares, P = np.concatenate(products) / k, theory.collision_probability(J, bits)
    assert holds(shares, P, theory.count_sketch_variance(J, bits, k, n_bins))
