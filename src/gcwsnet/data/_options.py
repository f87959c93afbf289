"""The options of `read`, their checks, and which formats they apply to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gcwsnet._validation import MOST_COLUMNS, check_choice, check_integer

MISSING_CHOICES = ("error", "zero", "nan")
DTYPES = ("float32", "float64")
LONGEST_LINE = 1 << 26
ColumnName = str | int
"""A column of a table by its name, or by its number from 0, where -1 is the last one."""

TABLE_OPTIONS = ("label", "weight", "columns", "exclude", "categorical", "hash_columns")
INAPPLICABLE_OPTIONS = {
    "libsvm": (*TABLE_OPTIONS, "header"),
    "csv": ("index_base",),
    "tsv": ("index_base",),
    "parquet": ("index_base", "header"),
    "arrow": ("index_base", "header"),
    "npy": ("columns", "exclude", "categorical", "hash_columns", "index_base", "header"),
    "npz": (*TABLE_OPTIONS, "index_base", "header"),
    "arrays": (*TABLE_OPTIONS, "index_base", "header"),
}


@dataclass(frozen=True)
class ReadOptions:
    """The options of `read` that readers need, checked. The docstring of `read` describes each one."""

    dtype: str | None = None
    n_features: int | None = None
    index_base: int | str = "auto"
    header: bool | str = "auto"
    label: ColumnName | None = None
    weight: ColumnName | None = None
    columns: Sequence[ColumnName] | None = None
    exclude: Sequence[ColumnName] = ()
    categorical: Sequence[ColumnName] = ()
    hash_columns: int | None = None
    missing: str | None = None
    labels: Sequence[Any] | None = None
    longest_line: int = LONGEST_LINE

    def __post_init__(self) -> None:
        if self.dtype is not None:
            object.__setattr__(self, "dtype", check_choice("dtype", np.dtype(self.dtype).name, DTYPES))
        if self.missing is not None:
            check_choice("missing", self.missing, MISSING_CHOICES)
        _check_one_of("index_base", self.index_base, ("auto", 0, 1))
        _check_one_of("header", self.header, ("auto", True, False))
        check_integer("longest_line", self.longest_line, 1, 1 << 30)
        for name in ("n_features", "hash_columns"):
            value = getattr(self, name)
            if value is not None:
                check_integer(name, value, 1, MOST_COLUMNS)
        for name in ("columns", "exclude", "categorical"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of names or numbers, got {name}={getattr(self, name)!r}")

    @property
    def missing_rule(self) -> str:
        """The rule for missing values, "error" by default."""
        return self.missing or "error"

    def check_format(self, format: str) -> None:  # noqa: A002
        """Raise ValueError if an option is set that does not apply to files of this format, or to arrays."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in INAPPLICABLE_OPTIONS[format]:
            if getattr(self, name) != defaults[name]:
                what = "arrays" if format == "arrays" else f"{format} files"
                way_out = "" if format == "arrays" else ", or give the format if it is another one"
                raise ValueError(
                    f"{name} does not apply to {what}, got {name}={getattr(self, name)!r}; leave it out{way_out}"
                )


def _check_one_of(name: str, value: object, choices: tuple[Any, ...]) -> None:
    """Raise ValueError unless `value` equals a choice of the same type: True is not 1."""
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {name}={value!r}")
