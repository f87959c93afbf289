"""Runs without nets: support vector machines, collisions of samples beside the kernel, and k-means."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

from gcwsnet import GCWSHasher, pgmm_kernel
from reproduction.experiment_data import length_one_on_average
from reproduction.settings import Settings

Floats = NDArray[np.float64]
Kernel = Callable[[Any, Any], Floats]
ROWS_AT_ONCE = 2048
MAX_STEPS = 100
CANDIDATES = 400


def run_svm(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the accuracy for each C, and the best of them: LIBLINEAR on the rows, LIBSVM on exact kernels."""
    by_C = _linear(settings, data) if settings["kernel"] == "linear" else _with_kernel(settings, data)
    best = max(by_C, key=lambda C: by_C[C])
    return {"accuracy": by_C[best], "best_C": best, "by_C": [[C, accuracy] for C, accuracy in by_C.items()]}


def _linear(settings: Settings, data: Any) -> dict[float, float]:
    found = {}
    for C in settings["C"]:
        machine = LinearSVC(C=C, dual="auto", max_iter=MAX_STEPS, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # columns of very different sizes: LIBLINEAR gives up
            machine.fit(data.X_train, data.y_train)
        found[C] = 100 * float(machine.score(data.X_test, data.y_test))
    return found


def _with_kernel(settings: Settings, data: Any) -> dict[float, float]:
    kernel, X, Y = _kernel(settings, data)
    K = kernel(X, None)
    machines = [SVC(C=C, kernel="precomputed").fit(K, data.y_train) for C in settings["C"]]
    del K
    right = np.zeros(len(machines))
    for first in range(0, len(Y), ROWS_AT_ONCE):
        rows, labels = Y[first : first + ROWS_AT_ONCE], data.y_test[first : first + ROWS_AT_ONCE]
        K = kernel(rows, X)
        right += [np.count_nonzero(machine.predict(K) == labels) for machine in machines]
    return dict(zip(settings["C"], (100 * right / len(Y)).tolist(), strict=True))


def _kernel(settings: Settings, data: Any) -> tuple[Kernel, Any, Any]:
    """Return the kernel, and the rows for training and for testing that it works on.

    RBF is exp(-gamma |u - v|^2 / 2), which for rows of length 1 is the exp(-gamma (1 - rho)) of the paper. "rbf"
    scales each row to length 1; "rbf-scaled" divides all rows by one number, so that they have length 1 on average.
    """
    parameter = settings["parameter"]
    if settings["kernel"] == "pgmm":
        return lambda X, Y: pgmm_kernel(X, Y, p=parameter, n_jobs=1), data.X_train, data.X_test
    X, Y = (rows.astype(np.float64) for rows in (data.X_train, data.X_test))
    if settings["kernel"] == "rbf":
        X, Y = normalize(X), normalize(Y)
    else:
        X, Y = length_one_on_average(X, Y)
    return lambda X, Y: rbf_kernel(X, Y, gamma=parameter / 2), X, Y


def run_zero_bit(settings: Settings, data: Any) -> dict[str, Any]:
    """Return exact kernels of pairs of rows, and the shares of hashes with equal i* and with equal (i*, t*).

    It is equation (7) of the paper, the 0-bit approximation, on rows for testing. Most pairs of rows are hardly
    similar, so pairs are chosen whose kernels are spread evenly.
    """
    rows = data.X_test[:CANDIDATES]
    K = pgmm_kernel(rows, p=settings["p"], n_jobs=1)
    first, second = np.triu_indices(len(rows), 1)
    kernels = K[first, second]
    order = np.argsort(kernels)
    targets = np.linspace(kernels[order[0]], kernels[order[-1]], settings["pairs"])
    chosen = np.unique(order[np.clip(np.searchsorted(kernels[order], targets), 0, len(order) - 1)])
    hasher = GCWSHasher(settings["k"], p=settings["p"], random_state=settings["seed"], n_jobs=1).fit(rows)
    i_star, t_star = hasher.samples(rows)
    same = i_star[first[chosen]] == i_star[second[chosen]]
    both = same & (t_star[first[chosen]] == t_star[second[chosen]])
    return {"J": kernels[chosen].tolist(), "i": same.mean(axis=1).tolist(), "i_and_t": both.mean(axis=1).tolist()}


def run_pattern(settings: Settings, data: Any) -> dict[str, Any]:
    """Return the accuracy of the most frequent class of rows for training with the same pattern of entries.

    Which entries are the largest is all that hashes say for a very large p, and which are not zero for a very small
    one.
    """
    masks = [
        X.max(axis=1, keepdims=True) == X if settings["entries"] == "largest" else X != 0
        for X in (data.X_train, data.X_test)
    ]
    train, test = (mask.astype(np.uint8) for mask in masks)
    classes: dict[bytes, Counter[Any]] = {}
    for row, label in zip(train, data.y_train.tolist(), strict=True):
        classes.setdefault(row.tobytes(), Counter())[label] += 1
    default = Counter(data.y_train.tolist())
    guesses = [classes.get(row.tobytes(), default).most_common(1)[0][0] for row in test]
    return {"accuracy": 100 * float(np.mean(guesses == data.y_test))}


def run_clusters(settings: Settings, data: Any) -> dict[str, Any]:
    """Return how well clusters of the test rows agree with the classes: 100 times the adjusted information.

    It is the mutual information of clusters and classes, adjusted so that it is 0 for clusters by chance and 1 for the
    classes. There are as many clusters as classes.
    """
    (rows,) = _rows_or_codes(settings, data.X_test)
    means = KMeans(len(np.unique(data.y_test)), n_init=3, max_iter=100, random_state=settings["seed"])
    information = adjusted_mutual_info_score(data.y_test, means.fit_predict(rows))
    return {"accuracy": 100 * float(information)}


def run_regression(settings: Settings, data: Any) -> dict[str, Any]:
    """Return 100 times R2 of a ridge regression, whose penalty is chosen by left-out rows for training."""
    train, test = _rows_or_codes(settings, data.X_train, data.X_test)
    machine = RidgeCV(alphas=np.geomspace(1e-2, 1e4, 25)).fit(train, data.y_train)
    return {"accuracy": 100 * float(machine.score(test, data.y_test))}


def _rows_or_codes(settings: Settings, *rows: Any) -> list[Any]:
    """Return rows as they are, or the one-hot vectors of their codes."""
    if settings["rows"] == "original":
        return list(rows)
    hasher = GCWSHasher(
        settings["k"],
        p=settings["p"],
        bits=settings["b"],
        t_bits=0,
        encoding="lowbits",
        output="onehot",
        random_state=settings["seed"],
        n_jobs=1,
    ).fit(rows[0])
    return [hasher.transform(some) for some in rows]
