"""What of a layout is learned from all rows: categories, and the width of sparse rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.data._encode import Table, lists, place, texts
from gcwsnet.data._errors import DataError
from gcwsnet.data._layout import Layout

MOST_CATEGORIES = 100_000


class Learned:
    """Categories and widths of an open layout, table after table.

    Parameters
    ----------
    layout : Layout
    path : str
        For the error.
    """

    def __init__(self, layout: Layout, path: str) -> None:
        self._layout, self._path = layout, path
        self._categories: dict[int, set[str]] = {}
        self._widths: dict[int, int] = {}
        for number, column in enumerate(layout.columns):
            if column.kind == "onehot":
                self._categories[number] = set()
            elif column.kind == "sparse" and column.width == MOST_COLUMNS:
                self._widths[number] = 1

    def add(self, table: Table, kept: Any) -> None:
        """Learn from the rows of a table that are kept."""
        arrays = iter(table.columns)
        for number, column in enumerate(self._layout.columns):
            array = next(arrays)
            if number in self._categories:
                self._add_categories(number, texts(array).filter(kept))
            elif number in self._widths:
                _, indices = lists(array.filter(kept))
                self._widths[number] = max(self._widths[number], int(indices.max(initial=0)) + 1)
            if column.kind == "sparse":
                next(arrays)

    def layout(self) -> Layout:
        """The layout with what was learned."""
        columns = []
        for number, column in enumerate(self._layout.columns):
            if number in self._categories:
                known = tuple(sorted(self._categories[number]))
                columns.append(replace(column, categories=known, width=len(known)))
            else:
                columns.append(replace(column, width=self._widths.get(number, column.width)))
        return self._layout.widened(tuple(columns))

    def _add_categories(self, number: int, array: Any) -> None:
        known = self._categories[number]
        known.update(array.unique().drop_null().to_pylist())
        if len(known) > MOST_CATEGORIES:
            raise DataError(
                f"a column of text must have at most {MOST_CATEGORIES} categories, got more; give hash_columns to hash "
                "them to a number of columns, or leave it out of columns",
                path=self._path,
                column=place(self._layout.columns[number]),
            )
