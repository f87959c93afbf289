"""What the columns of rows hold: how many values are missing, and their range or their most frequent values."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import numpy as np

from gcwsnet import _sparse as sparse
from gcwsnet._validation import Matrix, require_columns
from gcwsnet.tables._schema import NUMBERS, Column, Schema

MAX_FREQUENT = 3
START = datetime(1970, 1, 1, tzinfo=timezone.utc)


class ColumnSummary(NamedTuple):
    """What a column holds, how many of its values are missing, and its range or most frequent values, as texts."""

    name: str
    holds: str
    missing: int
    values: str


class ColumnStatistics:
    """Counts, sums and ranges of the columns of X, of all rows that `update` has seen.

    Attributes
    ----------
    n_rows : int
    entries, missing : array of int64, shape (n_features,)
        The values that are there in sparse rows, all of them in dense ones, and how many of these are NaN.
    """

    def __init__(self, n_features: int) -> None:
        require_columns(n_features, 40, "the ranges of columns")
        self.n_rows = 0
        self.entries, self.missing = np.zeros((2, n_features), dtype=np.int64)
        self.sums = np.zeros(n_features)
        self.least, self.most = np.full(n_features, np.inf), np.full(n_features, -np.inf)

    def update(self, X: Matrix) -> None:
        """Count further rows."""
        self.n_rows += X.shape[0]
        if not sparse.issparse(X):
            is_missing = np.isnan(X)
            self.entries += X.shape[0]
            self.missing += is_missing.sum(axis=0)
            self.sums += np.where(is_missing, 0, X).sum(axis=0)
            self.least, self.most = np.fmin(self.least, np.fmin.reduce(X)), np.fmax(self.most, np.fmax.reduce(X))
            return
        n, is_missing = len(self.sums), np.isnan(X.data)
        columns, values = X.indices[~is_missing], X.data[~is_missing]
        self.entries += np.bincount(X.indices, minlength=n)
        self.missing += np.bincount(X.indices[is_missing], minlength=n)
        self.sums += np.bincount(columns, values, minlength=n)
        np.minimum.at(self.least, columns, values)
        np.maximum.at(self.most, columns, values)

    def summaries(self, schema: Schema | None, names: Any = None) -> list[ColumnSummary]:
        """Return what the columns of a table hold, or those of X where there is no table; `names` are theirs."""
        if schema is not None and schema.columns:
            ends = np.cumsum([column.width for column in schema.columns]).tolist()
            return [self._summary(column, end - column.width, end) for column, end in zip(schema.columns, ends)]  # noqa: B905
        base = 0 if schema is None else schema.index_base or 0
        is_sparse = bool((self.entries < self.n_rows).any())
        found = []
        for number in range(len(self.sums)):
            name = str(number + base) if names is None else str(names[number])
            holds = f"{self.entries[number]:,} numbers" if is_sparse else "number"
            values = _range("number", self.least[number], self.most[number])
            found.append(ColumnSummary(name, holds, int(self.missing[number]), values))
        return found

    def _summary(self, column: Column, first: int, end: int) -> ColumnSummary:
        missing, values = 0, ""
        if column.kind == "onehot":
            counts = sorted(zip(self.sums[first:end].tolist(), column.categories, strict=True), key=lambda one: -one[0])
            values = frequent([(text, int(count)) for count, text in counts])
            missing = self.n_rows - int(self.sums[first:end].sum())
        elif end > first:
            missing = int(self.missing[first:end].sum())
            least, most = float(self.least[first:end].min()), float(self.most[first:end].max())
            if (self.entries[first:end] < self.n_rows).any():
                least, most = min(least, 0.0), max(most, 0.0)
            if column.kind == "ordered" and least <= most:
                values = f"{column.categories[int(least)]} to {column.categories[int(most)]}"
            elif column.kind in (*NUMBERS, "vector"):
                values = _range(column.kind, least, most)
        return ColumnSummary(column.key, column.summary, missing, values)


def frequent(counts: list[tuple[str, int]]) -> str:
    """Return the most frequent texts with their counts, as one line."""
    return ", ".join(f"{text if len(text) <= 40 else text[:37] + '...'} ({n:,})" for text, n in counts[:MAX_FREQUENT])


def _range(kind: str, least: float, most: float) -> str:
    if not least <= most:
        return "none"
    ends = [f"{one:.6g}" for one in (least, most)]
    if kind == "date":
        with suppress(OverflowError):
            ends = [f"{START + timedelta(days=float(one)):%Y-%m-%d}" for one in (least, most)]
    return f"always {ends[0]}" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
