"""The learners that are compared on streams: they predict rows and then learn from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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


class OfGCWSNet:
    """A GCWSNetClassifier.

    Parameters
    ----------
    model : GCWSNetClassifier
    n_classes : int
        The classes of the whole stream.
    n_known : int
        The classes that are known at first. The first call is told them if these are all.
    """

    def __init__(self, model: GCWSNetClassifier, n_classes: int, n_known: int) -> None:
        self.model, self.n_classes = model, n_classes
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
        found = self.model.predict_proba(X)
        if found.shape[1] == self.n_classes:
            return found
        all_classes = np.zeros((len(X), self.n_classes))
        all_classes[:, self.model.classes_] = found
        return all_classes

    def learn(self, rows: Any) -> None:
        """Learn from rows with `partial_fit`."""
        self.model.partial_fit(*rows, **self._first)
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


class OfCapyMOA:
    """A classifier of CapyMOA, which runs in a Java virtual machine and takes instances of its own.

    Parameters
    ----------
    make : callable
        From a schema of CapyMOA to the classifier.
    n_classes : int
    """

    def __init__(self, make: Callable[[Any], Any], n_classes: int) -> None:
        self.make, self.n_classes = make, n_classes
        self._model: Any = None

    def prepare(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> Any:
        """Return labeled instances."""
        from capymoa.core import LabeledInstance
        from capymoa.stream import Schema

        if self._model is None:
            labels = [str(label) for label in range(self.n_classes)]
            names = [*(f"x{column}" for column in range(X.shape[1])), "y"]
            self._schema = Schema.from_custom(names, "y", {"y": labels})
            self._model = self.make(self._schema)
        rows = [LabeledInstance.from_array(self._schema, row, label) for row, label in zip(X, y, strict=True)]
        for row in rows:
            _ = row.java_instance  # made when it is first used
        return rows

    def predict(self, rows: Any) -> Probabilities:
        """Return the shares of the votes, which are equal where there are none."""
        found = np.full((len(rows), self.n_classes), 1 / self.n_classes)
        for number, row in enumerate(rows):
            votes = self._model.predict_proba(row)
            if votes is not None:
                found[number] = votes
        return found

    def learn(self, rows: Any) -> None:
        """Learn from rows one by one."""
        for row in rows:
            self._model.train(row)


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
    return OfGCWSNet(GCWSNetClassifier(random_state=seed, n_jobs=1), n_classes, n_known)


def _capymoa(name: str, **settings: Any) -> Callable[[int, int, int], StreamModel]:
    """Return a function that makes a classifier of CapyMOA with some settings."""

    def make(seed: int, n_classes: int, n_known: int) -> StreamModel:  # noqa: ARG001
        from capymoa import classifier

        return OfCapyMOA(lambda schema: getattr(classifier, name)(schema, random_seed=seed, **settings), n_classes)

    return make


def _adaptive_forest(seed: int, n_classes: int, n_known: int) -> StreamModel:  # noqa: ARG001
    from river.forest import ARFClassifier

    return OfRiver(ARFClassifier(seed=seed), n_classes)


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
        StreamLearner("ARF-30", _capymoa("AdaptiveRandomForestClassifier", ensemble_size=30), "capymoa"),
        StreamLearner("SRP-30", _capymoa("StreamingRandomPatches", ensemble_size=30), "capymoa"),
        StreamLearner("SGBT", _capymoa("StreamingGradientBoostedTrees"), "capymoa"),
        StreamLearner("bagging-30", _capymoa("LeveragingBagging", ensemble_size=30), "capymoa"),
        StreamLearner("HAT", _capymoa("HoeffdingAdaptiveTree"), "capymoa"),
        StreamLearner("river ARF", _adaptive_forest, "river"),
        StreamLearner("river logistic", _logistic, "river", random=False),
        StreamLearner("VW", _vowpal_wabbit(), "vowpalwabbit", random=False),
        StreamLearner("VW, pairs", _vowpal_wabbit("-q ::"), "vowpalwabbit", random=False),
        StreamLearner("no-change", lambda seed, n_classes, n_known: LastLabel(n_classes), random=False),  # noqa: ARG005
    ]
