"""Columns of tables: which of them make up X, and where they are in another file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gcwsnet._validation import MOST_COLUMNS
from gcwsnet.data._errors import DataError
from gcwsnet.data._layout import Column, Layout
from gcwsnet.data._settings import Name, Settings

INDICES, VALUES = "indices", "values"


class FileColumn(NamedTuple):
    """A column as it is in a file.

    `kind` is "number", "text", "vector", "index vector" or, for what cannot be read, the name of its type. `width` is
    that of a vector.
    """

    name: str | None
    kind: str
    width: int = 1


class Picks(NamedTuple):
    """Numbers of the columns of a file: those of the layout in its order, and of label and weight if they are there."""

    features: list[int]
    label: int | None
    weight: int | None


def open_layout(found: Sequence[FileColumn], settings: Settings, path: str) -> Layout:
    """The layout of a table; categories are still to be learned, and sparse rows are as wide as can be."""
    names = Names([column.name for column in found], path)
    label, weight = (None if name is None else names.number(name) for name in (settings.label, settings.weight))
    if settings.columns is None:
        chosen = [number for number in range(len(found)) if number not in (label, weight)]
    else:
        chosen = [names.number(name) for name in settings.columns]
    texts = {names.number(name) for name in settings.categorical}
    columns = _learned(chosen, texts, found, settings, path)
    if not columns:
        raise DataError("there must be at least one column besides label and weight, got none", path=path)
    layout = Layout(
        n_features=0,
        missing=settings.missing or "error",
        n_file_columns=len(found),
        hash_columns=(settings.hash_columns or 0) if any(column.kind == "hashed" for column in columns) else 0,
        label=names.called(label),
        weight=names.called(weight),
        label_number=label,
        weight_number=weight,
    )
    return layout.widened(tuple(columns))


def _learned(
    chosen: list[int], texts: set[int], found: Sequence[FileColumn], settings: Settings, path: str
) -> list[Column]:
    names = [column.name for column in found]
    paired = [names.index(name) for name in (INDICES, VALUES) if name in names]
    is_sparse = len(paired) == 2 and found[paired[0]].kind == "index vector" and "vector" in found[paired[1]].kind
    columns = []
    for number in chosen:
        name, kind, width = found[number]
        if is_sparse and number in paired:
            if number == paired[0]:
                columns.append(Column(name, number, "sparse", settings.n_features or MOST_COLUMNS, values=VALUES))
        elif kind == "text" or number in texts:
            hashed = settings.hash_columns is not None
            columns.append(Column(name, number, "hashed" if hashed else "onehot", 0))
        elif kind == "number":
            columns.append(Column(name, number, "number"))
        elif "vector" in kind:
            columns.append(Column(name, number, "vector", width))
        else:
            raise DataError(
                f"a column must hold numbers, text or lists of numbers, got the type {kind}; leave it out of columns",
                path=path,
                column=name,
            )
    return columns


class Names:
    """Names of the columns of a file, None where there are none, and their numbers."""

    def __init__(self, names: Sequence[str | None], path: str) -> None:
        self._names, self._path = names, path
        self._numbers = {name: number for number, name in enumerate(names) if name is not None}

    def __len__(self) -> int:
        return len(self._names)

    def __bool__(self) -> bool:
        """Whether columns have names."""
        return bool(self._numbers)

    def number(self, name: Name) -> int:
        """The number of a column, from 0, that a name or a number means; a negative number counts from the end."""
        found = self.find(name)
        if found is not None:
            return found
        known = list(self._numbers)
        there = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        if isinstance(name, str):
            rule = f"there must be a column {name!r}, got {there or 'columns without names'}"
        else:
            rule = f"there must be a column number {name}, got {len(self)} columns"
        raise DataError(f"{rule}; give the name or the number of one", path=self._path)

    def find(self, name: Name) -> int | None:
        """The same, None if there is no such column."""
        if isinstance(name, str):
            return self._numbers.get(name)
        return name % len(self) if -len(self) <= name < len(self) else None

    def called(self, number: int | None) -> Name | None:
        """The name of a column, or its number if it has none."""
        return None if number is None else self._names[number] or number


def find_columns(layout: Layout, names: Names, path: str, *, needed: tuple[bool, bool]) -> Picks:
    """Where the columns of a layout are in a file: by their names, or by their numbers where one has no names.

    A file without names has all columns of the one that the layout was learned from, or only those that make up X.
    `needed` says whether there must be a label, and a weight.
    """
    by_name = [name for column in layout.columns for name in (column.name, column.values) if name is not None]
    if names and by_name:
        given = zip((layout.label, layout.weight), needed, strict=True)
        found = [None if name is None else (names.number if must else names.find)(name) for name, must in given]
        return Picks([names.number(name) for name in by_name], *found)
    if len(names) == layout.n_file_columns:
        return Picks([column.number for column in layout.columns], layout.label_number, layout.weight_number)
    if len(names) == len(layout.columns) and not any(needed):
        return Picks(list(range(len(names))), None, None)
    raise DataError(
        f"a row must have {layout.n_file_columns} columns, or {len(layout.columns)} without label and weight, got "
        f"{len(names)}",
        path=path,
        line=1,
    )
