"""Numeric columns brought to one size, binary ones left alone."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch


def standardized(dataset: Bunch) -> Bunch:
    """The dataset with columns of mean 0 and standard deviation 1 in the rows for training.

    Columns that hold nothing but 0 and 1 for training are left alone. The rows for testing are changed in the same way.
    """
    X_train, X_test = dataset.X_train, dataset.X_test
    numeric = ~np.all((X_train == 0) | (X_train == 1), axis=0)
    scaler = StandardScaler().fit(X_train[:, numeric].astype(np.float64))
    for rows in (X_train, X_test):
        rows[:, numeric] = scaler.transform(rows[:, numeric].astype(np.float64))
    dataset.DESCR += (
        f" Of the columns, {np.count_nonzero(numeric)} are standardised by the rows for training and "
        f"{np.count_nonzero(~numeric)} that hold only 0 and 1 are as they were."
    )
    return dataset
