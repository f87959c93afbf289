"""What is learned from all rows: their number and labels (`Survey`), and the parts of a schema that need all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.data._batch import Batch
from gcwsnet.data._encode import Table, factor_of_column
from gcwsnet.data._errors import DataError
from gcwsnet.data._schema import HASH_COLUMNS, MOST_ONE_HOT, Schema

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
    """

    n_rows: int
    n_features: int
    label_type: str | None
    labels: tuple[Any, ...] | None
    index_base: int | None
    skipped: int


class RowStatistics:
    """Counts for a survey, updated batch by batch.

    Parameters
    ----------
    max_labels : int
        Distinct labels are kept up to this number.
    """

    def __init__(self, max_labels: int) -> None:
        self.n_rows = 0
        self.min_index: int | None = None
        self.max_index = -1
        self._max_labels = max_labels
        self._labels: set[Any] | None = set()
        self._label_types: set[str] = set()

    def update(self, batch: Batch) -> None:
        """Count the rows of a batch, their column indices if X is CSR, and their labels."""
        self.n_rows += batch.n_rows
        if sparse.issparse(batch.X) and batch.X.nnz:
            smallest, largest = int(batch.X.indices.min()), int(batch.X.indices.max())
            self.min_index = smallest if self.min_index is None else min(self.min_index, smallest)
            self.max_index = max(self.max_index, largest)
        if batch.y is not None:
            self.update_labels(batch.y)

    def update_labels(self, y: NDArray[Any]) -> None:
        """Count labels alone."""
        if len(y) == 0:
            return
        self._label_types.add(infer_label_type(y))
        if self._labels is not None:
            self._labels.update(np.unique(y).tolist())
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
                self._as_numbers.update_labels(y.astype(np.float64))
            except ValueError:
                self._all_numbers = False

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
        self._orders: dict[int, tuple[str, ...]] = {}
        self._widths: dict[int, int] = {}
        for number, column in enumerate(schema.columns):
            if column.kind == "onehot":
                self._categories[number] = set()
            elif column.kind == "sparse" and column.width == MOST_COLUMNS:
                self._widths[number] = 1

    def update(self, table: Table, valid: Any) -> None:
        """Learn from the rows of a table that the boolean mask `valid` chooses."""
        sources = iter(table.columns)
        for number, column in enumerate(self._schema.columns):
            source = next(sources)
            if column.kind == "onehot":
                known = self._categories[number]
                if len(known) <= MOST_ONE_HOT:
                    known.update(factor_of_column(column, source).present(valid))
            elif column.kind == "ordered":
                self._check_order(number, tuple(factor_of_column(column, source).texts))
            elif column.kind == "sparse":
                next(sources)  # the values
                if number in self._widths:
                    lengths, indices = source.lists()
                    largest = int(indices[np.repeat(valid, lengths)].max(initial=0))
                    self._widths[number] = max(self._widths[number], largest + 1)

    def schema(self) -> Schema:
        """Return the schema with what was learned."""
        columns = []
        for number, column in enumerate(self._schema.columns):
            if number in self._categories:
                categories = tuple(sorted(self._categories[number]))
                if len(categories) > MOST_ONE_HOT:
                    columns.append(replace(column, kind="hashed", width=0))
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
