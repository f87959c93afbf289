"""M-Noise1 to M-Noise6, rebuilt: the law of the background, the overlay, and that all of it is repeatable."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from gcwsnet.datasets import _mnist_noise, make_mnist_noise

LEVELS = range(1, 7)
G = {1: 1.0, 2: 0.8, 3: 0.6, 4: 0.4, 5: 0.2, 6: 0.0}
N = 2000
BLANK = (np.zeros((N + 1, 784), dtype=np.uint8), np.arange(N + 1))


@lru_cache
def backgrounds(level: int) -> NDArray[Any]:
    """Pictures of nothing but background, shape (N, 28, 28)."""
    X: NDArray[Any] = make_mnist_noise(level, digits=BLANK, n_train=N, n_test=1).X_train
    return X.reshape(N, 28, 28)


@lru_cache
def pool(n: int = 60) -> tuple[NDArray[Any], NDArray[Any]]:
    """Digits of random pixels, half of them zero; the label of a digit is its row."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (n, 784), dtype=np.uint8) * rng.integers(0, 2, (n, 784), dtype=np.uint8), np.arange(n)


def few(level: int = 1, **changed: Any) -> Bunch:
    return make_mnist_noise(level, **{"digits": pool(), "n_train": 30, "n_test": 20, **changed})


def same(a: Bunch, b: Bunch) -> bool:
    return all(np.array_equal(a[key], b[key]) for key in ("X_train", "y_train", "X_test", "y_test"))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("pixel", [(0, 0), (13, 14), (27, 3)])
def test_each_pixel_is_uniform(level: int, pixel: tuple[int, int]) -> None:
    """Of 18 tests with a fixed seed, none has a p-value of 1e-3 or less."""
    assert kstest(backgrounds(level)[:, pixel[0], pixel[1]], "uniform").pvalue > 1e-3


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", [(0, 1), (1, 0), (1, 1), (3, 2), (0, 6)])
def test_pixels_are_correlated_as_the_formula_says(level: int, step: tuple[int, int]) -> None:
    """The correlation of Phi(x) and Phi(y) is 6 / pi asin(rho / 2) where that of the Gaussians x and y is rho.

    Uniform pixels u, v have the correlation E[12 (u - 1/2) (v - 1/2)]: the mean over a picture is one observation, and
    the mean over pictures may be five standard errors off.
    """
    down, right = step
    U = 2 * np.sqrt(3) * (backgrounds(level).astype(np.float64) - 0.5)
    found = np.mean(U[:, down:, right:] * U[:, : 28 - down, : 28 - right], axis=(1, 2))
    rho = G[level] * np.exp(-(down**2 + right**2) / 12)
    assert abs(found.mean() - 6 / np.pi * np.arcsin(rho / 2)) < 5 * found.std() / np.sqrt(N)


def test_the_root_is_that_of_the_whole_kernel() -> None:
    y, x = np.divmod(np.arange(784), 28)
    K = np.exp(-(np.subtract.outer(y, y) ** 2 + np.subtract.outer(x, x) ** 2) / 12)
    L = np.kron(_mnist_noise.ROOT, _mnist_noise.ROOT)
    assert np.abs(L @ L.T - K).max() < 1e-13
    Z = np.random.default_rng(0).normal(size=(3, 28, 28))
    assert np.allclose(_mnist_noise._times(_mnist_noise.ROOT, Z), _mnist_noise.ROOT @ Z, atol=1e-12, rtol=0)


@pytest.mark.parametrize("level", LEVELS)
def test_a_pixel_is_the_larger_one_of_digit_and_background(level: int) -> None:
    X, y = pool()
    found, background = few(level), few(level, digits=(np.zeros_like(X), y))
    for part in ("train", "test"):
        digit = X[found[f"y_{part}"]] / 256
        assert np.array_equal(found[f"X_{part}"], np.maximum(digit, background[f"X_{part}"]))
        assert (found[f"X_{part}"] > digit).any()
        assert (found[f"X_{part}"] > background[f"X_{part}"]).any()


def test_no_digit_is_drawn_twice() -> None:
    found = few(n_train=37, n_test=23)
    assert sorted([*found.y_train, *found.y_test]) == list(range(60))
    assert found.y_train.tolist() != sorted(found.y_train)


def test_a_seed_gives_the_same_rows_every_time() -> None:
    assert same(few(), few(random_state=0))
    assert same(few(random_state=7), few(random_state=np.random.RandomState(7)))
    assert not same(few(), few(random_state=1))
    assert not same(few(random_state=None), few(random_state=None))


def test_rows_do_not_depend_on_threads_or_batches_or_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    found = few()
    with threadpool_limits(1):
        assert same(few(), found)
    shorter = few(n_train=10, n_test=5)
    assert np.array_equal(shorter.X_train, found.X_train[:10])
    assert np.array_equal(shorter.X_test, found.X_train[10:15])
    monkeypatch.setattr(_mnist_noise, "ROWS_AT_ONCE", 7)
    assert same(few(), found)


def test_all_levels_have_the_same_digits() -> None:
    for level in LEVELS:
        assert np.array_equal(few(level).y_train, few(1).y_train)


GOLDEN = {
    1: [0.514959, 0.444718, 0.382821, 0.079949, 0.236880],
    2: [0.574392, 0.622138, 0.513399, 0.359909, 0.262798],
    3: [0.597496, 0.694318, 0.576779, 0.572136, 0.292390],
    4: [0.614281, 0.747386, 0.629846, 0.747648, 0.328998],
    5: [0.627340, 0.790661, 0.679787, 0.878629, 0.378900],
    6: [0.634728, 0.834893, 0.748978, 0.977718, 0.505352],
}


@pytest.mark.parametrize("level", LEVELS)
def test_the_rows_of_seed_0_never_change(level: int) -> None:
    """Up to the rounding of the logarithm and of the normal distribution function, which are the system's."""
    found = make_mnist_noise(level, digits=(BLANK[0][:5], BLANK[1][:5]), n_train=3, n_test=2)
    assert found.y_train.tolist() == [2, 0, 1]
    assert np.allclose(found.X_test[1, [0, 1, 28, 400, 783]], GOLDEN[level], atol=1e-6, rtol=0)


def test_the_result_says_that_it_is_rebuilt() -> None:
    found = few(4)
    assert (found.name, found.origin) == ("m-noise4", "rebuilt")
    assert "0.4 exp(-d^2 / 12)" in found.DESCR
    assert "not the files of Larochelle" in found.DESCR
    assert (found.X_train.dtype, found.X_test.dtype) == (np.float32, np.float32)
    assert (found.y_train.dtype, found.y_test.dtype) == (np.int64, np.int64)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
def test_pixels_may_have_any_type(dtype: str) -> None:
    X, y = pool()
    assert same(few(digits=(X.astype(dtype), y.tolist())), few())


X, y = pool()
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"level": 0}, ValueError, "level must be from 1 to 6, got level=0"),
    ({"level": 7}, ValueError, "level must be from 1 to 6, got level=7"),
    ({"level": 1.0}, TypeError, "level must be an integer, got level=1.0"),
    ({"n_train": 0}, ValueError, "n_train must be from 1 to"),
    ({"n_test": "many"}, TypeError, "n_test must be an integer"),
    ({"n_train": 41}, ValueError, r"n_train \+ n_test must be at most 60, .* got 41 \+ 20"),
    ({"digits": X}, TypeError, "digits must be a tuple of X and y, got ndarray"),
    ({"digits": (X, y, y)}, TypeError, "digits must be a tuple of X and y"),
    ({"digits": (X[:, 1:], y)}, ValueError, r"X of digits must be .* \(n, 784\), got uint8 of shape \(60, 783\)"),
    ({"digits": (X.reshape(60, 28, 28), y)}, ValueError, r"got uint8 of shape \(60, 28, 28\)"),
    ({"digits": (X.astype(str), y)}, ValueError, r"real numbers of shape \(n, 784\), got <U3"),
    ({"digits": (X, y[1:])}, ValueError, r"y of digits must be 60 integers, got int64 of shape \(59,\)"),
    ({"digits": (X, y / 2)}, ValueError, "y of digits must be 60 integers, got float64"),
    ({"digits": (X / 255, y)}, ValueError, "pixels from 0 to 255, got pixels from 0 to 1"),
    ({"digits": (X * 2.0, y)}, ValueError, "pixels from 0 to 255, got pixels from 0 to 510"),
    ({"digits": (X - 128.0, y)}, ValueError, "pixels from 0 to 255, got pixels from -128 to 127"),
    ({"digits": (np.where(X > 250, np.nan, X), y)}, ValueError, r"X of digits: X\[.* is NaN"),
    ({"random_state": "seed"}, ValueError, "seed"),
]


@pytest.mark.parametrize(("changed", "kind", "rule"), WRONG)
def test_a_wrong_argument_is_named(changed: dict[str, Any], kind: type[Exception], rule: str) -> None:
    with pytest.raises(kind, match=rule):
        few(**changed)
