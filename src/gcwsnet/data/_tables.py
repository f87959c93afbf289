"""What CSV, Parquet and Arrow files have in common: columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.data._batch import Batch
from gcwsnet.data._columns import FileColumn, Names, Picks, find_columns, open_layout
from gcwsnet.data._encode import Table, encode, place
from gcwsnet.data._errors import DataError, Faults
from gcwsnet.data._inputs import Input
from gcwsnet.data._layout import Layout
from gcwsnet.data._learned import Learned
from gcwsnet.data._reader import Reader
from gcwsnet.data._screen import Marks, Place, Rows, screen
from gcwsnet.data._survey import Survey, Tally


class TableReader(Reader):
    """Files with columns."""

    @abstractmethod
    def file_columns(self, given: Input) -> list[FileColumn]:
        """The columns of a file."""

    def is_empty(self, given: Input) -> bool:
        """Whether a file has not even columns; others are read without it."""
        del given
        return False

    @abstractmethod
    def label_type(self, given: Input, label: int) -> str | None:
        """What the labels of a file look like: "numbers", "strings", or None if the file has types."""

    @abstractmethod
    def tables(
        self, given: Input, layout: Layout, picks: Picks, n_columns: int, faults: Faults
    ) -> Iterator[tuple[Table, Rows]]:
        """Some rows after the other."""

    def open_layout(self) -> Layout:
        """The layout of the first file, its categories and the width of sparse rows still to be learned."""
        given = self._with_columns()[0]
        layout = open_layout(self.file_columns(given), self.settings, given.name)
        if layout.label_number is None:
            return layout
        return replace(layout, label_type=self.label_type(given, layout.label_number))

    def known_layout(self) -> Layout | None:
        """The layout of the first file, unless something must be learned from all rows."""
        layout = self.open_layout()
        is_open = any(column.kind == "onehot" or column.width == MOST_COLUMNS for column in layout.columns)
        return None if is_open else layout

    def pieces(self, layout: Layout, faults: Faults) -> Iterator[Batch]:
        """Batches of the rows that keep the rules."""
        for table, rows in self._all_tables(layout, faults):
            batch, marks = self._encoded(table, layout, faults)
            yield marks.settle(batch, rows, faults)

    def survey(self, known: Layout | None, faults: Faults, most_labels: int) -> tuple[Layout, Survey]:
        """Categories, the width of sparse rows and the type of labels are learned from the rows that keep the rules."""
        layout = known or self.open_layout()
        is_text = known is None and layout.label_type is not None
        start = replace(layout, label_type="strings") if is_text else layout
        tally, label_tally = Tally(most_labels), LabelTexts(most_labels)
        learned = Learned(layout, self.inputs[0].name)
        for table, rows in self._all_tables(start, faults):
            batch, marks = self._encoded(table, start, faults)
            kept = marks.kept(batch.n_rows)
            batch = marks.settle(batch, rows, faults)
            if is_text and batch.y is not None:
                label_tally.add(batch.y)
                batch = batch._replace(y=None)
            tally.add(batch)
            if known is None:
                learned.add(table, kept)
        if known is None:
            layout = learned.layout()
        if is_text:
            layout = replace(layout, label_type=label_tally.type_of_column)
        survey = self.summary(layout, tally, faults)
        if is_text:
            survey = replace(survey, labels=label_tally.tally.labels, label_type=label_tally.tally.label_type)
        return layout, survey

    def _all_tables(self, layout: Layout, faults: Faults) -> Iterator[tuple[Table, Rows]]:
        needed = self.settings.label is not None, self.settings.weight is not None
        for number, given in enumerate(self._with_columns()):
            names = Names([column.name for column in self.file_columns(given)], given.name)
            picks = find_columns(layout, names, given.name, needed=needed)
            there = picks.label is not None, picks.weight is not None
            if number > 0 and there != needed:
                raise DataError(
                    f"files that are read together must all have label and weight, or none, as {self.inputs[0].name}",
                    path=given.name,
                )
            needed = there
            yield from self.tables(given, layout, picks, len(names), faults)

    def _with_columns(self) -> Sequence[Input]:
        return [given for given in self.inputs if not self.is_empty(given)] or self.inputs

    def _encoded(self, table: Table, layout: Layout, faults: Faults) -> tuple[Batch, Marks]:
        marks = Marks()
        batch = encode(table, layout, marks, faults, self.settings.dtype or "float64")
        batch = screen(
            batch, marks, missing=layout.missing, labels=self._labels(batch), place_of=_place_in_file(layout)
        )
        return batch, marks

    def _labels(self, batch: Batch) -> Sequence[Any] | None:
        """Labels that are known, as strings where the file has strings."""
        labels = self.settings.labels
        if labels is None or batch.y is None or batch.y.dtype.kind != "U":
            return labels
        return [str(label) for label in labels]


class LabelTexts:
    """Labels of a text file, which are numbers if all of them are."""

    def __init__(self, most_labels: int) -> None:
        self._as_text, self._as_numbers = Tally(most_labels), Tally(most_labels)
        self._are_numbers = True

    def add(self, y: Any) -> None:
        """Count some labels."""
        empty = np.empty((len(y), 0))
        self._as_text.add(Batch(empty, y))
        if self._are_numbers:
            try:
                self._as_numbers.add(Batch(empty, y.astype(np.float64)))
            except ValueError:
                self._are_numbers = False

    @property
    def tally(self) -> Tally:
        """The counts of what they are."""
        return self._as_numbers if self._are_numbers else self._as_text

    @property
    def type_of_column(self) -> str:
        """What they are read as."""
        return "numbers" if self._are_numbers else "strings"


def _place_in_file(layout: Layout) -> Callable[[int], Place]:
    """A function from a column of X to what an error calls the column of the file."""
    ends = np.cumsum([column.width for column in layout.columns])

    def found(column: int) -> Place:
        number = int(np.searchsorted(ends, column, side="right"))
        return place(layout.columns[number]) if number < len(layout.columns) else None

    return found
