"""The digits that scikit-learn brings along."""

from __future__ import annotations

from sklearn.datasets import load_digits as bundled_digits
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from gcwsnet.datasets._bunch import as_bunch

DESCR = (
    "Small pictures of 10 handwritten digits, bundled with scikit-learn: 8 x 8 pixels from 0 to 16, line by line; the "
    "split of train_test_split(X, y, random_state=0)."
)


def load_digits() -> Bunch:
    """scikit-learn's digits, split into 1,347 rows for training and 450 for testing."""
    X_train, X_test, y_train, y_test = train_test_split(*bundled_digits(return_X_y=True), random_state=0)
    return as_bunch("digits", "bundled", DESCR, X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test)
