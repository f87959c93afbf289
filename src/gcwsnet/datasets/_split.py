"""Rows for training and for testing, where the publishers have none."""

from __future__ import annotations

import numpy as np

from gcwsnet.datasets._bunch import Array


def halves(X: Array, y: Array) -> dict[str, Array]:
    """A random half for training, the larger one if there are two, and the rest for testing; always the same rows.

    The rows are those of `default_rng(0).permutation(n)`, in this order.
    """
    order = np.random.default_rng(0).permutation(len(X))
    train, test = np.split(order, [(len(X) + 1) // 2])
    return {"X_train": X[train], "y_train": y[train], "X_test": X[test], "y_test": y[test]}
