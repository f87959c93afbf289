"""Rules that rows of every format keep: finite numbers, labels that are known, weights that weigh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcwsnet.data._batch import Batch
from gcwsnet.data._errors import DataError, Faults, shown

WAY_OUT_OF_MISSING = 'give missing="zero" or missing="nan", or drop the row'
MISSING_RULE = f"a value must not be missing; {WAY_OUT_OF_MISSING}"
Place = int | str | None


class Rows(NamedTuple):
    """Where the rows of a piece come from."""

    path: str | None
    line: Callable[[int], int]
    text: Callable[[int], bytes]


def numbered(path: str | None, first: int) -> Rows:
    """Rows of something that is no text; rejects have their numbers."""
    return Rows(path, lambda row: first + row + 1, lambda row: f"row {first + row + 1}".encode())


class Marks:
    """Rows of a piece that break a rule, each with the place in the row and the first rule that it breaks."""

    def __init__(self) -> None:
        self.why: dict[int, tuple[Place, str]] = {}

    def add(self, rows: Iterable[int], column: Place, rule: Callable[[int], str]) -> None:
        """Mark rows; `rule` says of a row what is wrong with it."""
        for row in rows:
            if int(row) not in self.why:
                self.why[int(row)] = (column, rule(int(row)))

    def settle(self, batch: Batch, rows: Rows, faults: Faults) -> Batch:
        """The batch without the rows that are marked, each of which is told, the first one first."""
        if not self.why:
            return batch
        for row, (column, rule) in sorted(self.why.items()):
            faults.meet(DataError(rule, path=rows.path, line=rows.line(row), column=column), rows.text(row))
        return batch.take(self.kept(batch.n_rows))

    def kept(self, n_rows: int) -> Any:
        """The mask of the rows that are not marked."""
        kept = np.ones(n_rows, dtype=bool)
        kept[list(self.why)] = False
        return kept


def screen(
    batch: Batch,
    marks: Marks,
    *,
    missing: str,
    labels: Sequence[Any] | None,
    place_of: Callable[[int], Place] = lambda column: column,
) -> Batch:
    """Mark rows that break a rule; the batch with its missing values replaced as `missing` says."""
    batch = _screen_numbers(batch, marks, missing, place_of)
    if batch.y is not None:
        _screen_labels(batch.y, marks, labels)
    if batch.weight is not None:
        bad = np.flatnonzero(~(np.isfinite(batch.weight) & (batch.weight >= 0)))
        weight = batch.weight
        marks.add(bad, None, lambda row: f"a weight must be a number from 0 on, got {weight[row]}")
    return batch


def _screen_numbers(batch: Batch, marks: Marks, missing: str, place_of: Callable[[int], Place]) -> Batch:
    is_sparse = sparse.issparse(batch.X)
    values = (batch.X.data if is_sparse else batch.X).reshape(-1)
    entries = np.flatnonzero(~np.isfinite(values))
    if len(entries) == 0:
        return batch
    bad = entries if missing == "error" else entries[np.isinf(values[entries])]
    if is_sparse:
        rows, columns = np.searchsorted(batch.X.indptr, bad, side="right") - 1, batch.X.indices[bad]
    else:
        rows, columns = np.divmod(bad, batch.X.shape[1])
    for row, column, value in zip(rows.tolist(), columns.tolist(), values[bad].tolist(), strict=True):
        rule = MISSING_RULE if np.isnan(value) else _infinite(value, values.dtype)
        marks.add([row], place_of(column), lambda _, rule=rule: rule)  # type: ignore[misc]
    if missing != "zero":
        return batch
    X = batch.X.copy()
    numbers = X.data if is_sparse else X
    numbers[np.isnan(numbers)] = 0
    return batch._replace(X=X)


def _infinite(value: float, dtype: Any) -> str:
    return f"a number must be finite in {dtype}, got {value}; correct it, or drop the row"


def _screen_labels(y: Any, marks: Marks, labels: Sequence[Any] | None) -> None:
    if y.dtype.kind == "f":
        marks.add(np.flatnonzero(~np.isfinite(y)), None, lambda row: f"a label must be a finite number, got {y[row]}")
    if labels is not None:
        some = ", ".join(map(str, list(labels)[:10])) + (", ..." if len(labels) > 10 else "")
        unseen = np.flatnonzero(~np.isin(y, np.asarray(labels)))
        marks.add(
            unseen,
            None,
            lambda row: f"a label must be one of those learned ({some}), got {shown(str(y[row]))}; drop the row",
        )
