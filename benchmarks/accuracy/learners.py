"""The learners that are compared: gcwsnet, and what else people would use, each with its defaults and one thread."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeCV, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

import gcwsnet
from benchmarks.accuracy.columns import Strings, is_frame, one_hot, string_columns, with_categories
from benchmarks.accuracy.split import Task
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor

ROWS_AT_ONCE = 2000
FEATURES = 1000
LANDMARKS = 300
MAX_WORK = 3e8
MAX_BINNED_CATEGORIES = 254
PGMM = "gcwsnet.PGMM"


@dataclass(frozen=True)
class Learner:
    """A classifier and a regressor that are compared with others.

    Attributes
    ----------
    name : str
    passes : str
        The passes over the rows, or a word for what is no pass.
    make : callable
        From a seed, a task and training rows to an estimator. The rows only tell whether they are a frame or sparse.
    tasks : tuple of str
    needs : str
        The package that has to be installed, or the name that gcwsnet has to have.
    takes_sparse, takes_dense : bool
    random : bool
        Whether the result depends on the seed, so that several runs say more than one.
    most_work : float
        The largest product of rows, columns and classes that it learns from in reasonable time.
    most_rows : float
    all_seeds_when_large : bool
        Whether it is run with all seeds, and not only one, on datasets of more than 50,000 rows.
    """

    name: str
    passes: str
    make: Callable[[int, Task, Any], Any]
    tasks: tuple[Task, ...] = ("classification", "regression")
    needs: str = "sklearn"
    takes_sparse: bool = True
    takes_dense: bool = True
    random: bool = True
    most_work: float = math.inf
    most_rows: float = math.inf
    all_seeds_when_large: bool = True

    @property
    def installed(self) -> bool:
        """Whether what it needs is installed."""
        if self.needs == PGMM:
            return hasattr(gcwsnet, "PGMMClassifier")
        return find_spec(self.needs) is not None


def can_learn(learner: Learner, task: Task, X: Any, y: Any) -> bool:
    """Return whether a learner can learn from such rows in a few minutes."""
    rows, columns = X.shape
    classes = len(np.unique(y)) if task == "classification" else 1
    if task not in learner.tasks or rows > learner.most_rows or rows * columns * classes > learner.most_work:
        return False
    return learner.takes_sparse if sparse.issparse(X) else learner.takes_dense


def _of(module: str, task: Task, classifier: str, regressor: str, **settings: Any) -> Any:
    """Return an estimator of a package that is imported only now."""
    return getattr(import_module(module), classifier if task == "classification" else regressor)(**settings)


def gcwsnet_maker(**settings: Any) -> Callable[[int, Task, Any], Any]:
    """Return what makes GCWSNet with these settings from a seed."""

    def make(seed: int, task: Task, X: Any) -> Any:  # noqa: ARG001
        estimator = GCWSNetClassifier if task == "classification" else GCWSNetRegressor
        return estimator(random_state=seed, n_jobs=1, **settings)

    return make


def _pgmm(seed: int, task: Task, X: Any) -> Any:  # noqa: ARG001
    model = _of("gcwsnet", task, "PGMMClassifier", "PGMMRegressor")
    known = model.get_params()
    return model.set_params(
        **{name: value for name, value in {"random_state": seed, "n_jobs": 1}.items() if name in known}
    )


def _lightgbm(seed: int, task: Task, X: Any) -> Any:
    model = _of("lightgbm", task, "LGBMClassifier", "LGBMRegressor", n_jobs=1, random_state=seed, verbose=-1)
    return with_categories(model, X)


def _xgboost(seed: int, task: Task, X: Any) -> Any:
    settings = {"n_jobs": 1, "random_state": seed, "enable_categorical": is_frame(X)}
    return with_categories(_of("xgboost", task, "XGBClassifier", "XGBRegressor", **settings), X)


def _catboost(seed: int, task: Task, X: Any) -> Any:
    settings: dict[str, Any] = {"thread_count": 1, "random_seed": seed, "verbose": False, "allow_writing_files": False}
    if not is_frame(X):
        return _of("catboost", task, "CatBoostClassifier", "CatBoostRegressor", **settings)
    model = _of("catboost", task, "CatBoostClassifier", "CatBoostRegressor", cat_features=string_columns(X), **settings)
    return make_pipeline(Strings(), model)


def _realmlp(seed: int, task: Task, X: Any) -> Any:
    import_module("pytorch_lightning")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)  # it writes several lines for each fit
    settings = {"device": "cpu", "n_threads": 1, "random_state": seed}
    model = _of("pytabkit", task, "RealMLP_TD_Classifier", "RealMLP_TD_Regressor", **settings)
    return with_categories(model, X, impute=True)


def _forest(seed: int, task: Task, X: Any) -> Any:
    forest = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return one_hot(X, forest(random_state=seed, n_jobs=1), scaled=False)


def _hist_gradient_boosting(seed: int, task: Task, X: Any) -> Any:
    boosting = HistGradientBoostingClassifier if task == "classification" else HistGradientBoostingRegressor
    return with_categories(boosting(random_state=seed), X, MAX_BINNED_CATEGORIES)


def _sgd(passes: int) -> Callable[[int, Task, Any], Any]:
    def make(seed: int, task: Task, X: Any) -> Any:  # noqa: ARG001
        linear = SGDClassifier(loss="log_loss", max_iter=passes, tol=None, average=True, random_state=seed)
        return one_hot(X, linear, scaled=True)

    return make


def _ridge(seed: int, task: Task, X: Any) -> Any:  # noqa: ARG001
    return one_hot(X, RidgeCV(np.logspace(-2, 4, 13)), scaled=True)


def _mlp(passes: int) -> Callable[[int, Task, Any], Any]:
    def make(seed: int, task: Task, X: Any) -> Any:  # noqa: ARG001
        net = MLPClassifier((200,), max_iter=passes, n_iter_no_change=passes + 1, random_state=seed)
        return one_hot(X, net, scaled=True)

    return make


class OnePass:
    """A linear model on approximate features of a kernel, which are made and learned batch by batch."""

    def __init__(self, features: Any, seed: int) -> None:
        self.features, self.seed = features, seed
        self.linear = SGDClassifier(loss="log_loss", average=True, random_state=seed)

    def fit(self, X: Any, y: Any) -> OnePass:
        """Learn from each row once."""
        self.features.fit(_rows(X, slice(None, None, -(-X.shape[0] // 20_000))))
        classes, order = np.unique(y), np.random.default_rng(self.seed).permutation(X.shape[0])
        for first in range(0, len(order), ROWS_AT_ONCE):
            rows = order[first : first + ROWS_AT_ONCE]
            self.linear.partial_fit(self.features.transform(_rows(X, rows)), y[rows], classes)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        parts = [_rows(X, slice(first, first + ROWS_AT_ONCE)) for first in range(0, X.shape[0], ROWS_AT_ONCE)]
        return np.concatenate([self.linear.predict_proba(self.features.transform(part)) for part in parts])


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if is_frame(X) else X[rows]


def _rbf_sampler(seed: int, task: Task, X: Any) -> OnePass:  # noqa: ARG001
    features = RBFSampler(gamma=1.0 if sparse.issparse(X) else "scale", n_components=FEATURES, random_state=seed)
    return OnePass(one_hot(X, features, scaled=True), seed)


def _nystroem(seed: int, task: Task, X: Any) -> OnePass:  # noqa: ARG001
    features = Nystroem(gamma=1.0 if sparse.issparse(X) else None, n_components=LANDMARKS, random_state=seed)
    return OnePass(one_hot(X, features, scaled=True), seed)


def all_learners() -> list[Learner]:
    """Return all learners, also those that are not installed; gcwsnet comes first."""
    classes: tuple[Task, ...] = ("classification",)
    return [
        Learner("GCWSNet", "chosen", gcwsnet_maker()),
        Learner("GCWSNet, search off", "chosen", gcwsnet_maker(search="off")),
        Learner("GCWSNet, thorough", "chosen", gcwsnet_maker(search="thorough"), all_seeds_when_large=False),
        Learner("PGMM", "closed form", _pgmm, needs=PGMM, most_rows=15_000),
        Learner("LightGBM", "trees", _lightgbm, needs="lightgbm", random=False),
        Learner("XGBoost", "trees", _xgboost, needs="xgboost", random=False),
        Learner("CatBoost", "trees", _catboost, needs="catboost", all_seeds_when_large=False),
        Learner("random forest", "trees", _forest),
        Learner("HistGradientBoosting", "trees", _hist_gradient_boosting, takes_sparse=False, most_work=MAX_WORK),
        Learner("RealMLP", "256", _realmlp, needs="pytabkit", takes_sparse=False, most_rows=20_000),
        Learner("linear SGD", "1", _sgd(1), classes),
        Learner("linear SGD, 10 passes", "10", _sgd(10), classes),
        Learner("ridge", "closed form", _ridge, ("regression",), random=False),
        Learner("MLPClassifier", "1", _mlp(1), classes),
        Learner("MLPClassifier, 10 passes", "10", _mlp(10), classes),
        Learner("RBFSampler + SGD", "1", _rbf_sampler, classes),
        Learner("Nystroem + SGD", "1", _nystroem, classes),
    ]
