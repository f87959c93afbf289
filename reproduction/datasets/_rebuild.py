"""M-Noise1 to M-Noise6 and M-Image, rebuilt from MNIST by the recipes of Larochelle et al. (2007)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.datasets import load_sample_images
from sklearn.utils import Bunch, check_random_state

from gcwsnet._validation import check_finite, check_integer
from reproduction.datasets._bunch import as_bunch, load_all_mnist, named_arrays
from reproduction.datasets._layouts import Part, as_float32

SIDE = 28
"""Pixels along a side of an image."""

BATCH_ROWS = 64
"""How many backgrounds are made at a time. The rows are the same for any number."""

NOISE_SETS = {f"m-noise{level}": level for level in range(1, 7)}
CORRELATION = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""g of the levels 1 to 6."""

MIN_DEVIATION = 45
"""The least standard deviation of a patch, in grey levels."""

LUMA = (299, 587, 114)
"""Thousandths of red, green and blue in grey (ITU-R BT.601)."""

_NOT_PUBLISHED = (
    "These are not the files of Larochelle et al. (2007): compare methods on these rows with each other, not with "
    "published numbers."
)
NOISE_DESCR = (
    "Images of 10 handwritten digits on a random background, rebuilt: digits of MNIST, and between two pixels of the "
    "background at distance d > 0 the correlation {g:g} exp(-d^2 / 12) before each is made uniform. 28 x 28 pixels "
    f"from 0 to 1, line by line. {_NOT_PUBLISHED}"
)
IMAGE_DESCR = (
    "Images of 10 handwritten digits on patches of photographs, rebuilt: digits of MNIST, and 28 x 28 patches with a "
    "standard deviation of at least 45 grey levels from {photographs}; the training patches are from the left part of "
    f"a photograph and the test patches from the right part. 28 x 28 pixels from 0 to 1, line by line. {_NOT_PUBLISHED}"
)

Digits = tuple[Any, Any]
Floats = NDArray[np.float64]
Grey = NDArray[np.uint8]


class Patches(NamedTuple):
    """The patches of a photograph that may be used: the line and the column of their upper left corners."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def make_mnist_noise(
    level: int,
    *,
    digits: Digits | None = None,
    n_train: int = 10_000,
    n_test: int = 4_000,
    random_state: Any = 0,
) -> Bunch:
    """Rebuild M-Noise1 to M-Noise6: digits of MNIST on a random background.

    A background is a zero-mean Gaussian over the 784 pixels with the covariance g K + (1 - g) I, where
    K = exp(-d^2 / 12) for pixels at distance d. It is passed through the normal distribution function, so that each
    pixel is uniform from 0 to 1. A pixel of the result is the larger one of digit / 256 and background.

    Parameters
    ----------
    level : int
        From 1 to 6, for g = 1, 0.8, 0.6, 0.4, 0.2 and 0: at level 1 the background is smooth, at level 6 its pixels are
        independent.
    digits : tuple of X and y, optional
        The digits to draw from. X has shape (n, 784) and pixels from 0 to 255, y has n integers. By default, all 70,000
        digits of MNIST, from where `load` finds them.
    n_train, n_test : int, default=10_000 and 4_000
        The numbers of training rows and test rows. No digit is drawn twice.
    random_state : int, RandomState instance or None, default=0
        An int gives the same rows in every call, and the same digits in the same order at all levels.

    Returns
    -------
    dataset : Bunch
        As `load` returns it, with the origin "rebuilt".

    Notes
    -----
    The files of Larochelle et al. (2007) have the same sizes and the same six g. Their random numbers differ, and their
    kernel may differ: K was chosen so that a linear model does about as well at level 1 as the paper reports. Compare
    methods on rebuilt rows with each other, not with published numbers.

    No sum is left to BLAS, so that the rows depend neither on its implementation nor on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.datasets import make_mnist_noise
    >>> X, y = np.full((30, 784), 128), np.arange(30) % 10
    >>> noise = make_mnist_noise(1, digits=(X, y), n_train=20, n_test=10)
    >>> noise.name, noise.origin, noise.X_train.shape, noise.X_test.shape
    ('m-noise1', 'rebuilt', (20, 784), (10, 784))
    >>> float(noise.X_train.min())
    0.5
    """
    level = check_integer("level", level, 1, 6)
    n_train, n_test = _check_counts(n_train, n_test)
    random = check_random_state(random_state)
    g = CORRELATION[level - 1]
    return _overlay(
        f"m-noise{level}",
        NOISE_DESCR.format(g=g),
        digits,
        n_train=n_train,
        n_test=n_test,
        random=random,
        backgrounds=lambda first, last: _noise_backgrounds(last - first, g, random),
    )


def make_mnist_image(
    *,
    digits: Digits | None = None,
    photographs: Sequence[Any] | None = None,
    n_train: int = 12_000,
    n_test: int = 50_000,
    random_state: Any = 0,
) -> Bunch:
    """Rebuild M-Image: digits of MNIST on patches of photographs.

    A patch has 28 x 28 pixels and a standard deviation of at least 45 grey levels. A pixel of the result is the larger
    one of digit / 256 and patch / 256.

    Parameters
    ----------
    digits : tuple of X and y, optional
        The digits to draw from, as in `make_mnist_noise`.
    photographs : sequence of arrays, optional
        Images in grey, of shape (height, width), or in color, of shape (height, width, 3), of dtype uint8. By default,
        the two photographs that come with scikit-learn, china.jpg and flower.jpg; reading them needs Pillow.
    n_train, n_test : int, default=12_000 and 50_000
        The numbers of training rows and test rows. No digit and no patch is drawn twice.
    random_state : int, RandomState instance or None, default=0
        An int gives the same rows in every call.

    Returns
    -------
    dataset : Bunch
        As `load` returns it, with the origin "rebuilt".

    Notes
    -----
    Each photograph is cut from top to bottom. Training patches are left of the cut and test patches are right of it, so
    that no pixel of a photograph is in both. The cut is where the parts have patches in the proportion of `n_train` and
    `n_test`. Within a part patches overlap: two photographs have only about 700 patches that do not.

    The files of Larochelle et al. (2007) have the same sizes. Their patches are from other photographs, found on the
    web. Compare methods on rebuilt rows with each other, not with published numbers.

    Versions of Pillow may differ by a grey level in how they decode a JPEG file, and then in some rows.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.datasets import make_mnist_image
    >>> X, y = np.full((30, 784), 128), np.arange(30) % 10
    >>> photograph = np.random.default_rng(0).integers(0, 256, (60, 90), dtype=np.uint8)
    >>> image = make_mnist_image(digits=(X, y), photographs=[photograph], n_train=10, n_test=20)
    >>> image.name, image.origin, image.X_train.shape, image.X_test.shape
    ('m-image', 'rebuilt', (10, 784), (20, 784))
    >>> float(image.X_train.min())
    0.5
    """
    n_train, n_test = _check_counts(n_train, n_test)
    if photographs is None:
        source, pictures = "the two photographs of scikit-learn, china.jpg and flower.jpg", _bundled_photographs()
    else:
        source, pictures = f"{len(photographs)} photographs of the caller", list(photographs)
    if not pictures:
        raise ValueError("photographs must be at least one, got none")
    greys = [_as_grey(picture, number) for number, picture in enumerate(pictures)]
    patches = [_patches(grey, n_train / (n_train + n_test)) for grey in greys]
    random = check_random_state(random_state)
    drawn = _draw_patches(patches, n_train, n_test, random)
    return _overlay(
        "m-image",
        IMAGE_DESCR.format(photographs=source),
        digits,
        n_train=n_train,
        n_test=n_test,
        random=random,
        backgrounds=lambda first, last: _cut_out(greys, drawn[first:last]),
    )


def _overlay(
    name: str,
    descr: str,
    digits: Digits | None,
    *,
    n_train: int,
    n_test: int,
    random: np.random.RandomState,
    backgrounds: Callable[[int, int], NDArray[np.float32]],
) -> Bunch:
    """Draw digits and lay them over backgrounds: each pixel is the larger one of digit / 256 and background.

    `backgrounds` returns the backgrounds of the rows from a first one up to and without a last one: pixels from 0 to 1
    of shape (n, 784). It is called in the order of the rows, after the digits are drawn, and may use `random` too.
    """
    X, y = load_all_mnist() if digits is None else _check_digits(digits)
    n = n_train + n_test
    if n > len(X):
        raise ValueError(
            f"n_train + n_test must be at most {len(X)}, the number of digits to draw from, got {n_train} + {n_test}"
        )
    drawn = random.permutation(len(X))[:n]
    rows, labels = as_float32(X[drawn]), y[drawn]
    rows /= 256
    for first in range(0, n, BATCH_ROWS):
        batch = rows[first : first + BATCH_ROWS]
        np.maximum(batch, backgrounds(first, first + len(batch)), out=batch)
    arrays = named_arrays((rows[:n_train], labels[:n_train]), (rows[n_train:], labels[n_train:]))
    return as_bunch(name, "rebuilt", descr, arrays)


def _check_counts(n_train: object, n_test: object) -> tuple[int, int]:
    return check_integer("n_train", n_train, 1, 2**31), check_integer("n_test", n_test, 1, 2**31)


def _check_digits(digits: Digits) -> Part:
    if not isinstance(digits, tuple) or len(digits) != 2:
        raise TypeError(f"digits must be a tuple of X and y, got {type(digits).__name__}")
    X, y = (np.asarray(array) for array in digits)
    if X.ndim != 2 or X.shape[1] != SIDE**2 or X.dtype.kind not in "uif":
        raise ValueError(f"X of digits must be real numbers of shape (n, 784), got {X.dtype} of shape {X.shape}")
    if y.shape != X.shape[:1] or y.dtype.kind not in "ui":
        raise ValueError(f"y of digits must be {len(X)} integers, got {y.dtype} of shape {y.shape}")
    check_finite(X, name="X of digits: X")
    least, most = X.min(initial=0), X.max(initial=0)
    if least < 0 or most > 255 or 0 < most <= 1:
        raise ValueError(f"X of digits must have pixels from 0 to 255, got pixels from {least:g} to {most:g}")
    return X, y


def _noise_backgrounds(n: int, g: float, random: np.random.RandomState) -> NDArray[np.float32]:
    """Return n rows of uniform pixels that had the covariance g K + (1 - g) I before they were made uniform.

    They are sqrt(g) times a Gaussian with the covariance K plus sqrt(1 - g) times independent ones. Both are always
    drawn, so that a row has the same draws at all levels and in batches of any size.
    """
    smooth, independent = random.standard_normal((n, 2, SIDE, SIDE)).transpose(1, 0, 2, 3)
    for _ in range(2):  # K is the product of two kernels, one down the image and one along its lines
        smooth = _times(ROOT, smooth).transpose(0, 2, 1)
    z = math.sqrt(g) * smooth + math.sqrt(1 - g) * independent
    return as_float32(ndtr(z).reshape(n, SIDE**2))


def _cholesky(covariance: Floats) -> Floats:
    """Return the lower triangular L with L L^T = covariance."""
    rest, L = covariance.copy(), np.zeros_like(covariance)
    for j in range(len(L)):
        L[j:, j] = rest[j:, j] / np.sqrt(rest[j, j])
        rest[j:, j:] -= L[j:, j, np.newaxis] * L[j:, j]
    return L


def _times(L: Floats, Z: Floats) -> Floats:
    """Return L @ Z for a lower triangular L and each matrix of Z, summed in the order of the columns."""
    product = np.zeros(Z.shape)
    for j in range(len(L)):
        product[:, j:] += L[j:, j, np.newaxis] * Z[:, j, np.newaxis, :]
    return product


ROOT = _cholesky(np.array([[math.exp(-((i - j) ** 2) / 12) for i in range(SIDE)] for j in range(SIDE)]))
"""The root of K along one line, with sums in a fixed order, so that every BLAS gives the same numbers."""


def _bundled_photographs() -> list[Any]:
    try:
        return list(load_sample_images().images)
    except ImportError as error:
        raise ImportError(
            "rebuilding M-Image needs Pillow, to read the photographs of scikit-learn: pip install pillow"
        ) from error


def _as_grey(picture: Any, number: int) -> Grey:
    pixels = np.asarray(picture)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (3,)):
        raise ValueError(
            "photographs must be uint8 of shape (height, width) or (height, width, 3), got "
            f"photographs[{number}]: {pixels.dtype} of shape {pixels.shape}"
        )
    if min(pixels.shape[:2]) < SIDE:
        raise ValueError(f"photographs must be at least 28 x 28, got photographs[{number}]: {pixels.shape[:2]}")
    if pixels.ndim == 2:
        return pixels
    weighted = sum(weight * pixels[:, :, color].astype(np.uint32) for color, weight in enumerate(LUMA))
    return np.asarray((weighted + 500) // 1000, dtype=np.uint8)


def _patches(grey: Grey, train_share: float) -> Patches:
    """Return the corners of the patches with enough variance on the two sides of a cut.

    The cut is at the first column at which the left side has at least the given share of the patches of both sides.
    All sums are of integers, so that every machine chooses the same patches.
    """
    n = SIDE**2
    total, squares = (_square_sums(grey.astype(np.int64) ** power) for power in (1, 2))
    lines, columns = np.nonzero(n * squares - total**2 >= MIN_DEVIATION**2 * n**2)
    count = np.cumsum(np.bincount(columns, minlength=grey.shape[1] + 1))
    cuts = np.arange(SIDE, grey.shape[1])
    left, right = count[cuts - SIDE], count[-1] - count[cuts - 1]
    enough = np.flatnonzero((left > 0) & (left >= train_share * (left + right)))
    cut = cuts[enough[0]] if len(enough) else grey.shape[1]
    corners = np.stack([lines, columns], axis=1)
    return Patches(corners[columns + SIDE <= cut], corners[columns >= cut])


def _square_sums(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums over all squares of 28 x 28, by the line and column of their upper left corners."""
    S = np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    return S[SIDE:, SIDE:] - S[:-SIDE, SIDE:] - S[SIDE:, :-SIDE] + S[:-SIDE, :-SIDE]


def _draw_patches(
    patches: Sequence[Patches], n_train: int, n_test: int, random: np.random.RandomState
) -> NDArray[np.int64]:
    """Return the photograph, line and column of a patch for each row, the training rows first."""
    drawn = []
    for part, n in (("train", n_train), ("test", n_test)):
        candidates = np.concatenate(
            [np.insert(getattr(corners, part), 0, number, axis=1) for number, corners in enumerate(patches)]
        )
        if n > len(candidates):
            raise ValueError(
                f"n_{part} must be at most {len(candidates)}, the number of patches with a standard deviation of at "
                f"least {MIN_DEVIATION} grey levels in that part of the photographs, got n_{part}={n}"
            )
        drawn.append(candidates[random.permutation(len(candidates))[:n]])
    return np.concatenate(drawn)


def _cut_out(greys: Sequence[Grey], places: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return patches as rows of pixels from 0 to 1."""
    rows = np.empty((len(places), SIDE**2), dtype=np.float32)
    for number, grey in enumerate(greys):
        here = places[:, 0] == number
        windows = sliding_window_view(grey, (SIDE, SIDE))
        rows[here] = windows[places[here, 1], places[here, 2]].reshape(-1, SIDE**2)
    rows /= 256
    return rows
