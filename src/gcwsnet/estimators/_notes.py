"""What is odd about the rows of a fit, and what follows from it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet.net._targets import LabelIndicators, Labels, Targets
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._columns import unnamed_column
from gcwsnet.tables._describe import ColumnStatistics
from gcwsnet.tables._schema import Schema

MAX_NAMED, FIRST_ROWS = 5, 1000


def notes_about(X: Any, y: Any, targets: Targets, schema: Schema | None) -> list[str]:
    """Return what users should know of checked rows and labels: a single class, classes of one row, constant columns.

    Of columns that is said where they have names: rows of pixels always have some that are constant.
    """
    notes = []
    if isinstance(targets, Labels) and not isinstance(targets, LabelIndicators):
        labels, counts = np.unique(y, return_counts=True)
        single = labels[counts == 1].tolist()
        if len(targets.classes) == 1:
            label = targets.classes.tolist()[0]
            notes.append(f"all rows have the label {label!r}, and the model will predict nothing else")
        elif single and len(y) > len(targets.classes):
            have = "has one row" if len(single) == 1 else "have one row each"
            which = f"the label{'s' * (len(single) > 1)} {_some(single)} {have}"
            notes.append(f"{which}, which cannot be both learned and held out for a score")
    constant = [] if schema is None or len(y) < 2 else _constant_columns(X, schema)
    if constant:
        verbs = ("has", "says") if len(constant) == 1 else ("have", "say")
        notes.append(f"{_some(constant)} {verbs[0]} the same value in all rows, and {verbs[1]} nothing about a label")
    return notes


def warn_about(rows: Batch, targets: Targets, schema: Schema | None, *, stacklevel: int) -> None:
    """Warn of what `notes_about` says of the rows of a fit, and of columns that have no name in a file."""
    notes = notes_about(rows.X, rows.y, targets, schema)
    unnamed = [one.name for one in (schema.columns if schema else ()) if (one.name or "").startswith("Unnamed: ")]
    for note in [*notes, *(f"{unnamed_column(name)}; drop it if it is that" for name in unnamed)]:
        warnings.warn(note, UserWarning, stacklevel=stacklevel + 1)


def _constant_columns(X: Any, schema: Schema) -> list[str]:
    """Return the names of the columns of a table with one value, or none."""
    if sparse.issparse(X):
        found = ColumnStatistics(X.shape[1])
        found.update(X)
        is_full = (found.entries == found.n_rows) & (found.missing == 0)
        constant = (found.entries == 0) | (found.missing == found.n_rows) | (is_full & (found.least == found.most))
    else:
        constant = _is_constant(X[:FIRST_ROWS])
        constant[constant] = _is_constant(X[:, constant])
    ends = np.cumsum([column.width for column in schema.columns])
    columns = zip(schema.columns, ends.tolist(), strict=True)
    return [one.key for one, end in columns if one.kind != "hashed" and constant[end - one.width : end].all()]


def _is_constant(X: NDArray[Any]) -> NDArray[np.bool_]:
    return ((X[:1] == X) | (np.isnan(X) & np.isnan(X[:1]))).all(axis=0)


def _some(names: list[Any]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(map(repr, names[:MAX_NAMED])) + more
