"""M-Image, rebuilt: which patches are taken, the overlay, and that all of it is repeatable."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from gcwsnet.datasets import _rebuild, load, make_mnist_image

BLANK = (np.zeros((600, 784), dtype=np.uint8), np.arange(600))


@lru_cache
def photograph(seed: int = 0, height: int = 70, width: int = 110) -> NDArray[np.uint8]:
    """Rough in the middle and smooth at the edges."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(height, width)) * 70 * np.sin(np.linspace(0, np.pi, width))
    return np.clip(128 + noise, 0, 255).astype(np.uint8)


PHOTOGRAPHS = [photograph(0), photograph(1)]


def few(**changed: Any) -> Bunch:
    return make_mnist_image(**{"digits": BLANK, "photographs": PHOTOGRAPHS, "n_train": 50, "n_test": 120, **changed})


def same(a: Bunch, b: Bunch) -> bool:
    return all(np.array_equal(a[key], b[key]) for key in ("X_train", "y_train", "X_test", "y_test"))


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


def test_backgrounds_are_patches_with_enough_variance_each_taken_once() -> None:
    found = few()
    taken = [corner(row) for row in [*found.X_train, *found.X_test]]
    assert len(set(taken)) == 170
    assert {number for number, _, _ in taken} == {0, 1}
    for row in [*found.X_train, *found.X_test]:
        assert (256 * row.astype(np.float64)).std() >= 45


def test_all_patches_with_enough_variance_and_no_others_can_be_taken() -> None:
    """Next to the cut there are 27 columns from which none is taken."""
    picture = photograph()
    deviation = sliding_window_view(picture, (28, 28)).astype(np.float64).std(axis=(2, 3))
    patches = _rebuild._patches(picture, 0.3)
    rough = deviation >= 45
    assert 0 < rough.mean() < 1
    cut = patches.test[:, 1].min()
    for part, columns in ((patches.train, slice(0, cut - 27)), (patches.test, slice(cut, None))):
        taken = np.zeros_like(rough)
        taken[part[:, 0], part[:, 1]] = True
        assert np.array_equal(taken[:, columns], rough[:, columns])
        taken[:, columns] = False
        assert not taken.any()


@pytest.mark.parametrize(("n_train", "n_test"), [(50, 120), (120, 50), (10, 200)])
def test_no_pixel_is_in_patches_of_both_parts(n_train: int, n_test: int) -> None:
    found = few(n_train=n_train, n_test=n_test)
    seen: dict[str, set[tuple[int, int]]] = {}
    for part in ("train", "test"):
        taken = [corner(row) for row in found[f"X_{part}"]]
        seen[part] = {(number, column + right) for number, _, column in taken for right in range(28)}
    assert not seen["train"] & seen["test"]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8])
def test_the_cut_is_where_the_parts_have_the_wanted_proportion(share: float) -> None:
    patches = _rebuild._patches(photograph(), share)
    n = len(patches.train) + len(patches.test)
    assert share <= len(patches.train) / n < share + 0.12


def test_a_pixel_is_the_larger_one_of_digit_and_background() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (600, 784), dtype=np.uint8) * rng.integers(0, 2, (600, 784), dtype=np.uint8)
    found, background = few(digits=(X, BLANK[1])), few()
    for part in ("train", "test"):
        digit = X[found[f"y_{part}"]] / 256
        assert np.array_equal(found[f"X_{part}"], np.maximum(digit, background[f"X_{part}"]))
        assert (found[f"X_{part}"] > digit).any()
        assert (found[f"X_{part}"] > background[f"X_{part}"]).any()


def test_no_digit_is_drawn_twice() -> None:
    found = few()
    assert len({*found.y_train, *found.y_test}) == 170


def test_a_seed_gives_the_same_rows_every_time() -> None:
    assert same(few(), few(random_state=0))
    assert same(few(random_state=7), few(random_state=np.random.RandomState(7)))
    assert not same(few(), few(random_state=1))


def test_rows_do_not_depend_on_threads_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    found = few()
    with threadpool_limits(1):
        assert same(few(), found)
    monkeypatch.setattr(_rebuild, "ROWS_AT_ONCE", 7)
    assert same(few(), found)


def test_the_rows_of_seed_0_never_change() -> None:
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
    grey = _rebuild._grey(color, 0)
    assert grey.dtype == np.uint8
    assert np.unique(grey).tolist() == [76, 161]
    assert np.array_equal(_rebuild._grey(np.repeat(photograph()[:, :, np.newaxis], 3, axis=2), 0), photograph())


def test_the_photographs_of_scikit_learn_are_enough_for_the_set_of_the_paper(cache: Path) -> None:
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


def test_without_pillow_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"rebuilding M-Image needs Pillow, .*: pip install pillow"):
        make_mnist_image(digits=BLANK, n_train=1, n_test=1)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
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


@pytest.mark.parametrize(("changed", "kind", "rule"), WRONG)
def test_a_wrong_argument_is_named(changed: dict[str, Any], kind: type[Exception], rule: str) -> None:
    with pytest.raises(kind, match=rule):
        few(**changed)
