"""What users give to the estimators: rows as arrays, CSR or frames, labels or numbers of any type, and weights."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import MAX_WEIGHT, Matrix, check_matrix, check_unmasked, check_weights
from gcwsnet.net._targets import LabelIndicators
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._coder import CoderSettings
from gcwsnet.tables._frames import Frame, encode_frame, is_frame, learn_schema, open_frame
from gcwsnet.tables._schema import Schema

MAX_NAMES_SHOWN = 5


def immutable(value: Any) -> Any:
    """Return a parameter in values of Python that the caller cannot change."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {immutable(key): immutable(one) for key, one in value.items()}
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(immutable(one) for one in value)
    return value


def as_frame(X: Any) -> Any:
    """Return a frame with its columns, and anything else as it is."""
    return open_frame(X) if not isinstance(X, np.ndarray | Frame) and is_frame(X) else X


class AllWeightsZeroError(ValueError):
    """The error for rows that all have weight 0."""

    def __init__(self) -> None:
        super().__init__(
            "the weights of all rows are zero, so there is nothing to learn from; give some rows a positive "
            "sample_weight, and their classes a positive class_weight"
        )


def rows_to_learn(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Batch:
    """Return what users gave without the rows of weight 0."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    rows = positive_rows(X, y, sample_weight, estimator._fitted_params.get("class_weight"))
    return rows._replace(X=as_frame(rows.X))


def positive_rows(X: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> Batch:
    """Return X, y and weights without the rows of weight 0; the weights may be None.

    Nothing is learned from a row of weight 0: it is dropped before anything else looks at it. If all rows have weight
    0, that is an error.
    """
    check_unmasked("X", X)
    y = as_array("y", y)
    if y.ndim == 0:
        raise ValueError(f"y must have a label or a number for each row, got the single value {y!r:.60}")
    zero = {label for label, one in class_weight.items() if one == 0} if isinstance(class_weight, Mapping) else set()
    if sample_weight is None and not zero:
        return Batch(X, y)
    kept = np.ones(len(y), dtype=bool)
    weight = None
    if sample_weight is not None:
        from sklearn.utils import check_consistent_length  # noqa: PLC0415 - it takes long to import

        check_consistent_length(X, y)
        weight = _as_weights(sample_weight, len(y))
        kept = weight > 0
    if zero and y.ndim == 1:
        kept &= np.array([label not in zero for label in y.tolist()], dtype=bool)
    if kept.all():
        return Batch(X, y, weight)
    if not kept.any():
        raise AllWeightsZeroError
    return Batch(_taken(X, kept), y[kept], None if weight is None else weight[kept])


def _as_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the weights of rows as an array; a number is the weight of all of them."""
    from sklearn.utils import check_array  # noqa: PLC0415 - it takes long to import

    check_unmasked("sample_weight", sample_weight)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight must have one number for each of {n_rows} rows, got the shape {weight.shape}")
    return check_weights(weight, "sample_weight")


def _taken(X: Any, kept: NDArray[np.bool_]) -> Any:
    """Return the rows of what users give that a mask chooses."""
    if isinstance(X, list | tuple):
        return [row for row, is_kept in zip(X, kept, strict=True) if is_kept]
    if sparse.issparse(X):
        return X.tocsr()[kept]
    if hasattr(X, "iloc"):
        return X.iloc[np.flatnonzero(kept)]
    if not is_frame(X):
        return np.asanyarray(X)[kept]
    import pyarrow as pa  # noqa: PLC0415 - frames that pandas does not know need it

    return pa.table(X).filter(pa.array(kept))


def as_array(name: str, y: Any) -> NDArray[Any]:
    """Return y as an array; masked entries are an error."""
    check_unmasked(name, y)
    try:
        return y.toarray() if sparse.issparse(y) else np.asarray(y)
    except Exception as error:  # of NumPy, or of the library that y is from
        raise ValueError(f"{name} must have one number or one text for each row; {error}") from error


def schema_of(X: Any, settings: CoderSettings) -> Schema | None:
    """Return the schema of a frame; None for arrays and CSR."""
    if not isinstance(X, Frame):
        return None
    return learn_schema(X, "error" if settings.missing == "error" else "nan")


def check_batch(rows: Batch, estimator: Any, settings: CoderSettings, schema: Schema | None, *, reset: bool) -> Batch:
    """Return rows of `rows_to_learn` as a coder takes them, with checked targets."""
    X = check_rows(rows.X, estimator, settings, schema, reset=reset)
    y = check_targets(rows.y, are_numbers=estimator._learns_numbers)
    if y.shape[:1] != X.shape[:1]:
        from sklearn.utils import check_consistent_length  # noqa: PLC0415 - it takes long to import

        check_consistent_length(X, y)
    return Batch(X, y, rows.weight)


def check_rows(X: Any, estimator: Any, settings: CoderSettings, schema: Schema | None, *, reset: bool) -> Matrix:
    """Return rows as a coder takes them: those of a frame encoded by a schema, arrays and CSR as they are.

    The number of columns and their names are set (`reset`) in the estimator, or compared.
    """
    X = as_frame(X)
    if schema is not None and schema.columns:
        if isinstance(X, Frame):
            encoded = encode_frame(X, schema)
            if reset:
                set_inputs(estimator, len(X.names), X.names if X.named else None)
            settings.check_finite(encoded, table_columns=schema.input_keys())
            return encoded
        _check_array_fits(schema)
    X = check_matrix(X.source if isinstance(X, Frame) else X, estimator=estimator, reset=reset)
    X = X if schema is None else schema.rows(X)
    settings.check_finite(X, getattr(estimator, "feature_names_in_", None))
    return X


def set_inputs(estimator: Any, n_columns: int, names: Any) -> None:
    """Set the number of columns that an estimator takes, and their names where they have some."""
    estimator.n_features_in_ = n_columns
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _check_array_fits(schema: Schema) -> None:
    """Raise an error if a table has columns that the numbers of an array cannot stand for."""
    others = [column.key for column in schema.columns if column.kind not in ("number", "boolean")]
    if others:
        listed = ", ".join(map(repr, others[:MAX_NAMES_SHOWN])) + (", ..." if len(others) > MAX_NAMES_SHOWN else "")
        raise ValueError(
            "X must be a frame, as the model was fitted on a table with columns that are not numbers "
            f"({listed}), got an array; give a frame with these columns"
        )


def row_weights(estimator: Any, weight: NDArray[Any] | None, target: NDArray[Any], targets: Any) -> NDArray[Any] | None:
    """Return the factor of each row's loss: its weight times that of its class."""
    class_weight = estimator._fitted_params.get("class_weight")
    if class_weight is None:
        return weight
    if isinstance(targets, LabelIndicators):
        raise ValueError("class_weight is for one label in each row, and y has a column for each label; leave it out")
    if isinstance(class_weight, Mapping) and estimator._may_add_classes():  # a class that has a weight may come later
        class_weight = {label: class_weight.get(label, 1.0) for label in targets.classes.tolist()}
    of_row = class_weights(class_weight, target, targets.classes)[target]
    return check_weights(of_row if weight is None else weight * of_row, "sample_weight times class_weight")


def class_weights(class_weight: Any, target: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weight of each class; "balanced" gives all classes the same weight in total."""
    if class_weight == "balanced":
        counts = np.bincount(target, minlength=len(classes))
        return len(target) / (len(classes) * np.maximum(counts, 1))
    if isinstance(class_weight, Mapping):
        unknown = set(class_weight) - set(classes.tolist())
        if unknown:
            raise ValueError(f"class_weight must be for classes of y, got {unknown} that are none of them")
        weights = {label: float(class_weight.get(label, 1.0)) for label in classes.tolist()}
        for label, weight in weights.items():
            if not 0 <= weight <= MAX_WEIGHT:
                raise ValueError(f"class_weight must be from 0 to {MAX_WEIGHT:g}, that of {label!r} is {weight:g}")
        return np.array(list(weights.values()))
    raise ValueError(f"class_weight must be a dict, 'balanced' or None, got class_weight={class_weight!r}")


def targets_to_learn(estimator: Any, y: Any, rows: Batch) -> Any:
    """Return what targets are learned from: the labels of all rows, as in scikit-learn, or the numbers of `rows`."""
    if estimator._learns_numbers:
        return rows.y
    y = as_array("y", y)
    return rows.y if len(y) == rows.n_rows else check_targets(y, are_numbers=False)


def check_targets(y: Any, *, are_numbers: bool) -> NDArray[Any]:
    """Return labels or numbers as an array, with objects that are all numbers or booleans as such; none is missing."""
    y = as_array("y", y)
    if y.dtype.kind in "biuf":
        return y
    if y.dtype.kind in "mM" and np.isnat(y).any():
        place = int(np.isnat(y).reshape(-1).argmax())
        raise ValueError(
            f"y must not have missing values; Input y contains NaN: y[{place}] is NaT; drop the rows without a label"
        )
    text = next((value for value in y.reshape(-1)[:1].tolist() if isinstance(value, str)), None)
    if are_numbers and text is not None:
        raise ValueError(
            f"y must be numbers for a regression, y[0] is {text!r:.60}; convert it, or use GCWSNetClassifier for labels"
        )
    if y.dtype.kind != "O":
        return y
    flat = y.reshape(-1)
    for place, value in enumerate(flat):
        if isinstance(value, list | tuple | dict | set | frozenset | np.ndarray):
            raise ValueError(
                f"y must have one label for each row, y[{place}] is {value!r:.60}; give a column of 0 and 1 for each "
                "label, or make one label of them"
            )
        if _is_missing(value):
            raise ValueError(
                f"y must not have missing values; Input y contains NaN: y[{place}] is {value!r}; drop the rows without "
                "a label"
            )
    kinds = {type(value) for value in flat}
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return y.astype(bool)
    if kinds and all(issubclass(kind, Decimal) for kind in kinds):
        return np.array(
            [int(value) if value.is_finite() and value == int(value) else float(value) for value in flat]
        ).reshape(y.shape)
    if kinds and all(issubclass(kind, int | np.integer) for kind in kinds):
        return _as_integers(y, are_numbers=are_numbers)
    if len(kinds) > 1 and str in kinds:
        other = next(value for value in flat if not isinstance(value, str))
        raise ValueError(
            f"labels must be all text or all numbers, got text and {other!r}; convert them, for example with "
            "y.astype(str)"
        )
    return y


def _as_integers(y: NDArray[Any], *, are_numbers: bool) -> NDArray[Any]:
    """Return objects that are integers as int64 or uint64, and those beyond that as floats for a regression."""
    integers = np.array(y.tolist())
    if integers.dtype.kind in "iu":
        return integers
    try:
        numbers = y.astype(np.float64)
    except OverflowError:
        raise ValueError(
            "numbers of y must be within float64, got an integer of more than 300 digits; convert them to text"
        ) from None
    if are_numbers:
        return numbers
    raise ValueError(
        f"labels that are integers must be within int64 or uint64, got {numbers.min():.4g} to {numbers.max():.4g}; "
        "convert them, for example with y.astype(str)"
    )


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or the NA of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | Decimal) and math.isnan(value)
