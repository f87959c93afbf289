"""The learners that are compared on streams: they predict rows and then learn from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from gcwsnet import GCWSNetClassifier

Probabilities = NDArray[np.float64]


class StreamModel(Protocol):
    """A model of a stream."""

    def prepare(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> Any:
        """Return rows as the library takes them. This is not part of the time."""

    def predict(self, rows: Any) -> Probabilities:
        """Return the probabilities of all classes, before the rows are learned from."""

    def learn(self, rows: Any) -> None:
        """Learn from rows."""


class OfScikitLearn:
    """A model with `partial_fit`, after a scaler with one if there is one.

    Parameters
    ----------
    model : estimator
    n_classes : int
        The classes of the whole stream.
    n_known : int
        The classes that are known at first. The first call is told them if these are all; else the estimator is to find
        them itself.
    scaler : transformer, optional
    """

    def __init__(self, model: Any, n_classes: int, n_known: int, scaler: Any = None) -> None:
        self.model, self.n_classes, self.scaler = model, n_classes, scaler
        self._first: dict[str, Any] = {"classes": np.arange(n_known)} if n_known == n_classes else {}
        self._is_fitted = False

    def prepare(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> Any:
        """Return the arrays."""
        return X, y

    def predict(self, rows: Any) -> Probabilities:
        """Return the model's probabilities, in the columns of its classes; equal ones before the first rows."""
        X, _ = rows
        if not self._is_fitted:
            return np.full((len(X), self.n_classes), 1 / self.n_classes)
        found = self.model.predict_proba(X if self.scaler is None else self.scaler.transform(X))
        if found.shape[1] == self.n_classes:
            return found
        all_classes = np.zeros((len(X), self.n_classes))
        all_classes[:, self.model.classes_] = found
        return all_classes

    def learn(self, rows: Any) -> None:
        """Learn from rows with `partial_fit`."""
        X, y = rows
        if self.scaler is not None:
            X = self.scaler.partial_fit(X).transform(X)
        self.model.partial_fit(X, y, **self._first)
        self._first, self._is_fitted = {}, True


class OfRiver:
    """A classifier of river, which takes rows one by one as dicts."""

    def __init__(self, model: Any, n_classes: int) -> None:
        self.model, self.n_classes = model, n_classes

    def prepare(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> Any:
        """Return pairs of a dict and a class."""
        return [(dict(enumerate(row)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)]

    def predict(self, rows: Any) -> Probabilities:
        """Return the probabilities, which are equal where the model says nothing."""
        found = np.zeros((len(rows), self.n_classes))
        for row, (x, _) in zip(found, rows, strict=True):
            probabilities = self.model.predict_proba_one(x)
            for label, probability in probabilities.items():
                row[int(label)] = probability
            if not row.sum() > 0:
                row[:] = 1 / self.n_classes
        return found

    def learn(self, rows: Any) -> None:
        """Learn from rows one by one."""
        for x, y in rows:
            self.model.learn_one(x, y)


class VowpalWabbit:
    """One linear model for each class, trained by Vowpal Wabbit."""

    def __init__(self, n_classes: int, options: str = "") -> None:
        from vowpalwabbit import Workspace

        self._workspace: Any = Workspace(
            f"--oaa {n_classes} --loss_function logistic --link logistic --probabilities --quiet {options}"
        )

    def prepare(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> Any:
        """Return lines of text, without zeros."""
        return [
            f"{label + 1} |a " + " ".join(f"{column}:{value:g}" for column, value in enumerate(row) if value)
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]

    def predict(self, rows: Any) -> Probabilities:
        """Return the probabilities of lines without their labels."""
        found = [self._workspace.predict(line[line.index("|") :]) for line in rows]
        return np.array(found, dtype=np.float64)

    def learn(self, rows: Any) -> None:
        """Learn from lines."""
        for line in rows:
            self._workspace.learn(line)


class LastLabel:
    """The class of the row that was learned from last."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes, self._last = n_classes, 0

    def prepare(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> Any:
        """Return the arrays."""
        return X, y

    def predict(self, rows: Any) -> Probabilities:
        """Return 1 for the last class."""
        found = np.zeros((len(rows[0]), self.n_classes))
        found[:, self._last] = 1.0
        return found

    def learn(self, rows: Any) -> None:
        """Remember the last class."""
        self._last = int(rows[1][-1])


@dataclass(frozen=True)
class StreamLearner:
    """A learner of streams.

    Attributes
    ----------
    name : str
    make : callable
        From a seed, the number of classes and the number of them that are known at first to a `StreamModel`.
    needs : str
        The package that has to be installed.
    random : bool
        Whether the result depends on the seed.
    """

    name: str
    make: Callable[[int, int, int], StreamModel]
    needs: str = "sklearn"
    random: bool = True

    @property
    def installed(self) -> bool:
        """Whether what it needs is installed."""
        return find_spec(self.needs) is not None


def _gcwsnet(seed: int, n_classes: int, n_known: int) -> StreamModel:
    return OfScikitLearn(GCWSNetClassifier(random_state=seed, n_jobs=1), n_classes, n_known)


def _sgd(seed: int, n_classes: int, n_known: int) -> StreamModel:  # noqa: ARG001 - it takes no new classes
    return OfScikitLearn(SGDClassifier(loss="log_loss", random_state=seed), n_classes, n_classes, StandardScaler())


def _adaptive_forest(seed: int, n_classes: int, n_known: int) -> StreamModel:  # noqa: ARG001
    from river.forest import ARFClassifier

    return OfRiver(ARFClassifier(seed=seed), n_classes)


def _adaptive_tree(seed: int, n_classes: int, n_known: int) -> StreamModel:  # noqa: ARG001
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return OfRiver(HoeffdingAdaptiveTreeClassifier(seed=seed), n_classes)


def _logistic(seed: int, n_classes: int, n_known: int) -> StreamModel:  # noqa: ARG001
    from river.linear_model import LogisticRegression
    from river.multiclass import OneVsRestClassifier
    from river.preprocessing import StandardScaler as Scaler

    linear = LogisticRegression() if n_classes == 2 else OneVsRestClassifier(LogisticRegression())
    return OfRiver(Scaler() | linear, n_classes)


def _vowpal_wabbit(options: str = "") -> Callable[[int, int, int], StreamModel]:
    return lambda seed, n_classes, n_known: VowpalWabbit(n_classes, options)  # noqa: ARG005


def all_learners() -> Sequence[StreamLearner]:
    """Return all learners, also those that are not installed; gcwsnet comes first."""
    return [
        StreamLearner("GCWSNet", _gcwsnet),
        StreamLearner("river ARF", _adaptive_forest, "river"),
        StreamLearner("river HAT", _adaptive_tree, "river"),
        StreamLearner("river logistic", _logistic, "river", random=False),
        StreamLearner("VW", _vowpal_wabbit(), "vowpalwabbit", random=False),
        StreamLearner("VW, pairs", _vowpal_wabbit("-q ::"), "vowpalwabbit", random=False),
        StreamLearner("SGD", _sgd),
        StreamLearner("last label", lambda seed, n_classes, n_known: LastLabel(n_classes), random=False),  # noqa: ARG005
    ]
