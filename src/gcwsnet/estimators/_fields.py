"""A classifier for clicks: rows of fields with many values, learned once, as they come."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from gcwsnet import _core
from gcwsnet._locks import reads, writes
from gcwsnet._validation import check_integer, check_number, check_weights, draw_seed
from gcwsnet.coding._tensor_file import Arrays, Description, write_file
from gcwsnet.estimators._field_keys import KeyRows, keys_of, keys_of_dicts
from gcwsnet.estimators._fields_format import n_outputs_of, require_table
from gcwsnet.estimators._input import AllWeightsZeroError, check_targets, positive_rows, set_inputs
from gcwsnet.training._targets import Labels, Targets, check_comparable, check_labels

PAIRS_TO_VALUES = 0.5
"""The learning rate of pairs, as a share of that of values: there are more of them, and each occurs less often."""

LOG_ODDS_OF_A_NEW_CLASS = -2.0
"""Low, as it has not occurred so far, and not as low as all rows so far would say: labels that begin to occur go on."""


class FieldsClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of rows of fields with many values, such as clicks: log odds of values and of their pairs.

    Each value of a field, and each pair of values of a row, has a slot of a table by its hash, with a weight; the log
    odds of a row are the sum of its weights. There is no table of values, and memory does not grow. Each row is learned
    once, in its order, by a step that is smaller for slots that have learned much, and never goes beyond the label.
    Probabilities are calibrated on the way: outputs are multiplied by a factor that is learned from the predictions
    that rows had before they were learned.

    Parameters
    ----------
    pairs : bool, default=True
        Whether pairs of values have weights of their own; of rows with more than 64 values, those of 64.
    table_bits : int, default=22
        The table has ``2**table_bits`` slots, of 8 bytes for two classes: 34 MB by default.
    learning_rate : float, default=0.2
        The rate of values; that of pairs is half of it.
    min_count : int, default=1
        The occurrences with which a value or a pair begins to count. Before, it counts as not there. Values that share
        a slot are counted together, so none is ever counted too low.
    forget_after : int, default=None
        The rows without an occurrence after which a value or a pair counts as not there, and its slot begins again.
    negatives_kept : float, default=1.0
        The share of the rows of the first class that were kept, of two classes, where only some were kept to save time.
        Probabilities are those for all rows: ``p / (p + (1 - p) / negatives_kept)``.
    random_state : int, RandomState or None, default=None
        What decides which values share slots.

    Attributes
    ----------
    classes_ : array
        The labels, ascending.
    n_rows_seen_ : int
        The rows that were learned.
    progressive_log_loss_ : float
        The mean log loss of all rows so far, each before it was learned: an honest estimate, with no rows held out. It
        is that of the rows as they were given, without `negatives_kept`.
    table_ : FieldTable
        The table, of the native core.
    n_features_in_ : int
        The columns, where rows are arrays, CSR matrices or frames.
    feature_names_in_ : array of str
        Their names, where rows are frames.

    Notes
    -----
    X is a frame, a sequence of dicts from fields to values, an array whose columns are fields, or a CSR matrix whose
    entries that are not zero are values that are there. Values are texts, whole numbers or booleans; other numbers are
    rounded to two digits. Missing values are not there. Fields are known by their names, so that a frame or a dict may
    have new ones, or lack some. `gcwsnet.river` has the interface of river.

    Examples
    --------
    >>> from gcwsnet import FieldsClassifier
    >>> rows = [{"site": "a", "ad": 1}, {"site": "a", "ad": 2}, {"site": "b", "ad": 1}, {"site": "b", "ad": 2}] * 25
    >>> clicked = [False, True, True, False] * 25
    >>> model = FieldsClassifier(table_bits=10, random_state=0).fit(rows, clicked)
    >>> model.predict(rows[:4]).tolist()
    [False, True, True, False]
    >>> model.predict_proba([{"site": "new", "ad": 3}]).round(1).tolist()
    [[0.5, 0.5]]
    """

    def __init__(
        self,
        *,
        pairs: bool = True,
        table_bits: int = 22,
        learning_rate: float = 0.2,
        min_count: int = 1,
        forget_after: int | None = None,
        negatives_kept: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.pairs = pairs
        self.table_bits = table_bits
        self.learning_rate = learning_rate
        self.min_count = min_count
        self.forget_after = forget_after
        self.negatives_kept = negatives_kept
        self.random_state = random_state

    @writes
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FieldsClassifier:
        """Learn from rows once, in their order.

        Parameters
        ----------
        X : frame, sequence of dicts, array of shape (n, D) or CSR matrix
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of the rows' losses. A row of weight 0 is as if it were not there, but for its label.

        Returns
        -------
        self : FieldsClassifier
        """
        self._check_parameters()
        for name in ("table_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        classes = None if sample_weight is None else np.unique(check_targets(y, are_numbers=False))
        return self.partial_fit(X, y, classes, sample_weight=sample_weight)

    @writes
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> FieldsClassifier:
        """Learn from further rows once, in their order; they may come in pieces of any size.

        Parameters
        ----------
        X : frame, sequence of dicts, array of shape (n, D) or CSR matrix
        y : array of shape (n,)
        classes : array, optional
            Labels that the stream can have. Others are added when they occur.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self : FieldsClassifier
        """
        try:
            X, y, weight = positive_rows(X, y, sample_weight)
        except AllWeightsZeroError:
            if not self.__sklearn_is_fitted__():
                raise
            return self
        rows = self._keys(X)
        labels = check_labels(check_targets(y, are_numbers=False))
        check_consistent_length(np.empty(rows.n_rows), labels)
        weight = None if weight is None else weight.astype(np.float32)
        self._know(labels if classes is None else np.concatenate([np.asarray(classes), np.unique(labels)]))
        self._learn(rows, self._labels.encode(labels), weight)
        return self

    @writes
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one row, a dict from fields to values; a row of weight 0 changes nothing."""
        if w == 0:
            return
        weight = None if w == 1.0 else check_weights(np.array([w], dtype=np.float64), "w").astype(np.float32)
        known = vars(self).get("_numbers")
        if known is None or y not in known:
            self._know(check_labels(np.array([y])))
            known = self._numbers = {label: number for number, label in enumerate(self.classes_.tolist())}
        self._learn(keys_of_dicts([x]), np.array([known[y]]), weight)

    @reads
    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the probability of each label for one row, a dict from fields to values."""
        probabilities = self._probabilities(keys_of_dicts([x]))[0].tolist()
        return dict(zip(self.classes_.tolist(), probabilities, strict=True))

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return log odds: of the second class for two classes, (n,), and else of each against the others."""
        check_is_fitted(self)
        outputs = self.table_.outputs(*self._keys(X))
        return outputs[:, 0] if len(self.classes_) <= 2 else outputs

    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, of shape (n, n_classes)."""
        check_is_fitted(self)
        return self._probabilities(self._keys(X))

    @reads
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    @reads
    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file, with which `gcwsnet.load` goes on as if nothing had been saved."""
        check_is_fitted(self)
        arrays, description = self._state()
        names = getattr(self, "feature_names_in_", None)
        params = self._fitted_params | {"random_state": self._fitted_seed}
        described = {"estimator": type(self).__name__, "params": params, "fields": description}
        described |= {"feature_names_in": None if names is None else names.tolist()}
        described |= {"n_features_in": vars(self).get("n_features_in_")}
        write_file(Path(path), arrays, described)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, ascending."""
        return self._labels.classes

    @property
    def n_rows_seen_(self) -> int:
        """The rows that were learned."""
        return self.table_.rows_seen

    @property
    def progressive_log_loss_(self) -> float:
        """The mean log loss of all rows so far, each before it was learned."""
        return self._sum_of_losses / max(1, self.n_rows_seen_)

    def _check_parameters(self) -> None:
        check_integer("table_bits", self.table_bits, 1, 30)
        check_number("learning_rate", self.learning_rate, 1e-6, 1e3)
        check_integer("min_count", self.min_count, 1, 2**31)
        if self.forget_after is not None:
            check_integer("forget_after", self.forget_after, 1, 2**62)
        check_number("negatives_kept", self.negatives_kept, 1e-9, 1.0)

    def _keys(self, X: Any) -> KeyRows:
        """Return the keys of rows, whose number of columns must stay the same where columns have no names."""
        rows, columns = keys_of(X)
        known = vars(self).get("n_features_in_")
        if isinstance(columns, list):
            if known is None:
                set_inputs(self, len(columns), columns)
        elif columns is not None:
            if known is None:
                set_inputs(self, columns, None)
            elif known != columns:
                raise ValueError(f"X must have {known} columns as in fit, got {columns}")
        return rows

    def _know(self, labels: NDArray[Any]) -> None:
        """Make the table at first, and give it outputs for labels that are new."""
        fresh = "table_" not in vars(self)
        if fresh:
            self._check_parameters()
            self._fitted_params = self.get_params(deep=False)
            self._fitted_seed, self._sum_of_losses = draw_seed(self.random_state), 0.0
            self._labels = Labels(np.unique(labels))
            self.table_ = self._make_table()
            return
        known = self.classes_
        check_comparable(known, labels)
        if np.isin(labels, known).all():
            return
        classes = np.unique(np.concatenate([known, labels]))
        if not np.isin(known, classes).all():
            raise ValueError(f"labels must have one type, got {labels.dtype} after {known.dtype}; convert them")
        before = self.table_
        self._labels = Labels(classes)
        self._numbers = {label: number for number, label in enumerate(classes.tolist())}
        places = np.searchsorted(classes, known)
        self.table_ = _grown(before, self._make_table(), places, n_before=len(known), n_now=len(classes))

    def _make_table(self) -> _core.FieldTable:
        params = self._fitted_params
        require_table(len(self.classes_), params)
        rate = float(params["learning_rate"])
        return _core.FieldTable(
            params["table_bits"],
            n_outputs_of(len(self.classes_)),
            pairs=bool(params["pairs"]),
            rate=rate,
            pair_rate=PAIRS_TO_VALUES * rate,
            min_count=params["min_count"],
            forget_after=params["forget_after"] or 0,
            seed=self._fitted_seed,
        )

    def _learn(self, rows: KeyRows, target: NDArray[Any], weight: NDArray[np.float32] | None) -> None:
        outputs = self.table_.train(*rows, np.ascontiguousarray(target, dtype=np.int64), weight)
        of_label = _normalised(outputs, len(self.classes_))[np.arange(len(target)), target]
        self._sum_of_losses -= float(np.log(np.maximum(of_label, 1e-12)).sum())

    def _probabilities(self, rows: KeyRows) -> NDArray[np.float64]:
        found = _normalised(self.table_.outputs(*rows), len(self.classes_))
        kept = float(self._fitted_params["negatives_kept"])
        if kept != 1.0:
            if len(self.classes_) != 2:
                raise ValueError(f"negatives_kept={kept} is for two classes, got {len(self.classes_)}; leave it out")
            p = found[:, 1]
            found[:, 1] = p / (p + (1 - p) / kept)
            found[:, 0] = 1 - found[:, 1]
        return found

    def _state(self) -> tuple[Arrays, Description]:
        """Return all that was learned: the slots that are not empty, and the rest."""
        table = self.table_
        values = {"table": table.table(), "counts": table.counts(), "last": table.last()}
        known = {name: value for name, value in values.items() if value is not None}
        slots = np.flatnonzero(np.any([value.any(axis=1) for value in known.values()], axis=0))
        arrays: Arrays = {f"fields.{name}": value[slots] for name, value in known.items()}
        arrays |= {"fields.slots": slots, "fields.bias": table.bias(), "fields.calibration": table.calibration()}
        arrays = {name: np.array(value) for name, value in arrays.items()}
        labels, described = self._labels.state()
        description = {"labels": described, "seed": self._fitted_seed, "rows_seen": table.rows_seen}
        return arrays | labels, description | {"sum_of_losses": self._sum_of_losses}

    def _restore(self, arrays: Arrays, description: Description, params: dict[str, Any]) -> None:
        self._fitted_params, self._fitted_seed = dict(params), description["seed"]
        self._sum_of_losses = float(description["sum_of_losses"])
        labels: Any = Targets.from_state(arrays, description["labels"])
        self._labels = labels
        self.table_ = table = self._make_table()
        slots = arrays["fields.slots"]
        for name, view in (("table", table.table()), ("counts", table.counts()), ("last", table.last())):
            if view is not None:
                view[slots] = arrays[f"fields.{name}"]
        table.bias()[...], table.calibration()[...] = arrays["fields.bias"], arrays["fields.calibration"]
        table.rows_seen = description["rows_seen"]

    @reads
    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if state.pop("table_", None) is not None:
            state["_learned"] = self._state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = state.pop("_learned", None)
        self.__dict__.update(state)
        if learned is not None:
            arrays, description = learned
            self._restore(arrays, description, self._fitted_params)

    def __sklearn_is_fitted__(self) -> bool:
        return "table_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def fields_classifier_of(arrays: Arrays, description: Description) -> FieldsClassifier:
    """Return the classifier that `FieldsClassifier.save` wrote."""
    estimator = FieldsClassifier(**description["params"])
    estimator._restore(arrays, description["fields"], description["params"])
    if description["n_features_in"] is not None:
        set_inputs(estimator, description["n_features_in"], description["feature_names_in"])
    return estimator


def _normalised(outputs: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return probabilities of log odds: those of one class against each other one are normalised."""
    if n_classes == 1:
        return np.ones((len(outputs), 1))
    odds = 1 / (1 + np.exp(-np.clip(outputs, -500, 500)))
    if n_classes == 2:
        return np.hstack([1 - odds, odds])
    return odds / odds.sum(axis=1, keepdims=True)


def _grown(
    before: _core.FieldTable, table: _core.FieldTable, places: NDArray[np.intp], *, n_before: int, n_now: int
) -> _core.FieldTable:
    """Return a table with outputs for more classes, and what another one has learned of the old ones at their places.

    The one output of up to two classes is the log odds of the second; those of the first have the other sign. A class
    that is new to two or more begins with `LOG_ODDS_OF_A_NEW_CLASS`.
    """
    n_old, n_new = n_outputs_of(n_before), n_outputs_of(n_now)
    signs = np.array((-1.0, 1.0)[:n_before] if n_old == 1 else np.ones(n_old), dtype=np.float32)
    for old, new in ((before.table(), table.table()), (before.bias(), table.bias())):
        if n_new == 1:  # one class became two
            new[...] = old * np.array([1.0 if places[0] == 0 else -1.0, 1.0], dtype=np.float32)
        else:
            new[:, places], new[:, n_new + places] = signs * old[:, :n_old], old[:, n_old:]
    if n_new > 1:
        new_places = np.setdiff1d(np.arange(n_now), places)
        bias = table.bias()
        bias[:, new_places] = LOG_ODDS_OF_A_NEW_CLASS
        bias[:, n_new + new_places] = bias[:, n_new + places].mean()
    for old_view, new_view in ((before.counts(), table.counts()), (before.last(), table.last())):
        if old_view is not None and new_view is not None:
            new_view[...] = old_view
    table.calibration()[...] = before.calibration()
    table.rows_seen = before.rows_seen
    return table
