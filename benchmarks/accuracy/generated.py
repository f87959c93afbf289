"""The datasets of the suite that need no files: bundled with scikit-learn, generated, and the text of packages."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
from scipy import sparse
from sklearn import datasets as sklearn_datasets
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.accuracy.split import Split, SuiteDataset, Task, same_for_all_seeds, split_rows

BUNDLED = ("iris", "wine", "breast_cancer", "digits")
SPLITS_OF_SMALL_DATASETS = 10


def _bundled(name: str) -> Callable[[int], Split]:
    def load(seed: int) -> Split:
        X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
        return split_rows(X, y, seed=seed)

    return load


def _moons() -> Split:
    """Return two half circles, and eight columns of noise with other units."""
    X, y = sklearn_datasets.make_moons(6000, noise=0.2, random_state=0)
    noise = np.random.default_rng(0).normal(size=(6000, 8)) * np.logspace(-3, 3, 8)
    return split_rows(np.hstack([X, noise]), y)


def _clusters() -> Split:
    return split_rows(
        *sklearn_datasets.make_classification(
            15_000, 30, n_informative=10, n_redundant=5, n_classes=5, n_clusters_per_class=2, random_state=0
        )
    )


def _shells() -> Split:
    X, y = sklearn_datasets.make_gaussian_quantiles(n_samples=9000, n_features=8, n_classes=3, random_state=0)
    return split_rows(X, y)


def _hastie() -> Split:
    return split_rows(*sklearn_datasets.make_hastie_10_2(12_000, random_state=0))


def _friedman() -> Split:
    X, y = sklearn_datasets.make_friedman1(12_000, 10, noise=1.0, random_state=0)
    return split_rows(X, y > np.median(y))


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
    return split_rows(X, y)


def _docstrings() -> Split:
    """Return counts of the words that occur twice or more."""
    texts, labels = load_docstrings()
    return split_rows(CountVectorizer(min_df=2, dtype=np.float32).fit_transform(texts), np.array(labels))


def _diabetes(seed: int) -> Split:
    X, y = sklearn_datasets.load_diabetes(return_X_y=True)
    return split_rows(X, y, "regression", seed)


def _prices() -> Split:
    """Return columns of different units, and a target with an exponential, a sine and a threshold in it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8)) @ rng.normal(size=(8, 8)) * np.exp(rng.normal(size=8))
    z = (X - X.mean(0)) / X.std(0)
    y = np.exp(0.5 * z[:, 0]) + np.sin(2 * z[:, 1]) * z[:, 2] + (z[:, 3] > 0) * z[:, 4]
    return split_rows(X, y + 0.3 * rng.normal(size=20_000), "regression")


def _friedman_numbers() -> Split:
    X, y = sklearn_datasets.make_friedman1(10_000, 10, noise=1.0, random_state=0)
    return split_rows(X, y, "regression")


GENERATED: dict[str, tuple[Callable[[], Split], Task]] = {
    "moons": (_moons, "classification"),
    "shells": (_shells, "classification"),
    "hastie": (_hastie, "classification"),
    "friedman": (_friedman, "classification"),
    "clusters": (_clusters, "classification"),
    "clicks": (_clicks, "classification"),
    "prices": (_prices, "regression"),
    "friedman-numbers": (_friedman_numbers, "regression"),
}


def generated_datasets() -> list[SuiteDataset]:
    """Return the datasets that are bundled with scikit-learn, generated, or made of the text of packages."""
    small = {"by_seed": True, "least_seeds": SPLITS_OF_SMALL_DATASETS}
    found = [SuiteDataset(name, "bundled", "bundled", _bundled(name), **small) for name in BUNDLED]  # type: ignore[arg-type]
    found.append(SuiteDataset("diabetes", "bundled", "bundled", _diabetes, "regression", **small))  # type: ignore[arg-type]
    for name, (make, task) in GENERATED.items():
        found.append(SuiteDataset(name, "generated", "generated", same_for_all_seeds(make), task))
    found.append(SuiteDataset("docstrings", "text", "text of the packages", same_for_all_seeds(_docstrings)))
    return found


DOCUMENTED_PACKAGES = ("numpy", "scipy", "sklearn", "torch", "matplotlib")
PACKAGE_NAMES = re.compile(
    r"numpy|scipy|sklearn|scikit|torch|tensor|matplotlib|\bnp\b|\bplt\b"
)  # they give the label away
MIN_CHARACTERS = 100


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
            if isinstance(text, str) and len(text) >= MIN_CHARACTERS:
                yield text
