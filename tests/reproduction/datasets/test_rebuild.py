"""M-Noise1 to M-Noise6 and M-Image, rebuilt: their backgrounds, the overlay, and the same rows for the same seed."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.utils import Bunch

from reproduction.datasets import make_mnist_image, make_mnist_noise

LEVELS = range(1, 7)
G = {1: 1.0, 2: 0.8, 3: 0.6, 4: 0.4, 5: 0.2, 6: 0.0}
N = 2000
BLANK = (np.zeros((N + 1, 784), dtype=np.uint8), np.arange(N + 1))


@lru_cache
def random_digits(n: int = 600) -> tuple[NDArray[Any], NDArray[Any]]:
    """Digits of random pixels, half of them zero; the label of a digit is its row."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (n, 784), dtype=np.uint8) * rng.integers(0, 2, (n, 784), dtype=np.uint8), np.arange(n)


@lru_cache
def photograph(seed: int = 0, height: int = 70, width: int = 110) -> NDArray[np.uint8]:
    """A photograph that is rough in the middle and smooth at the edges."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(height, width)) * 70 * np.sin(np.linspace(0, np.pi, width))
    return np.clip(128 + noise, 0, 255).astype(np.uint8)


PHOTOGRAPHS = [photograph(0), photograph(1)]


def small_noise(level: int = 1, **changed: Any) -> Bunch:
    return make_mnist_noise(level, **{"digits": random_digits(60), "n_train": 30, "n_test": 20, **changed})


def small_image(**changed: Any) -> Bunch:
    settings = {"digits": random_digits(), "photographs": PHOTOGRAPHS, "n_train": 50, "n_test": 120}
    return make_mnist_image(**{**settings, **changed})


BOTH = pytest.mark.parametrize("make", [small_noise, small_image])


def same(a: Bunch, b: Bunch) -> bool:
    return all(np.array_equal(a[key], b[key]) for key in ("X_train", "y_train", "X_test", "y_test"))


@BOTH
def test_a_seed_gives_the_same_rows_in_every_call(make: Callable[..., Bunch]) -> None:
    assert same(make(), make(random_state=0))
    assert same(make(random_state=7), make(random_state=np.random.RandomState(7)))
    assert not same(make(), make(random_state=1))
    assert not same(make(random_state=None), make(random_state=None))


@pytest.mark.parametrize("level", [*LEVELS, "image"])
def test_a_pixel_is_the_larger_one_of_digit_and_background(level: int | str) -> None:
    def make(digits: tuple[NDArray[Any], NDArray[Any]]) -> Bunch:
        return small_image(digits=digits) if level == "image" else small_noise(int(level), digits=digits)

    X, y = random_digits()
    found, background = make((X, y)), make((np.zeros_like(X), y))
    for part in ("train", "test"):
        digit = X[found[f"y_{part}"]] / 256
        assert np.array_equal(found[f"X_{part}"], np.maximum(digit, background[f"X_{part}"]))
        assert (found[f"X_{part}"] > digit).any()
        assert (found[f"X_{part}"] > background[f"X_{part}"]).any()


@lru_cache
def backgrounds(level: int) -> NDArray[Any]:
    """Images of nothing but background, shape (N, 28, 28)."""
    X: NDArray[Any] = make_mnist_noise(level, digits=BLANK, n_train=N, n_test=1).X_train
    return X.reshape(N, 28, 28)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", [(0, 1), (1, 0), (1, 1), (3, 2), (0, 6)])
def test_pixels_of_noise_have_the_correlation_of_the_formula(level: int, step: tuple[int, int]) -> None:
    """The correlation of Phi(x) and Phi(y) is 6 / pi asin(rho / 2) where that of the Gaussians x and y is rho.

    Uniform pixels u, v have the correlation E[12 (u - 1/2) (v - 1/2)]: the mean over an image is one observation, and
    the mean over images may be five standard errors off.
    """
    down, right = step
    U = 2 * np.sqrt(3) * (backgrounds(level).astype(np.float64) - 0.5)
    found = np.mean(U[:, down:, right:] * U[:, : 28 - down, : 28 - right], axis=(1, 2))
    rho = G[level] * np.exp(-(down**2 + right**2) / 12)
    assert abs(found.mean() - 6 / np.pi * np.arcsin(rho / 2)) < 5 * found.std() / np.sqrt(N)


GOLDEN = {
    1: [0.514959, 0.444718, 0.382821, 0.079949, 0.236880],
    2: [0.574392, 0.622138, 0.513399, 0.359909, 0.262798],
    3: [0.597496, 0.694318, 0.576779, 0.572136, 0.292390],
    4: [0.614281, 0.747386, 0.629846, 0.747648, 0.328998],
    5: [0.627340, 0.790661, 0.679787, 0.878629, 0.378900],
    6: [0.634728, 0.834893, 0.748978, 0.977718, 0.505352],
}


@pytest.mark.parametrize("level", LEVELS)
def test_the_noise_of_seed_0_never_changes(level: int) -> None:
    """Up to the rounding of the logarithm and of the normal distribution function, which are the system's."""
    found = make_mnist_noise(level, digits=(BLANK[0][:5], BLANK[1][:5]), n_train=3, n_test=2)
    assert found.y_train.tolist() == [2, 0, 1]
    assert np.allclose(found.X_test[1, [0, 1, 28, 400, 783]], GOLDEN[level], atol=1e-6, rtol=0)


@lru_cache
def places() -> dict[bytes, tuple[int, int, int]]:
    """Photograph, line and column of each patch, all of which are different."""
    found = {
        patch.tobytes(): (number, line, column)
        for number, picture in enumerate(PHOTOGRAPHS)
        for line, patches in enumerate(sliding_window_view(picture, (28, 28)))
        for column, patch in enumerate(patches)
    }
    assert len(found) == 2 * 43 * 83
    return found


def corner(row: NDArray[Any]) -> tuple[int, int, int]:
    """Photograph, line and column of the patch that a row is."""
    return places()[(row * 256).astype(np.uint8).tobytes()]


def test_backgrounds_are_patches_with_enough_variance_each_drawn_once() -> None:
    found = small_image(digits=BLANK)
    rows = [*found.X_train, *found.X_test]
    corners = [corner(row) for row in rows]
    assert len(set(corners)) == 170
    assert {number for number, _, _ in corners} == {0, 1}
    for row in rows:
        assert (256 * row.astype(np.float64)).std() >= 45


def test_the_images_of_seed_0_never_change() -> None:
    line, column = np.mgrid[:60, :80]
    picture = ((line * line * 7 + column * column * 13 + line * column * 5) % 256).astype(np.uint8)
    found = make_mnist_image(digits=(BLANK[0][:5], BLANK[1][:5]), photographs=[picture], n_train=2, n_test=3)
    assert found.y_train.tolist() == [0, 2]
    assert (found.X_train[:, :4] * 256).tolist() == [[73.0, 225.0, 147.0, 95.0], [29.0, 103.0, 203.0, 73.0]]
    assert (found.X_test[2, [0, 1, 28, 783]] * 256).tolist() == [55.0, 111.0, 0.0, 103.0]
