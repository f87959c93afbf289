"""The learners that are compared: gcwsnet, and what else people would use, each with its defaults."""

from __future__ import annotations

import math
import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gcwsnet.estimators import GCWSNetClassifier

ROWS_AT_ONCE = 2000
FEATURES = 1000
LANDMARKS = 300
MOST_WORK = 3e8


@dataclass(frozen=True)
class Learner:
    """A classifier that is compared.

    Attributes
    ----------
    name : str
    passes : int or None
        The passes over the rows; None for trees.
    make : callable
        From a seed, and whether rows are sparse, to a classifier with `fit` and `predict`.
    takes_sparse : bool
    random : bool
        Whether the result depends on the seed, so that several runs say more than one.
    most_work : float
        The largest product of rows, columns and classes that it learns from in reasonable time.
    all_seeds_when_large : bool
        Whether it is run with all seeds, and not only one, on datasets of more than 50,000 rows.
    """

    name: str
    passes: int | None
    make: Callable[[int, bool], Any]
    takes_sparse: bool = True
    random: bool = True
    most_work: float = math.inf
    all_seeds_when_large: bool = True


def model_bytes(model: Any) -> int:
    """Return the size of a saved model: that of its model file for gcwsnet, that of a pickle for others."""
    if not isinstance(model, GCWSNetClassifier):
        return len(pickle.dumps(model))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path, optimizer=False)
        return path.stat().st_size


class OnePass:
    """A linear model on approximate features of a kernel, which are made and learned batch by batch."""

    def __init__(self, features: Any, seed: int) -> None:
        self.features, self.seed = features, seed
        self.linear = SGDClassifier(loss="log_loss", average=True, random_state=seed)

    def fit(self, X: Any, y: Any) -> OnePass:
        """Learn from each row once."""
        self.features.fit(X[:: -(-X.shape[0] // 20_000)])
        classes, order = np.unique(y), np.random.default_rng(self.seed).permutation(X.shape[0])
        for first in range(0, len(order), ROWS_AT_ONCE):
            rows = order[first : first + ROWS_AT_ONCE]
            self.linear.partial_fit(self.features.transform(X[rows]), y[rows], classes)
        return self

    def predict(self, X: Any) -> Any:
        """Return the predicted labels."""
        parts = [X[first : first + ROWS_AT_ONCE] for first in range(0, X.shape[0], ROWS_AT_ONCE)]
        return np.concatenate([self.linear.predict(self.features.transform(part)) for part in parts])


def _scaled(is_sparse: bool, *steps: Any) -> Any:
    """Return a pipeline that standardises dense columns, or weighs counts by tf-idf, before other steps."""
    return make_pipeline(TfidfTransformer() if is_sparse else StandardScaler(), *steps)


def _lightgbm(seed: int, is_sparse: bool) -> Any:  # noqa: ARG001
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1)


def _rbf_sampler(seed: int, is_sparse: bool) -> OnePass:
    features = RBFSampler(gamma=1.0 if is_sparse else "scale", n_components=FEATURES, random_state=seed)
    return OnePass(_scaled(is_sparse, features), seed)


def _nystroem(seed: int, is_sparse: bool) -> OnePass:
    features = Nystroem(gamma=1.0 if is_sparse else None, n_components=LANDMARKS, random_state=seed)
    return OnePass(_scaled(is_sparse, features), seed)


def all_learners() -> list[Learner]:
    """Return all learners; gcwsnet comes first."""
    return [
        Learner("GCWSNet", 1, lambda seed, _: GCWSNetClassifier(random_state=seed)),
        Learner(
            "GCWSNet, k=1024, 5 epochs",
            5,
            lambda seed, _: GCWSNetClassifier(1024, epochs=5, random_state=seed),
            all_seeds_when_large=False,
        ),
        Learner("linear SGD", 1, lambda seed, is_sparse: _scaled(is_sparse, _sgd(1, seed))),
        Learner("linear SGD, 10 passes", 10, lambda seed, is_sparse: _scaled(is_sparse, _sgd(10, seed))),
        Learner("MLPClassifier", 1, lambda seed, is_sparse: _scaled(is_sparse, _mlp(1, seed))),
        Learner("MLPClassifier, 10 passes", 10, lambda seed, is_sparse: _scaled(is_sparse, _mlp(10, seed))),
        Learner("RBFSampler + SGD", 1, _rbf_sampler),
        Learner("Nystroem + SGD", 1, _nystroem),
        Learner("LightGBM", None, _lightgbm, random=False),
        Learner(
            "HistGradientBoosting",
            None,
            lambda seed, _: HistGradientBoostingClassifier(random_state=seed),
            takes_sparse=False,
            random=False,
            most_work=MOST_WORK,
        ),
    ]


def _sgd(passes: int, seed: int) -> SGDClassifier:
    return SGDClassifier(loss="log_loss", max_iter=passes, tol=None, average=True, random_state=seed)


def _mlp(passes: int, seed: int) -> MLPClassifier:
    return MLPClassifier((200,), max_iter=passes, n_iter_no_change=passes + 1, random_state=seed)


def fit(model: Any, X: Any, y: Any) -> Any:
    """Fit without warnings about convergence: the number of passes is intended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def can_learn(learner: Learner, X: Any, y: Any) -> bool:
    """Return whether a learner can learn from such rows in a few minutes."""
    if X.shape[0] * X.shape[1] * len(np.unique(y)) > learner.most_work:
        return False
    return learner.takes_sparse or not sparse.issparse(X)
