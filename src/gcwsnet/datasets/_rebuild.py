"""Digits before patches of photographs, as in the set of Larochelle et al. with images as background: M-Image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.datasets import load_sample_images
from sklearn.utils import Bunch, check_random_state

from gcwsnet.datasets._overlay import SIDE, Digits, Floats32, before_backgrounds, check_counts

LEAST_DEVIATION = 45
"""Standard deviation in grey levels that a patch must have."""

LUMA = (299, 587, 114)
"""Parts of red, green and blue in a thousand parts of grey (ITU-R BT.601)."""

ROWS_AT_ONCE = 1024
Grey = NDArray[np.uint8]

DESCR = (
    "Pictures of 10 handwritten digits before patches of photographs, rebuilt: digits of MNIST, and 28 x 28 patches "
    "with a standard deviation of at least 45 grey levels, of {photographs}; those for training are from the left part "
    "of a photograph and those for testing from the right part. 28 x 28 pixels from 0 to 1, line by line. These are "
    "not the files of Larochelle et al. (2007): compare methods on these rows with each other, not with published "
    "numbers."
)


class Patches(NamedTuple):
    """Where a photograph has patches that may be taken: line and column of their upper left corners."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


def make_mnist_image(
    *,
    digits: Digits | None = None,
    photographs: Sequence[Any] | None = None,
    n_train: int = 12_000,
    n_test: int = 50_000,
    random_state: Any = 0,
) -> Bunch:
    """M-Image, rebuilt: digits of MNIST before patches of photographs.

    A patch has 28 x 28 pixels, and a standard deviation of at least 45 grey levels. A pixel of the result is the larger
    one of digit / 256 and patch / 256.

    Parameters
    ----------
    digits : tuple of X and y, optional
        What to draw from. X has shape (n, 784) and pixels from 0 to 255, y has n integers. Without it, all 70,000
        digits of MNIST, from where `load` finds them.
    photographs : sequence of arrays, optional
        Pictures in grey, of shape (height, width), or in color, of shape (height, width, 3), of type uint8. Without
        it, the two photographs that scikit-learn brings, china.jpg and flower.jpg; reading them needs Pillow.
    n_train, n_test : int, default=12_000 and 50_000
        How many rows are made. No digit and no patch is drawn twice.
    random_state : int, RandomState instance or None, default=0
        An int gives the same rows every time.

    Returns
    -------
    dataset : Bunch
        As `load` returns it, with the origin "rebuilt".

    Notes
    -----
    Each photograph is cut from top to bottom. Patches for training are left of the cut and those for testing are right
    of it, so that no pixel of a photograph is in both. The cut is where the parts have patches in the proportion of
    `n_train` and `n_test`. Within a part patches overlap: two photographs have only some 700 patches that do not.

    The files of Larochelle et al. (2007) have the same sizes. Their patches are from other photographs, found on the
    web. Compare methods on rebuilt rows with each other, not with published numbers.

    Versions of Pillow may differ by a grey level in how they unpack a JPEG file, and then in some rows.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet.datasets import make_mnist_image
    >>> X, y = np.full((30, 784), 128), np.arange(30) % 10
    >>> photograph = np.random.default_rng(0).integers(0, 256, (60, 90), dtype=np.uint8)
    >>> image = make_mnist_image(digits=(X, y), photographs=[photograph], n_train=10, n_test=20)
    >>> image.name, image.origin, image.X_train.shape, image.X_test.shape
    ('m-image', 'rebuilt', (10, 784), (20, 784))
    >>> float(image.X_train.min())
    0.5
    """
    n_train, n_test = check_counts(n_train, n_test)
    if photographs is None:
        told, pictures = "the two photographs of scikit-learn, china.jpg and flower.jpg", _bundled()
    else:
        told, pictures = f"{len(photographs)} photographs that were given", list(photographs)
    if not pictures:
        raise ValueError("photographs must be at least one, got none")
    greys = [_grey(picture, number) for number, picture in enumerate(pictures)]
    patches = [_patches(grey, n_train / (n_train + n_test)) for grey in greys]
    random = check_random_state(random_state)
    places = _drawn(patches, n_train, n_test, random)
    return before_backgrounds(
        "m-image",
        DESCR.format(photographs=told),
        digits,
        n_train=n_train,
        n_test=n_test,
        random=random,
        rows_at_once=ROWS_AT_ONCE,
        backgrounds=lambda first, last: _cut(greys, places[first:last]),
    )


def _bundled() -> list[Any]:
    try:
        return list(load_sample_images().images)
    except ImportError as error:
        raise ImportError(
            "rebuilding M-Image needs Pillow, to read the photographs of scikit-learn: pip install pillow"
        ) from error


def _grey(picture: Any, number: int) -> Grey:
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
    weighted = sum(part * pixels[:, :, color].astype(np.uint32) for color, part in enumerate(LUMA))
    return np.asarray((weighted + 500) // 1000, dtype=np.uint8)


def _patches(grey: Grey, share: float) -> Patches:
    """Corners of patches with enough variance on the two sides of a cut; integers decide, for the same ones everywhere.

    The cut is the first column of which the left side has at least the given share of the patches of both sides.
    """
    n = SIDE**2
    total, squares = (_sums(grey.astype(np.int64) ** power) for power in (1, 2))
    lines, columns = np.nonzero(n * squares - total**2 >= LEAST_DEVIATION**2 * n**2)
    count = np.cumsum(np.bincount(columns, minlength=grey.shape[1] + 1))
    cuts = np.arange(SIDE, grey.shape[1])
    left, right = count[cuts - SIDE], count[-1] - count[cuts - 1]
    enough = np.flatnonzero((left > 0) & (left >= share * (left + right)))
    cut = cuts[enough[0]] if len(enough) else grey.shape[1]
    corners = np.stack([lines, columns], axis=1)
    return Patches(corners[columns + SIDE <= cut], corners[columns >= cut])


def _sums(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums over all squares of 28 x 28, by the line and column of their upper left corners."""
    S = np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    return S[SIDE:, SIDE:] - S[:-SIDE, SIDE:] - S[SIDE:, :-SIDE] + S[:-SIDE, :-SIDE]


def _drawn(patches: Sequence[Patches], n_train: int, n_test: int, random: np.random.RandomState) -> NDArray[np.int64]:
    """Photograph, line and column of a patch for each row, those for training first."""
    drawn = []
    for part, n in (("train", n_train), ("test", n_test)):
        there = np.concatenate(
            [np.insert(getattr(some, part), 0, number, axis=1) for number, some in enumerate(patches)]
        )
        if n > len(there):
            raise ValueError(
                f"n_{part} must be at most {len(there)}, the number of patches with a standard deviation of at least "
                f"{LEAST_DEVIATION} grey levels in that part of the photographs, got n_{part}={n}"
            )
        drawn.append(there[random.permutation(len(there))[:n]])
    return np.concatenate(drawn)


def _cut(greys: Sequence[Grey], places: NDArray[np.int64]) -> Floats32:
    """Patches as rows of pixels from 0 to 1."""
    rows = np.empty((len(places), SIDE**2), dtype=np.float32)
    for number, grey in enumerate(greys):
        here = places[:, 0] == number
        windows = sliding_window_view(grey, (SIDE, SIDE))
        rows[here] = windows[places[here, 1], places[here, 2]].reshape(-1, SIDE**2)
    rows /= 256
    return rows
