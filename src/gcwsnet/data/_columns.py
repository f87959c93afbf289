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


def open_layout(found: Sequence[FileColumn], settings: Settings, label_type: str | None, path: str) -> Layout:
    """The layout of a table; categories are still to be learned, and sparse rows are as wide as can be."""
    names = [column.name for column in found]
    label, weight = (
        None if name is None else position(name, names, path) for name in (settings.label, settings.weight)
    )
    if settings.columns is None:
        chosen = [number for number in range(len(found)) if number not in (label, weight)]
    else:
        chosen = [position(name, names, path) for name in settings.columns]
    texts = {position(name, names, path) for name in settings.categorical}
    columns = _learned(chosen, texts, found, settings, path)
    if not columns:
        raise DataError("there must be at least one column besides label and weight, got none", path=path)
    layout = Layout(
        n_features=0,
        missing=settings.missing or "error",
        n_file_columns=len(found),
        hash_columns=(settings.hash_columns or 0) if any(column.kind == "hashed" for column in columns) else 0,
        label=_kept(settings.label, label),
        weight=_kept(settings.weight, weight),
        label_type=label_type,
    )
    return layout.widened(tuple(columns))


def _kept(name: Name | None, number: int | None) -> Name | None:
    return name if isinstance(name, str) else number


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


def position(name: Name, names: Sequence[str | None], path: str) -> int:
    """The number of a column, from 0, that a name or a number means; a negative number counts from the end."""
    if isinstance(name, str):
        if name not in names:
            known = [known for known in names if known is not None]
            there = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
            raise DataError(
                f"there must be a column {name!r}, got {there or 'columns without names'}; give its name or its number",
                path=path,
            )
        return names.index(name)
    if not -len(names) <= name < len(names):
        raise DataError(f"there must be a column number {name}, got {len(names)} columns", path=path)
    return name % len(names)


def find_columns(layout: Layout, names: Sequence[str | None], path: str, *, label_needed: bool) -> Picks:
    """Where the columns of a layout are in a file: by their names, or by their numbers where one has no names.

    A file without names has all columns of the one that the layout was learned from, or only those that make up X.
    """
    needed = [name for column in layout.columns for name in (column.name, column.values) if name is not None]
    if any(name is not None for name in names) and needed:
        features = [position(name, names, path) for name in needed]
        found = [_find(name, names, path, label_needed) for name in (layout.label, layout.weight)]
        return Picks(features, *found)
    if len(names) == layout.n_file_columns:
        numbers = [
            None if name is None else (position(name, names, path) if isinstance(name, int) else None)
            for name in (layout.label, layout.weight)
        ]
        return Picks([column.number for column in layout.columns], *numbers)
    if len(names) == len(layout.columns) and not label_needed:
        return Picks(list(range(len(names))), None, None)
    raise DataError(
        f"a row must have {layout.n_file_columns} columns, or without label {len(layout.columns)}, got {len(names)}",
        path=path,
        line=1,
    )


def _find(name: Name | None, names: Sequence[str | None], path: str, needed: bool) -> int | None:
    if name is None or (not needed and isinstance(name, str) and name not in names):
        return None
    if isinstance(name, int) and not needed and not -len(names) <= name < len(names):
        return None
    return position(name, names, path)
