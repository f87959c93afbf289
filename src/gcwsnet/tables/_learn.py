"""What is learned from all rows: their number and labels (`Survey`), and the parts of a schema that need all rows.

What is learned from the rows of some files can be merged with what is learned from those of others. So files may be
read by different processes, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import MAX_COLUMNS
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._columns import TableColumn, are_values, form_of_text, labels_of_texts
from gcwsnet.tables._encode import factor_of_column, in_schema_order
from gcwsnet.tables._errors import DataError
from gcwsnet.tables._schema import HASH_COLUMNS, ColumnSelection, Schema

MAX_LABELS = 10_000

MAX_ONE_HOT = 100
"""A column with more categories is hashed."""


@dataclass(frozen=True)
class Survey:
    """The result of reading all rows once.

    Attributes
    ----------
    n_rows : int
        The number of rows, without the skipped ones.
    n_features : int
        D, the number of columns of X.
    label_type : {"integers", "numbers", "strings"} or None
        "integers" are whole numbers of any dtype. None if there are no labels.
    labels : tuple or None
        The distinct labels in ascending order. None if there are more than 10,000, or no labels.
    index_base : 0, 1 or None
        The index of the first column in LIBSVM files.
    skipped : int
        The number of rows that were skipped with ``on_error="skip"``.
    n_weighted : int
        The number of rows whose weight is not 0. Of the others nothing is learned but their labels.
    """

    n_rows: int
    n_features: int
    label_type: str | None
    labels: tuple[Any, ...] | None
    index_base: int | None
    skipped: int
    n_weighted: int


def infer_label_type(y: NDArray[Any]) -> str:
    """Return "integers", "numbers" or "strings" by the values of the labels."""
    if y.dtype.kind in "bui":
        return "integers"
    if y.dtype.kind == "f":
        return "integers" if bool(np.all(y == np.floor(y))) else "numbers"
    return "strings"


class DistinctLabels:
    """The distinct labels of some rows, up to `MAX_LABELS` of them, and their types."""

    def __init__(self) -> None:
        self._values: set[Any] | None = set()
        self._types: set[str] = set()

    def update(self, y: NDArray[Any] | None) -> None:
        """Add labels, if there are any."""
        if y is not None and len(y):
            self._types.add(infer_label_type(y))
            self._add(set(np.unique(y).tolist()))

    def merge(self, other: DistinctLabels) -> None:
        """Add the labels of other rows."""
        self._types |= other._types
        self._add(other._values)

    def _add(self, values: set[Any] | None) -> None:
        if self._values is not None and values is not None:
            values = self._values | values
        self._values = None if self._values is None or values is None or len(values) > MAX_LABELS else values

    @property
    def label_type(self) -> str | None:
        """The most general type of the labels."""
        return next((name for name in ("strings", "numbers", "integers") if name in self._types), None)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The distinct labels in ascending order, None if there are too many or none."""
        if not self._values:
            return None
        return tuple(sorted(map(int, self._values) if self.label_type == "integers" else self._values))


class Learner:
    """A learner of what only rows tell: how many they are, their labels, and what is open in a schema.

    Parameters
    ----------
    start : Schema
        The schema that the rows are read with, see `infer_schema`.
    path : str or None
        The file that errors name.
    text_labels : bool
        Whether labels are given as the texts of a file. They are numbers if all of them can be parsed as numbers.
    """

    def __init__(self, start: Schema, path: str | None = None, *, text_labels: bool = False) -> None:
        self.start, self._path = start, path
        self.n_rows = self.n_weighted = self.skipped = 0
        self.min_index: int | None = None  # of the columns of CSR rows
        self.max_index = -1
        self._have_y_and_weight: set[tuple[bool, bool]] = set()
        self._labels = DistinctLabels()
        self._parsed_labels = DistinctLabels() if text_labels else None  # None if some label is no number
        self._text_labels = text_labels
        kinds = {number: column.kind for number, column in enumerate(start.columns)}
        self._categories: dict[int, set[str]] = {number: set() for number, kind in kinds.items() if kind == "onehot"}
        self._forms: dict[int, set[str]] = {number: set() for number in self._categories}
        self._orders: dict[int, tuple[str, ...]] = {}
        self._widths = {number: 1 for number, kind in kinds.items() if kind == "sparse"}

    def update(self, batch: Batch) -> None:
        """Count the valid rows of a batch, and learn from their labels."""
        X, y, weight = batch
        self.n_rows += batch.n_rows
        self.n_weighted += batch.n_rows if weight is None else int(np.count_nonzero(weight))
        self._have_y_and_weight.add((y is not None, weight is not None))
        if sparse.issparse(X) and X.nnz:
            self._add_indices(int(X.indices.min()), int(X.indices.max()))
        self._labels.update(y)
        if y is not None and self._parsed_labels is not None:
            try:
                self._parsed_labels.update(labels_of_texts(y))  # type: ignore[arg-type]
            except ValueError:
                self._parsed_labels = None

    def update_columns(self, columns: Mapping[int, TableColumn], selection: ColumnSelection, valid: Any) -> None:
        """Learn categories and widths from the rows of a table that the boolean mask `valid` chooses."""
        for number, (column, sources) in enumerate(in_schema_order(columns, selection, self.start)):
            if column.kind == "onehot":
                indices, texts = factor_of_column(column, sources[0])
                occurring = np.unique(indices[valid])
                present = [texts[index] for index in occurring[occurring >= 0]]
                if "text" not in self._forms[number]:
                    self._forms[number].update(map(form_of_text, present))
                if len(self._categories[number]) <= MAX_ONE_HOT:
                    self._categories[number].update(present)
            elif column.kind == "ordered":
                self._check_order(number, tuple(factor_of_column(column, sources[0]).texts))
            elif column.kind == "sparse":
                lengths, entries = sources[0].lists()
                largest = int(entries[np.repeat(valid, lengths)].max(initial=0))
                self._widths[number] = max(self._widths[number], largest + 1)

    def merge(self, other: Learner, path: str) -> None:
        """Add what was learned from the rows of the file `path`, which come after these; an error changes nothing."""
        if self._have_y_and_weight != other._have_y_and_weight:
            raise DataError(
                "files that are read together must all have label and weight, or none, and this one differs from those "
                "before it",
                path=path,
            )
        for number, order in other._orders.items():
            other._check_order(number, self._orders.get(number, order))
        self._orders |= other._orders
        self.n_rows += other.n_rows
        self.n_weighted += other.n_weighted
        self.skipped += other.skipped
        if other.min_index is not None:
            self._add_indices(other.min_index, other.max_index)
        self._labels.merge(other._labels)
        if self._parsed_labels is None or other._parsed_labels is None:
            self._parsed_labels = None
        else:
            self._parsed_labels.merge(other._parsed_labels)
        for number, width in other._widths.items():
            self._widths[number] = max(self._widths[number], width)
        for number, categories in other._categories.items():
            self._forms[number] |= other._forms[number]
            if len(self._categories[number]) <= MAX_ONE_HOT:
                self._categories[number] |= categories

    def schema(self) -> Schema:
        """Return the schema with categories, widths and the type of text labels."""
        if not self.start.columns:
            return self.start
        columns = []
        for number, column in enumerate(self.start.columns):
            if number in self._categories:
                categories = tuple(sorted(self._categories[number]))
                if len(categories) > MAX_ONE_HOT:
                    columns.append(replace(column, kind="hashed", width=0, by_value=are_values(self._forms[number])))
                else:
                    columns.append(replace(column, categories=categories, width=len(categories)))
            elif column.kind == "ordered":
                columns.append(replace(column, categories=self._orders.get(number, ())))
            elif column.kind == "sparse" and column.width == MAX_COLUMNS:
                columns.append(replace(column, width=self._widths[number]))
            else:
                columns.append(column)
        hashed = any(column.kind == "hashed" for column in columns)
        schema = replace(self.start, hash_columns=(self.start.hash_columns or HASH_COLUMNS) if hashed else 0)
        schema = schema.with_columns(tuple(columns))
        if schema.n_features == 0:
            raise DataError("there must be at least one value in all columns, got none", path=self._path)
        if self._text_labels:
            schema = replace(schema, label_type="strings" if self._parsed_labels is None else "numbers")
        return schema

    def survey(self, schema: Schema) -> Survey:
        """Return the survey of the rows, with the schema that was learned."""
        labels = self._parsed_labels or self._labels
        return Survey(
            n_rows=self.n_rows,
            n_features=schema.n_features,
            label_type=labels.label_type,
            labels=labels.labels,
            index_base=schema.index_base,
            skipped=self.skipped,
            n_weighted=self.n_weighted,
        )

    def _add_indices(self, smallest: int, largest: int) -> None:
        self.min_index = smallest if self.min_index is None else min(self.min_index, smallest)
        self.max_index = max(self.max_index, largest)

    def _check_order(self, number: int, order: tuple[str, ...]) -> None:
        if self._orders.setdefault(number, order) != order:
            raise DataError(
                "ordered categories must have the same order everywhere, got "
                f"{', '.join(self._orders[number])} and {', '.join(order)}; make them one type, or text",
                path=self._path,
                column=self.start.columns[number].reference,
            )
