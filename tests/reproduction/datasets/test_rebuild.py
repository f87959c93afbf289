"""M-Noise1 to M-Noise6 and M-Image, rebuilt: their backgrounds, the overlay, and the same rows for the same seed."""

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.stats import kstest
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from reproduction.datasets import _rebuild, load, make_mnist_image, make_mnist_noise

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


@BOTH
def test_rows_do_not_depend_on_threads_or_batches(make: Callable[..., Bunch], monkeypatch: pytest.MonkeyPatch) -> None:
    found = make()
    with threadpool_limits(1):
        assert same(make(), found)
    monkeypatch.setattr(_rebuild, "BATCH_ROWS", 7)
    assert same(make(), found)


@BOTH
def test_no_digit_is_drawn_twice(make: Callable[..., Bunch]) -> None:
    found = make()
    drawn = [*found.y_train, *found.y_test]
    assert len(set(drawn)) == len(drawn)
    assert drawn != sorted(drawn)
    everything = make(digits=tuple(part[: len(drawn)] for part in random_digits()))
    assert sorted([*everything.y_train, *everything.y_test]) == list(range(len(drawn)))


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
@pytest.mark.parametrize("pixel", [(0, 0), (13, 14), (27, 3)])
def test_each_pixel_of_noise_is_uniform(level: int, pixel: tuple[int, int]) -> None:
    """Of 18 tests with a fixed seed, none has a p-value of 1e-3 or less."""
    assert kstest(backgrounds(level)[:, pixel[0], pixel[1]], "uniform").pvalue > 1e-3


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


def test_the_root_is_that_of_the_whole_kernel() -> None:
    y, x = np.divmod(np.arange(784), 28)
    K = np.exp(-(np.subtract.outer(y, y) ** 2 + np.subtract.outer(x, x) ** 2) / 12)
    L = np.kron(_rebuild.ROOT, _rebuild.ROOT)
    assert np.abs(L @ L.T - K).max() < 1e-13
    Z = np.random.default_rng(0).normal(size=(3, 28, 28))
    assert np.allclose(_rebuild._times(_rebuild.ROOT, Z), _rebuild.ROOT @ Z, atol=1e-12, rtol=0)


def test_rows_of_noise_do_not_depend_on_the_split() -> None:
    found, shorter = small_noise(), small_noise(n_train=10, n_test=5)
    assert np.array_equal(shorter.X_train, found.X_train[:10])
    assert np.array_equal(shorter.X_test, found.X_train[10:15])


def test_all_levels_of_noise_have_the_same_digits() -> None:
    for level in LEVELS:
        assert np.array_equal(small_noise(level).y_train, small_noise(1).y_train)


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


def test_a_rebuilt_noise_set_is_named_as_such() -> None:
    found = small_noise(4)
    assert (found.name, found.origin) == ("m-noise4", "rebuilt")
    assert "0.4 exp(-d^2 / 12)" in found.DESCR
    assert "not the files of Larochelle" in found.DESCR
    assert (found.X_train.dtype, found.X_test.dtype) == (np.float32, np.float32)
    assert (found.y_train.dtype, found.y_test.dtype) == (np.int64, np.int64)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
def test_pixels_of_digits_may_have_any_type(dtype: str) -> None:
    X, y = random_digits(60)
    assert same(small_noise(digits=(X.astype(dtype), y.tolist())), small_noise())


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


def test_all_patches_with_enough_variance_and_no_others_can_be_drawn() -> None:
    """From the 27 columns next to the cut, none is drawn."""
    picture = photograph()
    deviation = sliding_window_view(picture, (28, 28)).astype(np.float64).std(axis=(2, 3))
    patches = _rebuild._patches(picture, 0.3)
    rough = deviation >= 45
    assert 0 < rough.mean() < 1
    cut = patches.test[:, 1].min()
    for part, columns in ((patches.train, slice(0, cut - 27)), (patches.test, slice(cut, None))):
        can_be_drawn = np.zeros_like(rough)
        can_be_drawn[part[:, 0], part[:, 1]] = True
        assert np.array_equal(can_be_drawn[:, columns], rough[:, columns])
        can_be_drawn[:, columns] = False
        assert not can_be_drawn.any()


@pytest.mark.parametrize(("n_train", "n_test"), [(50, 120), (120, 50), (10, 200)])
def test_no_pixel_is_in_patches_of_both_parts(n_train: int, n_test: int) -> None:
    found = small_image(digits=BLANK, n_train=n_train, n_test=n_test)
    seen: dict[str, set[tuple[int, int]]] = {}
    for part in ("train", "test"):
        corners = [corner(row) for row in found[f"X_{part}"]]
        seen[part] = {(number, column + right) for number, _, column in corners for right in range(28)}
    assert not seen["train"] & seen["test"]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8])
def test_the_cut_divides_the_patches_in_the_proportion_of_the_rows(share: float) -> None:
    patches = _rebuild._patches(photograph(), share)
    n = len(patches.train) + len(patches.test)
    assert share <= len(patches.train) / n < share + 0.12


def test_the_images_of_seed_0_never_change() -> None:
    line, column = np.mgrid[:60, :80]
    picture = ((line * line * 7 + column * column * 13 + line * column * 5) % 256).astype(np.uint8)
    found = make_mnist_image(digits=(BLANK[0][:5], BLANK[1][:5]), photographs=[picture], n_train=2, n_test=3)
    assert found.y_train.tolist() == [0, 2]
    assert (found.X_train[:, :4] * 256).tolist() == [[73.0, 225.0, 147.0, 95.0], [29.0, 103.0, 203.0, 73.0]]
    assert (found.X_test[2, [0, 1, 28, 783]] * 256).tolist() == [55.0, 111.0, 0.0, 103.0]


def test_color_is_made_grey() -> None:
    color = np.zeros((30, 90, 3), dtype=np.uint8)
    color[:, ::2] = [255, 0, 0]
    color[:, 1::2] = [0, 255, 100]
    grey = _rebuild._as_grey(color, 0)
    assert grey.dtype == np.uint8
    assert np.unique(grey).tolist() == [76, 161]
    assert np.array_equal(_rebuild._as_grey(np.repeat(photograph()[:, :, np.newaxis], 3, axis=2), 0), photograph())


def test_the_photographs_of_scikit_learn_are_enough_for_the_sizes_of_the_paper(cache: Path) -> None:
    pytest.importorskip("PIL")
    y = np.arange(70_000) % 10
    X = np.zeros((70_000, 784), dtype=np.uint8)
    X[:, 400] = 25 * y
    np.savez(cache / "mnist.npz", X_train=X[:60_000], y_train=y[:60_000], X_test=X[60_000:], y_test=y[60_000:])
    found = load("m-image")
    assert (found.X_train.shape, found.X_test.shape) == ((12_000, 784), (50_000, 784))
    assert (found.y_train.dtype, found.X_train.dtype) == (np.int64, np.float32)
    assert (found.name, found.origin) == ("m-image", "rebuilt")
    assert np.all(found.X_test[:, 400] >= np.float32(25 / 256) * found.y_test)
    assert "china.jpg and flower.jpg" in found.DESCR
    assert "not the files of Larochelle" in found.DESCR
    assert 0 <= found.X_test.min() < found.X_test.max() < 1
    made = make_mnist_image(random_state=1)
    assert not np.array_equal(made.X_train, found.X_train)


def test_without_pillow_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"rebuilding M-Image needs Pillow, .*: pip install pillow"):
        make_mnist_image(digits=BLANK, n_train=1, n_test=1)


X, y = random_digits(60)
WRONG_NOISE: list[tuple[dict[str, Any], type[Exception], str]] = [
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
WRONG_IMAGE: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"n_train": 0}, ValueError, "n_train must be from 1 to"),
    ({"n_test": 2.0}, TypeError, "n_test must be an integer"),
    ({"n_test": 551}, ValueError, r"n_train \+ n_test must be at most 600, .* got 50 \+ 551"),
    ({"n_train": 100_000}, ValueError, r"n_train must be at most \d+, the number of patches .* got n_train=100000"),
    ({"photographs": [np.full((60, 60), 7, np.uint8)]}, ValueError, "n_train must be at most 0, the number of patches"),
    ({"photographs": [photograph(), photograph() / 2]}, ValueError, r"photographs\[1\]: float64 of shape \(70, 110\)"),
    ({"photographs": [photograph()[:27]]}, ValueError, r"at least 28 x 28, got photographs\[0\]: \(27, 110\)"),
    ({"photographs": [photograph()[:, :, None]]}, ValueError, r"photographs\[0\]: uint8 of shape \(70, 110, 1\)"),
    ({"photographs": []}, ValueError, "photographs must be at least one"),
    ({"digits": 3}, TypeError, "digits must be a tuple of X and y, got int"),
]


@pytest.mark.parametrize(
    ("make", "changed", "kind", "rule"),
    [*((small_noise, *case) for case in WRONG_NOISE), *((small_image, *case) for case in WRONG_IMAGE)],
)
def test_a_wrong_argument_is_named(
    make: Callable[..., Bunch], changed: dict[str, Any], kind: type[Exception], rule: str
) -> None:
    with pytest.raises(kind, match=rule):
        make(**changed)
