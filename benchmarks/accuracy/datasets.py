"""The datasets of the suite, each split into training rows and test rows."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import datasets as sklearn_datasets
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from gcwsnet import datasets


class Split(NamedTuple):
    """Training rows and test rows."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class SuiteDataset:
    """A dataset of the suite.

    Attributes
    ----------
    name : str
    origin : str
        Where it comes from, as a table shows it.
    load : callable
        From a seed, which decides how small datasets are split. It raises FileNotFoundError where a file is missing.
    least_seeds : int
        Small datasets are split and run more often, since few test rows say little.
    """

    name: str
    origin: str
    load: Callable[[int], Split]
    least_seeds: int = 1


BUNDLED = ("iris", "wine", "breast_cancer", "digits")
SPLITS_OF_SMALL_DATASETS = 10
OF_THE_PAPER = {
    "semg": "derived",
    "pendigits": "exact",
    "m-noise1": "rebuilt",
    "m-image": "rebuilt",
    "dailysports": "rounded",
    "mnist": "exact",
    "covtype": "exact",
}


def _of_the_paper(name: str) -> Callable[[int], Split]:
    def load() -> Split:
        data = datasets.load(name, download=False)
        return Split(data.X_train, data.y_train, data.X_test, data.y_test)

    return _same_for_all_seeds(load)


def _same_for_all_seeds(load: Callable[[], Split]) -> Callable[[int], Split]:
    """Return a loader that ignores the seed and loads only once."""
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
    """Return two half circles, and eight columns of noise with other units."""
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
    """Return one-hot rows of 20 fields; the label depends on the values and on pairs of them."""
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
    """Return counts of the words that occur twice or more."""
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


def suite_datasets() -> dict[str, SuiteDataset]:
    """Return the datasets by name: bundled with scikit-learn, generated, text, and those of the paper."""
    found = [SuiteDataset(name, "bundled", _bundled(name), SPLITS_OF_SMALL_DATASETS) for name in BUNDLED]
    found += [SuiteDataset(name, "generated", _same_for_all_seeds(make)) for name, make in GENERATED.items()]
    found += [SuiteDataset("docstrings", "text of the packages", _same_for_all_seeds(_docstrings))]
    found += [SuiteDataset(name, origin, _of_the_paper(name)) for name, origin in OF_THE_PAPER.items()]
    return {one.name: one for one in found}


DOCUMENTED_PACKAGES = ("numpy", "scipy", "sklearn", "torch", "matplotlib")
PACKAGE_NAMES = re.compile(
    r"numpy|scipy|sklearn|scikit|torch|tensor|matplotlib|\bnp\b|\bplt\b"
)  # they give the label away
LEAST_CHARACTERS = 100


def load_docstrings(packages: tuple[str, ...] = DOCUMENTED_PACKAGES) -> tuple[list[str], list[str]]:
    """Return docstrings in lower case, without the packages' names, and the package of each."""
    texts: list[str] = []
    labels: list[str] = []
    for package in packages:
        found = dict.fromkeys(text for module in _modules(package) for text in _docstrings_of(module, package))
        texts += [PACKAGE_NAMES.sub(" ", text.lower()) for text in found]
        labels += [package] * len(found)
    return texts, labels


def _modules(package: str) -> Iterator[ModuleType]:
    """Yield the package and its public modules, but not their submodules."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.iter_modules(root.__path__):
        if found.name.startswith("_") or found.name in {"tests", "conftest", "testing"}:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield importlib.import_module(f"{package}.{found.name}")
            except ImportError:  # it needs a package that is not installed
                continue


def _docstrings_of(module: ModuleType, package: str) -> Iterator[str]:
    """Yield the docstrings of the public functions and classes of a module, and of their members."""
    for name, value in list(vars(module).items()):
        if name.startswith("_") or not str(getattr(value, "__module__", package)).startswith(package):
            continue
        members = list(vars(value).values()) if inspect.isclass(value) else []
        for one in (value, *members):
            text = getattr(one, "__doc__", None)
            if isinstance(text, str) and len(text) >= LEAST_CHARACTERS:
                yield text
