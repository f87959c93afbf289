"""What is learned from all rows: their number and labels (`Survey`), and the parts of a schema that need all rows.

What is learned from the rows of some files (`Findings`) can be merged with what is learned from those of others. So
files may be read by different processes, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import MAX_COLUMNS
from gcwsnet.tables._batch import Batch
from gcwsnet.tables._columns import are_values, form_of_text, labels_of_texts
from gcwsnet.tables._encode import Table, factor_of_column
from gcwsnet.tables._errors import DataError
from gcwsnet.tables._schema import HASH_COLUMNS, MOST_ONE_HOT, Schema

MAX_LABELS = 10_000


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
        The distinct labels in ascending order. None if there are too many to keep, or no labels.
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


class RowStatistics:
    """Counts for a survey, updated batch by batch.

    Parameters
    ----------
    max_labels : int
        Distinct labels are kept up to this number.
    """

    def __init__(self, max_labels: int) -> None:
        self.n_rows = self.n_weighted = 0
        self.min_index: int | None = None
        self.max_index = -1
        self.forms: set[tuple[bool, bool]] = set()
        self._max_labels = max_labels
        self._labels: set[Any] | None = set()
        self._label_types: set[str] = set()

    def update(self, batch: Batch) -> None:
        """Count the rows of a batch, their column indices if X is CSR, and their labels."""
        self.n_rows += batch.n_rows
        self.n_weighted += batch.n_rows if batch.weight is None else int(np.count_nonzero(batch.weight))
        self.forms.add((batch.y is not None, batch.weight is not None))
        if sparse.issparse(batch.X) and batch.X.nnz:
            self._update_indices(int(batch.X.indices.min()), int(batch.X.indices.max()))
        if batch.y is not None:
            self.update_labels(batch.y)

    def update_labels(self, y: NDArray[Any]) -> None:
        """Count labels alone."""
        if len(y) == 0:
            return
        self._label_types.add(infer_label_type(y))
        self._add_labels(np.unique(y).tolist())

    def merge(self, other: RowStatistics) -> None:
        """Add the counts of rows that come after these."""
        self.n_rows += other.n_rows
        self.n_weighted += other.n_weighted
        self.forms |= other.forms
        if other.min_index is not None:
            self._update_indices(other.min_index, other.max_index)
        self._label_types |= other._label_types
        self._add_labels(other._labels)

    def _update_indices(self, smallest: int, largest: int) -> None:
        self.min_index = smallest if self.min_index is None else min(self.min_index, smallest)
        self.max_index = max(self.max_index, largest)

    def _add_labels(self, labels: Iterable[Any] | None) -> None:
        """Add distinct labels, or None if there were too many to keep."""
        if labels is None:
            self._labels = None
        elif self._labels is not None:
            self._labels.update(labels)
            if len(self._labels) > self._max_labels:
                self._labels = None

    @property
    def label_type(self) -> str | None:
        """The most general type of the labels so far."""
        return next((name for name in ("strings", "numbers", "integers") if name in self._label_types), None)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The distinct labels in ascending order, None if there are too many or none."""
        return tuple(sorted(self._labels)) if self._labels else None

    def survey(self, schema: Schema, skipped: int) -> Survey:
        """Return the survey of rows that were read with this schema."""
        return Survey(
            n_rows=self.n_rows,
            n_features=schema.n_features,
            label_type=self.label_type,
            labels=self.labels,
            index_base=schema.index_base,
            skipped=skipped,
            n_weighted=self.n_weighted,
        )


def infer_label_type(y: NDArray[Any]) -> str:
    """Return "integers", "numbers" or "strings" by the values of the labels."""
    if y.dtype.kind in "bui":
        return "integers"
    if y.dtype.kind == "f":
        return "integers" if bool(np.all(y == np.floor(y))) else "numbers"
    return "strings"


class TextLabelStatistics:
    """Counts of labels that a text file holds as strings; they are numbers if all of them can be parsed as numbers."""

    def __init__(self, max_labels: int) -> None:
        self._as_strings, self._as_numbers = RowStatistics(max_labels), RowStatistics(max_labels)
        self._all_numbers = True

    def update(self, y: Any) -> None:
        """Count labels, which are given as strings."""
        self._as_strings.update_labels(y)
        if self._all_numbers:
            try:
                self._as_numbers.update_labels(labels_of_texts(y))
            except ValueError:
                self._all_numbers = False

    def merge(self, other: TextLabelStatistics) -> None:
        """Add the counts of labels that come after these."""
        self._as_strings.merge(other._as_strings)
        self._as_numbers.merge(other._as_numbers)
        self._all_numbers &= other._all_numbers

    @property
    def statistics(self) -> RowStatistics:
        """The counts of the labels, as numbers if all of them are."""
        return self._as_numbers if self._all_numbers else self._as_strings

    @property
    def schema_label_type(self) -> str:
        """The type that the labels are read as: "numbers" or "strings"."""
        return "numbers" if self._all_numbers else "strings"


class SchemaLearner:
    """A learner of the categories of an inferred schema, and of the width of its sparse rows.

    A column with more than 100 categories becomes a hashed one.

    Parameters
    ----------
    schema : Schema
        What `infer_schema` returned.
    path : str or None
        The file that errors name.
    """

    def __init__(self, schema: Schema, path: str | None) -> None:
        self._schema, self._path = schema, path
        self._categories: dict[int, set[str]] = {}
        self._forms: dict[int, set[str]] = {}
        self._orders: dict[int, tuple[str, ...]] = {}
        self._widths: dict[int, int] = {}
        for number, column in enumerate(schema.columns):
            if column.kind == "onehot":
                self._categories[number], self._forms[number] = set(), set()
            elif column.kind == "sparse" and column.width == MAX_COLUMNS:
                self._widths[number] = 1

    def update(self, table: Table, valid: Any) -> None:
        """Learn from the rows of a table that the boolean mask `valid` chooses."""
        sources = iter(table.columns)
        for number, column in enumerate(self._schema.columns):
            source = next(sources)
            if column.kind == "onehot":
                present = factor_of_column(column, source).present(valid)
                if "text" not in self._forms[number]:
                    self._forms[number].update(map(form_of_text, present))
                if len(self._categories[number]) <= MOST_ONE_HOT:
                    self._categories[number].update(present)
            elif column.kind == "ordered":
                self._check_order(number, tuple(factor_of_column(column, source).texts))
            elif column.kind == "sparse":
                next(sources)  # the values
                if number in self._widths:
                    lengths, indices = source.lists()
                    largest = int(indices[np.repeat(valid, lengths)].max(initial=0))
                    self._widths[number] = max(self._widths[number], largest + 1)

    def merge(self, other: SchemaLearner) -> None:
        """Add what was learned from other rows, whose ordered categories must have the same order."""
        for number, order in other._orders.items():
            other._check_order(number, self._orders.get(number, order))
        self._orders |= other._orders
        for number, width in other._widths.items():
            self._widths[number] = max(self._widths[number], width)
        for number, categories in other._categories.items():
            self._forms[number] |= other._forms[number]
            if len(self._categories[number]) <= MOST_ONE_HOT:
                self._categories[number] |= categories

    def schema(self) -> Schema:
        """Return the schema with what was learned."""
        columns = []
        for number, column in enumerate(self._schema.columns):
            if number in self._categories:
                categories = tuple(sorted(self._categories[number]))
                if len(categories) > MOST_ONE_HOT:
                    columns.append(replace(column, kind="hashed", width=0, by_value=are_values(self._forms[number])))
                else:
                    columns.append(replace(column, categories=categories, width=len(categories)))
            elif column.kind == "ordered":
                columns.append(replace(column, categories=self._orders.get(number, ())))
            else:
                columns.append(replace(column, width=self._widths.get(number, column.width)))
        hashed = any(column.kind == "hashed" for column in columns)
        schema = replace(self._schema, hash_columns=(self._schema.hash_columns or HASH_COLUMNS) if hashed else 0)
        schema = schema.with_columns(tuple(columns))
        if schema.n_features == 0:
            raise DataError("there must be at least one value in all columns, got none", path=self._path)
        return schema

    def _check_order(self, number: int, order: tuple[str, ...]) -> None:
        if self._orders.setdefault(number, order) != order:
            raise DataError(
                "ordered categories must have the same order everywhere, got "
                f"{', '.join(self._orders[number])} and {', '.join(order)}; make them one type, or text",
                path=self._path,
                column=self._schema.columns[number].reference,
            )


@dataclass
class Findings:
    """What is learned from the rows of some files, all read with the same schema.

    Attributes
    ----------
    rows : RowStatistics
    labels : TextLabelStatistics or None
        For files that hold labels as strings.
    columns : SchemaLearner or None
        For files with columns.
    skipped : int
        The number of rows that were skipped.
    """

    rows: RowStatistics
    labels: TextLabelStatistics | None = None
    columns: SchemaLearner | None = None
    skipped: int = 0

    def merge(self, other: Findings, path: str) -> None:
        """Add what was learned from the rows of the file `path`, which come after these; an error changes nothing."""
        if self.rows.forms != other.rows.forms:
            raise DataError(
                "files that are read together must all have label and weight, or none, and this one differs from those "
                "before it",
                path=path,
            )
        if self.columns is not None and other.columns is not None:
            self.columns.merge(other.columns)
        self.rows.merge(other.rows)
        if self.labels is not None and other.labels is not None:
            self.labels.merge(other.labels)
        self.skipped += other.skipped

    def survey(self, schema: Schema) -> Survey:
        """Return the survey of the rows, with the schema that was learned."""
        survey = self.rows.survey(schema, self.skipped)
        if self.labels is None:
            return survey
        labels = self.labels.statistics
        return replace(survey, labels=labels.labels, label_type=labels.label_type)
