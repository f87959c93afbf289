"""Digits before a background, each drawn once: what the rebuilt sets of Larochelle et al. have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from gcwsnet._validation import check_finite, check_integer
from gcwsnet.datasets._bunch import Array, as_bunch, as_rows
from gcwsnet.datasets._read import all_mnist

SIDE = 28
Floats32 = NDArray[np.float32]
Digits = tuple[Any, Any]


def check_counts(n_train: object, n_test: object) -> tuple[int, int]:
    """Numbers of rows to make, as they were given."""
    return check_integer("n_train", n_train, 1, 2**31), check_integer("n_test", n_test, 1, 2**31)


def before_backgrounds(
    name: str,
    descr: str,
    digits: Digits | None,
    *,
    n_train: int,
    n_test: int,
    random: np.random.RandomState,
    rows_at_once: int,
    backgrounds: Callable[[int, int], Floats32],
) -> Bunch:
    """Rows of which each pixel is the larger one of digit / 256 and background, with the origin "rebuilt".

    Parameters
    ----------
    name, descr : str
        What the result is called and what it is.
    digits : tuple of X and y, or None
        What to draw from; None for all 70,000 digits of MNIST.
    n_train, n_test : int
        How many rows are made. No digit is drawn twice.
    random : RandomState
        Draws the digits, and then may draw backgrounds.
    rows_at_once : int
        How many backgrounds are asked for at a time.
    backgrounds : callable
        Gives those of the rows from a first one up to, and without, a last one: pixels from 0 to 1, shape (n, 784).
    """
    X, y = all_mnist(data_home=None, needed_by=name) if digits is None else _checked(digits)
    n = n_train + n_test
    if n > len(X):
        raise ValueError(
            f"n_train + n_test must be at most {len(X)}, the number of digits to draw from, got {n_train} + {n_test}"
        )
    drawn = random.permutation(len(X))[:n]
    rows, labels = as_rows(X[drawn]), y[drawn]
    rows /= 256
    for first in range(0, n, rows_at_once):
        some = rows[first : first + rows_at_once]
        np.maximum(some, backgrounds(first, first + len(some)), out=some)
    return as_bunch(
        name,
        "rebuilt",
        descr,
        X_train=rows[:n_train],
        y_train=labels[:n_train],
        X_test=rows[n_train:],
        y_test=labels[n_train:],
    )


def _checked(digits: Digits) -> tuple[Array, Array]:
    if not isinstance(digits, tuple) or len(digits) != 2:
        raise TypeError(f"digits must be a tuple of X and y, got {type(digits).__name__}")
    X, y = (np.asarray(part) for part in digits)
    if X.ndim != 2 or X.shape[1] != SIDE**2 or X.dtype.kind not in "uif":
        raise ValueError(f"X of digits must be real numbers of shape (n, 784), got {X.dtype} of shape {X.shape}")
    if y.shape != X.shape[:1] or y.dtype.kind not in "ui":
        raise ValueError(f"y of digits must be {len(X)} integers, got {y.dtype} of shape {y.shape}")
    check_finite(X, name="X of digits: X")
    least, most = X.min(initial=0), X.max(initial=0)
    if least < 0 or most > 255 or 0 < most <= 1:
        raise ValueError(f"X of digits must have pixels from 0 to 255, got pixels from {least:g} to {most:g}")
    return X, y
