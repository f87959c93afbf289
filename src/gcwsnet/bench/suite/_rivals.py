"""Who learns: gcwsnet, and what else people would take, each with its defaults."""

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
class Rival:
    """A way to learn.

    Attributes
    ----------
    name : str
    passes : int or None
        Over the rows; None for trees.
    make : callable
        From a seed, and whether rows are sparse, to a classifier with `fit` and `predict`.
    takes_sparse : bool
    random : bool
        Whether the seed matters, so that several runs say more than one.
    most_work : float
        Rows times columns times classes; with more it takes too long.
    large_sets : bool
        Whether it is run with all seeds on sets of more than 50,000 rows, where it takes long.
    """

    name: str
    passes: int | None
    make: Callable[[int, bool], Any]
    takes_sparse: bool = True
    random: bool = True
    most_work: float = math.inf
    large_sets: bool = True


def model_bytes(model: Any) -> int:
    """The size of a model as it would be kept: a file of its own for gcwsnet, a pickle for others."""
    if not isinstance(model, GCWSNetClassifier):
        return len(pickle.dumps(model))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path, optimizer=False)
        return path.stat().st_size


class OnePass:
    """A linear model on features of a kernel, made and learned batch by batch."""

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
        """Labels."""
        parts = [X[first : first + ROWS_AT_ONCE] for first in range(0, X.shape[0], ROWS_AT_ONCE)]
        return np.concatenate([self.linear.predict(self.features.transform(part)) for part in parts])


def _scaled(is_sparse: bool, *steps: Any) -> Any:
    """Dense columns standardised; counts by tf-idf."""
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


def rivals() -> list[Rival]:
    """All of them; gcwsnet comes first."""
    return [
        Rival("GCWSNet", 1, lambda seed, _: GCWSNetClassifier(random_state=seed)),
        Rival(
            "GCWSNet, k=1024, 5 epochs",
            5,
            lambda seed, _: GCWSNetClassifier(1024, epochs=5, random_state=seed),
            large_sets=False,
        ),
        Rival("linear SGD", 1, lambda seed, is_sparse: _scaled(is_sparse, _sgd(1, seed))),
        Rival("linear SGD, 10 passes", 10, lambda seed, is_sparse: _scaled(is_sparse, _sgd(10, seed))),
        Rival("MLPClassifier", 1, lambda seed, is_sparse: _scaled(is_sparse, _mlp(1, seed))),
        Rival("MLPClassifier, 10 passes", 10, lambda seed, is_sparse: _scaled(is_sparse, _mlp(10, seed))),
        Rival("RBFSampler + SGD", 1, _rbf_sampler),
        Rival("Nystroem + SGD", 1, _nystroem),
        Rival("LightGBM", None, _lightgbm, random=False),
        Rival(
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
    """Fit without a word about convergence: the number of passes is what is asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def suits(rival: Rival, X: Any, y: Any) -> bool:
    """Whether it can learn from such rows in some minutes."""
    if X.shape[0] * X.shape[1] * len(np.unique(y)) > rival.most_work:
        return False
    return rival.takes_sparse or not sparse.issparse(X)
