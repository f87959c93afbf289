"""The interface of river for the classifiers of this package: rows as dicts, one at a time. It does not import river.

What river asks of its estimators beside learning and predicting (`clone`, tags, memory and so on) is river's own code,
which is there when river is. An instance counts as one of `river.base.Classifier` if river was imported before it was
made.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = ["Classifier"]

LEAST_COLUMNS = 16


class Classifier:
    """A classifier of river that learns with a classifier of this package.

    Parameters
    ----------
    model : FieldsClassifier or GCWSNetClassifier, optional
        What learns; a copy of it that is not fitted. By default it is a GCWSNetClassifier with its defaults. Take a
        `FieldsClassifier` for fields of many values.
    seed : int, optional
        The random state of the model; None keeps the one that it has.

    Notes
    -----
    For a GCWSNetClassifier, numbers and booleans of a dict are columns, by their names, in the order in which they
    first occur, and those that are new in the same row in the order of their names. A text is a column of its own for
    its name and value, with 1 where it occurs. What a dict does not have is 0, and None is a missing value. There are
    twice as many columns as the first row needs, and 16 at least; names that come when all are taken share them. For a
    FieldsClassifier, what is not there has no weight, and there may be any number of names.

    Labels may be new at any time. Before the first label there are no probabilities.

    Examples
    --------
    >>> from gcwsnet import FieldsClassifier
    >>> from gcwsnet.river import Classifier
    >>> model = Classifier(FieldsClassifier(table_bits=12, random_state=0))
    >>> for number in range(40):
    ...     model.learn_one({"site": "ab"[number % 2], "hour": number % 24}, number % 2 == 1)
    >>> model.predict_one({"site": "b"}), model.predict_one({"site": "a", "browser": "new"})
    (True, False)
    """

    def __init__(self, model: Any = None, seed: int | None = None) -> None:
        self.model, self.seed = model, seed
        self._learner: Any = None
        self._columns: dict[Any, int] = {}
        self._width = 0
        river = sys.modules.get("river")
        if river is not None:
            river.base.Classifier.register(Classifier)

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from a row and its label, with the weight `w`; a row of weight 0 changes nothing."""
        if w == 0:
            return
        if self._learner is None:
            self._learner = self._make_learner()
        if hasattr(self._learner, "learn_one"):
            self._learner.learn_one(x, y, w)
            return
        row = self._row(x, learned=True)
        weight = None if w == 1.0 else np.array([w])
        self._learner.partial_fit(row, np.array([y]), sample_weight=weight)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the probability of each label so far."""
        if self._learner is None:
            return {}
        if hasattr(self._learner, "predict_proba_one"):
            found: dict[Any, float] = self._learner.predict_proba_one(x)
            return found
        probabilities = self._learner.predict_proba(self._row(x, learned=False))[0].tolist()
        return dict(zip(self._learner.classes_.tolist(), probabilities, strict=True))

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the most probable label; None before the first one."""
        found = self.predict_proba_one(x)
        return max(found, key=found.__getitem__) if found else None

    def _make_learner(self) -> Any:
        from sklearn.base import clone  # noqa: PLC0415 - scikit-learn takes long to import

        from gcwsnet.estimators import GCWSNetClassifier  # noqa: PLC0415

        learner = GCWSNetClassifier() if self.model is None else clone(self.model)
        return learner if self.seed is None else learner.set_params(random_state=self.seed)

    def _row(self, x: Mapping[Any, Any], *, learned: bool) -> NDArray[np.float64]:
        """Return a dict as a row of an array; names that are not learned from have no column yet."""
        if not self._width:
            self._width = max(LEAST_COLUMNS, 2 * len(x))
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

    @property
    def _multiclass(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        """Return what river's estimators have beside learning and predicting."""
        river = sys.modules.get("river")
        if river is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        try:
            found = inspect.getattr_static(river.base.Classifier, name)
        except AttributeError:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}") from None
        return found.__get__(self, type(self)) if hasattr(found, "__get__") else found

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r}, seed={self.seed!r})"

    def __str__(self) -> str:
        return type(self).__name__


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
