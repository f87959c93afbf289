"""A classifier and a regressor of river, whose rows are dicts that come one at a time, as nets on their codes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from gcwsnet.estimators._gcwsnet import GCWSNetClassifier, GCWSNetRegressor

try:
    from river import base
except ImportError as error:
    raise ImportError("gcwsnet.river needs river, which is not installed; pip install river") from error

__all__ = ["Classifier", "Regressor"]

MIN_COLUMNS = 16


class _Net:
    """What the classifier and the regressor share: an estimator that learns from dicts."""

    _kind: ClassVar[type[GCWSNetClassifier] | type[GCWSNetRegressor]]

    def __init__(self, model: Any = None, seed: int | None = None) -> None:
        self.model, self.seed = model, seed
        self._learner: Any = None
        self._columns: dict[Any, int] = {}
        self._width = 0

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a row and its label or number, with the weight `w`; a row of weight 0 changes nothing."""
        if w == 0:
            return
        if self._learner is None:
            self._learner = self._kind() if self.model is None else clone(self.model)
            if self.seed is not None:
                self._learner.set_params(random_state=self.seed)
        weight = None if w == 1 else np.array([w])
        self._learner.partial_fit(self._row(x, learned=True), np.array([y]), sample_weight=weight)

    def _row(self, x: Mapping[Any, Any], *, learned: bool) -> NDArray[np.float64]:
        """Return a dict as a row of an array; names that are not learned from have no column yet."""
        if not self._width:
            self._width = max(MIN_COLUMNS, 2 * len(x))
        row, columns = np.zeros((1, self._width)), self._columns
        values = {(name, value) if isinstance(value, str) else name: _number(value) for name, value in x.items()}
        if learned:  # in an order that is not that of the dict
            for key in sorted(values.keys() - columns.keys(), key=repr)[: self._width - len(columns)]:
                columns[key] = len(columns)
        for key, number in values.items():
            column = columns.get(key)
            if column is None and len(columns) == self._width:
                column = crc32(repr(key).encode()) % self._width
            if column is not None:
                row[0, column] += number
        return row


class Classifier(_Net, base.Classifier):
    """A classifier of river that learns with a GCWSNetClassifier.

    Parameters
    ----------
    model : GCWSNetClassifier, optional
        A copy of it learns. By default it is a GCWSNetClassifier with its defaults.
    seed : int, optional
        The random state of the model; None keeps the one that it has.

    Notes
    -----
    Numbers and booleans of a dict are columns, by their names, in the order in which they first occur, and those that
    are new in the same row in the order of their names. A text is a column of its own for its name and value, with 1
    where it occurs. What a dict does not have is 0, and None is a missing value. There are twice as many columns as the
    first row needs, and 16 at least; names that come when all are taken share them.

    Labels may be new at any time. Before the first label there are no probabilities.

    Examples
    --------
    >>> from gcwsnet import GCWSNetClassifier
    >>> from gcwsnet.river import Classifier
    >>> model = Classifier(GCWSNetClassifier(n_hashes=32, p=1.0, random_state=0))
    >>> for number in range(40):
    ...     model.learn_one({"site": "ab"[number % 2], "hour": number % 24}, number % 2 == 1)
    >>> model.predict_one({"site": "b"}), model.predict_one({"site": "a", "browser": "new"})
    (True, False)
    """

    _kind = GCWSNetClassifier

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the probability of each label so far."""
        if self._learner is None:
            return {}
        probabilities = self._learner.predict_proba(self._row(x, learned=False))[0].tolist()
        return dict(zip(self._learner.classes_.tolist(), probabilities, strict=True))


class Regressor(_Net, base.Regressor):
    """A regressor of river that learns with a GCWSNetRegressor.

    Parameters
    ----------
    model : GCWSNetRegressor, optional
        A copy of it learns. By default it is a GCWSNetRegressor with its defaults.
    seed : int, optional
        The random state of the model; None keeps the one that it has.

    Notes
    -----
    Dicts become columns as `Classifier` says. Before the first row the prediction is 0.

    Examples
    --------
    >>> from gcwsnet import GCWSNetRegressor
    >>> from gcwsnet.river import Regressor
    >>> model = Regressor(GCWSNetRegressor(n_hashes=32, p=1.0, random_state=0))
    >>> for number in range(200):
    ...     model.learn_one({"site": "ab"[number % 2], "hour": number % 24}, 10.0 * (number % 2))
    >>> model.predict_one({"site": "a", "hour": 4}) < 5 < model.predict_one({"site": "b", "hour": 5})
    True
    """

    _kind = GCWSNetRegressor

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the predicted number."""
        return 0.0 if self._learner is None else float(self._learner.predict(self._row(x, learned=False))[0])


def _number(value: Any) -> float:
    """Return a number for a value: 1 for a text, NaN for what is missing."""
    if isinstance(value, str):
        return 1.0
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"the values of a row must be numbers, booleans or texts, got {value!r:.60}; convert it"
        ) from None
