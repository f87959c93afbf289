"""The datasets of the suite, each split into rows for training and for testing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import datasets as sklearn_datasets
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from gcwsnet import datasets
from gcwsnet.bench.suite._docstrings import load_docstrings


class Split(NamedTuple):
    """Rows to learn from, and rows to judge by."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class Set:
    """A dataset.

    Attributes
    ----------
    name : str
    kind : str
        Where it comes from, as a table shows it.
    load : callable
        From a seed, which decides how small sets are split. It raises FileNotFoundError where a file is missing.
    least_seeds : int
        Small sets are split and run more often, since a few rows for testing say little.
    """

    name: str
    kind: str
    load: Callable[[int], Split]
    least_seeds: int = 1


def all_sets() -> list[Set]:
    """Those that come with scikit-learn, those that are generated, text, and those of the paper."""
    bundled = [Set(name, "bundled", _bundled(name), SPLITS_OF_SMALL_SETS) for name in BUNDLED]
    generated = [Set(name, "generated", _whatever_the_seed(make)) for name, make in GENERATED.items()]
    stored = [Set(name, origin, _stored(name)) for name, origin in STORED.items()]
    text = Set("docstrings", "text of the packages", _whatever_the_seed(_docstrings))
    return [*bundled, *generated, text, *stored]


BUNDLED = ("iris", "wine", "breast_cancer", "digits")
SPLITS_OF_SMALL_SETS = 10
STORED = {
    "semg": "derived",
    "pendigits": "exact",
    "m-noise1": "rebuilt",
    "m-image": "rebuilt",
    "dailysports": "rounded",
    "mnist": "exact",
    "covtype": "exact",
}


def _stored(name: str) -> Callable[[int], Split]:
    def load() -> Split:
        data = datasets.load(name, download=False)
        return Split(data.X_train, data.y_train, data.X_test, data.y_test)

    return _whatever_the_seed(load)


def _whatever_the_seed(load: Callable[[], Split]) -> Callable[[int], Split]:
    """Loaded once."""
    loaded = cache(load)
    return lambda seed: loaded()  # noqa: ARG005


def _split(X: Any, y: Any, seed: int = 0) -> Split:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    return Split(X_train, y_train, X_test, y_test)


def _bundled(name: str) -> Callable[[int], Split]:
    def load(seed: int) -> Split:
        X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
        return _split(X, y, seed)

    return load


def _moons() -> Split:
    """Two half circles, and eight columns of noise with other units."""
    X, y = sklearn_datasets.make_moons(6000, noise=0.2, random_state=0)
    noise = np.random.default_rng(0).normal(size=(6000, 8)) * np.logspace(-3, 3, 8)
    return _split(np.hstack([X, noise]), y)


def _clusters() -> Split:
    return _split(
        *sklearn_datasets.make_classification(
            15_000, 30, n_informative=10, n_redundant=5, n_classes=5, n_clusters_per_class=2, random_state=0
        )
    )


def _shells() -> Split:
    return _split(*sklearn_datasets.make_gaussian_quantiles(n_samples=9000, n_features=8, n_classes=3, random_state=0))


def _hastie() -> Split:
    return _split(*sklearn_datasets.make_hastie_10_2(12_000, random_state=0))


def _friedman() -> Split:
    X, y = sklearn_datasets.make_friedman1(12_000, 10, noise=1.0, random_state=0)
    return _split(X, y > np.median(y))


def _clicks() -> Split:
    """Rows of 20 fields, each a value of many, one-hot; whether there was a click hangs on values and pairs of them."""
    rng = np.random.default_rng(0)
    n, fields, values = 30_000, 20, 500
    picks = np.minimum(rng.zipf(1.3, (n, fields)) - 1, values - 1)
    effects = rng.normal(0, 0.5, (fields, values))
    pairs = rng.normal(0, 1.0, (5, values, values)).astype(np.float32)
    score = effects[np.arange(fields), picks].sum(axis=1) - 1.0
    for number, table in enumerate(pairs):
        score += table[picks[:, 2 * number], picks[:, 2 * number + 1]]
    y = rng.random(n) < 1 / (1 + np.exp(-score))
    columns = (picks + values * np.arange(fields)).ravel()
    ones = np.ones(n * fields, dtype=np.float32)
    X = sparse.csr_matrix((ones, columns, np.arange(0, n * fields + 1, fields)), shape=(n, fields * values))
    return _split(X, y)


def _docstrings() -> Split:
    """Counts of words that occur twice or more."""
    texts, labels = load_docstrings()
    return _split(CountVectorizer(min_df=2, dtype=np.float32).fit_transform(texts), np.array(labels))


GENERATED: dict[str, Callable[[], Split]] = {
    "moons": _moons,
    "shells": _shells,
    "hastie": _hastie,
    "friedman": _friedman,
    "clusters": _clusters,
    "clicks": _clicks,
}
