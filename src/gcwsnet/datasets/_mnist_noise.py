"""Digits before a random background, as in the noise sets of Larochelle et al.: M-Noise1 to M-Noise6."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.utils import Bunch, check_random_state

from gcwsnet._validation import check_integer
from gcwsnet.datasets._bunch import as_rows
from gcwsnet.datasets._overlay import SIDE, Digits, before_backgrounds, check_counts

CORRELATION = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)  # g of levels 1 to 6
NOISE_SETS = {f"m-noise{level}": level for level in range(1, 7)}
ROWS_AT_ONCE = 64
Floats = NDArray[np.float64]

DESCR = (
    "Pictures of 10 handwritten digits before a random background, rebuilt: digits of MNIST, and between two pixels of "
    "the background at distance d > 0 the correlation {g:g} exp(-d^2 / 12) before each is made uniform. 28 x 28 pixels "
    "from 0 to 1, line by line. These are not the files of Larochelle et al. (2007): compare methods on "
    "these rows with each other, not with published numbers."
)


def make_mnist_noise(
    level: int,
    *,
    digits: Digits | None = None,
    n_train: int = 10_000,
    n_test: int = 4_000,
    random_state: Any = 0,
) -> Bunch:
    """M-Noise1 to M-Noise6, rebuilt: digits of MNIST before a random background.

    A background is a zero-mean Gaussian over the 784 pixels with the covariance g K + (1 - g) I, where
    K = exp(-d^2 / 12) for pixels at distance d. It is passed through the normal distribution function, so that each
    pixel is uniform from 0 to 1. A pixel of the result is the larger one of digit / 256 and background.

    Parameters
    ----------
    level : int
        From 1 to 6, for g = 1, 0.8, 0.6, 0.4, 0.2 and 0: at level 1 the background is smooth, at level 6 its pixels are
        independent.
    digits : tuple of X and y, optional
        What to draw from. X has shape (n, 784) and pixels from 0 to 255, y has n integers. Without it, all 70,000
        digits of MNIST, from where `load` finds them.
    n_train, n_test : int, default=10_000 and 4_000
        How many rows are made. No digit is drawn twice.
    random_state : int, RandomState instance or None, default=0
        An int gives the same rows every time. The digits and their order are then the same at all levels.

    Returns
    -------
    dataset : Bunch
        As `load` returns it, with the origin "rebuilt".

    Notes
    -----
    The files of Larochelle et al. (2007) have the same sizes and the same six g. Their random numbers are others, and
    their kernel may be: K is such that a linear model does about as well at level 1 as the paper reports. Compare
    methods on rebuilt rows with each other, not with published numbers.

    No sum is left to BLAS, so that the rows do not depend on it or on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet.datasets import make_mnist_noise
    >>> X, y = np.full((30, 784), 128), np.arange(30) % 10
    >>> noise = make_mnist_noise(1, digits=(X, y), n_train=20, n_test=10)
    >>> noise.name, noise.origin, noise.X_train.shape, noise.X_test.shape
    ('m-noise1', 'rebuilt', (20, 784), (10, 784))
    >>> float(noise.X_train.min())
    0.5
    """
    level = check_integer("level", level, 1, 6)
    n_train, n_test = check_counts(n_train, n_test)
    random = check_random_state(random_state)
    g = CORRELATION[level - 1]
    return before_backgrounds(
        f"m-noise{level}",
        DESCR.format(g=g),
        digits,
        n_train=n_train,
        n_test=n_test,
        random=random,
        rows_at_once=ROWS_AT_ONCE,
        backgrounds=lambda first, last: _backgrounds(last - first, g, random),
    )


def _backgrounds(n: int, g: float, random: np.random.RandomState) -> NDArray[np.float32]:
    """Uniform pixels with the correlation g K + (1 - g) I before they are made uniform, in n rows.

    sqrt(g) times a Gaussian with the covariance K plus sqrt(1 - g) times independent ones. Both are always drawn, so
    that a row has the same draws at all levels and in batches of any size.
    """
    smooth, independent = random.standard_normal((n, 2, SIDE, SIDE)).transpose(1, 0, 2, 3)
    for _ in range(2):  # K is a product of two kernels, one down the picture and one along its lines
        smooth = _times(ROOT, smooth).transpose(0, 2, 1)
    z = math.sqrt(g) * smooth + math.sqrt(1 - g) * independent
    return as_rows(ndtr(z).reshape(n, SIDE**2))


def _root(covariance: Floats) -> Floats:
    """The lower triangular L with L L^T = covariance (Cholesky)."""
    rest, L = covariance.copy(), np.zeros_like(covariance)
    for j in range(len(L)):
        L[j:, j] = rest[j:, j] / np.sqrt(rest[j, j])
        rest[j:, j:] -= L[j:, j, np.newaxis] * L[j:, j]
    return L


def _times(L: Floats, Z: Floats) -> Floats:
    """L @ Z for a lower triangular L and each matrix of Z, added up in the order of the columns."""
    product = np.zeros(Z.shape)
    for j in range(len(L)):
        product[:, j:] += L[j:, j, np.newaxis] * Z[:, j, np.newaxis, :]
    return product


ROOT = _root(np.array([[math.exp(-((i - j) ** 2) / 12) for i in range(SIDE)] for j in range(SIDE)]))
"""Root of K along one line; sums in a fixed order, for the same numbers with every BLAS."""
